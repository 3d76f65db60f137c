"""Scores of draws, against closed forms and against what must come out when all is right."""

import numpy as np
import pytest
from scipy.stats import norm

from caesura.errors import CaesuraError
from caesura.scoring.scores import (
    COVERAGES,
    covered,
    crps,
    csdi_crps,
    mean_by_position,
    pit,
    pit_histogram,
    positions,
    quantiles,
)


def test_the_crps_is_that_of_a_normal_distribution():
    """y (2 Φ(y) − 1) + 2 φ(y) − 1/√π, for a standard normal one (Gneiting and Raftery 2007)."""
    truth = np.array([-2.0, 0.0, 0.3, 4.0])
    exact = truth * (2 * norm.cdf(truth) - 1) + 2 * norm.pdf(truth) - 1 / np.sqrt(np.pi)
    samples = np.random.default_rng(0).normal(size=(40_000, 1)) + np.zeros(4)
    np.testing.assert_allclose(crps(samples, truth), exact, atol=0.01)


def test_the_crps_of_few_samples_is_that_of_many_on_average():
    draw = np.random.default_rng(1)
    truth = np.full(200_000, 0.7)
    exact = 0.7 * (2 * norm.cdf(0.7) - 1) + 2 * norm.pdf(0.7) - 1 / np.sqrt(np.pi)
    few = crps(draw.normal(size=(3, len(truth))), truth)
    np.testing.assert_allclose(few.mean(), exact, atol=5 * few.std() / len(few) ** 0.5)


def test_the_crps_is_a_sum_over_pairs():
    draw = np.random.default_rng(2)
    samples, truth = draw.normal(size=(7, 2, 3)), draw.normal(size=(2, 3))
    pairs = [np.abs(a - b) for i, a in enumerate(samples) for j, b in enumerate(samples) if i != j]
    expected = np.abs(samples - truth).mean(axis=0) - np.mean(pairs, axis=0) / 2
    np.testing.assert_allclose(crps(samples, truth), expected)


def test_nineteen_quantiles_come_near_the_crps():
    """The mean over levels of twice the quantile loss is a sum for the integral that CRPS is."""
    draw = np.random.default_rng(3)
    truth = 5 + draw.normal(size=400)
    samples = 5 + draw.normal(size=(2000, 400))
    whole = crps(samples, truth).sum() / np.abs(truth).sum()
    np.testing.assert_allclose(csdi_crps(samples, truth), whole, rtol=0.06)


def test_nineteen_quantiles_of_a_single_point_are_its_distance():
    """Whatever the level, |q − y| is weighted by it or by its complement: a half on average."""
    truth = np.array([1.0, -3.0])
    samples = np.full((5, 2), 2.0)
    np.testing.assert_allclose(csdi_crps(samples, truth), (1 + 5) / 4)


@pytest.mark.parametrize("n", [39, 100])
def test_intervals_hold_the_truth_as_often_as_they_say(n):
    draw = np.random.default_rng(n)
    truth = draw.normal(size=40_000)
    found = covered(draw.normal(size=(n, 40_000)), truth).mean(axis=1)
    np.testing.assert_allclose(found, COVERAGES, atol=0.008)


def test_quantiles_that_the_samples_cannot_tell_are_refused():
    samples = np.arange(1.0, 20.0)[:, None]  # at 1/20, 2/20 and so on
    np.testing.assert_allclose(quantiles(samples, [0.05, 0.5, 0.95])[:, 0], [1, 10, 19])
    with pytest.raises(CaesuraError, match=r"level 0.025 needs at least 39 samples, not 19"):
        quantiles(samples, [0.025])
    with pytest.raises(CaesuraError, match="between 0 and 1"):
        quantiles(samples, [1.0])


def test_the_pit_is_uniform_where_all_is_right_and_not_where_it_is_wrong():
    draw = np.random.default_rng(5)
    truth = draw.normal(size=20_000)
    right = pit_histogram(pit(draw.normal(size=(7, 20_000)), truth, draw))
    np.testing.assert_allclose(right, 0.1, atol=0.012)
    too_sure = pit_histogram(pit(0.3 * draw.normal(size=(50, 20_000)), truth, draw))
    assert too_sure[[0, -1]].min() > 0.2
    rain = (truth > 0) * truth  # half of it zero, as in the draws
    zeros = draw.normal(size=(20, 20_000)).clip(0)
    np.testing.assert_allclose(pit_histogram(pit(zeros, rain, draw)), 0.1, atol=0.012)


def test_positions_are_counted_in_the_gap_of_each_column():
    missing = np.array([[1, 0], [1, 1], [0, 1], [1, 1], [1, 0]], bool)
    assert positions(missing).tolist() == [[1, 0], [2, 1], [0, 2], [1, 3], [2, 0]]
    hits = np.array([1.0, 0.0, 1.0, 1.0])
    np.testing.assert_array_equal(
        mean_by_position(hits, np.array([1, 1, 3, 3])), [0.5, np.nan, 1.0]
    )


def test_one_sample_has_no_crps():
    with pytest.raises(CaesuraError, match="at least two"):
        crps(np.zeros((1, 3)), np.zeros(3))
