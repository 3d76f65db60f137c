"""Windows of long tables: rows that a net reads at once, and what is filled there."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool

from caesura.sequence import Span, runs

ROWS = 512  # of a window
AROUND = 64  # of them on either side are only seen; a longer gap is long


def windows(
    lacking: Bool[np.ndarray, "T C"],
) -> Iterator[tuple[Span, Bool[np.ndarray, "W C"]]]:
    """Yield the rows of each window of a table, and what is filled there of what is lacking.

    Windows are evenly spread. A long gap that two of them would divide is filled by another one,
    with the gap near the middle. Gaps of several columns can share it.
    """
    if len(lacking) <= ROWS:
        yield Span(0, len(lacking)), lacking
        return
    spread = list(_evenly(len(lacking)))
    left, alone = lacking.copy(), dict[int, Bool[np.ndarray, "W C"]]()
    for border in (kept.stop for _, kept in spread[:-1]):
        for column in np.flatnonzero(left[border - 1] & left[border]).tolist():
            gap = _around(left[:, column], border)
            if AROUND < gap.stop - gap.start <= ROWS - 2 * AROUND:
                start = AROUND * round((gap.start + gap.stop - ROWS) / 2 / AROUND)
                start = min(max(0, start), len(left) - ROWS)
                here = alone.setdefault(start, np.zeros((ROWS, left.shape[1]), bool))
                here[gap.start - start : gap.stop - start, column] = True
                left[slice(*gap), column] = False
    for rows, kept in spread:
        here = np.zeros((ROWS, left.shape[1]), bool)
        here[kept.start - rows.start : kept.stop - rows.start] = left[slice(*kept)]
        if here.any():
            yield rows, here
    for start, here in alone.items():
        yield Span(start, start + ROWS), here


def _evenly(length: int) -> Iterator[tuple[Span, Span]]:
    """Yield the rows of each window, and those that it fills."""
    start, done = 0, 0
    while done < length:
        start = min(start, length - ROWS)
        stop = length if start + ROWS == length else start + ROWS - AROUND
        yield Span(start, start + ROWS), Span(done, stop)
        start, done = start + ROWS - 2 * AROUND, stop


def _around(lacking: Bool[np.ndarray, " T"], row: int) -> Span:
    """Return the gap around a row, or a part of it that is longer than a window."""
    first = max(0, row - ROWS)
    nearby = runs(lacking[first : row + ROWS])
    (gap,) = (one for one in nearby if one.start <= row - first < one.stop)
    return Span(first + gap.start, first + gap.stop)
