"""Music: the 88 keys of a piano at each step, from MIDI files or piano rolls."""

from collections.abc import Mapping
from collections.abc import Sequence as List
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float, Int, Shaped

from caesura.errors import CaesuraError, lookup, whole_number
from caesura.kinds.base import Arranging, Kind
from caesura.kinds.music.arrange import Composition
from caesura.kinds.music.choice import by_agreement
from caesura.kinds.music.echo import find_better_echo
from caesura.kinds.music.items import MusicItem, PackedScoreItem, RollItem, ScoreItem, SongItem
from caesura.kinds.music.metre import SWITCHES
from caesura.kinds.music.midi import Song, read_midi
from caesura.kinds.music.mxl import ZIP
from caesura.kinds.music.notes import GRIDS, find_steps_per_beat
from caesura.kinds.music.roll import KEYS, LOWEST_KEY
from caesura.kinds.music.score import Score
from caesura.kinds.music.struck import HELD, SILENT, STRUCK, settle
from caesura.kinds.xml import UTF16
from caesura.sequence import FrameSpec, Sequence, Span

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NUMPY = b"\x93NUMPY"  # the first bytes of what NumPy saves


@dataclass(frozen=True)
class Music(Kind):
    """Music on a grid of `steps_per_beat` steps to the quarter note.

    Music is a MIDI file, by its path or as a `Song`, a MusicXML file, by its path or as a `Score`,
    or a roll: an array [steps, 88] of 0 and 1, or the path of one that NumPy saved, in which NaN is
    missing. `Grid` says at which steps a note sounds. Drums and notes off the keyboard are not
    seen, and stay as they are.

    Parameters
    ----------
    steps_per_beat
        How many steps a quarter note has, 1 to 96. With `struck` it may be 0: then each piece has 4
        or, if it has triplets, 6 steps (`find_steps_per_beat`), and a roll has 4.
    struck
        Whether a key is silent (0), held (1) or struck (2), and each frame ends with switches that
        say where in the bar it stands (`metre.py`). Otherwise a key is silent (0) or sounds (1).

    Examples
    --------
    >>> roll = np.zeros((8, 88), int)
    >>> roll[:4, 39] = 1  # the middle C, for two beats
    >>> item = Music().open(Song.from_roll(roll, steps_per_beat=2))
    >>> bool((item.sequence.values == roll).all())
    True
    >>> item.steps_of_bars(1, 2)
    slice(0, 8, None)
    """

    name: ClassVar[str] = "music"
    head: ClassVar[str] = "bernoulli"
    options: ClassVar[tuple[str, ...]] = ("steps_per_beat", "struck")
    suffixes: ClassVar[tuple[str, ...]] = (".mid", ".midi", ".musicxml", ".mxl", ".npy")
    binary: ClassVar[bool] = True
    draws: ClassVar[int] = 24
    fewer_draws: ClassVar[Mapping[str, int]] = {"sir": 8}
    # With the 20 steps that `sir` looks ahead, a window has 128 at most. A gap of 60 steps takes a
    # minute by `sir` already, since the time grows with its square.
    stretch: ClassVar[int] = 108
    arranging: ClassVar[type[Arranging] | None] = Composition
    # As much work as 32 particles for 8 draws, but of these, one or two would have all the weight.
    strategy_options: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "sir": {"particles": 4, "replicas": 16, "apart": True}
    }

    steps_per_beat: int = 2
    struck: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.struck, bool):
            raise CaesuraError(f"The option 'struck' must be true or false, not {self.struck!r}.")
        steps = whole_number("steps_per_beat", self.steps_per_beat, 0 if self.struck else 1, 96)
        object.__setattr__(self, "steps_per_beat", steps)

    @classmethod
    def load(cls, path: Path) -> Any:
        """Return the song or score in a file, or the roll in a file that NumPy saved."""
        content = read_midi(path)
        if _is_score(content):
            return Score.load(path)
        if not content.startswith(NUMPY):
            return Song.from_bytes(content, f"The file '{path}'")
        try:
            # Mapped, so that a header with a wrong shape is found before memory is asked for.
            return np.load(path, allow_pickle=False, mmap_mode="r")
        except Exception as error:  # a broken header makes NumPy raise almost anything
            raise CaesuraError(f"The file '{path}' is not a complete NumPy array.") from error

    @classmethod
    def learn(cls, items: List[Any], **options: Any) -> "Music":
        """Return a kind with these options; nothing is learnt, since all pianos have equal keys."""
        for name in options:
            lookup(dict.fromkeys(cls.options), name, "field of music")
        return cls(**options)

    @property
    def frame(self) -> FrameSpec:
        if self.struck:
            return FrameSpec("keys", KEYS + SWITCHES, SWITCHES)
        return FrameSpec("binary", KEYS)

    def open(self, data: Any) -> MusicItem:
        """Return a song, a roll, or the music in a file as an item.

        Raises
        ------
        FileMissingError
            If there is no such file.
        CaesuraError
            If the data is no music, or too long.
        """
        if isinstance(data, MusicItem):
            same = self.steps_per_beat in (0, data.steps_per_beat) and data.struck == self.struck
            return data if same else self.open(data.original)
        path = self.path_of(data)
        music = data if path is None else self.load(path)
        item: MusicItem
        steps, struck = self.steps_per_beat, self.struck
        if isinstance(music, Song):
            steps = steps or find_steps_per_beat(music)
            item = SongItem(music, steps, music.name, struck=struck)
        elif isinstance(music, Score):
            steps = steps or find_steps_per_beat(music.song(1))
            kind = ScoreItem if music.archive is None else PackedScoreItem
            item = kind(music, steps, music.name, struck=struck)
        elif isinstance(music, list | tuple) or hasattr(music, "__array__"):
            name = "The roll" if path is None else f"The file '{path}'"
            item = RollItem(music, steps or GRIDS[0], name, struck=struck)
        else:
            raise CaesuraError(
                f"Music is a MIDI or MusicXML file, a Song, a Score or an array [steps, {KEYS}], "
                f"not {type(data).__name__}."
            )
        _ = item.sequence  # so that mistakes are found here
        return item

    def open_content(self, content: Any) -> MusicItem:
        """Return the content of a MIDI or MusicXML file as an item."""
        score = _is_score(content)
        return self.open(Score.from_bytes(content) if score else Song.from_bytes(content))

    def component(self, number: int) -> int:
        return number - LOWEST_KEY

    def symbols(self) -> list[int]:
        return [SILENT, HELD, STRUCK] if self.struck else [0, 1]

    def rank(
        self, drawn: Shaped[np.ndarray, "draws places"], scores: Float[np.ndarray, " draws"]
    ) -> Int[np.ndarray, " draws"]:
        """Return the numbers of some fills, the one whose notes agree best with all others first.

        Its number of notes is a usual one. The likeliest fill would have too few
        (docs/experiments.md).
        """
        return by_agreement(drawn, scores)

    def settle(
        self, sequence: Sequence, drawn: Shaped[np.ndarray, "draws places"]
    ) -> Shaped[np.ndarray, "draws places"]:
        """Return fills of struck and held keys that notes can be like; `struck.settle` says how."""
        if not self.struck:
            return drawn
        values = np.repeat(sequence.values[None], len(drawn), axis=0).astype(drawn.dtype)
        values[:, sequence.missing] = drawn
        own = None if sequence.line is None else sequence.line.known[:, :KEYS]
        settled = settle(values[..., :KEYS], sequence.missing[:, :KEYS], own)
        return settled[:, sequence.missing[:, :KEYS]]

    def propose(
        self, sequence: Sequence, steps: Span, drawn: Shaped[np.ndarray, "draws places"]
    ) -> Shaped[np.ndarray, " places"] | None:
        """Return what sounds elsewhere in the piece, if all around is alike there and here.

        The net does not remember the bars that it has read; pieces repeat them.
        """
        return find_better_echo(sequence, steps, drawn)

    def plot(self, fill: Any) -> "Figure":
        from caesura.plots.roll import plot_roll

        return plot_roll(fill.values[:, :KEYS] > 0, fill.places, fill.confidence)

    def html(self, fill: Any) -> str:
        from caesura.plots.html import roll_html

        return roll_html(fill.values[:, :KEYS] > 0, fill.places, fill.confidence)

    def steps_of_bars(self, song: Any, first: int, stop: int) -> slice:
        """Return the steps from bar `first` to before bar `stop` of a song, counted from 1.

        Examples
        --------
        >>> song = Song.from_roll(np.zeros((32, 88), int), steps_per_beat=2)
        >>> Music().steps_of_bars(song, 2, 4)
        slice(8, 24, None)
        """
        return self.open(song).steps_of_bars(first, stop)


def _is_score(content: bytes) -> bool:
    """Whether a file begins as MusicXML does, compressed or not."""
    is_xml = content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<"
    return is_xml or content.startswith((ZIP, *UTF16))
