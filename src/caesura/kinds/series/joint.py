"""What a Gaussian model says about all missing numbers of a table together: draws and densities.

Rows that are filled by different windows are independent of each other, given what is observed.
Within a window, all numbers depend on each other, across columns and across time.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from caesura.kinds.series.factors import Factors, WindowModel, windows
from caesura.sequence import Span


class Window(NamedTuple):
    """Some rows of a table, column by column."""

    rows: slice  # of the table
    kept: Span  # of the table, that are filled here
    inside: slice  # of the window, those
    x: Float[np.ndarray, "C W"]  # scores, zero where nothing is seen
    seen: Bool[np.ndarray, "C W"]


def draw(
    model: WindowModel,
    rng: np.random.Generator,
    table: Float[np.ndarray, "T C"],
    seen: Bool[np.ndarray, "T C"],
    count: int,
) -> Float[np.ndarray, "count T C"]:
    """Return random courses of a table, given what is seen of it."""
    factors, drawn = _precise(model.factors), np.empty((count, *table.shape))
    roots = np.linalg.cholesky(factors.own)
    for one in _windows_of(model, table, seen):
        found = factors.read(one.x[None], one.seen[None])
        free = rng.normal(size=(len(found.factors[0]), count))
        shared = found.factors[0][:, None] + np.linalg.cholesky(found.covariance[0]) @ free
        course = factors.loadings @ shared + roots @ rng.normal(size=(*one.x.shape, count))
        # A draw of all numbers, moved by what it lacks of those that are seen (Matheron's rule).
        course += factors.own @ (found.precision[0] @ (one.x[..., None] - course))
        drawn[:, slice(*one.kept)] = course[:, one.inside].transpose(2, 1, 0)
    for column, curve in enumerate(model.curves):
        drawn[..., column] = curve.to_numbers(drawn[..., column])
    return drawn


def log_prob(
    model: WindowModel,
    table: Float[np.ndarray, "T C"],
    seen: Bool[np.ndarray, "T C"],
    asked: Bool[np.ndarray, "T C"],
    numbers: Float[np.ndarray, "n T C"],
) -> Float[np.ndarray, " n"]:
    """Return the log-density of numbers at the places that are asked for, given what is seen."""
    factors, total = _precise(model.factors), np.zeros(len(numbers))
    scores = np.zeros_like(numbers, np.float64)
    for column, curve in enumerate(model.curves):
        at = asked[:, column]
        scores[:, at, column] = curve.to_scores(numbers[:, at, column])
        total += curve.log_slope(numbers[:, at, column]).sum(axis=1)
    for one in _windows_of(model, table, seen):
        here = np.zeros(one.seen.shape, bool)
        here[:, one.inside] = asked[slice(*one.kept)].T
        if here.any():
            x = np.repeat(one.x[None], len(numbers), axis=0)
            x[:, :, one.inside] += np.swapaxes(scores[:, slice(*one.kept)], 1, 2)
            total += _log_density(factors, x, one.seen | here)
            total -= _log_density(factors, one.x[None], one.seen)
    return total


def _log_density(
    factors: Factors, x: Float[np.ndarray, "n C W"], seen: Bool[np.ndarray, "C W"]
) -> Float[np.ndarray, " n"]:
    """Return the log-density of what is seen; x is zero elsewhere."""
    found = factors.read(np.zeros_like(x[:1]), seen[None])
    both = seen[:, :, None] & seen[:, None, :]
    own = np.where(both, factors.own, np.eye(x.shape[-1]) * ~seen[:, :, None])
    # The determinant of the whole covariance, from those of its parts.
    size = np.linalg.slogdet(own)[1].sum() - np.linalg.slogdet(found.covariance[0])[1]
    weighted = (found.precision[0] @ x[..., None])[..., 0]
    explained = weighted.reshape(len(x), -1) @ factors.loadings.reshape(-1, len(found.factors[0]))
    squares = (weighted * x).sum(axis=(1, 2))
    squares -= ((explained @ found.covariance[0]) * explained).sum(axis=1)
    return -0.5 * (squares + size + seen.sum() * np.log(2 * np.pi))


def _windows_of(
    model: WindowModel, table: Float[np.ndarray, "T C"], seen: Bool[np.ndarray, "T C"]
) -> Iterator[Window]:
    """Yield the windows of a table, the last rows of a short one with nothing seen."""
    rows = model.factors.own.shape[-1]
    x = np.where(seen, model.scores_of(np.where(seen, table, 0.0)), 0.0)
    short = [(0, max(0, rows - len(table))), (0, 0)]
    x, there = np.pad(x, short), np.pad(seen, short)
    for start, kept in windows(len(table), rows):
        at = slice(start, start + rows)
        inside = slice(kept.start - start, kept.stop - start)
        yield Window(at, kept, inside, x[at].T, there[at].T)


def _precise(factors: Factors) -> Factors:
    """Return the parameters in double precision: densities are differences of large numbers."""
    return Factors(*(part.astype(np.float64) for part in factors))
