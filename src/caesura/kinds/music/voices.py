"""The voices of new notes: each goes to the nearest voice, and no singer gets two at a time."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool

from caesura.kinds.music.midi import NOTE_ON, Song
from caesura.kinds.music.notes import DRUMS, Grid, Lane, Voice, sing
from caesura.sequence import runs

BEATS_AROUND = 8  # how far a gap's neighbourhood reaches on either side
DEFAULT_VELOCITY = 80  # for a song without any note to go by
OUTSIDE = 10  # as many semitones as one beyond the range of a voice
BUSY = 1e6  # for a second note of a voice that sings: more than any distance


class Neighbour(NamedTuple):
    """What a voice plays around a gap."""

    voice: Voice
    lowest: int
    highest: int
    middle: float
    velocity: int
    notes: int


class NewNote(NamedTuple):
    """A note that a fill begins: on from step `first` to before step `stop`."""

    first: int
    stop: int
    key: int


class Voices:
    """The notes that are known to begin around each gap, and what new ones take from them.

    Of a voice that is missing from end to end, what it played before is as good a guide.
    """

    def __init__(self, song: Song, grid: Grid, lanes: list[Lane], missing: Bool[np.ndarray, "T D"]):
        voices = sorted({lane.voice for lane in lanes})
        presses = _presses(song)
        self._voices = voices or [Voice(len(song.tracks) - 1, _free_channel(presses))]
        self._velocity = int(np.median([data[2] for data in presses] or [DEFAULT_VELOCITY]))
        self._busy: dict[Voice, Bool[np.ndarray, " T"]] = {}  # of those that sing
        guide = []
        for number, voice in enumerate(voices):
            own = [(note, lane.key) for lane in lanes if lane.voice == voice for note in lane.notes]
            known = [(note, key) for note, key in own if not missing[note.first, key]]
            guide += [(n.first, key, n.velocity, number) for n, key in known or own]
            if sing((note for note, _ in own), grid):
                self._busy[voice] = np.zeros(grid.steps, bool)
                for note, key in known:
                    there = slice(note.first, note.stop)
                    self._busy[voice][there] |= ~missing[there, key]
        self._notes = np.array(sorted(guide), int).reshape(-1, 4)
        self._reach = BEATS_AROUND * grid.steps_per_beat
        self._gaps = runs(np.any(missing, axis=1))
        self._around: dict[int, list[Neighbour]] = {}

    def take(self, voice: Voice, first: int, stop: int) -> None:
        """Say that a voice has a note, from one step to before another."""
        if voice in self._busy:
            self._busy[voice][first:stop] = True

    def assign(self, notes: Iterable[NewNote]) -> Iterator[tuple[NewNote, Voice, int]]:
        """Yield each note with its voice, and the velocity that is usual there.

        Those that begin together are given to voices so that all are as near as can be, and do not
        cross. A voice that sings gets another note at a time only if there is no other voice.
        """
        for first, together in groupby(sorted(notes), key=lambda note: note.first):
            chord = sorted(together, key=lambda note: note.key)
            around = self._at(first)
            if not around:
                yield from ((note, self._voices[0], self._velocity) for note in chord)
                continue
            free = [one for one in around if self._is_free(one, first)]
            # Or any number of notes to a voice that does not sing, or has one already.
            others = [self._nearest(note, around) for note in chord]
            for note, to in zip(chord, _match(chord, free, others), strict=True):
                self.take(to.voice, first, note.stop)
                yield note, to.voice, to.velocity

    def _is_free(self, one: Neighbour, step: int) -> bool:
        return one.voice in self._busy and not self._busy[one.voice][step]

    def _nearest(self, note: NewNote, around: list[Neighbour]) -> tuple[float, Neighbour]:
        """The voice for a note if no singer is free for it, and how far it is."""
        costs = [_distance(note, one) + BUSY * (one.voice in self._busy) for one in around]
        best = int(np.argmin(costs))
        return costs[best], around[best]

    def _at(self, step: int) -> list[Neighbour]:
        """What the voices play around the gap of a step."""
        gap = bisect_right(self._gaps, step, key=lambda edges: edges[1])
        if gap not in self._around:
            self._around[gap] = self._neighbours(*self._gaps[gap])
        return self._around[gap]

    def _neighbours(self, start: int, stop: int) -> list[Neighbour]:
        """What the voices play around a gap, or in the whole song if all are silent there."""
        edges = [start - self._reach, stop + self._reach]
        around = self._notes[slice(*np.searchsorted(self._notes[:, 0], edges))]
        notes = around if len(around) else self._notes
        neighbours = []
        for number in np.unique(notes[:, 3]):
            _, keys, velocities, _ = notes[notes[:, 3] == number].T
            middle, velocity = float(np.median(keys)), int(np.median(velocities))
            lowest, highest, voice = int(keys.min()), int(keys.max()), self._voices[number]
            neighbours.append(Neighbour(voice, lowest, highest, middle, velocity, len(keys)))
        return neighbours


def _match(
    chord: list[NewNote], free: list[Neighbour], others: list[tuple[float, Neighbour]]
) -> list[Neighbour]:
    """Return the voice of each note, from low to high: free ones in their order, or its other one.

    The sum of all distances is the least that there is.
    """
    singers = sorted(free, key=lambda one: one.middle)
    # For the notes so far, by how many of the singers were asked: the least sum, and who got them.
    best: list[tuple[float, Any]] = [(0.0, None)] * (len(singers) + 1)
    for note, (cost, other) in zip(chord, others, strict=True):
        new: list[tuple[float, Any]] = [(best[0][0] + cost, (best[0][1], other))]
        for asked, one in enumerate(singers, 1):
            before, at = best[asked - 1], best[asked]
            with_it = before[0] + _distance(note, one), (before[1], one)
            without = at[0] + cost, (at[1], other)
            new.append(min(with_it, without, new[-1], key=lambda way: way[0]))
        best = new
    voices, given = [], best[-1][1]
    while given is not None:
        given, one = given
        voices.append(one)
    return voices[::-1]


def _distance(note: NewNote, to: Neighbour) -> float:
    """How far a note is from a voice: from its range, then its middle; busier voices are nearer."""
    outside = max(to.lowest - note.key, note.key - to.highest, 0)
    return OUTSIDE * outside + abs(to.middle - note.key) + 0.1 / to.notes


def _presses(song: Song) -> list[bytes]:
    """What begins the notes of a song, in all its tracks."""
    events = (data for track in song.tracks for _, data in track)
    return [data for data in events if data[0] & 0xF0 == NOTE_ON and data[2]]


def _free_channel(presses: list[bytes]) -> int:
    """A channel without notes, which sounds as a piano; the first one if there is none."""
    taken = {data[0] & 0x0F for data in presses} | {DRUMS}
    return next((channel for channel in range(16) if channel not in taken), 0)
