"""The three parts of every set."""

SPLITS = ("train", "valid", "test")
