"""Music: the keys of a piano at each step."""

from caesura.kinds.music.arrange import Composition, arrange
from caesura.kinds.music.items import MusicItem, RollItem, ScoreItem, SongItem
from caesura.kinds.music.midi import Song
from caesura.kinds.music.music import Music
from caesura.kinds.music.score import Score

__all__ = [
    "Composition",
    "Music",
    "MusicItem",
    "RollItem",
    "Score",
    "ScoreItem",
    "Song",
    "SongItem",
    "arrange",
]
