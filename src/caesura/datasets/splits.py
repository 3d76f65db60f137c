"""The three splits of every data set."""

SPLITS = ("train", "valid", "test")
