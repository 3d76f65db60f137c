"""Parts with one note at a time: each frame is drawn given that at most one missing key sounds.

The few frames that a part can have at a step are scored by the net's head, and one of them is drawn
in proportion. So a step is exact: it has the head's distribution, given what the part may do there.
A gap is filled step by step. This is not the model's distribution of whole fills given that all
steps keep to the rule, which would take a look ahead.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Int8, Shaped

from caesura.hardware import pad
from caesura.nets.heads.base import Query
from caesura.sequence import Sequence as Steps

HELD = 1  # if a key is silent, held or struck
Lanes = Int[np.ndarray, " n"]
Score = Callable[[Query], Float[np.ndarray, " n"]]


class Lines(NamedTuple):
    """The lines of the sequences of B windows; `known` begins a step before the window."""

    bound: Bool[np.ndarray, " B"]  # whether the sequence has a line that sings
    known: Int8[np.ndarray, "B W+2 D"]
    rests: Bool[np.ndarray, "B W"]

    @classmethod
    def around(
        cls, sequences: Sequence[Steps], starts: Sequence[int], width: int
    ) -> "Lines | None":
        """Return the lines of some sequences from a step of each on; None if none of them sings."""
        bound = np.array([one.line is not None and one.line.sings for one in sequences])
        if not bound.any():
            return None
        known = np.zeros((len(bound), width + 2, sequences[0].values.shape[1]), np.int8)
        rests = np.ones((len(bound), width), bool)
        for row, (one, start) in enumerate(zip(sequences, starts, strict=True)):
            if one.line is not None:
                with_edges = np.pad(one.line.known, [(1, 1), (0, 0)])
                known[row] = pad(with_edges[start : start + width + 2], width + 2)
                own = one.line.rests[start : start + width]
                rests[row, : len(own)] = own
        return cls(bound, known, rests)

    def choices(
        self,
        drawn: Shaped[np.ndarray, "B S W D"],
        missing: Bool[np.ndarray, "B W D"],
        values: int,
        lanes: tuple[Lanes, Lanes, Lanes],
        leftward: Bool[np.ndarray, " n"],
    ) -> Bool[np.ndarray, "n values D"]:
        """Return the notes that a part may have at a step: the value of one missing key.

        The value 0 of the first key stands for silence.

        Parameters
        ----------
        drawn
            The fills so far, in the direction of each.
        missing
            What is missing in each window.
        values
            How many values a key has: 2, or 3 if it is silent, held or struck.
        lanes
            The window, the fill and the step of each lane.
        leftward
            Which lanes go from right to left.
        """
        rows, fills, t = lanes
        to_left, last = leftward[:, None], missing.shape[1] - 1
        earlier, later = np.maximum(t - 1, 0), np.minimum(t + 1, last)
        here = missing[rows, t]
        # Of a step that is not drawn yet, any missing key may sound, and none must.
        drawn_before = np.where(to_left, HELD, drawn[rows, fills, earlier])
        drawn_after = np.where(to_left, drawn[rows, fills, later], 0)
        in_gap = missing[rows, earlier] & (t > 0)[:, None]
        before = np.where(in_gap, drawn_before, self.known[rows, t])
        in_gap = missing[rows, later] & (t < last)[:, None]
        after = np.where(in_gap, drawn_after, self.known[rows, t + 2])
        allowed = np.repeat(here[:, None], values, axis=1)
        allowed[:, 0] = False
        must = here & (after == HELD) & (values > HELD + 1)  # for it is held at the next step
        if values > HELD + 1:
            allowed[:, HELD] &= before > 0
        forced = must.any(axis=1)
        allowed[forced] &= must[forced, None]
        sounding = self.known[rows, t + 1].any(axis=1)
        allowed[sounding & ~forced] = False
        allowed[:, 0, 0] = ~allowed.any(axis=(1, 2)) | (self.rests[rows, t] & ~forced)
        return allowed


def draw_one(
    chance: Float[np.ndarray, " n"],
    query: Query,
    allowed: Bool[np.ndarray, "n values D"],
    score: Score,
) -> Shaped[np.ndarray, "D n"]:
    """Return frames in which at most one missing key sounds, drawn in proportion to their scores.

    Parameters
    ----------
    chance
        Uniform numbers between 0 and 1.
    query
        What is asked of each frame.
    allowed
        As `Lines.choices` gives it.
    score
        Gives the log-probability of the missing keys of some frames.
    """
    lanes, values, keys = np.nonzero(allowed)
    silent = np.where(query.missing, 0, query.frame)
    frames = _with_note(silent[:, lanes], keys, values)
    scores = np.full(allowed.shape, -np.inf)
    scores[lanes, values, keys] = score(
        Query(query.context[:, lanes], frames, query.missing[:, lanes])
    )
    flat = scores.reshape(len(allowed), -1)
    total = np.cumsum(np.exp(flat - flat.max(axis=1, keepdims=True)), axis=1)
    drawn = np.sum(total <= chance[:, None] * total[:, -1:], axis=1)
    value, key = np.unravel_index(drawn, allowed.shape[1:])
    return _with_note(silent, key, value)


def _with_note(
    frames: Shaped[np.ndarray, "D n"], keys: Lanes, values: Lanes
) -> Shaped[np.ndarray, "D n"]:
    """Return frames with a value of one key each; 0 is silence, whichever key it is of."""
    frames = frames.copy()
    sounds = np.flatnonzero(values)
    frames[keys[sounds], sounds] = values[sounds]
    return frames
