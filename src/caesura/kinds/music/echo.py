"""Echoes: a gap of music filled with a copy of the most similar place of the same piece.

Music repeats its bars, but a net forgets what it read long ago. So the place whose surroundings are
most like those of the gap is looked for, and what sounds there is another fill.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from caesura.kinds.music.choice import agreement
from caesura.kinds.music.roll import KEYS
from caesura.sequence import Sequence, Span, runs

SHORTEST = 8  # steps: around a shorter gap, as much is compared as around one of these
REACH = 3  # lengths of the gap, on either side


class Echo(NamedTuple):
    """What sounds elsewhere, and how much the surroundings there resemble those of the gap."""

    values: Shaped[np.ndarray, "n D"]
    resemblance: float  # F1 of the notes around, in which near steps count more


def find_echo(sequence: Sequence, gap: Span) -> Echo | None:
    """Return the echo of a gap, or None if nothing sounds around it or there is no such place.

    Of places that resemble it equally, the nearest is taken.

    Examples
    --------
    >>> roll = np.zeros((48, 88), np.int8)
    >>> roll[4::8, 40] = roll[5::8, 40] = 1  # every eight steps
    >>> missing = np.zeros(roll.shape, bool)
    >>> missing[20:24] = True
    >>> echo = find_echo(Sequence(np.where(missing, 0, roll), missing), Span(20, 24))
    >>> echo.values[:, 40].tolist(), echo.resemblance > 0.5
    ([1, 1, 0, 0], True)
    """
    steps, size = len(sequence), gap.stop - gap.start
    scale = max(size, SHORTEST)
    first, last = max(0, gap.start - REACH * scale), min(steps, gap.stop + REACH * scale)
    places = np.arange(first, last)
    distance = np.maximum(np.maximum(gap.start - 1 - places, places - gap.stop), 0)
    weights = 0.5 ** (distance / scale)
    unheard = sequence.missing[:, :KEYS]  # what is beside the keys does not sound
    heard = (~unheard & (sequence.values[:, :KEYS] > 0)).astype(np.float32)
    target = weights[:, None] * heard[first:last]
    observed = weights[:, None] * ~unheard[first:last]
    shifts = _possible(sequence, gap)
    if not len(shifts) or not target.any():
        return None
    both = _sums(target.astype(np.float32) @ heard.T, first, shifts)
    there = _sums(observed.astype(np.float32) @ heard.T, first, shifts)
    resemblance = 2 * both / (target.sum() + there)
    best = np.lexsort((np.abs(shifts), -resemblance.round(6)))[0]
    source = gap.start + int(shifts[best])
    return Echo(sequence.values[source : source + size], float(resemblance[best]))


def _possible(sequence: Sequence, gap: Span) -> Int[np.ndarray, " shifts"]:
    """Return how far away a fill may be copied from: where all that is missing here is observed, at
    the same places of the bar, if the metre is known."""
    wanted, metre = sequence.missing[gap.start : gap.stop], sequence.values[:, KEYS:]
    size = gap.stop - gap.start
    return np.array(
        [
            start - gap.start
            for start in range(len(sequence) - size + 1)
            if not np.any(wanted & sequence.missing[start : start + size])
            and np.array_equal(metre[start : start + size], metre[gap.start : gap.stop])
        ],
        int,
    )


def _sums(
    products: Float[np.ndarray, "n T"], first: int, shifts: Int[np.ndarray, " shifts"]
) -> Float[np.ndarray, " shifts"]:
    """Return the sum over all steps t of the product of t and t + shift; there is nothing outside
    of the piece."""
    # The step t is the row t − first, and the column of t + shift is on the same diagonal for all.
    return np.array([np.trace(products, offset=first + shift) for shift in shifts.tolist()])


def find_better_echo(
    sequence: Sequence, steps: Span, drawn: Shaped[np.ndarray, "draws places"]
) -> Shaped[np.ndarray, " places"] | None:
    """Return the echoes of all gaps in some steps of a piece, if they are better than random fills.

    The random fills stand for what the truth may be: the best of them is expected to agree with it
    as it does with the others. An echo is expected to agree with it as the notes around them do,
    which promises a little too much where they differ a lot (docs/experiments.md). Only gaps in
    which all keys are missing have echoes: elsewhere in the piece, one voice is not told from the
    others.
    """
    here = slice(steps.start, steps.stop)
    missing = sequence.missing[here]
    whole = np.asarray(missing[:, :KEYS].all(axis=1))
    if len(drawn) < 2 or np.any(whole != sequence.missing_steps[here]):
        return None
    values, expected = sequence.values[here].copy(), 0.0
    for first, stop in runs(whole):
        echo = find_echo(sequence, Span(steps.start + first, steps.start + stop))
        if echo is None:
            return None
        values[first:stop] = echo.values
        expected += echo.resemblance * (stop - first) / int(whole.sum())
    with_itself = 1 / len(drawn)
    best = (agreement(drawn).max() - with_itself) / (1 - with_itself)
    return values[missing] if expected > best else None
