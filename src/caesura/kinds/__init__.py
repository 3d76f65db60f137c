"""What sequences are made of: raw data to `Sequence` and back, with NumPy alone."""

from caesura.kinds.base import Kind
from caesura.kinds.text import Text

KINDS: dict[str, type[Kind]] = {"text": Text}

__all__ = ["KINDS", "Kind", "Text"]
