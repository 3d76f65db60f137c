"""The Gaussian model of windows, against direct formulas and SciPy."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from caesura.filler.beside import Beside, Part, Pooled
from caesura.filler.columns import quantiles_of
from caesura.kinds.series.covariance import Covariance
from caesura.kinds.series.curves import Curve, by_rank, straight
from caesura.kinds.series.factors import Factors, Gaussian, WindowModel
from caesura.nets.heads.logistics import Logistics
from caesura.sequence import Span
from caesura.training.factors import (
    Windows,
    begin,
    draw_windows,
    expect,
    maximise,
    rounds,
    window_length,
)

C, W, K = 3, 4, 2
LINE = Curve(np.array([-1.0, 1.0]), np.array([-1.0, 1.0]))
BENT = Curve(np.array([-1.0, 0.0, 0.5, 4.0]), np.array([-2.0, 0.0, 1.0, 2.0]))


def random_model(seed: int = 0) -> Factors:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(C, W, W))
    return Factors(rng.normal(size=(C, W, K)), root @ np.swapaxes(root, 1, 2) + 0.1 * np.eye(W))


def random_covariance(seed: int = 0) -> Covariance:
    return Covariance(whole(random_model(seed)).reshape(C, W, C, W))


def whole(model: Gaussian) -> np.ndarray:
    """The covariance of all numbers of a window, column by column."""
    if isinstance(model, Covariance):
        return model.whole.reshape(C * W, C * W)
    loadings = model.loadings.reshape(-1, model.loadings.shape[-1])
    covariance = loadings @ loadings.T
    rows = model.own.shape[-1]
    for number, own in enumerate(model.own):
        at = slice(number * rows, (number + 1) * rows)
        covariance[at, at] += own
    return covariance


def some_windows(model: Gaussian, count: int, seed: int = 1) -> Windows:
    rng = np.random.default_rng(seed)
    covariance = whole(model)
    x = rng.multivariate_normal(np.zeros(len(covariance)), covariance, count)
    x = x.reshape(count, C, W)
    # Some with most numbers seen, some with few.
    seen = rng.random(x.shape) < rng.choice([0.3, 0.8], size=(count, 1, 1))
    return Windows(np.where(seen, x, 0), seen)


def likelihood(model: Gaussian, windows: Windows) -> float:
    covariance, total = whole(model), 0.0
    for x, seen in zip(*windows, strict=True):
        at = seen.reshape(-1)
        if at.any():
            total += multivariate_normal.logpdf(
                x.reshape(-1)[at], np.zeros(at.sum()), covariance[np.ix_(at, at)]
            )
    return total


@pytest.mark.parametrize("model", [random_model(), random_covariance()])
def test_conditional_means_and_covariances_are_those_of_the_formula(model):
    windows = some_windows(model, 20)
    windows.x[0], windows.seen[0] = 0, False
    windows.seen[1] = True
    means, covariances = model.condition(*windows)
    covariance = whole(model)
    for x, seen, mean, of_columns in zip(*windows, means, covariances, strict=True):
        at = seen.reshape(-1)
        gain = covariance[:, at] @ np.linalg.inv(covariance[np.ix_(at, at)])
        assert mean.reshape(-1) == pytest.approx(gain @ x.reshape(-1)[at])
        rest = covariance - gain @ covariance[at]
        for number, block in enumerate(of_columns):
            inside = slice(number * W, (number + 1) * W)
            assert block == pytest.approx(rest[inside, inside], abs=1e-9)


def test_with_all_windows_each_round_makes_what_is_seen_more_probable():
    windows = some_windows(random_model(), 200)
    model = random_model(seed=5)
    found = [likelihood(model, windows)]
    for _ in range(8):
        model = maximise(expect(model, windows))
        found.append(likelihood(model, windows))
    assert (np.diff(found) > 0).all()
    assert found[-1] - found[0] > 100


def test_the_model_of_the_data_is_nearly_a_fixed_point():
    model = random_model()
    again = maximise(expect(model, some_windows(model, 20_000)))
    size = np.abs(whole(model)).max()
    assert np.abs(whole(again) - whole(model)).max() < 0.05 * size


def test_it_learns_what_columns_share_and_how_they_go_on():
    rng = np.random.default_rng(0)
    shared = np.convolve(rng.normal(size=3020), np.ones(20) / np.sqrt(20), "valid")[:3000]
    table = shared[:, None] * [1.0, -1.0, 0.5] + 0.2 * rng.normal(size=(3000, 3))
    holes = rng.random(table.shape) < 0.3
    model = None
    for number, found in enumerate(rounds([np.where(holes, np.nan, table)], 16, seed=0)):
        model = found
        if number == 30:
            break
    assert model is not None
    said = WindowModel([LINE] * 3, model).say(np.where(holes, 0, table), ~holes).mean
    error = np.abs(said - table)[holes].mean()
    assert error < 0.25  # about that of the noise, 0.16; the numbers themselves have 0.7


@pytest.mark.parametrize("length", [3, 4, 5, 9, 30])
def test_a_table_of_any_length_is_filled_once(length):
    model = WindowModel([LINE] * C, random_model())
    rng = np.random.default_rng(2)
    table, seen = rng.normal(size=(length, C)), rng.random((length, C)) < 0.7
    said = model.say(table, seen)
    rows = [row for span, _ in said.blocks for row in range(*span)]
    assert rows == list(range(length))
    assert all(cov.shape == (C, b - a, b - a) for (a, b), cov in said.blocks)
    assert said.mean[seen] == pytest.approx(table[seen])


@pytest.mark.parametrize("gaussian", [random_model(), random_covariance()], ids=["factors", "full"])
def test_many_tables_are_filled_as_each_of_them(gaussian):
    rng, model = np.random.default_rng(5), WindowModel([LINE] * C, gaussian)
    tables = [rng.normal(size=(length, C)) for length in (2, 5, 9, 40)]
    seen = [rng.random(table.shape) < 0.6 for table in tables]
    for table, known, found in zip(tables, seen, model.say_each(tables, seen), strict=True):
        alone = model.say(table, known)
        np.testing.assert_allclose(found.mean, alone.mean, atol=1e-10)
        for (rows, spread), (own_rows, own) in zip(found.blocks, alone.blocks, strict=True):
            assert rows == own_rows
            np.testing.assert_allclose(spread, own, atol=1e-10)


def test_windows_begin_anywhere_and_short_tables_are_continued():
    rng = np.random.default_rng(0)
    long, short = np.arange(20.0)[:, None], np.array([[-1.0], [-2.0]])
    x, seen = draw_windows(rng, [long, short], 4, 500)
    starts = set(x[seen.all(axis=(1, 2)), 0, 0].astype(int).tolist())
    assert starts == set(range(17))
    (continued,) = {tuple(one) for one in x[~seen.all(axis=(1, 2)), 0]}
    assert continued == (-1, -2, 0, 0)


def test_the_length_of_a_window_depends_on_the_table():
    assert window_length(10_000, 10_000, 10) == 48
    assert window_length(12, 4800, 13) == 12
    assert window_length(10_000, 10_000, 134) == 26
    assert window_length(10_000, 10_000, 5000) == 8
    assert window_length(300, 300, 2) == 15
    assert window_length(5, 5, 2) == 5


def test_the_first_model_has_the_size_of_the_numbers():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(400, C, 1)), W, axis=2) + 0.1 * rng.normal(size=(400, C, W))
    model = begin(rng, Windows(x, np.ones(x.shape, bool)))
    assert np.diagonal(whole(model)) == pytest.approx(np.ones(C * W), rel=0.6)


@pytest.fixture
def beside() -> Beside:
    model = random_model()
    covariances = [(Span(0, 4), model.own[0]), (Span(4, 8), model.own[1])]
    return Beside(0.5, LINE, np.arange(8.0), covariances)


def test_log_probabilities_are_those_of_scipy(beside):
    rows = np.array([1, 2, 3, 6])
    numbers = np.random.default_rng(0).normal(size=(5, 4)) + rows
    (_, first), (_, second) = beside.blocks
    covariance = np.zeros((4, 4))
    covariance[:3, :3], covariance[3, 3] = first[1:, 1:], second[2, 2]
    expected = multivariate_normal.logpdf(numbers, rows, covariance)
    assert beside.log_prob(rows, numbers) == pytest.approx(expected)


def test_draws_have_their_means_and_covariances(beside):
    rows = np.array([0, 1, 3, 7])
    drawn = beside.draw(np.random.default_rng(0), rows, 40_000)
    (_, first), (_, second) = beside.blocks
    at = rows[:3]
    size = np.abs(first).max()
    assert drawn.mean(axis=0) == pytest.approx(rows, abs=0.03 * size)
    assert np.cov(drawn[:, :3].T) == pytest.approx(first[np.ix_(at, at)], abs=0.03 * size)
    assert abs(np.cov(drawn[:, 0], drawn[:, 3])[0, 1]) < 0.03 * size
    assert drawn[:, 3].var() == pytest.approx(second[3, 3], rel=0.03)


def test_a_curve_changes_the_density_so_that_it_still_sums_to_one(beside):
    bent = beside._replace(curve=BENT, mean=np.zeros(8))
    points = np.linspace(-15, 40, 20_001)
    nats = bent.log_prob(np.array([2]), points[:, None])
    assert np.exp(nats).sum() * (points[1] - points[0]) == pytest.approx(1, abs=1e-3)
    drawn = bent.draw(np.random.default_rng(0), np.array([2]), 20_000)[:, 0]
    below = np.cumsum(np.exp(nats)) * (points[1] - points[0])
    for level in (0.1, 0.5, 0.9):
        number = np.interp(level, below, points)
        assert np.mean(drawn < number) == pytest.approx(level, abs=0.01)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_pool_has_the_weighted_mean_of_two_distributions(share):
    logistics = Logistics(np.log([[0.4, 0.6]]), np.array([[-1.0, 2.0]]), np.array([[0.3, 0.5]]))
    part = Part(slice(0, 1), BENT, np.array([0.2]), 2.0)
    pool = Pooled(logistics, np.array([share]), np.array([0.5]), np.array([0.8]), [part])
    levels = np.array([0.05, 0.3, 0.5, 0.8, 0.95])
    found = quantiles_of(pool, levels)[:, 0]
    of_net = 0.4 / (1 + np.exp(-(found + 1) / 0.3)) + 0.6 / (1 + np.exp(-(found - 2) / 0.5))
    scores = BENT.to_scores(0.2 + 2.0 * found)
    below = (1 - share) * of_net + share * norm.cdf((scores - 0.5) / 0.8)
    assert below == pytest.approx(levels, abs=6e-3)  # a little off where the curve bends


def test_scores_by_rank_are_normal_and_go_back():
    numbers = np.exp(np.random.default_rng(0).normal(size=5000))
    numbers[::7] = np.nan
    curve = by_rank(numbers)
    known = numbers[~np.isnan(numbers)]
    scores = curve.to_scores(known)
    for level in (0.02, 0.2, 0.5, 0.8, 0.98):
        assert np.quantile(scores, level) == pytest.approx(norm.ppf(level), abs=0.1)
    far = np.concatenate([known, [-3.0, 1000.0]])
    assert curve.to_numbers(curve.to_scores(far)) == pytest.approx(far)
    assert (np.diff(curve.to_scores(np.sort(far))) >= 0).all()
    slope = (curve.to_scores(known + 1e-6) - curve.to_scores(known - 1e-6)) / 2e-6
    smooth = np.isin(known, curve.knots, invert=True)
    assert np.exp(curve.log_slope(known))[smooth] == pytest.approx(slope[smooth], rel=1e-3)


def test_scores_of_rain_and_of_few_numbers_exist():
    rain = np.zeros(1000)
    rain[::20] = np.random.default_rng(0).exponential(size=50)
    curve = by_rank(rain)
    assert np.isfinite(curve.to_scores(rain)).all()
    assert (np.diff(curve.knots) > 0).all()
    assert (np.diff(curve.scores) > 0).all()
    few = np.array([1.0, 3.0, np.nan])
    assert by_rank(few).to_scores(np.array([1.0, 2.0, 3.0])).tolist() == [-1, 0, 1]
    assert np.isfinite(straight(np.full(5, np.nan)).to_scores(np.array([1.0])))
    assert np.isfinite(by_rank(np.full(500, 2.0)).to_scores(np.array([2.0])))
