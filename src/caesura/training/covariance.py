"""Fitting of a Gaussian model with a covariance for every two numbers of a window, by EM.

As for `caesura.training.factors`, each round reads some windows, and what they show is averaged
with what earlier ones have shown. There are no factors to be guessed, so fewer rounds are needed:
with little missing, the first windows say nearly everything.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from caesura.kinds.series.covariance import Covariance, inverse
from caesura.training.factors import NOISE, Values, Windows, draw_windows, lines_of, window_length

LONGEST, NUMBERS = 96, 400  # of a window; the time of a round grows as the cube of NUMBERS
BATCH = 256  # windows of a round
FIRST = 2048  # windows that the covariance is begun with
SPARE = 0.05  # of a variance, at the start: lines vary less than numbers do
SLOWER, POWER = 4, 0.8  # of the steps: (1 + n / 4) ** -0.8


def fitting_rows(longest: int, total: int, columns: int) -> int:
    """Return how many rows a window has; 0 if there are too many columns."""
    rows = window_length(longest, total, columns, most=LONGEST, numbers=NUMBERS)
    return rows if rows * columns <= NUMBERS else 0


def rounds(runs: Sequence[Values], rows: int, seed: int) -> Iterator[Covariance]:
    """Yield the model after each round, without end; the parameters are those for factors."""
    rng = np.random.default_rng(seed)
    lines = lines_of(draw_windows(rng, runs, rows, FIRST)).reshape(FIRST, -1)
    shown, one, number = lines.T @ lines / FIRST, np.eye(lines.shape[1]), 0
    covariance = shown + SPARE * one
    size = runs[0].shape[1], rows
    while True:
        newer = expect(covariance, draw_windows(rng, runs, rows, BATCH))
        step = (1 + number / SLOWER) ** -POWER
        shown, number = (1 - step) * shown + step * newer, number + 1
        covariance = shown + NOISE * one
        yield Covariance(covariance.reshape(*size, *size))


def expect(covariance: Float[np.ndarray, "n n"], windows: Windows) -> Float[np.ndarray, "n n"]:
    """Return the expected products of all pairs of numbers, in the mean of some windows."""
    count = len(windows.x)
    x = windows.x.reshape(count, -1).astype(np.float64)
    seen = windows.seen.reshape(count, -1)
    precision = inverse(covariance)
    weighted, few = x @ precision, 2 * seen.sum(axis=1) <= seen.shape[1]
    # The covariances of what is not seen, and, of windows with few numbers, what these take away.
    spread, taken = np.zeros((2, *covariance.shape))
    for row in np.flatnonzero(~few):
        rest = np.flatnonzero(~seen[row])
        at = np.ix_(rest, rest)
        own = inverse(precision[at])
        spread[at] += own
        x[row, rest] = -own @ weighted[row, rest]
    for row in np.flatnonzero(few):
        here = np.flatnonzero(seen[row])
        at = np.ix_(here, here)
        own = inverse(covariance[at])
        taken[at] += own
        x[row, here] = own @ x[row, here]
    x[few] = x[few] @ covariance
    spread += few.sum() * covariance - covariance @ taken @ covariance
    total = x.T @ x + spread
    return (total + total.T) / (2 * count)
