"""Parts that are filled alone: each frame is drawn given what the part may do at the step.

Of a part with one note at a time, at most one missing key sounds: the few frames that it can have
are scored by the net's head, and one of them is drawn in proportion. Of other parts that do not
rest, at least one missing key sounds. So a step is exact: it has the head's distribution, given the
rule. A gap is filled step by step. This is not the model's distribution of whole fills given that
all steps keep to the rule, which would take a look ahead.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Int8, Shaped

from caesura.hardware import pad
from caesura.nets.heads.base import Head, Query
from caesura.sequence import UNKNOWN
from caesura.sequence import Sequence as Steps

HELD = 1  # if a key is silent, held or struck
LEAST = 1e-30  # of a probability
Lanes = Int[np.ndarray, " n"]
Score = Callable[[Query], Float[np.ndarray, " n"]]


class Lines(NamedTuple):
    """The lines of the sequences of B windows; `known` begins a step before the window."""

    sings: Bool[np.ndarray, " B"]
    known: Int8[np.ndarray, "B W+2 D"]
    rests: Bool[np.ndarray, "B W"]  # true everywhere if there is no line

    @classmethod
    def around(
        cls, sequences: Sequence[Steps], starts: Sequence[int], width: int
    ) -> "Lines | None":
        """Return the lines of some sequences from a step of each on; None if there are none."""
        if all(one.line is None for one in sequences):
            return None
        sings = np.zeros(len(sequences), bool)
        known = np.zeros((len(sings), width + 2, sequences[0].values.shape[1]), np.int8)
        rests = np.ones((len(sings), width), bool)
        for row, (one, start) in enumerate(zip(sequences, starts, strict=True)):
            if one.line is not None:
                with_edges = np.pad(one.line.known, [(1, 1), (0, 0)])
                known[row] = pad(with_edges[start : start + width + 2], width + 2)
                own = one.line.rests[start : start + width]
                rests[row, : len(own)] = own
                sings[row] = one.line.sings
        return cls(sings, known, rests)

    def must_sound(self, rows: Lanes, t: Lanes) -> Bool[np.ndarray, " n"]:
        """Return whether at least one missing key sounds, of a part that need not sing."""
        return ~self.sings[rows] & ~self.rests[rows, t] & ~self.known[rows, t + 1].any(axis=1)

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
    drawn, _ = _pick(np.exp(flat - flat.max(axis=1, keepdims=True)), chance)
    value, key = np.unravel_index(drawn, allowed.shape[1:])
    return _with_note(silent, key, value)


def draw_some(
    chance: Float[np.ndarray, "D n"], query: Query, head: Head
) -> Shaped[np.ndarray, "D n"]:
    """Return frames in which at least one missing key sounds, as the head has them given that.

    The lowest key that sounds is drawn first, then its value, then the keys above it.
    """
    _, frame, missing = query
    silent = np.where(missing, 0, frame)
    log_silent = head.chain(query._replace(frame=silent)).astype(np.float64)
    before = np.cumsum(log_silent, axis=0) - log_silent
    # No key is impossible, even if its probability is too small for a number.
    lowest = np.where(missing, np.maximum(np.exp(before) * -np.expm1(log_silent), LEAST), 0.0)
    key, rest = _pick(lowest.T, chance[0])
    above = missing & (np.arange(len(frame))[:, None] > key)
    begun = np.where(above, UNKNOWN, silent)
    values = range(1, head.frame.cardinality)
    scores = [
        head.log_prob(query._replace(frame=_with_note(begun, key, np.full_like(key, value))))
        for value in values
    ]
    weights = np.exp(np.stack(scores, axis=1) - np.max(scores, axis=0)[:, None])
    value = 1 + _pick(weights, rest)[0]
    return head.draw(chance, Query(query.context, _with_note(silent, key, value), above))


def _pick(
    weights: Float[np.ndarray, "n m"], chance: Float[np.ndarray, " n"]
) -> tuple[Lanes, Float[np.ndarray, " n"]]:
    """Return one of m for each row, in proportion to its weight, and another uniform number.

    `chance` are uniform numbers. Where they fall between the sums before and after the weight is
    uniform again.
    """
    total = np.cumsum(weights.astype(np.float64), axis=1)
    place = chance * total[:, -1]
    picked = np.sum(total <= place[:, None], axis=1)
    each = np.arange(len(picked)), picked
    return picked, (place - (total[each] - weights[each])) / weights[each]


def _with_note(
    frames: Shaped[np.ndarray, "D n"], keys: Lanes, values: Lanes
) -> Shaped[np.ndarray, "D n"]:
    """Return frames with a value of one key each; 0 is silence, whichever key it is of."""
    frames = frames.copy()
    sounds = np.flatnonzero(values)
    frames[keys[sounds], sounds] = values[sounds]
    return frames
