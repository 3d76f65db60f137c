"""How good a model is on a table: some of what is observed is hidden, filled, and compared."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from caesura.filler.filler import Filler
from caesura.kinds.series import Series, TableItem
from caesura.scoring.scores import quantiles

ROWS = 1024  # of a table, from its middle, that are looked at
SHARE = 0.1  # of the observed numbers of a column that are hidden
INTERVAL = (0.05, 0.95)


class Checked(NamedTuple):
    """What was found for one column; errors are mean absolute ones, in standard deviations."""

    column: str
    hidden: int
    error: float
    line_error: float  # of the line between the nearest observed numbers
    inside: float  # the share of hidden numbers in their intervals of 90 %


def check_columns(filler: Filler, table: Any, seed: int = 0) -> list[Checked]:
    """Hide some observed numbers of each column, fill them, and compare.

    What is hidden in a column comes in runs as long as the gaps that it has.
    """
    kind = filler.kind
    assert isinstance(kind, Series)
    item = kind.open(table)
    values, rng = item.complete.values, np.random.default_rng(seed)
    first = max(0, (len(values) - ROWS) // 2)
    hidden = np.zeros(values.shape, bool)
    for column in range(kind.numbers):
        here = slice(first, first + ROWS)
        hidden[here, column] = _hide(rng, np.isnan(values[here, column]))
    if not hidden.any():
        return []
    return _compare(filler, kind, item, values, hidden)


def _compare(
    filler: Filler,
    kind: Series,
    item: TableItem,
    values: Float[np.ndarray, "T D"],
    hidden: Bool[np.ndarray, "T D"],
) -> list[Checked]:
    fill: Any = filler.fill(item, missing=hidden)
    filled = values.copy()
    filled[fill.missing] = fill.completions[0].values
    low, high = values.copy(), values.copy()
    low[fill.missing], high[fill.missing] = quantiles(fill.drawn, INTERVAL)
    found, step = [], np.arange(len(values))
    for number, column in enumerate(kind.filled[: kind.numbers]):
        where, truth = hidden[:, number], values[:, number]
        known = ~where & ~np.isnan(truth)
        if not where.any() or not known.any():
            continue
        line = np.interp(step[where], step[known], truth[known])
        inside = (truth >= low[:, number]) & (truth <= high[:, number])
        found.append(
            Checked(
                column=column.name,
                hidden=int(where.sum()),
                error=float(np.abs(filled[where, number] - truth[where]).mean()),
                line_error=float(np.abs(line - truth[where]).mean()),
                inside=float(inside[where].mean()),
            )
        )
    return found


def _hide(rng: np.random.Generator, missing: Bool[np.ndarray, " T"]) -> Bool[np.ndarray, " T"]:
    """Return some of the observed steps, in runs as long as the runs of missing ones."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], missing.astype(int), [0]])))
    length = max(1, int(np.median(edges[1::2] - edges[::2]))) if len(edges) else 1
    wanted, hidden = SHARE * np.sum(~missing), np.zeros(len(missing), bool)
    for start in rng.permutation(len(missing)):
        if hidden.sum() >= wanted:
            break
        hidden[start : start + length] = True
        hidden &= ~missing
    return hidden
