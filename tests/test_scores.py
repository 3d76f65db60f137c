"""Scores of draws against closed forms."""

import numpy as np
import pytest
from scipy.stats import norm

from caesura.errors import CaesuraError
from caesura.scoring.scores import COVERAGES, covered, csdi_crps, quantiles


def test_nineteen_quantiles_come_near_the_crps():
    """The mean over levels of twice the quantile loss approximates the integral that is the CRPS.

    For a standard normal distribution that is y (2 Φ(y) − 1) + 2 φ(y) − 1/√π (Gneiting and
    Raftery 2007).
    """
    draw = np.random.default_rng(3)
    y = draw.normal(size=400)
    exact = y * (2 * norm.cdf(y) - 1) + 2 * norm.pdf(y) - 1 / np.sqrt(np.pi)
    samples = 5 + draw.normal(size=(2000, 400))
    found = csdi_crps(samples, 5 + y)
    np.testing.assert_allclose(found, exact.sum() / np.abs(5 + y).sum(), rtol=0.06)


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


def test_quantiles_that_need_more_samples_are_refused():
    samples = np.arange(1.0, 20.0)[:, None]  # at 1/20, 2/20 and so on
    np.testing.assert_allclose(quantiles(samples, [0.05, 0.5, 0.95])[:, 0], [1, 10, 19])
    with pytest.raises(CaesuraError, match=r"level 0.025 needs at least 39 samples, not 19"):
        quantiles(samples, [0.025])
    with pytest.raises(CaesuraError, match="between 0 and 1"):
        quantiles(samples, [1.0])
