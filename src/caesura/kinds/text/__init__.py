"""Text: one character a step."""

from caesura.kinds.text.text import Text, TextItem

__all__ = ["Text", "TextItem"]
