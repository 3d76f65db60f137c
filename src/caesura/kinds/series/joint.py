"""What a Gaussian model says about all missing numbers of a table together: draws and densities.

Rows that are filled by different windows are independent of each other, given what is observed.
Within a window, all numbers depend on each other, across columns and across time.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from caesura.kinds.series.factors import WindowModel, windows, with_type
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
    gaussian, drawn = with_type(model.gaussian, np.float64), np.empty((count, *table.shape))
    for one in _windows_of(model, table, seen):
        course = gaussian.draw(rng, one.x, one.seen, count)
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
    # In double precision, since densities are differences of large numbers.
    gaussian, total = with_type(model.gaussian, np.float64), np.zeros(len(numbers))
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
            total += gaussian.log_density(x, one.seen | here)
            total -= gaussian.log_density(one.x[None], one.seen)
    return total


def _windows_of(
    model: WindowModel, table: Float[np.ndarray, "T C"], seen: Bool[np.ndarray, "T C"]
) -> Iterator[Window]:
    """Yield the windows of a table, the last rows of a short one with nothing seen."""
    rows = model.gaussian.rows
    x = np.where(seen, model.scores_of(np.where(seen, table, 0.0)), 0.0)
    short = [(0, max(0, rows - len(table))), (0, 0)]
    x, there = np.pad(x, short), np.pad(seen, short)
    for start, kept in windows(len(table), rows):
        at = slice(start, start + rows)
        inside = slice(kept.start - start, kept.stop - start)
        yield Window(at, kept, inside, x[at].T, there[at].T)
