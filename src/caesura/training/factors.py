"""Fitting of the Gaussian model of windows: expectation and maximisation, some windows at a time.

The windows of a table begin at any row, so there are as many as rows. Each round reads some of
them, and what they show is averaged with what earlier ones have shown (online EM, Cappé and
Moulines 2009). With all windows and a step of one, a round is the usual EM.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from caesura.kinds.series.experts import between
from caesura.kinds.series.factors import Factors

LONGEST = 48  # rows of a window
NUMBERS = 3500  # in a window, about, so that a round does not take long
SHORTEST = 8
FEW = 20  # windows beside each other, at least: of fewer, too little can be learnt
FACTORS, MANY = (100, 60), 1000  # of a window, and if it has more than so many numbers
BATCH = 128  # windows of a round
FIRST = 512  # windows that the factors are begun with
NOISE = 1e-4  # variance: without it, a column that the others determine would have none
SLOWER, POWER = 4, 0.6  # of the steps: (1 + n / 4) ** -0.6

Values = Float[np.ndarray, "_ C"]


class Shown(NamedTuple):
    """The expected squares and products, in the mean of some windows."""

    of_factors: Float[np.ndarray, "K K"]
    with_factors: Float[np.ndarray, "C W K"]
    own: Float[np.ndarray, "C W W"]

    def averaged(self, newer: "Shown", step: float) -> "Shown":
        return Shown(*((1 - step) * a + step * b for a, b in zip(self, newer, strict=True)))


class Windows(NamedTuple):
    """Some windows of tables, column by column; zero where nothing is seen."""

    x: Float[np.ndarray, "B C W"]
    seen: Bool[np.ndarray, "B C W"]


def rounds(runs: Sequence[Values], rows: int, seed: int) -> Iterator[Factors]:
    """Yield the model after each round, without end.

    Parameters
    ----------
    runs
        Tables with a mean of zero in each column, NaN where nothing is observed.
    rows
        The length of a window; shorter tables are continued with nothing observed.
    seed
        Of which windows are read.
    """
    rng = np.random.default_rng(seed)
    model, shown, number = begin(rng, draw_windows(rng, runs, rows, FIRST)), None, 0
    while True:
        newer = expect(model, draw_windows(rng, runs, rows, BATCH))
        step = (1 + number / SLOWER) ** -POWER
        shown = newer if shown is None else shown.averaged(newer, step)
        model, number = maximise(shown), number + 1
        yield model


def window_length(
    longest: int, total: int, columns: int, *, most: int = LONGEST, numbers: int = NUMBERS
) -> int:
    """Return how many rows a window has: as many as the longest table, unless that is too much.

    Parameters
    ----------
    longest, total, columns
        Of the tables: the rows of the longest, the rows of all, and the columns.
    most, numbers
        How many rows a window has at most, and about how many numbers.
    """
    return min(longest, max(SHORTEST, min(most, numbers // columns, total // FEW)))


def draw_windows(
    rng: np.random.Generator, runs: Sequence[Values], rows: int, count: int
) -> Windows:
    """Return windows that begin anywhere."""
    room = np.array([max(1, len(run) - rows + 1) for run in runs])
    found = []
    for place in rng.integers(room.sum(), size=count):
        number = int(np.searchsorted(np.cumsum(room), place, side="right"))
        first = int(place - room[:number].sum())
        window = runs[number][first : first + rows]
        short = rows - len(window)
        found.append(np.pad(window, [(0, short), (0, 0)], constant_values=np.nan).T)
    x = np.stack(found).astype(np.float32)
    return Windows(np.nan_to_num(x), ~np.isnan(x))


def lines_of(windows: Windows) -> Float[np.ndarray, "B C W"]:
    """Return windows whose gaps are filled by lines between neighbours."""
    by_row = (np.swapaxes(part, 1, 2) for part in windows)
    return np.swapaxes(between(*by_row), 1, 2)


def begin(rng: np.random.Generator, windows: Windows) -> Factors:
    """Return the principal components of windows whose gaps are filled by lines."""
    count, columns, rows = windows.x.shape
    lines = lines_of(windows)
    flat = lines.reshape(count, -1).astype(windows.x.dtype)
    factors = min(FACTORS[flat.shape[1] > MANY], flat.shape[1] // 3, count // 4)
    # A random projection finds the largest components of a large matrix.
    start = rng.normal(size=(flat.shape[1], min(factors + 10, *flat.shape))).astype(flat.dtype)
    basis, _ = np.linalg.qr(flat @ (flat.T @ (flat @ start)))
    _, sizes, directions = np.linalg.svd(basis.T @ flat, full_matrices=False)
    sizes, directions = sizes[:factors] / np.sqrt(count), directions[:factors]
    rest = (flat - (flat @ directions.T) @ directions).reshape(lines.shape)
    own = (_products(rest) + 0.1 * _products(lines)) / count
    # Lines vary less than numbers do: columns have more of their own than lines show.
    loadings = (0.7 * sizes * directions.T).reshape(columns, rows, factors)
    own = own.astype(flat.dtype) + 100 * NOISE * np.eye(rows, dtype=flat.dtype)
    return Factors(loadings.astype(flat.dtype), own)


def expect(model: Factors, windows: Windows) -> Shown:
    """Return the expected squares and products, given what is seen."""
    count, factors = len(windows.x), model.loadings.shape[-1]
    found = model.read(*windows)
    squares = (found.covariance.sum(axis=0) + found.factors.T @ found.factors) / count
    spread = (found.weighted.reshape(count, -1, factors) @ found.covariance).reshape(
        found.weighted.shape
    )
    # What a column has of its own, times the factors, and times itself.
    cross = np.tensordot(found.residual, found.factors, (0, 0)) - spread.sum(axis=0)
    cross = model.own @ cross / count
    change = _products(found.residual) - found.precision.sum(axis=0)
    change += (spread @ np.swapaxes(found.weighted, -1, -2)).sum(axis=0)
    own = model.own + model.own @ change @ model.own / count
    mixed = model.loadings @ np.swapaxes(cross, -1, -2)
    both = model.loadings @ squares @ np.swapaxes(model.loadings, -1, -2)
    return Shown(
        squares, model.loadings @ squares + cross, both + mixed + np.swapaxes(mixed, -1, -2) + own
    )


def maximise(shown: Shown) -> Factors:
    """Return the model that explains the expectations best."""
    columns, rows, factors = shown.with_factors.shape
    flat = shown.with_factors.reshape(-1, factors)
    loadings = np.linalg.solve(shown.of_factors, flat.T).T.reshape(columns, rows, factors)
    own = shown.own - loadings @ np.swapaxes(shown.with_factors, -1, -2)
    own = (own + np.swapaxes(own, -1, -2)) / 2
    return Factors(loadings, own + NOISE * np.eye(rows, dtype=own.dtype))


def _products(x: Float[np.ndarray, "B C W"]) -> Float[np.ndarray, "C W W"]:
    by_column = np.moveaxis(x, 1, 0)
    return np.swapaxes(by_column, -1, -2) @ by_column
