"""Songs and piano rolls, opened: on a grid of steps, and with other notes in their gaps."""

import base64
import io
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Shaped

from caesura.errors import CaesuraError, whole_number
from caesura.kinds.base import Item
from caesura.kinds.music.midi import Song
from caesura.kinds.music.notes import Grid, Lane, find_lanes, has_finer_notes, make_roll
from caesura.kinds.music.refill import refill
from caesura.kinds.music.rescore import Sound, rescore
from caesura.kinds.music.roll import KEYS, LOWEST_KEY, read_roll
from caesura.kinds.music.score import Score
from caesura.sequence import Sequence


@dataclass(frozen=True, eq=False)
class MusicItem(Item):
    """A song or a roll on a grid of `steps_per_beat` steps to the quarter note."""

    original: Any
    steps_per_beat: int
    name: str  # what error messages call it
    wanted: Bool[np.ndarray, "T 88"] | None = None  # what is missing, if not only its own gaps
    track: int | None = None  # the only track that gets new notes

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
    original: Any

    @property
    def song(self) -> Song:
        """What sounds, in tracks."""
        song: Song = self.original
        return song

    @cached_property
    def grid(self) -> Grid:
        """The steps of the song."""
        return Grid.of(self.song, self.steps_per_beat)

    @cached_property
    def lanes(self) -> list[Lane]:
        """The notes of the song."""
        return find_lanes(self.song, self.grid)

    @cached_property
    def complete(self) -> Sequence:
        roll = make_roll(self.lanes, self.grid)
        return Sequence(roll, np.zeros(roll.shape, bool))

    def write(self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]) -> Any:
        """Return the song with other notes where `missing`; `refill` says what becomes of edges."""
        self._check_shape(missing)
        return refill(self.song, self.grid, self.lanes, missing, values, self.track)

    def content(self, filled: Any) -> bytes:
        """Return the content of a file like the original."""
        return bytes(filled.to_bytes())

    def plain(self, filled: Any) -> str:
        """Return the file in base64."""
        return base64.b64encode(self.content(filled)).decode("ascii")

    def view(self, filled: Any) -> dict[str, Any]:
        """Return the notes as [key, first step, step after the last, velocity].

        For the original there are also the number of steps, the steps that bars begin at, and the
        seconds at which steps begin.
        """
        if filled is not self.original:
            return {"notes": _notes(type(self)(filled, self.steps_per_beat, self.name).lanes)}
        ticks = [self.grid.tick(line) for line in range(self.grid.steps + 1)]
        return {
            "notes": _notes(self.lanes),
            "steps": self.grid.steps,
            "bars": sorted(set(self._bar_lines)),
            "seconds": self.song.seconds(ticks),
        }

    def doubts(self, missing: Bool[np.ndarray, "T D"]) -> list[str]:
        """Return a sentence if the music there is too fine for the grid."""
        if not has_finer_notes(self.lanes, self.grid, missing):
            return []
        return [
            f"{self.name} has notes around the gap that are too short for the model's grid of "
            f"{self.steps_per_beat} steps to the quarter note: new notes follow the grid."
        ]

    def steps_of_bars(self, first: int, stop: int) -> slice:
        lines, zero = self._bar_lines, self.first_bar
        first, stop = whole_number("first", first, -(2**31)), whole_number("stop", stop, -(2**31))
        for bar in (first, stop - 1):
            if not zero <= bar < zero + len(lines):
                bars = "1 bar" if len(lines) == 1 else f"{len(lines)} bars"
                bars += ", from bar 0" if zero == 0 else ""
                raise CaesuraError(f"{self.name} has no bar {bar}; it has {bars}.")
        if stop <= first:
            raise CaesuraError(f"There is no bar from bar {first} to before bar {stop}.")
        return slice(lines[first - zero], [*lines, self.grid.steps][stop - zero])

    @property
    def first_bar(self) -> int:
        """The number of the first bar."""
        return 1

    @property
    def _bar_starts(self) -> list[Fraction]:
        """The ticks at which bars begin."""
        return self.song.bars

    @property
    def _bar_lines(self) -> list[int]:
        """The lines of the grid that bars begin at."""
        return [min(self.grid.line(start), self.grid.steps) for start in self._bar_starts]


class ScoreItem(SongItem):
    """A score in MusicXML, whose notes are written back where they stand in the file."""

    suffix: ClassVar[str] = ".musicxml"

    @cached_property
    def song(self) -> Song:
        score: Score = self.original
        return score.song(self.steps_per_beat)

    @property
    def first_bar(self) -> int:
        """Bars have the numbers of the page: an upbeat may have the number 0."""
        return 0 if self.original.measures[0].number.strip() == "0" else 1

    @property
    def _bar_starts(self) -> list[Fraction]:
        return [measure.start * self.grid.ticks_per_beat for measure in self.original.measures]

    def write(self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]) -> Any:
        """Return the score with other notes where `missing`; new ones are coloured."""
        filled = super().write(values, missing)
        ticks = self.grid.ticks_per_beat

        def is_missing(pitch: int, start: Fraction, stop: Fraction) -> bool:
            key = pitch - LOWEST_KEY
            first = min(self.grid.line(start * ticks), self.grid.steps - 1)
            last = max(self.grid.line(stop * ticks), first + 1)
            return 0 <= key < KEYS and bool(missing[first:last, key].any())

        after = find_lanes(filled, self.grid)
        sounds = self._sounds(self.lanes), self._sounds(after)
        return rescore(self.original, *sounds, is_missing, self.steps_per_beat)

    def _sounds(self, lanes: list[Lane]) -> list[set[Sound]]:
        """The notes of each stream of the score, which is a track of the song."""
        ticks = self.grid.ticks_per_beat
        sounds: list[set[Sound]] = [set() for _ in self.original.streams]
        for lane in lanes:
            for note in lane.notes:
                times = Fraction(note.on_tick, ticks), Fraction(note.off_tick, ticks)
                sounds[lane.voice.track].add(Sound(lane.key + LOWEST_KEY, *times))
        return sounds


class PackedScoreItem(ScoreItem):
    """A score that came as compressed MusicXML."""

    suffix: ClassVar[str] = ".mxl"


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
