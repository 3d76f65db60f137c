"""Fill gaps in sequences, and know how sure you are."""
