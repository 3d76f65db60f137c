"""Pictures, one file each, with matplotlib."""
