"""Music: the 88 keys of a piano at each step, from MIDI files or piano rolls."""

import io
import os
from collections.abc import Iterable
from collections.abc import Sequence as List
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Shaped

from caesura.errors import CaesuraError, lookup, whole_number
from caesura.kinds.base import Kind
from caesura.kinds.music.midi import Song
from caesura.kinds.music.notes import Grid, find_lanes, make_roll
from caesura.kinds.music.refill import refill
from caesura.kinds.music.roll import KEYS, read_roll
from caesura.sequence import Sequence

SUFFIXES = {".mid", ".midi", ".npy"}


@dataclass(frozen=True)
class Music(Kind):
    """A song on a grid of `steps_per_beat` steps to the quarter note.

    What can be read is a MIDI file, by its path or as a `Song`, or a roll: an array [steps, 88] of
    0 and 1, or the path of one that NumPy saved, in which NaN is missing. `Grid` says when a note
    counts to a step, and `refill` what becomes of notes at the edge of a gap. Drums and notes off
    the keyboard are not seen, and stay.
    """

    frame: ClassVar[str] = "binary"
    head: ClassVar[str] = "bernoulli"
    options: ClassVar[tuple[str, ...]] = ("steps_per_beat",)

    steps_per_beat: int = 2

    def __post_init__(self) -> None:
        steps = whole_number("steps_per_beat", self.steps_per_beat, 1, 96)
        object.__setattr__(self, "steps_per_beat", steps)

    @classmethod
    def find(cls, paths: Iterable[Path]) -> list[Path]:
        """Music files, sorted: those that are named, and the *.mid, *.midi and *.npy in folders.

        Files whose names start with a dot are left out, since some systems keep notes of their own
        in them.
        """
        found: set[Path] = set()
        for path in map(Path, paths):
            if not os.path.exists(path):
                raise CaesuraError(f"There is no file or folder '{path}'.")
            if not os.path.isdir(path):
                found.add(path)
                continue
            inside = {
                file
                for file in path.rglob("*")
                if file.suffix.lower() in SUFFIXES and file.is_file() and file.name[0] != "."
            }
            if not inside:
                raise CaesuraError(f"The folder '{path}' holds no *.mid, *.midi or *.npy file.")
            found |= inside
        return sorted(found, key=Path.as_posix)

    @classmethod
    def items(cls, data: Iterable[Any]) -> list[Any]:
        """A string is a path here."""
        return super().items(Path(d) if isinstance(d, str) else d for d in data)

    @classmethod
    def learn(cls, items: List[Any], **options: Any) -> "Music":
        """There is nothing to learn from music: all pianos have the same keys."""
        for name in options:
            lookup(dict.fromkeys(cls.options), name, "field of music")
        return cls(**options)

    @property
    def size(self) -> int:
        return KEYS

    def read(self, data: Any) -> Sequence:
        music = load_music(data)
        if not isinstance(music, Song):
            return read_roll(music, _name(data))
        grid = Grid.of(music, self.steps_per_beat)
        roll = make_roll(find_lanes(music, grid), grid)
        return Sequence(roll, np.zeros(roll.shape, bool))

    def write(
        self, data: Any, missing: Bool[np.ndarray, "T D"], values: Shaped[np.ndarray, "T D"]
    ) -> Any:
        """A song from a MIDI file, an array from a roll; a file itself is never changed."""
        music = load_music(data)
        if not isinstance(music, Song):
            roll = np.array(music)
            _check_shape(missing, len(roll))
            roll[missing] = values[missing]
            return roll
        grid = Grid.of(music, self.steps_per_beat)
        _check_shape(missing, grid.steps)
        return refill(music, grid, find_lanes(music, grid), missing, values)

    def symbols(self) -> list[int]:
        return [0, 1]

    def steps_of_bars(self, song: Any, first: int, stop: int) -> slice:
        """The steps from bar `first` to before bar `stop`, counted from 1.

        A bar that starts between two lines of the grid is moved to the nearest.
        """
        music = load_music(song)
        if not isinstance(music, Song):
            raise CaesuraError("A roll has no bars, only a song has.")
        grid = Grid.of(music, self.steps_per_beat)
        lines = [min(grid.line(start), grid.steps) for start in music.bars]
        first = whole_number("first", first, 1, len(lines))
        stop = whole_number("stop", stop, first + 1, len(lines) + 1)
        return slice(lines[first - 1], [*lines, grid.steps][stop - 1])


def _check_shape(missing: Bool[np.ndarray, "T D"], steps: int) -> None:
    if missing.shape != (steps, KEYS):
        raise CaesuraError(
            f"`missing` has the shape {list(missing.shape)}, but the music has {[steps, KEYS]}."
        )


def load_music(data: Any) -> Any:
    """A song, or what may be a roll; a path stands for what is in the file."""
    if isinstance(data, Song):
        return data
    if isinstance(data, (str, os.PathLike)):
        return _load_roll(data) if _is_roll(data) else Song.load(data)
    if isinstance(data, (list, tuple)) or hasattr(data, "__array__"):
        return data
    raise CaesuraError(
        f"Music is a MIDI file, a Song or an array [steps, {KEYS}], not {type(data).__name__}."
    )


def music_bytes(music: Any) -> bytes:
    """A song as a MIDI file, a roll as NumPy saves it."""
    if isinstance(music, Song):
        return music.to_bytes()
    content = io.BytesIO()
    np.save(content, music)
    return content.getvalue()


def _name(data: Any) -> str:
    """What error messages call a roll."""
    return f"The file '{data}'" if isinstance(data, (str, os.PathLike)) else "The roll"


def _is_roll(path: str | os.PathLike[str]) -> bool:
    """Whether NumPy wrote the file; a path that cannot be read is for `Song.load` to tell of."""
    try:
        with open(path, "rb") as file:
            return file.read(6) == b"\x93NUMPY"
    except (OSError, ValueError):
        return False


def _load_roll(path: str | os.PathLike[str]) -> Any:
    try:
        # Mapped, so that a header with a wrong shape is found out before memory is asked for.
        return np.load(path, allow_pickle=False, mmap_mode="r")
    except Exception as error:  # a broken header makes NumPy raise almost anything
        raise CaesuraError(f"The file '{os.fspath(path)}' is not a whole NumPy array.") from error
