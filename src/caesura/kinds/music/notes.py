"""From events to notes, and from ticks to steps: which keys of a song sound when."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int8

from caesura.errors import CaesuraError
from caesura.kinds.music.midi import NOTE_OFF, NOTE_ON, Song
from caesura.kinds.music.roll import KEYS, LOWEST_KEY, MOST_STEPS
from caesura.sequence import runs

DRUMS = 9  # the channel that is called 10 on instruments
BEATS_NEAR = 4  # before and after a gap, where notes show how fine its music is
GRIDS = 4, 6  # steps to the quarter note, of which one is found for a piece
CLEARLY = 2 / 3  # how much nearer to the lines of the second grid notes must begin
APART = 0.4  # of a step: notes that begin less far apart are meant to begin together


@dataclass(frozen=True)
class Grid:
    """The steps of a song: step t lies between the lines t and t + 1, in whole numbers of ticks.

    A note is moved to the lines nearest to its start and its end, and sounds from the one to the
    other, but for one step at least. In other words: it is on in the steps in whose middle it
    sounds, and a note too short for that in the step that starts nearest to it. So a note may
    come half a step before or after the beat, and a staccato note is as good as a long one.
    """

    ticks_per_beat: int
    steps_per_beat: int
    steps: int

    @classmethod
    def of(cls, song: Song, steps_per_beat: int) -> "Grid":
        """Return a grid up to the song's end; half a tick more or less is rounding."""
        if song.ticks_per_beat < steps_per_beat:
            raise CaesuraError(
                f"{song.name} has {song.ticks_per_beat} ticks a beat, too few for "
                f"{steps_per_beat} steps."
            )
        steps = -(-(2 * song.end - 1) * steps_per_beat // (2 * song.ticks_per_beat))
        if steps < 1:
            raise CaesuraError(f"{song.name} is empty.")
        if steps > MOST_STEPS:
            raise CaesuraError(f"{song.name} is longer than {MOST_STEPS} steps.")
        return cls(song.ticks_per_beat, steps_per_beat, steps)

    def line(self, tick: int | Fraction) -> int:
        """Return the line nearest to a tick, the later of two."""
        return (2 * tick * self.steps_per_beat + self.ticks_per_beat) // (2 * self.ticks_per_beat)

    def tick(self, line: int) -> int:
        """Return the tick nearest to a line; a step is at least a tick long, so none is between."""
        return (2 * line * self.ticks_per_beat + self.steps_per_beat) // (2 * self.steps_per_beat)


def find_steps_per_beat(song: Song) -> int:
    """Return 4 steps to the quarter note, or 6 if the song has triplets and few sixteenths.

    What counts is how far from a line of the grid notes begin, in parts of a step, on average. With
    6 steps this must be at least a third less: so music that keeps to neither grid has 4.
    """
    onsets = np.array(
        [
            event.tick
            for track in song.tracks
            for event in track
            if event.data[0] & 0xF0 == NOTE_ON
            and event.data[0] & 0x0F != DRUMS
            and event.data[2] > 0
        ]
    )
    if not onsets.size:
        return GRIDS[0]
    places = [onsets * steps / song.ticks_per_beat for steps in GRIDS]
    four, six = (float(np.abs(place - np.rint(place)).mean()) for place in places)
    return GRIDS[1] if six < CLEARLY * four else GRIDS[0]


class Voice(NamedTuple):
    """Where notes are written: a track, and a channel in it."""

    track: int
    channel: int


class Note(NamedTuple):
    """A note with its events: on from step `first` to before step `stop`."""

    first: int
    stop: int
    on: int  # the number of its first event in the track
    off: int | None  # none if the next note ends it, or nothing does
    on_tick: int
    off_tick: int
    velocity: int


class Stray(NamedTuple):
    """A note's end without a beginning; it counts to the step before it, as any end does."""

    step: int
    off: int
    tick: int


@dataclass(frozen=True)
class Lane:
    """All that happens to one key in one voice: notes one after the other.

    As on an instrument, any end of a note silences its key, and a key that is struck again ends
    its last note. A note that is never ended sounds on to the end of the song. The fingers count,
    not the pedal.
    """

    voice: Voice
    key: int  # counted from the piano's first
    notes: list[Note] = field(default_factory=list)
    strays: list[Stray] = field(default_factory=list)


class Press(NamedTuple):
    """A note's event: a key is struck, or let go if the velocity is zero."""

    place: int  # its number in the track
    tick: int
    velocity: int


def find_lanes(song: Song, grid: Grid) -> list[Lane]:
    """Return the piano's part of a song: no drums, and no notes off the keyboard."""
    presses: dict[tuple[Voice, int], list[Press]] = defaultdict(list)
    for number, track in enumerate(song.tracks):
        for place, (tick, data) in enumerate(track):
            status, channel = data[0] & 0xF0, data[0] & 0x0F
            if status in (NOTE_OFF, NOTE_ON) and channel != DRUMS:
                velocity = data[2] if status == NOTE_ON else 0
                lane = Voice(number, channel), data[1] - LOWEST_KEY
                presses[lane].append(Press(place, tick, velocity))
    return [
        _pair(Lane(voice, key), those, grid)
        for (voice, key), those in presses.items()
        if 0 <= key < KEYS
    ]


def _pair(lane: Lane, presses: list[Press], grid: Grid) -> Lane:
    """The lane with the notes and strays that the presses make."""
    notes, sounding = lane.notes, None
    for press in presses:
        if press.velocity:
            if sounding:
                notes.append(_note(sounding, press.tick, None, grid))
            sounding = press
        elif not sounding:
            step = min(max(grid.line(press.tick) - 1, 0), grid.steps - 1)
            lane.strays.append(Stray(step, press.place, press.tick))
        elif notes and notes[-1].off is None and notes[-1].off_tick == press.tick:
            # Some programs write the end of a note after the start of one that follows at once.
            notes[-1] = notes[-1]._replace(off=press.place)
        else:
            notes.append(_note(sounding, press.tick, press.place, grid))
            sounding = None
    if sounding:
        notes.append(_note(sounding, grid.tick(grid.steps), None, grid))
    return lane


def _note(on: Press, off_tick: int, off: int | None, grid: Grid) -> Note:
    first = min(grid.line(on.tick), grid.steps - 1)
    stop = max(grid.line(off_tick), first + 1)
    return Note(first, stop, on.place, off, on.tick, off_tick, on.velocity)


def make_roll(lanes: list[Lane], grid: Grid) -> Int8[np.ndarray, "T 88"]:
    """Return a roll that is one where a key sounds in any voice."""
    roll = np.zeros((grid.steps, KEYS), np.int8)
    by_key: dict[int, list[Note]] = defaultdict(list)
    for lane in lanes:
        by_key[lane.key] += lane.notes
    for key, notes in by_key.items():
        # Counted at their edges: thousands of voices may hold a key for as many steps.
        change = np.zeros(grid.steps + 1, np.int32)
        np.add.at(change, [note.first for note in notes], 1)
        np.add.at(change, [note.stop for note in notes], -1)
        roll[:, key] = change.cumsum()[:-1] > 0
    return roll


def has_finer_notes(lanes: list[Lane], grid: Grid, missing: Bool[np.ndarray, "T D"]) -> bool:
    """Return whether two notes that follow each other in or near a gap fall on one line.

    Only the keys that are missing somewhere count.
    """
    reach = BEATS_NEAR * grid.steps_per_beat
    near = np.zeros(grid.steps, bool)
    for start, stop in runs(np.any(missing, axis=1)):
        near[max(start - reach, 0) : stop + reach] = True
    keys: Bool[np.ndarray, " 88"] = np.any(missing, axis=0)
    ticks: dict[tuple[Voice, int], list[int]] = defaultdict(list)
    for lane in lanes:
        for note in lane.notes if keys[lane.key] else []:
            if near[note.first]:
                ticks[lane.voice, grid.line(note.on_tick)].append(note.on_tick)
    least = APART * grid.ticks_per_beat / grid.steps_per_beat
    return any(max(each) - min(each) >= least for each in ticks.values())


def sing(notes: Iterable[Note], grid: Grid) -> bool:
    """Return whether there is never more than one note at a time, as of a singer or a flute.

    Notes may overlap by less than half a step, as in legato.
    """
    spans = sorted((note.on_tick, note.off_tick) for note in notes)
    least = grid.ticks_per_beat / grid.steps_per_beat / 2
    return all(stop - start < least for (_, stop), (start, _) in pairwise(spans))
