"""A table filled with the medians of its draws, and how sure the model is of them."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from caesura.draws import draw_series, score_series
from caesura.fill import LogProb
from caesura.filler import Filler
from caesura.imputation import MEDIAN
from caesura.kinds.table import load_table
from caesura.scores import quantiles
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
    kind, method = filler.kind, filler.method(strategy)
    given = load_table(data)
    read = filler.read(given)
    if not read.gaps:
        return Median(given, given, LogProb(0.0, 0.0), np.zeros(0))
    values = read.values.copy()
    for stretch in draw_series(filler, [read], samples, strategy=strategy, seed=seed):
        values[stretch.steps] = quantiles(stretch.values, [MEDIAN])[0]
    score = score_series(filler, Sequence(values, read.missing), strategy=strategy, seed=seed)
    marginals = filler.marginals(given, strategy=strategy, seed=seed)
    chosen = np.asarray(method.net.frame.index(values[read.missing]))
    return Median(
        given,
        kind.write(given, read.missing, values),
        score,
        np.exp(marginals.log_probs[np.arange(len(chosen)), chosen]),
    )
