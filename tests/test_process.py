"""The Gaussian process for single columns, against SciPy and against columns drawn from one."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.stats import multivariate_normal

import caesura
from caesura.kinds.series.curves import straight
from caesura.kinds.series.process import (
    CHANGE,
    LEAST,
    LONGEST,
    NO_SEASON,
    WIDTHS,
    WINDOW,
    Kernel,
    Posterior,
    begin,
    fit,
    periods_of,
)

YEARS = Kernel(
    trend=np.log(0.5),
    trend_length=np.log(40),
    season=np.log(1.0),
    period=np.log(12),
    smoothness=0.0,
    season_length=np.log(100),
    rough=np.log(0.1),
    rough_length=np.log(2),
    noise=np.log(0.05),
)


def whole(kernel: Kernel, rows: int) -> np.ndarray:
    steps = np.arange(rows)
    return kernel.covariance(steps.astype(float))[np.abs(steps[:, None] - steps)]


def drawn(kernel: Kernel, rows: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).multivariate_normal(np.zeros(rows), whole(kernel, rows))


def posterior(column: np.ndarray, seen: np.ndarray, widths: np.ndarray = WIDTHS) -> Posterior:
    steps = np.flatnonzero(seen)
    lags = np.abs(steps[:, None] - steps)
    return Posterior(column[seen], lags, np.array(YEARS), widths)


def test_covariances_are_those_of_a_process():
    assert np.linalg.eigvalsh(whole(YEARS, 60)).min() > 0
    # What is known of each part where it stands alone.
    alone = YEARS._replace(trend=-50.0, rough=-50.0, noise=-50.0)
    at = alone.covariance(np.array([0.0, 6.0, 12.0]))
    expected = [1, np.exp(-2 - 0.5 * 0.06**2), np.exp(-0.5 * 0.12**2)]
    np.testing.assert_allclose(at, expected, rtol=1e-5)


def test_the_cost_is_the_density_of_what_is_observed_with_the_prior():
    column, rng = drawn(YEARS, 50, 0), np.random.default_rng(1)
    seen = rng.random(50) < 0.7
    one = posterior(column, seen)
    costs, exact = [], []
    for _ in range(4):
        z = rng.normal(size=len(WIDTHS))
        covariance = whole(one.kernel(z), 50)[np.ix_(seen, seen)]
        density = multivariate_normal(cov=covariance).logpdf(column[seen])
        costs.append(one.cost(z)[0])
        exact.append(-density + z @ z / 2)
    # They differ by a constant.
    np.testing.assert_allclose(np.diff(costs), np.diff(exact), atol=1e-6)


def test_the_gradient_of_the_cost_is_its_slope():
    column, rng = drawn(YEARS, 40, 2), np.random.default_rng(3)
    widths = np.where(np.arange(len(WIDTHS)) == 3, 0.0, WIDTHS)  # one of them is not fitted
    one, z = posterior(column, rng.random(40) < 0.7, widths), rng.normal(size=len(WIDTHS))
    error = check_grad(lambda at: one.cost(at)[0], lambda at: one.cost(at)[1], z)
    assert error < 1e-3 * np.linalg.norm(one.cost(z)[1]) + CHANGE


def test_a_column_is_filled_nearly_as_well_as_by_the_process_that_made_it():
    ratios, inside = [], []
    for seed in range(8):
        column = drawn(YEARS, 150, seed)
        hidden = np.random.default_rng([seed, 1]).random(150) < 0.2
        hidden[60:80] = True
        model = fit(np.where(hidden, np.nan, column)[:, None])
        assert model is not None
        said = model.say(np.where(hidden, 0, column)[:, None], ~hidden[:, None])
        ((_, (spread,)),) = said.blocks
        curve, deviation = model.curves[0], np.sqrt(np.diagonal(spread)[hidden])
        mean = said.mean[hidden, 0]
        found = curve.to_numbers(mean)
        low, high = (curve.to_numbers(mean + sign * 1.645 * deviation) for sign in (-1, 1))
        inside += ((low <= column[hidden]) & (column[hidden] <= high)).tolist()
        covariance = whole(YEARS, 150)
        gain = covariance[np.ix_(hidden, ~hidden)] @ np.linalg.inv(
            covariance[np.ix_(~hidden, ~hidden)]
        )
        best = gain @ column[~hidden]
        ratios.append(np.abs(found - column[hidden]).mean() / np.abs(best - column[hidden]).mean())
    assert np.mean(ratios) < 1.1
    # Numbers of a gap depend on each other: about one in four counts.
    assert np.mean(inside) == pytest.approx(0.9, abs=4 * np.sqrt(0.09 * 4 / len(inside)))


def test_the_period_is_found_and_no_season_where_there_is_none():
    column = drawn(YEARS, 200, 4)
    seen = np.random.default_rng(5).random(200) < 0.8
    assert 12 in periods_of(np.where(seen, column, np.nan), seen, straight(column))
    walk = np.cumsum(np.random.default_rng(6).normal(size=200))
    model = fit(np.where(seen, walk, np.nan)[:, None])
    assert model is not None
    own = model.gaussian.own[0, 0]  # falls with the distance, as that of a walk
    assert np.all(np.diff(own[:100]) <= 1e-9)
    started = begin(walk, seen, straight(walk), None)
    assert started.kernel.season == NO_SEASON


@pytest.mark.parametrize(
    "column",
    [
        np.where(np.arange(100) < LEAST - 1, np.arange(100.0), np.nan),
        np.ones(100),
        np.arange(LONGEST + 1.0),
    ],
    ids=["few", "equal", "long"],
)
def test_some_columns_have_no_process(column):
    assert fit(column[:, None]) is None


def test_the_process_of_a_long_column_is_that_of_its_middle():
    column = np.random.default_rng(8).normal(size=(WINDOW + 200, 1))
    long, middle = fit(column), fit(column[100:-100])
    assert long is not None
    assert middle is not None
    np.testing.assert_array_equal(long.gaussian.own, middle.gaussian.own)
    said = long.say(column, np.ones(column.shape, bool))
    np.testing.assert_allclose(said.mean, long.scores_of(column), atol=1e-6)


def test_a_process_is_asked_beside_the_net_if_a_column_stands_alone():
    column = drawn(YEARS, 200, 7)
    hidden = np.zeros(200, bool)
    hidden[90:110] = True
    table = np.where(hidden, np.nan, column)[:, None]
    filler = caesura.load("series")
    learnt = filler.fitted([table]).learnt
    assert learnt.fitted.model is not None
    assert learnt.fitted.shares[0] > 0
    best = filler.fill(table).best[hidden, 0]
    line = np.interp(np.arange(200), np.flatnonzero(~hidden), column[~hidden])[hidden]
    assert np.abs(best - column[hidden]).mean() < np.abs(line - column[hidden]).mean()
    two = filler.fitted([np.column_stack([table, table[::-1]])]).learnt
    assert two.fitted.model is None
