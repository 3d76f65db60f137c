"""Songs and piano rolls, opened: on a grid of steps, and with other notes in their gaps."""

import base64
import io
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Shaped

from caesura.errors import CaesuraError
from caesura.kinds.base import Item
from caesura.kinds.music.metre import SWITCHES, Bar, find_bars, make_metre, unknown_metre
from caesura.kinds.music.midi import Song
from caesura.kinds.music.notes import Grid, Lane, find_lanes, has_finer_notes, make_roll
from caesura.kinds.music.refill import refill
from caesura.kinds.music.rescore import Sound, rescore
from caesura.kinds.music.roll import KEYS, LOWEST_KEY, read_roll
from caesura.kinds.music.score import Score
from caesura.kinds.music.struck import STRUCK, begin, make_frames
from caesura.sequence import Sequence, Span


@dataclass(frozen=True, eq=False)
class MusicItem(Item):
    """A song or a roll on a grid of `steps_per_beat` steps to the quarter note."""

    original: Any
    steps_per_beat: int
    name: str  # what error messages call it
    wanted: Bool[np.ndarray, "T 88"] | None = None  # missing keys, if not only its own gaps
    track: int | None = None  # the only track that gets new notes
    struck: bool = False  # whether keys are silent, held or struck, with the metre beside them

    @cached_property
    def sequence(self) -> Sequence:
        if self.wanted is None:
            return self.complete
        missing = self.widen(self.wanted)
        return Sequence(np.where(missing, np.int8(0), self.complete.values), missing)

    @property
    def roll(self) -> Bool[np.ndarray, "T 88"]:
        """Which keys sound."""
        return self.sequence.values[:, :KEYS] > 0

    def widen(self, keys: Bool[np.ndarray, "T 88"]) -> Bool[np.ndarray, "T D"]:
        """Return what is missing of whole frames, if of the keys this is."""
        return np.pad(keys, [(0, 0), (0, SWITCHES if self.struck else 0)])

    def part(self, values: Shaped[np.ndarray, "T D"], gap: Span) -> Any:
        """Return the keys in one gap."""
        return values[gap.start : gap.stop, :KEYS]

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
        values = make_roll(self.lanes, self.grid)
        if self.struck:
            metre = make_metre(self._bars, self.grid.steps, self.steps_per_beat)
            values = np.concatenate([make_frames(self.lanes, self.grid), metre], axis=1)
        return Sequence(values, np.zeros(values.shape, bool))

    def write(self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]) -> Any:
        """Return the song with other notes where `missing`; `refill` says what becomes of edges."""
        self._check_shape(missing)
        keys = missing[:, :KEYS], values[:, :KEYS]
        return refill(self.song, self.grid, self.lanes, *keys, self.track, struck=self.struck)

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
        lines = self._bar_lines
        first, stop = find_bars(self.name, len(lines), (first, stop), self.first_bar)
        return slice(lines[first], [*lines, self.grid.steps][stop])

    @property
    def first_bar(self) -> int:
        """The number of the first bar."""
        return 1

    @property
    def _bars(self) -> list[Bar]:
        return self.song.metre

    @property
    def _bar_lines(self) -> list[int]:
        """The lines of the grid that bars begin at."""
        ticks = self.grid.ticks_per_beat
        return [min(self.grid.line(bar.start * ticks), self.grid.steps) for bar in self._bars]


class ScoreItem(SongItem):
    """A score in MusicXML, whose notes are written back where they stand in the file."""

    suffix: ClassVar[str] = ".musicxml"

    @cached_property
    def song(self) -> Song:
        score: Score = self.original
        return score.song(self.steps_per_beat)

    @property
    def first_bar(self) -> int:
        number: int = self.original.first_bar
        return number

    @property
    def _bars(self) -> list[Bar]:
        metre: list[Bar] = self.original.metre
        return metre

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
    """A piano roll: an array [steps, 88] of 0 and 1, in which NaN is missing.

    If keys are struck or held, the array may say so: 2 is struck, and 1 is held. If it has no 2, a
    key is struck where it begins to sound, or where nothing is known of the step before.
    """

    suffix: ClassVar[str] = ".npy"

    @cached_property
    def complete(self) -> Sequence:
        """The roll as it stands: its NaNs are missing, since nothing else is known of them."""
        sequence = read_roll(self.original, self.name, self.struck)
        if not self.struck:
            return sequence
        values, missing = sequence.values, sequence.missing
        known = ~missing
        if (values == STRUCK).any():  # then what is held after a gap is meant to be
            known[1:] &= ~missing[:-1]
        metre = unknown_metre(len(values), self.steps_per_beat)
        frames = np.concatenate([begin(values, known), metre], axis=1)
        return Sequence(frames, self.widen(missing))

    def write(self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]) -> Any:
        """Return an array of the roll's own type; in gaps, 2 says that a key is struck.

        After a gap, a key that was struck there needs a 2 if it also sounds at the end of the gap.
        """
        self._check_shape(missing)
        roll = np.array(self.original)
        if not self.struck:
            roll[missing] = values[missing]
            return roll
        missing, own = missing[:, :KEYS], self.complete.values[:, :KEYS]
        roll = roll.astype(np.int8) if roll.dtype == bool else roll
        roll[missing] = begin(np.where(missing, values[:, :KEYS], own), missing)[missing]
        again = replace(self, original=roll, wanted=None).complete.values[:, :KEYS]
        other = ~np.isnan(roll) & ~missing & (again != own)
        roll[other] = own[other]
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
