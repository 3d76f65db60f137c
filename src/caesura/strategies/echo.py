"""Echoes: what stands elsewhere in a text, where the gap could stand.

Names and terms come again in a text, often farther away than the nets read. So what is observed
elsewhere is a good guess, above all if it stands nearby and between the same letters. A search also
scores these guesses, and gives them a share of the probability.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.lib.stride_tricks import sliding_window_view

from caesura.sequence import UNKNOWN, Span
from caesura.sequence import Sequence as Steps

REACH = 10_000  # steps on either side of the gap in which echoes are looked for
COUNTED = 1024  # occurrences, those that count most
MOST = 32  # echoes of a gap
COMPARED = 12  # steps on either side that are compared with those around the gap
NEAR = 100  # steps: nearer ones are hardly better
BESIDE = 8  # steps: a whole word that is nearer to the gap than this hardly ever comes again
NOTHING = -2  # what is not observed, which is like nothing else
# Fitted to gaps in validation texts by benchmarks/echoes.py: docs/experiments.md.
POWER, ALONE = 0.58, 0.53  # of the probability by the nets, in the text and alone (`alone.py`)
# The log of what an occurrence counts: for each equal step around it, for the log of the distance,
# and, if it is no whole word, for each of its own steps.
CONSTANT, EQUAL, DISTANCE, PART = -2.15, 0.425, -0.57, -0.4


class Echoes(NamedTuple):
    """For each of B windows, fills that occur elsewhere; they are distinct."""

    values: Int[np.ndarray, "B E W"]
    log_weight: Float[np.ndarray, "B E"]  # -inf where there are fewer
    edges: Int[np.ndarray, "B 2"]  # the symbols before and after the gap

    @classmethod
    def of(
        cls,
        places: Sequence[tuple[Steps, Span]],
        lengths: Sequence[int],
        is_word: Bool[np.ndarray, " K"],
        width: int,
    ) -> "Echoes":
        """Return the echoes of the gap at each place, if it has this length.

        Several gaps in one span have none.
        """
        values = np.zeros((len(places), MOST, width), int)
        log_weight = np.full(values.shape[:2], -np.inf)
        edges = np.array([edges_of(*place) for place in places])
        for row, ((sequence, span), length) in enumerate(zip(places, lengths, strict=True)):
            if length and sequence.missing[slice(*span)].all():
                found = occurrences(sequence, span, length, is_word)
                strings, weights = strongest(found, MOST)
                values[row, : len(strings), :length] = strings
                log_weight[row, : len(strings)] = weights
        return cls(values, log_weight, edges)


def edges_of(sequence: Steps, gap: Span) -> tuple[int, int]:
    """Return the symbols before and after a gap, or `UNKNOWN` where none is observed."""
    beside = slice(max(0, gap.start - 1), gap.start), slice(gap.stop, gap.stop + 1)
    # `NOTHING` is less than `UNKNOWN`, and symbols are more.
    before, after = (int(_observed(sequence, steps).max(initial=UNKNOWN)) for steps in beside)
    return before, after


class Occurrences(NamedTuple):
    """Strings as long as a gap that are observed elsewhere."""

    strings: Int[np.ndarray, "n length"]
    equal: Int[np.ndarray, " n"]  # how many steps around it are those around the gap
    distance: Int[np.ndarray, " n"]  # how many steps are between it and the gap
    is_part: Bool[np.ndarray, " n"]  # whether it is no whole word, but less or more

    def heaviest(self) -> tuple["Occurrences", Float[np.ndarray, " counted"]]:
        """Return those that count most, and how much they count."""
        length = self.strings.shape[1]
        log_each = CONSTANT + EQUAL * self.equal + PART * length * self.is_part
        each = np.exp(log_each + DISTANCE * np.log(self.distance + NEAR))
        some = np.argsort(-each, kind="stable")[:COUNTED]
        return Occurrences(*(part[some] for part in self)), each[some]


def occurrences(
    sequence: Steps, gap: Span, length: int, is_word: Bool[np.ndarray, " K"]
) -> Occurrences:
    """Return all strings that may be echoes: word ends where the gap has one, on both sides.

    The words beside the gap are not among them.
    """
    left = _observed(sequence, slice(max(0, gap.start - REACH), gap.start))
    right = _observed(sequence, slice(gap.stop, gap.stop + REACH))
    text = np.concatenate([[NOTHING], left, [NOTHING], right, [NOTHING]])
    if length > len(text):
        nothing = np.zeros(0, int)
        return Occurrences(np.zeros((0, length), int), nothing, nothing, nothing > 0)
    before = _equal_before(text, left)
    after = _equal_before(text[::-1], right[::-1])[::-1]
    in_word = np.append(is_word, [False, False])[text]  # the last ones: UNKNOWN and NOTHING
    edge = len(left) + 1
    starts = np.arange(1, len(text) - length)
    stops = starts + length
    fits = _count(text < 0, starts, stops) == 0
    fits &= in_word[starts - 1] == in_word[edge - 1]
    fits &= in_word[stops] == in_word[edge + 1]
    inside = in_word[edge - 1] or in_word[edge + 1]  # the gap begins or ends inside a word
    is_part = (_count(~in_word, starts, stops) > 0) | inside
    distance = np.where(starts < edge, edge - stops, starts - edge - 1)
    fits &= is_part | (distance >= BESIDE)
    return Occurrences(
        strings=sliding_window_view(text, length)[starts[fits]],
        equal=before[starts[fits]] + after[stops[fits]],
        distance=distance[fits],
        is_part=is_part[fits],
    )


def _observed(sequence: Steps, steps: slice) -> Int[np.ndarray, " n"]:
    return np.where(sequence.missing[steps, 0], NOTHING, sequence.values[steps, 0])


def _count(
    on: Bool[np.ndarray, " N"], starts: Int[np.ndarray, " n"], stops: Int[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    """Return how many are on from each start to before its stop."""
    counts = np.cumsum(np.insert(on, 0, False))
    return counts[stops] - counts[starts]


def _equal_before(
    text: Int[np.ndarray, " N"], left: Int[np.ndarray, " n"]
) -> Int[np.ndarray, " N+1"]:
    """Return for each place how many steps before it equal the last ones of `left`."""
    equal = np.zeros(len(text) + 1, int)
    for symbol in left[-COMPARED:]:
        equal[1:] = np.where((text == symbol) & (symbol >= 0), equal[:-1] + 1, 0)
    return equal


def strongest(
    found: Occurrences, most: int
) -> tuple[Int[np.ndarray, "E length"], Float[np.ndarray, " E"]]:
    """Return the distinct strings with the largest weights, and the logs of these."""
    some, each = found.heaviest()
    strings, which = np.unique(some.strings, axis=0, return_inverse=True)
    weights = np.bincount(which.reshape(-1), each, len(strings))
    chosen = np.argsort(-weights, kind="stable")[:most]
    return strings[chosen], np.log(weights[chosen])
