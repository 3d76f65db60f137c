"""What sequences are made of: raw data to `Sequence` and back, with NumPy alone."""

from caesura.kinds.text import Text

KINDS: dict[str, type[Text]] = {"text": Text}

__all__ = ["KINDS", "Text"]
