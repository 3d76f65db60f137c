"""Music: the keys of a piano at each step."""

from caesura.kinds.music.arrange import Arrangement, arrange
from caesura.kinds.music.composition import Composition
from caesura.kinds.music.midi import Song
from caesura.kinds.music.music import Music

__all__ = ["Arrangement", "Composition", "Music", "Song", "arrange"]
