"""Echoes: what stands elsewhere in a text, between the same letters as the gap.

Names and terms come again in a text, often farther away than the nets read. So what is observed
elsewhere is a good guess, above all where it stands between the same letters. A search also scores
these guesses, and gives them a share of the probability.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.lib.stride_tricks import sliding_window_view

from caesura.sequence import Sequence as Steps
from caesura.sequence import Span

REACH = 10_000  # steps on either side of the gap in which echoes are looked for
COUNTED = 1024  # occurrences, those that count most
MOST = 32  # echoes of a gap
COMPARED = 12  # steps on either side that are compared with those around the gap
NOTHING = -2  # what is not observed, which is like nothing else
# Fitted to 660 gaps in validation texts: docs/experiments.md.
POWER = 0.3  # of the nets' probability of an echo
CONSTANT, EQUAL = -5.5, 0.55  # the log of what an occurrence counts, and for each equal step


class Echoes(NamedTuple):
    """For each of B windows, fills that occur elsewhere; they are distinct."""

    values: Int[np.ndarray, "B E W"]
    log_weight: Float[np.ndarray, "B E"]  # -inf where there are fewer

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
        for row, ((sequence, span), length) in enumerate(zip(places, lengths, strict=True)):
            if length and sequence.missing[slice(*span)].all():
                found = occurrences(sequence, span, length, is_word)
                strings, weights = strongest(found, MOST)
                values[row, : len(strings), :length] = strings
                log_weight[row, : len(strings)] = weights
        return cls(values, log_weight)


class Occurrences(NamedTuple):
    """Strings as long as a gap that are observed elsewhere."""

    strings: Int[np.ndarray, "n length"]
    before: Int[np.ndarray, " n"]  # how many steps before it are those before the gap
    after: Int[np.ndarray, " n"]


def occurrences(
    sequence: Steps, gap: Span, length: int, is_word: Bool[np.ndarray, " K"]
) -> Occurrences:
    """Return all strings that may be echoes: word ends where the gap has one, on both sides."""
    left = _observed(sequence, slice(max(0, gap.start - REACH), gap.start))
    right = _observed(sequence, slice(gap.stop, gap.stop + REACH))
    text = np.concatenate([[NOTHING], left, [NOTHING], right, [NOTHING]])
    if length > len(text):
        nothing = np.zeros(0, int)
        return Occurrences(np.zeros((0, length), int), nothing, nothing)
    before = _equal_before(text, left)
    after = _equal_before(text[::-1], right[::-1])[::-1]
    in_word = np.append(is_word, [False, False])[text]  # the last ones: UNKNOWN and NOTHING
    edge = len(left) + 1
    unknown = np.cumsum(np.insert(text < 0, 0, 0))
    starts = np.arange(1, len(text) - length)
    stops = starts + length
    fits = unknown[stops] == unknown[starts]
    fits &= in_word[starts - 1] == in_word[edge - 1]
    fits &= in_word[stops] == in_word[edge + 1]
    starts = starts[fits]
    strings = sliding_window_view(text, length)[starts]
    return Occurrences(strings, before[starts], after[starts + length])


def _observed(sequence: Steps, steps: slice) -> Int[np.ndarray, " n"]:
    return np.where(sequence.missing[steps, 0], NOTHING, sequence.values[steps, 0])


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
    each = np.exp(CONSTANT + EQUAL * (found.before + found.after))
    some = np.argsort(-each, kind="stable")[:COUNTED]
    strings, which = np.unique(found.strings[some], axis=0, return_inverse=True)
    weights = np.bincount(which.reshape(-1), each[some], len(strings))
    chosen = np.argsort(-weights, kind="stable")[:most]
    return strings[chosen], np.log(weights[chosen])
