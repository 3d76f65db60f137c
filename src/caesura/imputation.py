"""Tables of numbers, filled: with quantiles of what is drawn, or with the draws themselves."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float32, Shaped

from caesura.draws import draw_series
from caesura.filler import Filler
from caesura.scores import quantiles
from caesura.strategies import Strategy

MEDIAN = 0.5
Summary = Callable[[Float32[np.ndarray, "S t D"]], Shaped[np.ndarray, "R t D"]]


def fill_quantiles(
    filler: Filler, tables: Sequence[Any], levels: Sequence[float], samples: int, **how: Any
) -> list[list[Any]]:
    """For each level all tables, in whose gaps the quantiles of so many draws stand."""
    return _fill(filler, tables, partial(_quantiles, levels=levels), len(levels), samples, **how)


def fill_samples(
    filler: Filler, tables: Sequence[Any], samples: int, **how: Any
) -> list[list[Any]]:
    """All tables `samples` times, each time filled by another draw."""
    return _fill(filler, tables, lambda drawn: drawn, samples, samples, **how)


def _quantiles(
    drawn: Float32[np.ndarray, "S t D"], levels: Sequence[float]
) -> Float32[np.ndarray, "R t D"]:
    return quantiles(drawn, levels).astype(np.float32)


def _fill(
    filler: Filler,
    tables: Sequence[Any],
    summary: Summary,
    rows: int,
    samples: int,
    *,
    strategy: str | Strategy | None = None,
    seed: int = 0,
    report: Callable[[int, int], None] = lambda done, stretches: None,
) -> list[list[Any]]:
    """Only summaries of the draws are kept, so that long tables need little memory."""
    read = [filler.kind.read(table) for table in tables]
    values = [np.repeat(one.values[None], rows, axis=0) for one in read]
    drawn = draw_series(filler, read, samples, strategy=strategy, seed=seed, report=report)
    for stretch in drawn:
        values[stretch.series][:, stretch.steps] = summary(stretch.values)
    return [
        [
            filler.kind.write(table, one.missing, filled[row])
            for table, one, filled in zip(tables, read, values, strict=True)
        ]
        for row in range(rows)
    ]
