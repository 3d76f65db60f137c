"""How good draws of real numbers are, against what was there: CRPS, coverage and the PIT."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from caesura.errors import CaesuraError

COVERAGES = (0.5, 0.8, 0.95)  # of the central intervals that are looked at
CSDI_LEVELS = tuple(level / 20 for level in range(1, 20))


def quantiles(
    samples: Float[np.ndarray, "n *shape"], levels: Sequence[float]
) -> Float[np.ndarray, "levels *shape"]:
    """Quantiles of n draws, below which one more of the kind lies with the level's probability.

    Hence the positions (n + 1) q, and not those inside the range of the draws that NumPy takes
    unless told: of 100 draws, its interval of 95 % would hold the truth in 93 % of all cases.
    """
    n = len(samples)
    for level in levels:
        if not 0 < level < 1:
            raise CaesuraError(f"A quantile's level lies between 0 and 1, unlike {level:g}.")
        # A hair's breadth more than the least, so that rounding refuses no level that will do.
        if min(level, 1 - level) * (n + 1) < 1 - 1e-9:
            least = int(np.ceil(1 / min(level, 1 - level) - 1e-9)) - 1
            raise CaesuraError(
                f"A quantile of level {level:g} needs at least {least} samples, not {n}."
            )
    return np.quantile(samples, np.asarray(levels), axis=0, method="weibull")


def crps(
    samples: Float[np.ndarray, "n *shape"], truth: Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """E|X − y| − E|X − X'| / 2, without bias: X' is any other draw than X."""
    n = len(samples)
    if n < 2:
        raise CaesuraError("The CRPS needs at least two samples.")
    ordered = np.sort(samples, axis=0)
    # In the sum over all pairs, the k-th of n numbers is added k times and taken n − 1 − k times.
    times = 2 * np.arange(n) - (n - 1)
    pairs = np.tensordot(times, ordered, axes=1) * 2 / (n * (n - 1))
    return np.asarray(np.abs(samples - truth).mean(axis=0) - pairs / 2)


def csdi_crps(samples: Float[np.ndarray, "n *shape"], truth: Float[np.ndarray, "*shape"]) -> float:
    """One number for all: the loss of 19 quantiles, in units of the mean of |truth|.

    So Tashiro et al. 2021 report it for CSDI; the quantiles are NumPy's usual ones there, too.
    """
    levels = np.array(CSDI_LEVELS).reshape(-1, *[1] * truth.ndim)
    quantiles = np.quantile(samples, CSDI_LEVELS, axis=0)
    losses = 2 * np.abs((quantiles - truth) * ((truth <= quantiles) - levels))
    return float(losses.sum(axis=0).mean() / len(CSDI_LEVELS) / np.abs(truth).mean())


def pit(
    samples: Float[np.ndarray, "n *shape"],
    truth: Float[np.ndarray, "*shape"],
    draw: np.random.Generator,
) -> Float[np.ndarray, "*shape"]:
    """The probability integral transform: where among the draws the truth lies, from 0 to 1.

    A calibrated model's are uniform, for any number of draws: equal ranks are spread by chance.
    """
    below, equal = (samples < truth).sum(axis=0), (samples == truth).sum(axis=0)
    return (below + draw.random(truth.shape) * (equal + 1)) / (len(samples) + 1)


def pit_histogram(
    transformed: Float[np.ndarray, "*shape"], bins: int = 10
) -> Float[np.ndarray, " bins"]:
    """The share of the transforms in each of some equal bins."""
    counts, _ = np.histogram(transformed, bins, (0.0, 1.0))
    return counts / max(1, transformed.size)


def covered(
    samples: Float[np.ndarray, "n *shape"],
    truth: Float[np.ndarray, "*shape"],
    coverages: Sequence[float] = COVERAGES,
) -> Bool[np.ndarray, "coverages *shape"]:
    """Whether the truth lies in the central interval of each coverage."""
    low, high = (
        quantiles(samples, [0.5 + side * coverage / 2 for coverage in coverages])
        for side in (-1, 1)
    )
    return (low <= truth) & (truth <= high)


def positions(missing: Bool[np.ndarray, "T D"]) -> Int[np.ndarray, "T D"]:
    """The place of each missing value in the gap of its own column, from 1; 0 if it is observed."""
    step = np.arange(1, len(missing) + 1)[:, None]
    last_observed = np.maximum.accumulate(np.where(missing, 0, step), axis=0)
    return step - last_observed


def mean_by_position(
    values: Float[np.ndarray, " n"] | Bool[np.ndarray, " n"], places: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " g"]:
    """The mean over the values at the first place of a gap, at the second and so on; NaN for
    none."""
    sums = np.bincount(places, values, minlength=1)[1:]
    counts = np.bincount(places, minlength=1)[1:]
    return np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
