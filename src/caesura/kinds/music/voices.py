"""The voice of a new note: among the voices that are free, the one with the nearest range."""

from bisect import bisect_right
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from caesura.kinds.music.midi import NOTE_ON, Song
from caesura.kinds.music.notes import DRUMS, Grid, Lane, Voice, sing
from caesura.sequence import runs

BEATS_AROUND = 8  # how far a gap's neighbourhood reaches on either side
DEFAULT_VELOCITY = 80  # for a song without any note to go by


class Neighbour(NamedTuple):
    """What a voice plays around a gap."""

    voice: Voice
    lowest: int
    highest: int
    middle: float
    velocity: int
    notes: int


class Voices:
    """The notes that are known to begin around each gap, and what new ones take from them.

    Of a voice that is missing from end to end, what it played before is as good a guide.
    """

    def __init__(self, song: Song, grid: Grid, lanes: list[Lane], missing: Bool[np.ndarray, "T D"]):
        voices = sorted({lane.voice for lane in lanes})
        presses = _presses(song)
        self._voices = voices or [Voice(len(song.tracks) - 1, _free_channel(presses))]
        self._velocity = int(np.median([data[2] for data in presses] or [DEFAULT_VELOCITY]))
        self._busy = np.zeros((len(self._voices), grid.steps), bool)
        guide = []
        for number, voice in enumerate(voices):
            own = [(note, lane.key) for lane in lanes if lane.voice == voice for note in lane.notes]
            known = [(note, key) for note, key in own if not missing[note.first, key]]
            guide += [(n.first, key, n.velocity, number) for n, key in known or own]
            if sing((note for note, _ in own), grid):
                for note, _ in known:
                    self._busy[number, note.first : note.stop] = True
        self._notes = np.array(sorted(guide), int).reshape(-1, 4)
        self._reach = BEATS_AROUND * grid.steps_per_beat
        self._gaps = runs(np.any(missing, axis=1))
        self._around: dict[int, list[Neighbour]] = {}

    def pick(self, step: int, key: int) -> tuple[Voice, int]:
        """The voice for a new note, and the velocity that is usual there."""
        gap = bisect_right(self._gaps, step, key=lambda edges: edges[1])
        if gap not in self._around:
            self._around[gap] = self._neighbours(*self._gaps[gap])
        if not self._around[gap]:
            return self._voices[0], self._velocity

        def distance(to: Neighbour) -> tuple[bool, int, float, int]:
            """A free voice is nearer, then the nearer range, the nearer middle, the busier one."""
            busy = bool(self._busy[self._voices.index(to.voice), step])
            outside = max(to.lowest - key, key - to.highest, 0)
            return busy, outside, abs(to.middle - key), -to.notes

        nearest = min(self._around[gap], key=distance)
        return nearest.voice, nearest.velocity

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


def _presses(song: Song) -> list[bytes]:
    """What begins the notes of a song, in all its tracks."""
    events = (data for track in song.tracks for _, data in track)
    return [data for data in events if data[0] & 0xF0 == NOTE_ON and data[2]]


def _free_channel(presses: list[bytes]) -> int:
    """A channel without notes, which sounds as a piano; the first one if there is none."""
    taken = {data[0] & 0x0F for data in presses} | {DRUMS}
    return next((channel for channel in range(16) if channel not in taken), 0)
