"""What sequences are made of: raw data to `Sequence` and back, with NumPy alone."""

from caesura.kinds.base import Kind
from caesura.kinds.music import Arrangement, Composition, Music, Song, arrange
from caesura.kinds.series import Series
from caesura.kinds.text import Text

KINDS: dict[str, type[Kind]] = {"text": Text, "music": Music, "series": Series}

__all__ = [
    "KINDS",
    "Arrangement",
    "Composition",
    "Kind",
    "Music",
    "Series",
    "Song",
    "Text",
    "arrange",
]
