"""Songs and piano rolls, opened: on a grid of steps, and with other notes in their gaps."""

import base64
import io
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Bool, Int8, Shaped

from caesura.errors import CaesuraError
from caesura.kinds.base import Item
from caesura.kinds.music.adding import add_part, add_track
from caesura.kinds.music.metre import (
    BEAT_BEGINS,
    SWITCHES,
    Bar,
    find_bars,
    make_metre,
    unknown_metre,
)
from caesura.kinds.music.midi import META, Song
from caesura.kinds.music.notes import Grid, Lane, find_lanes, has_finer_notes, make_roll
from caesura.kinds.music.parts import Part
from caesura.kinds.music.refill import refill
from caesura.kinds.music.rescore import Sound, rescore
from caesura.kinds.music.roll import KEYS, LOWEST_KEY, read_roll
from caesura.kinds.music.score import TRACK_NAME, Score
from caesura.kinds.music.struck import STRUCK, begin, make_frames
from caesura.sequence import Line, Sequence, Span


class NamedTrack(NamedTuple):
    """A track with notes."""

    track: int
    name: str  # empty if it has none


@dataclass(frozen=True, eq=False)
class MusicItem(Item):
    """A song or a roll on a grid of `steps_per_beat` steps to the quarter note."""

    original: Any
    steps_per_beat: int
    name: str  # what error messages call it
    wanted: Bool[np.ndarray, "T 88"] | None = None  # missing keys, if not only its own gaps
    track: int | None = None  # the only track that gets new notes
    erased: Bool[np.ndarray, "T 88"] | None = None  # where the notes of this track are taken out
    sings: bool = False  # whether this track has one note at a time
    struck: bool = False  # whether keys are silent, held or struck, with the metre beside them

    @cached_property
    def sequence(self) -> Sequence:
        if self.wanted is None:
            return self.complete
        missing = self.widen(self.wanted)
        return Sequence(np.where(missing, np.int8(0), self.observed), missing, self.line)

    @property
    def observed(self) -> Int8[np.ndarray, "T D"]:
        """The values to go by, whatever of them is missing."""
        return self.complete.values

    @property
    def line(self) -> Line | None:
        """What a fill of one part among others must be like."""
        return None

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

    def with_new_track(self, is_low: bool) -> "SongItem":
        """Return the song with an empty last track, the only one that gets new notes."""
        return replace(self, original=add_track(self.song), track=len(self.song.tracks))

    @property
    def filled_part(self) -> Part:
        """The track that gets new notes, beside the others."""
        assert self.track is not None
        return Part(self.lanes, self.track, self.grid)

    @cached_property
    def parts(self) -> list[NamedTrack]:
        """The tracks with notes."""
        tracks = sorted({lane.voice.track for lane in self.lanes})
        return [NamedTrack(track, _track_name(self.song, track)) for track in tracks]

    @cached_property
    def complete(self) -> Sequence:
        values = self._keys(self.lanes)
        if self.struck:
            values = np.concatenate([values, self._metre], axis=1)
        return Sequence(values, np.zeros(values.shape, bool))

    @property
    def observed(self) -> Int8[np.ndarray, "T D"]:
        """The values of `complete`, but what is taken out of a track does not sound."""
        if self.erased is None:
            return self.complete.values
        values = self.complete.values.copy()
        values[:, :KEYS][self.erased] = self._keys(self.filled_part.others)[self.erased]
        return values

    @property
    def line(self) -> Line | None:
        if self.erased is None:
            return None
        known = np.where(self.erased, np.int8(0), self._keys(self.filled_part.own))
        known = np.pad(known, [(0, 0), (0, self.complete.values.shape[1] - KEYS)])
        rests = self.filled_part.may_rest(np.asarray(self.erased.any(axis=1)))
        return Line(known, rests, self.sings)

    def _keys(self, lanes: list[Lane]) -> Int8[np.ndarray, "T 88"]:
        return make_frames(lanes, self.grid) if self.struck else make_roll(lanes, self.grid)

    def write(self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]) -> Any:
        """Return the song with other notes where `missing`; `refill` says what becomes of edges."""
        self._check_shape(missing)
        gone, keys = self._gone(missing), np.where(missing, values, 0)[:, :KEYS]
        lanes = self.lanes if self.track is None else self.filled_part.own
        return refill(self.song, self.grid, lanes, gone, keys, struck=self.struck)

    def _gone(self, missing: Bool[np.ndarray, "T D"]) -> Bool[np.ndarray, "T 88"]:
        """Where notes are taken out."""
        return missing[:, :KEYS] if self.erased is None else missing[:, :KEYS] | self.erased

    def content(self, filled: Any) -> bytes:
        """Return the content of a file like the original."""
        return bytes(filled.to_bytes())

    def plain(self, filled: Any) -> str:
        """Return the file in base64."""
        return base64.b64encode(self.content(filled)).decode("ascii")

    def view(self, filled: Any) -> dict[str, Any]:
        """Return the notes as [key, first step, step after the last, velocity, part].

        A part is the number of a track among those with notes, from 1. A track that had none before
        has the next number. For the original there are also the names of the parts, the number of
        steps and how many a quarter note has, the steps that bars and beats begin at, the number of
        the first bar, and the seconds at which steps begin.
        """
        number = {part.track: number for number, part in enumerate(self.parts, 1)}
        if filled is not self.original:
            lanes = type(self)(filled, self.steps_per_beat, self.name).lanes
            return {"notes": _notes(lanes, number)}
        ticks = [self.grid.tick(line) for line in range(self.grid.steps + 1)]
        return {
            "notes": _notes(self.lanes, number),
            "parts": [part.name for part in self.parts],
            "steps": self.grid.steps,
            "steps_per_beat": self.steps_per_beat,
            "bars": sorted(set(self._bar_lines)),
            "beats": np.flatnonzero(self._metre[:, BEAT_BEGINS]).tolist(),
            "first_bar": self.first_bar,
            "seconds": self.song.seconds(ticks),
            "suffix": self.suffix,
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

    @cached_property
    def _metre(self) -> Int8[np.ndarray, "T switches"]:
        return make_metre(self._bars, self.grid.steps, self.steps_per_beat)

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

    def with_new_track(self, is_low: bool) -> "ScoreItem":
        """Return the score with a new last part; in the bass clef if it is low."""
        return replace(
            self, original=add_part(self.original, is_low), track=len(self.original.streams)
        )

    def write(self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]) -> Any:
        """Return the score with other notes where `missing`; new ones are coloured."""
        filled = super().write(values, missing)
        ticks, gone = self.grid.ticks_per_beat, self._gone(missing)

        def is_missing(pitch: int, start: Fraction, stop: Fraction) -> bool:
            key = pitch - LOWEST_KEY
            first = min(self.grid.line(start * ticks), self.grid.steps - 1)
            last = max(self.grid.line(stop * ticks), first + 1)
            return 0 <= key < KEYS and bool(gone[first:last, key].any())

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


def _notes(lanes: list[Lane], number: dict[int, int]) -> list[list[int]]:
    """Return [MIDI number, first step, step after the last, velocity, part] of each note."""
    notes = [
        [
            lane.key + LOWEST_KEY,
            note.first,
            note.stop,
            note.velocity,
            number.get(lane.voice.track, len(number) + 1),
        ]
        for lane in lanes
        for note in lane.notes
    ]
    return sorted(notes, key=lambda note: (note[1], note[0]))


def _track_name(song: Song, track: int) -> str:
    for event in song.tracks[track]:
        if event.data[:2] == bytes([META, TRACK_NAME]):
            return event.data[3:].decode("utf-8", "replace").strip()
    return ""
