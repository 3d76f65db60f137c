"""A Gaussian process for a column that stands alone: a trend, a season and noise.

How two numbers of the column covary depends only on how many steps they are apart. The parameters
of this kernel are fitted to the observed numbers by maximum likelihood, with a wide prior. The
period is looked for among the peaks of the autocorrelation, and there may be no season at all.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from caesura.hardware import few_blas_threads
from caesura.kinds.series.curves import Curve, by_rank, straight
from caesura.kinds.series.factors import Factors, WindowModel

LEAST = 20  # observed numbers
WINDOW, LONGEST = 512, 4096  # rows that are read at once, and of a column: time grows as W² · T
PEAKS = 8  # of the autocorrelation, whose likelihoods are compared
PERIODS = 2  # of them, the most likely ones, that are fitted
SHORTEST = 3  # steps of a period
SLOW = 32  # steps on either side of a moving average, which seasons are relative to
FIRST, LAST = 8, 60  # steps of the optimiser: for all that is tried, and then for the best
JITTER = 1e-6  # of a variance, which keeps matrices invertible
CHANGE = 1e-5  # of a parameter, for slopes
FAILED = 1e10
FARTHEST = 6.0  # prior deviations from the start
NO_SEASON = -30.0  # the log of its variance
SEASON_COST = 2.0  # times log n: a season has four parameters more (BIC)

SEASONAL = ("season", "period", "smoothness", "season_length")

Parameters = Float[np.ndarray, "9"]
# Their prior deviations, around where the optimiser starts.
WIDTHS = np.array([1.5, 1.5, 1.5, 0.05, 0.7, 1.0, 1.5, 1.0, 2.0])


class Kernel(NamedTuple):
    """The logs of the parameters; lengths and the period are in steps."""

    trend: float  # variances
    trend_length: float
    season: float
    period: float
    smoothness: float  # of the course of a season
    season_length: float  # after which a season is another one
    rough: float
    rough_length: float
    noise: float

    def covariance(self, lag: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return the covariance of numbers that are so many steps apart."""
        slow = np.sqrt(3) * lag / np.exp(self.trend_length)
        trend = np.exp(self.trend) * (1 + slow) * np.exp(-slow)
        place = np.sin(np.pi * lag / np.exp(self.period)) / np.exp(self.smoothness)
        fading = lag / np.exp(self.season_length)
        season = np.exp(self.season - 2 * place**2 - fading**2 / 2)
        rough = np.exp(self.rough - lag / np.exp(self.rough_length))
        return trend + season + rough + (np.exp(self.noise) + JITTER) * (lag == 0)


class Fit(NamedTuple):
    """A kernel for the scores of a column."""

    curve: Curve
    posterior: "Posterior"
    at: Parameters  # in prior deviations from the start
    cost: float  # less is better; costs of different curves can be compared

    @property
    def kernel(self) -> Kernel:
        return self.posterior.kernel(self.at)


class Posterior(NamedTuple):
    """The probability of a kernel, given the scores of a column."""

    scores: Float[np.ndarray, " n"]
    lags: Int[np.ndarray, "n n"]  # how many steps two of them are apart
    start: Parameters
    widths: Parameters  # zero where a parameter is not fitted

    def kernel(self, z: Parameters) -> Kernel:
        return Kernel(*(self.start + self.widths * z))

    def cost(self, z: Parameters) -> tuple[float, Parameters]:
        """Return the negative log-probability but for a constant, and its gradient."""
        from scipy.linalg import lapack  # here, since a model of text is read without SciPy

        lag = np.arange(self.lags[0, -1] + 1.0)
        root, failed = lapack.dpotrf(self.kernel(z).covariance(lag)[self.lags], lower=1)
        if failed:
            return FAILED, np.zeros_like(z)
        log_size = np.log(np.diagonal(root)).sum()
        half = np.tril(lapack.dpotri(root, lower=1, overwrite_c=1)[0])
        precision = half + np.tril(half, -1).T
        weighted = precision @ self.scores
        # The slope by each entry of the covariance, summed over the entries of equal lags.
        slopes = (precision - np.outer(weighted, weighted)) / 2
        by_lag = np.bincount(self.lags.reshape(-1), slopes.reshape(-1), len(lag))
        gradient = z.copy()
        for number in np.flatnonzero(self.widths):
            step = CHANGE * (np.arange(len(z)) == number)
            above, below = (self.kernel(z + sign * step).covariance(lag) for sign in (1, -1))
            gradient[number] += by_lag @ (above - below) / (2 * CHANGE)
        return float(self.scores @ weighted / 2 + log_size + z @ z / 2), gradient


def fit(table: Float[np.ndarray, "T C"]) -> WindowModel | None:
    """Return a model of the first column of a table; of the others, it knows nothing.

    It is fitted to the middle of a long table. None if the table is too long, too few numbers are
    observed, or all are equal. NaN is not observed.
    """
    if len(table) > LONGEST:
        return None
    first = max(0, (len(table) - WINDOW) // 2)
    table = table[first : first + WINDOW]
    column = table[:, 0].astype(float)
    seen = ~np.isnan(column)
    if seen.sum() < LEAST or np.ptp(column[seen]) == 0:
        return None
    line, ranks = straight(column), by_rank(column)
    curves = [line] if len(ranks.knots) == len(line.knots) else [line, ranks]
    periods = [*periods_of(column, seen, line), None]
    started = [begin(column, seen, curve, period) for curve in curves for period in periods]
    with few_blas_threads():  # they know of SciPy's, which `begin` has loaded
        tried = [improved(one, FIRST) for one in started]
        best = improved(min(tried, key=lambda one: one.cost), LAST)
    steps = np.arange(len(table))
    own = np.repeat(np.eye(len(table))[None], table.shape[1], axis=0)
    own[0] = best.kernel.covariance(steps.astype(float))[np.abs(steps[:, None] - steps)]
    curves = [best.curve, *(straight(other) for other in table.T[1:])]
    return WindowModel(curves, Factors(np.zeros((*own.shape[:2], 1)), own))  # nothing is shared


def begin(
    column: Float[np.ndarray, " T"], seen: Bool[np.ndarray, " T"], curve: Curve, period: int | None
) -> Fit:
    """Return the kernel that the optimiser starts with."""
    steps = np.flatnonzero(seen)
    length = period or len(column)
    start = Kernel(
        trend=np.log(0.5),
        trend_length=np.log(len(column) / 8),
        season=np.log(0.5),
        period=np.log(length),
        smoothness=0.0,
        season_length=np.log(4 * length),
        rough=np.log(0.2),
        rough_length=np.log(2),
        noise=np.log(0.05),
    )
    widths = WIDTHS.copy()
    if period is None:
        start = start._replace(season=NO_SEASON)
        widths[[Kernel._fields.index(name) for name in SEASONAL]] = 0
    lags = np.abs(steps[:, None] - steps)
    at = np.zeros(len(start))
    posterior = Posterior(curve.to_scores(column[seen]), lags, np.array(start), widths)
    return Fit(curve, posterior, at, posterior.cost(at)[0])


def improved(one: Fit, steps: int) -> Fit:
    """Return a more probable kernel after some steps of the optimiser."""
    from scipy.optimize import minimize  # here, since a model of text is read without SciPy

    found = minimize(
        one.posterior.cost,
        one.at,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-FARTHEST, FARTHEST)] * len(one.at),
        options={"maxiter": steps},
    )
    count = len(one.posterior.scores)
    season = SEASON_COST * np.log(count) if one.posterior.widths.all() else 0.0
    slope = one.curve.log_slope(one.curve.to_numbers(one.posterior.scores)).sum()
    return one._replace(at=found.x, cost=float(found.fun + season - slope))


def periods_of(
    column: Float[np.ndarray, " T"], seen: Bool[np.ndarray, " T"], curve: Curve
) -> list[int]:
    """Return the most likely periods, of those where the autocorrelation has a peak."""
    steps = np.arange(len(column))
    line = np.interp(steps, steps[seen], curve.to_scores(column[seen]))
    reach = min(SLOW, max(SHORTEST, len(line) // 4))
    sums = np.cumsum(np.append(0.0, line))
    first, last = np.maximum(steps - reach, 0), np.minimum(steps + reach + 1, len(line))
    fast = line - (sums[last] - sums[first]) / (last - first)
    power = np.abs(np.fft.rfft(fast - fast.mean(), 2 * len(line))) ** 2
    correlation = np.fft.irfft(power)[: len(line) // 2]
    inner = correlation[1:-1]
    is_peak = (inner > 0) & (inner >= correlation[:-2]) & (inner >= correlation[2:])
    peaks = 1 + np.flatnonzero(is_peak)
    peaks = peaks[peaks >= SHORTEST]
    highest = peaks[np.argsort(-correlation[peaks], kind="stable")][:PEAKS].tolist()
    costs = {period: begin(column, seen, curve, period).cost for period in highest}
    return sorted(highest, key=lambda period: costs[period])[:PERIODS]
