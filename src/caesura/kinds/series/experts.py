"""What simple methods say about the missing numbers of a table: a net weighs them.

Every function takes tables [..., T, C] of NumPy or of JAX, so that training and use share it.
"""

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

SMALL, LARGE = 0.01, 0.1  # ridge penalties, as shares of the number of rows
ROUNDS = 3
REGRESSORS = 24  # columns that a column is regressed on at most
LEAST_PERIOD = 4
SMOOTH = 32  # steps on either side of a moving average, which seasons are relative to
PEAK = 0.85  # a shorter period is preferred if its autocorrelation is nearly the largest
CYCLES = 3  # on either side, from which a season is averaged
APART = (1, 4, 16)  # distances over which lines are tried on observed values
BEYOND, USUAL = 1.5, 2.0  # times the largest observed number, and at least that
PSEUDO = 8  # rows that the prior counts for in the mean and the scale of a table
NARROWEST = 1e-3  # errors are not taken for smaller than this, in standard deviations


class Experts(NamedTuple):
    """Predictions for every cell of a table, in standard deviations, and what to think of them."""

    base: Any  # [..., T, C]: a regression on the other columns
    offsets: Any  # [..., T, C, 3]: what other methods say, less the base
    features: Any  # [..., T, C, F]

    @property
    def informing(self) -> Any:
        """Everything that a net sees beside the values: [..., T, C, 3 + F]."""
        xp = _module(self.base)
        return xp.concatenate([self.offsets, self.features], axis=-1)


# The informing components, as they are named in a model file.
NAMES = (
    *("steadier regression", "line", "season"),  # less the base
    *("base", "weight on observed columns"),
    *(f"error of the {name}" for name in ("base", "steadier regression", "season")),
    *(f"error of a line over {apart} steps" for apart in APART),
    *(f"error of a line of residuals over {apart} steps" for apart in APART),
    *("autocorrelation at the period", "share of steps that change nothing"),
    *("log share of rows", "log number of columns", "share observed"),
)


class Prior(NamedTuple):
    """What other rows of the same columns have shown, for tables [..., T, C]."""

    location: Any  # [..., 1, C]
    scale: Any  # [..., 1, C]
    rows: Any  # [..., 1, 1]; zero if there are none


class Standardised(NamedTuple):
    """A table with mean 0 and scale 1 in each column, zero where nothing is observed."""

    x: Any  # [..., T, C]
    location: Any  # [..., 1, C]
    scale: Any  # [..., 1, C]; zero for a column that does not vary, whose x is zero


def no_prior(table: Any) -> Prior:
    """Return the prior if no other rows are known."""
    nothing = _module(table).zeros_like(table[..., :1, :])
    return Prior(nothing, nothing, nothing[..., :1])


def learn_prior(table: Any, observed: Any) -> Prior:
    """Return the means and scales of the columns of a table."""
    _, location, scale = standardise(table, observed, no_prior(table))
    rows = observed.sum(axis=-2, keepdims=True).max(axis=-1, keepdims=True)
    return Prior(location, scale, rows.astype(table.dtype))


def standardise(table: Any, observed: Any, prior: Prior) -> Standardised:
    """Return the table in units of its own deviations; a short one leans on the prior."""
    xp = _module(table)
    more = xp.minimum(prior.rows, PSEUDO)
    count = observed.sum(axis=-2, keepdims=True) + more
    count = xp.where(count > 0, count, 1).astype(table.dtype)
    location = (
        xp.where(observed, table, 0).sum(axis=-2, keepdims=True) + more * prior.location
    ) / count
    centred = xp.where(observed, table - location, 0)
    squares = (centred**2).sum(axis=-2, keepdims=True)
    squares = squares + more * (prior.scale**2 + (prior.location - location) ** 2)
    scale = xp.sqrt(squares / count)
    constant = scale <= 1e-6 * xp.abs(location)  # nothing but rounding
    scale = xp.where(constant, 0, scale)
    x = xp.where(constant, 0, centred / xp.where(constant, 1, scale))
    return Standardised(x, location, scale)


def consult(x: Any, observed: Any, valid: Any) -> Experts:
    """Return what the experts say about standardised tables.

    Parameters
    ----------
    x
        Tables [..., T, C] as `standardise` gives them: zero where nothing is observed.
    observed
        [..., T, C], False in columns that only pad.
    valid
        [..., T, 1], False in rows that only pad.
    """
    xp = _module(x)
    rows = x.shape[-2]
    line = between(x, observed)
    seasonal, strength = _seasonal(line, valid)
    filled, ridges = line, [line, line]
    # Where little is observed, regressions on each other's predictions could grow without end.
    farthest = BEYOND * xp.maximum(xp.abs(x).max(axis=-2, keepdims=True), USUAL)
    for _ in range(ROUNDS):  # later ones see other columns filled by those before
        ridges, weight_seen = _ridge(x, observed, xp.where(valid, filled, 0), seasonal)
        ridges = [xp.clip(ridge, -farthest, farthest) for ridge in ridges]
        filled = xp.where(observed, x, ridges[0] + between(x - ridges[0], observed))
        seasonal, strength = _seasonal(filled, valid)
    base, steady = ridges
    offsets = xp.stack([steady - base, line - base, seasonal - base], axis=-1)
    n = xp.maximum(observed.sum(axis=-2, keepdims=True), 1)
    errors = [
        _mean_error(x - base, observed, n),
        _mean_error(x - steady, observed, n),
        _mean_error(x - seasonal, observed, n),
        *(_line_error(x, observed, apart) for apart in APART),
        *(_line_error(xp.where(observed, x - base, 0), observed, apart) for apart in APART),
    ]
    still = xp.abs(x[..., 1:, :] - x[..., :-1, :]) < 1e-4
    both = observed[..., 1:, :] & observed[..., :-1, :]
    still = (still & both).sum(axis=-2, keepdims=True) / xp.maximum(
        both.sum(axis=-2, keepdims=True), 1
    )
    columns = xp.any(observed, axis=-2, keepdims=True).sum(axis=-1, keepdims=True)
    constant = [
        *(xp.log(error + NARROWEST) + 1 for error in errors),
        strength,
        still,
        xp.log(n / rows),
        0.5 * xp.log(xp.maximum(columns, 1)) + xp.zeros_like(n),
        n / xp.maximum(valid.sum(axis=-2, keepdims=True), 1),
    ]
    features = xp.stack(
        [_squeeze(base), weight_seen, *(each + xp.zeros_like(x) for each in constant)], axis=-1
    )
    clipped = xp.clip(offsets, -50, 50)
    return Experts(base, clipped, features)


def between(x: Any, observed: Any) -> Any:
    """Return the line between the nearest observed values before and after each step.

    Beyond the first and the last one it is constant; where nothing is observed, zero. The value at
    an observed step is itself.
    """
    xp = _module(x)
    rows = x.shape[-2]
    at = xp.arange(rows)[:, None] + xp.zeros(x.shape, int)
    places = xp.sort(xp.where(observed, at, rows + at), axis=-2)  # the observed steps come first
    upto = xp.cumsum(observed, axis=-2)  # how many are observed up to each step, and with it
    left = xp.take_along_axis(places, xp.maximum(upto - 1, 0), axis=-2)
    right = xp.take_along_axis(places, xp.minimum(upto - observed, rows - 1), axis=-2)
    has_left, has_right = upto > 0, (right < rows) & (right >= at)
    a = xp.take_along_axis(x, xp.minimum(left, rows - 1), axis=-2)
    b = xp.take_along_axis(x, xp.minimum(right, rows - 1), axis=-2)
    share = (at - left) / xp.maximum(right - left, 1)
    inside = a + share * (b - a)
    alone = xp.where(has_left, a, xp.where(has_right, b, 0))
    return xp.where(has_left & has_right, inside, alone)


def _ridge(x: Any, observed: Any, filled: Any, seasonal: Any) -> tuple[list[Any], Any]:
    """Regress each column on others, and on its own season, over the rows that have it.

    Returns the predictions by two penalties, and which share of the weight is on observed values.
    """
    xp = _module(x)
    m = observed.astype(x.dtype)
    others = _related(x, m)
    own = xp.swapaxes(seasonal, -1, -2)[..., :, None, :]
    design = xp.concatenate([_pick(filled, others), own], axis=-2)  # [..., C, K + 1, T]
    weighted = design * xp.swapaxes(m, -1, -2)[..., :, None, :]
    gram = xp.matmul(weighted, xp.swapaxes(design, -1, -2))
    right = xp.matmul(weighted, xp.swapaxes(x, -1, -2)[..., :, :, None])
    rows = m.sum(axis=-2)[..., :, None, None]
    each = xp.eye(design.shape[-2], dtype=x.dtype)
    found = []
    for penalty in (LARGE, SMALL):
        weights = xp.linalg.solve(gram + (penalty * rows + 0.5) * each, right)
        said = xp.matmul(xp.swapaxes(weights, -1, -2), design)[..., 0, :]
        found.append(xp.swapaxes(said, -1, -2))
    size = xp.abs(weights[..., :-1, :])
    seen = (size * _pick(m, others)).sum(axis=-2) / (size.sum(axis=-2) + 1e-6)
    return found[::-1], xp.swapaxes(seen, -1, -2)


def _related(x: Any, m: Any) -> Any:
    """Return the numbers of the other columns that are most correlated with each, [..., C, K]."""
    xp = _module(x)
    columns = x.shape[-1]
    pairs = xp.matmul(xp.swapaxes(m, -1, -2), m)
    correlation = xp.abs(xp.matmul(xp.swapaxes(x, -1, -2), x)) / xp.maximum(pairs, 1)
    correlation = correlation - 1e9 * xp.eye(columns, dtype=x.dtype)  # itself comes last
    return xp.argsort(-correlation, axis=-1)[..., : min(columns - 1, REGRESSORS)]


def _pick(table: Any, columns: Any) -> Any:
    """Return the chosen columns for each column, [..., C, K, T]."""
    xp = _module(table)
    rows = xp.swapaxes(table, -1, -2)[..., None, :, :]
    return xp.take_along_axis(rows, columns[..., :, :, None], axis=-2)


def _seasonal(filled: Any, valid: Any) -> tuple[Any, Any]:
    """Return a moving average plus the mean of what other cycles have at the same place.

    The period of each column is where the autocorrelation peaks. Where no cycle is seen, the
    answer is the moving average. The second result is the autocorrelation at the period.
    """
    xp = _module(filled)
    rows = filled.shape[-2]
    v = valid.astype(filled.dtype)
    slow = _moving_sum(filled * v, SMOOTH) / xp.maximum(_moving_sum(v, SMOOTH), 1)
    fast = (filled - slow) * v
    size = 2 * rows
    power = xp.abs(xp.fft.rfft(fast, size, axis=-2)) ** 2
    corr = xp.fft.irfft(power, size, axis=-2)[..., :rows, :]
    pairs = xp.fft.irfft(xp.abs(xp.fft.rfft(v, size, axis=-2)) ** 2, size, axis=-2)[..., :rows, :]
    # A plain sum of products over their number, relative to the variance.
    variance = corr[..., :1, :] / xp.maximum(pairs[..., :1, :], 1)
    corr = (corr / xp.maximum(pairs, 1) / xp.maximum(variance, 1e-9)).astype(filled.dtype)
    lag = xp.arange(rows)[:, None]
    longest = 0.5 * v.sum(axis=-2, keepdims=True)
    before = xp.concatenate([corr[..., :1, :], corr[..., :-1, :]], axis=-2)
    after = xp.concatenate([corr[..., 1:, :], corr[..., -1:, :]], axis=-2)
    peak = (corr >= before) & (corr >= after) & (lag >= LEAST_PERIOD) & (lag <= longest)
    height = xp.where(peak, corr, 0)
    strength = height.max(axis=-2, keepdims=True)
    period = xp.argmax((height >= PEAK * strength) & peak, axis=-2)[..., None, :]
    total, count = 0, 0
    for cycle in range(1, CYCLES + 1):
        for sign in (-1, 1):
            at = lag + sign * cycle * period
            inside = (at >= 0) & (at < rows) & (strength > 0)
            place = xp.clip(at, 0, rows - 1)
            there = inside & xp.take_along_axis(valid & xp.ones(filled.shape, bool), place, -2)
            total = total + xp.where(there, xp.take_along_axis(fast, place, axis=-2), 0) / cycle
            count = count + there / cycle
    return slow + total / xp.maximum(count, 0.1), strength


def _moving_sum(x: Any, reach: int) -> Any:
    """Return sums over `reach` steps on either side and the step itself."""
    xp = _module(x)
    rows = x.shape[-2]
    zero = xp.zeros_like(x[..., :1, :])
    total = xp.concatenate([zero, xp.cumsum(x, axis=-2)], axis=-2)
    first = np.maximum(np.arange(rows) - reach, 0)
    last = np.minimum(np.arange(rows) + reach + 1, rows)
    return total[..., last, :] - total[..., first, :]


def _mean_error(residual: Any, observed: Any, count: Any) -> Any:
    xp = _module(residual)
    return xp.where(observed, xp.abs(residual), 0).sum(axis=-2, keepdims=True) / count


def _line_error(x: Any, observed: Any, apart: int) -> Any:
    """Return the mean error of a line between two values that are `apart` steps away."""
    xp = _module(x)
    if x.shape[-2] <= 2 * apart:
        return xp.ones_like(x[..., :1, :])
    ends = (x[..., : -2 * apart, :] + x[..., 2 * apart :, :]) / 2
    there = observed[..., : -2 * apart, :] & observed[..., 2 * apart :, :]
    there = there & observed[..., apart:-apart, :]
    count = there.sum(axis=-2, keepdims=True)
    error = xp.where(there, xp.abs(x[..., apart:-apart, :] - ends), 0).sum(axis=-2, keepdims=True)
    return xp.where(count > 0, error / xp.maximum(count, 1), 1.0)


def _squeeze(x: Any) -> Any:
    """Return it with large numbers made smaller."""
    return _module(x).arcsinh(x)


def _module(x: Any) -> ModuleType:
    """Return `numpy` or `jax.numpy`, as the array is of one or the other."""
    return np if isinstance(x, np.ndarray) else x.__array_namespace__()
