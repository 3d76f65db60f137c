"""Text: one character a step."""

from caesura.kinds.text.text import Text

__all__ = ["Text"]
