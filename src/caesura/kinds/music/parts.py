"""One part of a song beside the others: where its notes may be, and whether it sings and rests.

What holds for the rest of the part is to hold for a fill of it. If all of the part is missing, it
is what the part had there before.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int

from caesura.kinds.music.notes import Grid, Lane, make_roll, sing
from caesura.kinds.music.roll import KEYS
from caesura.kinds.music.struck import HELD, make_frames
from caesura.sequence import runs

BEATS_NEAR = 16  # before and after a gap, where a part shows whether it rests
# A part that rests, or crosses another one, at no larger share of its steps does not in a gap.
RESTS, CROSSES = 0.02, 0.1


@dataclass(frozen=True, eq=False)
class Part:
    """A track of a song, with what the other tracks play."""

    lanes: list[Lane]
    track: int
    grid: Grid

    @cached_property
    def own(self) -> list[Lane]:
        """What the part plays."""
        return [lane for lane in self.lanes if lane.voice.track == self.track]

    @cached_property
    def others(self) -> list[Lane]:
        """What the other parts play."""
        return [lane for lane in self.lanes if lane.voice.track != self.track]

    @property
    def sings(self) -> bool:
        """Whether it has one note at a time."""
        notes = [note for lane in self.own for note in lane.notes]
        return bool(notes) and sing(notes, self.grid)

    def may_rest(self, gap: Bool[np.ndarray, " T"]) -> Bool[np.ndarray, " T"]:
        """Return at which steps of the gaps a part may be silent.

        It may where all others are, and where it rests around a gap: between its first and its last
        note, while another part plays. A part without notes is new: it does not rest.
        """
        sounds, others = (self._edges(lanes)[1] >= 0 for lanes in (self.own, self.others))
        rests, played = gap & ~others & bool(self.others), np.flatnonzero(sounds)
        if not len(played):
            return rests
        between = np.zeros_like(sounds)
        between[played[0] : played[-1] + 1] = True
        if (between & others).any():
            between &= others
        reach = BEATS_NEAR * self.grid.steps_per_beat
        for start, stop in runs(gap):
            near = np.zeros_like(sounds)
            near[max(start - reach, 0) : stop + reach] = True
            near &= between & ~gap
            known = sounds[near] if near.any() else sounds[between]
            rests[start:stop] |= np.mean(~known) > RESTS
        return rests

    def without_unison(self, gone: Bool[np.ndarray, "T 88"]) -> Bool[np.ndarray, "T 88"]:
        """Return what is taken out of the part, if this is missing of it.

        A note that sounds on after a gap stays if another part has its key at the end of the gap,
        as far back as that. For no fill can hold a key there that is not missing.
        """
        own, others = make_frames(self.own, self.grid), make_roll(self.others, self.grid)
        gone = gone.copy()
        for start, stop in runs(np.asarray(gone.any(axis=1))):
            goes_on = own[stop] == HELD if stop < len(own) else np.zeros(KEYS, bool)
            for step in range(stop - 1, start - 1, -1):
                goes_on = goes_on & (own[step] > 0) & (others[step] > 0)
                if not goes_on.any():
                    break
                gone[step] &= ~goes_on
                goes_on = goes_on & (own[step] == HELD)
        return gone

    def free_keys(self, gone: Bool[np.ndarray, "T 88"]) -> Bool[np.ndarray, "T 88"]:
        """Return which of the part's missing keys may sound.

        These are the keys of its range that no other part plays; a part without notes has all keys.
        If the part hardly ever crosses another one, it does not do it here, unless nothing would be
        left. A note that sounds on after a gap may begin in it.
        """
        free = gone & (make_roll(self.others, self.grid) == 0)
        if own := [lane.key for lane in self.own]:
            free[:, : min(own)] = free[:, max(own) + 1 :] = False
        within = free & self._not_crossing(gone)
        goes_on = make_frames(self.own, self.grid)[1:] == HELD
        within[:-1] |= free[:-1] & ~gone[1:] & goes_on
        return np.where(within.any(axis=1, keepdims=True), within, free)

    def _not_crossing(self, gone: Bool[np.ndarray, "T 88"]) -> Bool[np.ndarray, "T 88"]:
        """Return the keys between the parts above and those below."""
        lowest, highest = self._edges(self.own)
        known = (highest >= 0) & ~gone.any(axis=1)
        known = known if known.any() else highest >= 0
        keys, between = np.arange(KEYS), np.ones(gone.shape, bool)
        for track in {lane.voice.track for lane in self.others}:
            low, high = self._edges([lane for lane in self.others if lane.voice.track == track])
            both = known & (high >= 0)
            above, below = (low > highest)[both], (high < lowest)[both]
            if above.any() and np.mean((low < highest)[both]) <= CROSSES:
                between &= keys < low[:, None]
            elif below.any() and np.mean((high > lowest)[both]) <= CROSSES:
                between &= keys > high[:, None]
        return between

    def _edges(self, lanes: list[Lane]) -> tuple[Int[np.ndarray, " T"], Int[np.ndarray, " T"]]:
        """The lowest and the highest key at each step; above and below all keys in silence."""
        on, keys = make_roll(lanes, self.grid) > 0, np.arange(KEYS)
        return np.where(on, keys, KEYS).min(axis=1), np.where(on, keys, -1).max(axis=1)
