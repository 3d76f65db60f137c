"""Training data that is read from disk while it is used."""
