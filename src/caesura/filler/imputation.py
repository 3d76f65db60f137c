"""Tables, filled: with quantiles of what is drawn, or with the draws themselves."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float32, Shaped

from caesura.filler.draws import draw_series
from caesura.filler.filler import Filler
from caesura.scoring.scores import quantiles
from caesura.sequence import Sequence as Steps
from caesura.strategies import Strategy

MEDIAN = 0.5
Summary = Callable[[Float32[np.ndarray, "S t D"]], Shaped[np.ndarray, "R t D"]]


def fill_quantiles(
    filler: Filler, tables: Sequence[Any], levels: Sequence[float], samples: int, **how: Any
) -> list[list[Any]]:
    """For each level all tables, in whose gaps the quantiles of so many draws stand.

    A category has no quantiles: at all levels, it gets what was drawn most often.
    """
    summary = partial(quantiles_of, kind=filler.kind, levels=levels)
    return _fill(filler, tables, summary, len(levels), samples, **how)


def fill_samples(
    filler: Filler, tables: Sequence[Any], samples: int, **how: Any
) -> list[list[Any]]:
    """All tables `samples` times, each time filled by another draw."""
    return _fill(filler, tables, lambda drawn: drawn, samples, samples, **how)


def level_shares(
    filler: Filler, tables: Sequence[Any], samples: int, **how: Any
) -> list[dict[str, Any]]:
    """Of each table, by the names of its categories, the shares of their levels among the draws."""
    kind: Any = filler.kind
    read = [kind.read(table) for table in tables]
    values = _summarise(filler, read, lambda drawn: drawn.mean(axis=0)[None], 1, samples, **how)
    return [kind.shares(table, means[0]) for table, means in zip(tables, values, strict=True)]


def quantiles_of(
    drawn: Float32[np.ndarray, "S t D"], kind: Any, levels: Sequence[float]
) -> Float32[np.ndarray, "R t D"]:
    """For each level, the quantiles of numbers, and the likeliest levels of categories."""
    of_numbers = quantiles(drawn[..., : kind.numbers], levels).astype(np.float32)
    summary = np.repeat(kind.likeliest(drawn.mean(axis=0))[None], len(levels), axis=0)
    summary[..., : kind.numbers] = of_numbers
    return summary


def _fill(
    filler: Filler, tables: Sequence[Any], summary: Summary, rows: int, samples: int, **how: Any
) -> list[list[Any]]:
    read = [filler.kind.read(table) for table in tables]
    values = _summarise(filler, read, summary, rows, samples, **how)
    return [
        [
            filler.kind.write(table, one.missing, filled[row])
            for table, one, filled in zip(tables, read, values, strict=True)
        ]
        for row in range(rows)
    ]


def _summarise(
    filler: Filler,
    read: Sequence[Steps],
    summary: Summary,
    rows: int,
    samples: int,
    *,
    strategy: str | Strategy | None = None,
    seed: int = 0,
    report: Callable[[int, int], None] = lambda done, stretches: None,
) -> list[Float32[np.ndarray, "R T D"]]:
    """Only summaries of the draws are kept, so that long tables need little memory."""
    values = [np.repeat(one.values[None], rows, axis=0) for one in read]
    drawn = draw_series(filler, list(read), samples, strategy=strategy, seed=seed, report=report)
    for stretch in drawn:
        values[stretch.series][:, stretch.steps] = summary(stretch.values)
    return values
