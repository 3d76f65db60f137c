"""Who plays a new note: the voice around the gap whose range is nearest to it."""

from bisect import bisect_right

import numpy as np
from jaxtyping import Bool

from caesura.kinds.midi import Song
from caesura.kinds.notes import Grid, Lane, Voice
from caesura.kinds.roll import runs

BEATS_AROUND = 8  # how far a gap's neighbourhood reaches on either side
DEFAULT_VELOCITY = 80  # for a song without any note to go by


class Voices:
    """The notes that are known to begin around each gap, and what new ones take from them."""

    def __init__(self, song: Song, grid: Grid, lanes: list[Lane], missing: Bool[np.ndarray, "T D"]):
        voices = sorted({lane.voice for lane in lanes})
        known = sorted(
            (note.first, lane.key, note.velocity, voices.index(lane.voice))
            for lane in lanes
            for note in lane.notes
            if not missing[note.first, lane.key]
        )
        self._notes = np.array(known, int).reshape(-1, 4)
        self._voices = voices or [Voice(len(song.tracks) - 1, 0)]
        self._reach = BEATS_AROUND * grid.steps_per_beat
        self._gaps = runs(np.any(missing, axis=1))
        self._around: dict[int, list[tuple[Voice, np.ndarray]]] = {}

    def pick(self, step: int, key: int) -> tuple[Voice, int]:
        """The voice for a new note, and the velocity that is usual there."""
        gap = bisect_right(self._gaps, step, key=lambda edges: edges[1])
        if gap not in self._around:
            self._around[gap] = self._neighbours(*self._gaps[gap])
        neighbours = self._around[gap]
        if not neighbours:
            return self._voices[0], DEFAULT_VELOCITY

        def distance(candidate: tuple[Voice, np.ndarray]) -> tuple[float, float, int]:
            keys = candidate[1][:, 1]
            outside = max(keys.min() - key, key - keys.max(), 0)
            return outside, abs(float(np.median(keys)) - key), -len(keys)

        voice, notes = min(neighbours, key=distance)
        return voice, int(np.median(notes[:, 2]))

    def _neighbours(self, start: int, stop: int) -> list[tuple[Voice, np.ndarray]]:
        firsts = self._notes[:, 0]
        near = slice(*np.searchsorted(firsts, [start - self._reach, stop + self._reach]))
        notes = self._notes[near] if len(self._notes[near]) else self._notes
        return [(self._voices[v], notes[notes[:, 3] == v]) for v in np.unique(notes[:, 3])]
