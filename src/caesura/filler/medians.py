"""A table filled with the medians of its draws, and how sure the model is of them."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from caesura.filler.draws import confidence_in_series, draw_series, score_series
from caesura.filler.fill import LogProb
from caesura.filler.filler import Filler
from caesura.filler.imputation import MEDIAN, quantiles_of
from caesura.kinds.series.table import load_table
from caesura.sequence import Sequence
from caesura.strategies import Strategy


class Median(NamedTuple):
    """The filled table, and what `Fill` says of a fill: of all medians at once, and of each."""

    given: Any
    table: Any
    log_prob: LogProb
    confidence: Float[np.ndarray, " places"]


def fill_median(
    filler: Filler,
    data: Any,
    samples: int,
    *,
    strategy: str | Strategy | None = None,
    seed: int = 0,
) -> Median:
    """The same medians as `fill_quantiles` gives."""
    given = load_table(data)
    read = filler.read(given)
    if not read.gaps:
        return Median(given, given, LogProb(0.0, 0.0), np.zeros(0))
    values = read.values.copy()
    for stretch in draw_series(filler, [read], samples, strategy=strategy, seed=seed):
        values[stretch.steps] = quantiles_of(stretch.values, filler.kind, [MEDIAN])[0]
    filled = Sequence(values, read.missing)
    return Median(
        given,
        filler.kind.write(given, read.missing, values),
        score_series(filler, filled, strategy=strategy, seed=seed),
        confidence_in_series(filler, filled, strategy=strategy, seed=seed),
    )
