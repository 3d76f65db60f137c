"""Songs and piano rolls, opened: on a grid of steps, and with other notes in their gaps."""

import base64
import io
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Shaped

from caesura.errors import CaesuraError, whole_number
from caesura.kinds.base import Item
from caesura.kinds.music.midi import Song
from caesura.kinds.music.notes import Grid, Lane, find_lanes, make_roll
from caesura.kinds.music.refill import refill
from caesura.kinds.music.roll import LOWEST_KEY, read_roll
from caesura.sequence import Sequence


@dataclass(frozen=True, eq=False)
class MusicItem(Item):
    """A song or a roll on a grid of `steps_per_beat` steps to the quarter note."""

    original: Any
    steps_per_beat: int
    name: str  # what error messages call it
    wanted: Bool[np.ndarray, "T 88"] | None = None  # what is missing, if not only its own gaps

    @cached_property
    def sequence(self) -> Sequence:
        if self.wanted is None:
            return self.complete
        return Sequence(np.where(self.wanted, np.int8(0), self.complete.values), self.wanted)

    @abstractmethod
    def steps_of_bars(self, first: int, stop: int) -> slice:
        """Return the steps from bar `first` to before bar `stop`, counted from 1.

        A bar that starts between two lines of the grid is moved to the nearest.

        Raises
        ------
        CaesuraError
            If there are no such bars.
        """


class SongItem(MusicItem):
    """A song: nothing is missing in it by itself; `arrange` gives an item that says what is."""

    suffix: ClassVar[str] = ".mid"
    original: Song

    @cached_property
    def grid(self) -> Grid:
        """The steps of the song."""
        return Grid.of(self.original, self.steps_per_beat)

    @cached_property
    def lanes(self) -> list[Lane]:
        """The notes of the song."""
        return find_lanes(self.original, self.grid)

    @cached_property
    def complete(self) -> Sequence:
        roll = make_roll(self.lanes, self.grid)
        return Sequence(roll, np.zeros(roll.shape, bool))

    def write(self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]) -> Song:
        """Return the song with other notes where `missing`; `refill` says what becomes of edges."""
        self._check_shape(missing)
        return refill(self.original, self.grid, self.lanes, missing, values)

    def content(self, filled: Song) -> bytes:
        """Return the content of a MIDI file."""
        return filled.to_bytes()

    def plain(self, filled: Song) -> str:
        """Return the MIDI file in base64."""
        return base64.b64encode(filled.to_bytes()).decode("ascii")

    def view(self, filled: Song) -> dict[str, Any]:
        """Return the notes as [key, first step, step after the last, velocity].

        For the original there are also the number of steps, the steps that bars begin at, and the
        seconds at which steps begin.
        """
        if filled is not self.original:
            return {"notes": _notes(SongItem(filled, self.steps_per_beat, self.name).lanes)}
        ticks = [self.grid.tick(line) for line in range(self.grid.steps + 1)]
        return {
            "notes": _notes(self.lanes),
            "steps": self.grid.steps,
            "bars": sorted(set(self._bar_lines)),
            "seconds": self.original.seconds(ticks),
        }

    def steps_of_bars(self, first: int, stop: int) -> slice:
        lines = self._bar_lines
        first, stop = whole_number("first", first, -(2**31)), whole_number("stop", stop, -(2**31))
        for bar in (first, stop - 1):
            if not 1 <= bar <= len(lines):
                bars = "1 bar" if len(lines) == 1 else f"{len(lines)} bars"
                raise CaesuraError(f"{self.name} has no bar {bar}; it has {bars}.")
        if stop <= first:
            raise CaesuraError(f"There is no bar from bar {first} to before bar {stop}.")
        return slice(lines[first - 1], [*lines, self.grid.steps][stop - 1])

    @property
    def _bar_lines(self) -> list[int]:
        """The lines of the grid that bars begin at."""
        return [min(self.grid.line(start), self.grid.steps) for start in self.original.bars]


class RollItem(MusicItem):
    """A piano roll: an array [steps, 88] of 0 and 1, in which NaN is missing."""

    suffix: ClassVar[str] = ".npy"

    @cached_property
    def complete(self) -> Sequence:
        """The roll as it stands: its NaNs are missing, since nothing else is known of them."""
        return read_roll(self.original, self.name)

    def write(self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]) -> Any:
        """Return an array of the roll's own type."""
        self._check_shape(missing)
        roll = np.array(self.original)
        roll[missing] = values[missing]
        return roll

    def content(self, filled: Any) -> bytes:
        """Return the content of an *.npy file."""
        content = io.BytesIO()
        np.save(content, filled)
        return content.getvalue()

    def plain(self, filled: Any) -> list[Any]:
        """Return the roll as a list of lists."""
        return np.asarray(filled).tolist()

    def steps_of_bars(self, first: int, stop: int) -> slice:
        raise CaesuraError(f"{self.name} has no bars, which only a song has: count in steps.")


def _notes(lanes: list[Lane]) -> list[list[int]]:
    """Return [MIDI number, first step, step after the last, velocity] of each note."""
    each = [(lane.key + LOWEST_KEY, note) for lane in lanes for note in lane.notes]
    notes = [[key, note.first, note.stop, note.velocity] for key, note in each]
    return sorted(notes, key=lambda note: (note[1], note[0]))
