"""Kinds of data: text, music and tables, each as sequences of numbers and back; without JAX."""

from caesura.kinds.base import Item, Kind
from caesura.kinds.music import Composition, Music, Score, Song, arrange
from caesura.kinds.series import Column, Series
from caesura.kinds.text import Text

KINDS: dict[str, type[Kind]] = {"text": Text, "music": Music, "series": Series}

__all__ = [
    "KINDS",
    "Column",
    "Composition",
    "Item",
    "Kind",
    "Music",
    "Score",
    "Series",
    "Song",
    "Text",
    "arrange",
]
