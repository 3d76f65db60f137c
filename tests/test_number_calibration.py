"""Whether the tally of numbers finds out who can be believed, told in bins of what is stated."""

import numpy as np
import pytest
from scipy.stats import norm

from caesura.nets.bins import BINS, EDGES, crps, share_below
from caesura.scoring.calibration import tally_numbers


def stated(mean: np.ndarray, spread: float) -> np.ndarray:
    """Log-probabilities of the bins of normal distributions."""
    below = norm.cdf(EDGES, mean[..., None], spread)
    mass = np.diff(below, axis=-1, prepend=0.0, append=1.0)
    return np.log(np.maximum(mass, 1e-30)).astype(np.float32)


def test_the_share_below_is_that_of_the_distribution():
    draw = np.random.default_rng(0)
    mean, value = draw.normal(size=(2, 500))
    found = share_below(stated(mean, 0.7), value)
    np.testing.assert_allclose(found, norm.cdf(value, mean, 0.7), atol=2e-3)
    far = share_below(stated(np.zeros(2), 1.0), np.array([-1e3, 1e3]))
    np.testing.assert_allclose(far, [0, 1], atol=1e-6)
    assert stated(mean, 0.7).shape[-1] == BINS


def test_the_crps_is_that_of_the_distribution():
    """Against its closed form for normal distributions (Gneiting and Raftery 2007, Eq. 21)."""
    draw = np.random.default_rng(2)
    mean, value = 2 * draw.normal(size=(2, 500))
    z = (value - mean) / 0.7
    exact = 0.7 * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
    np.testing.assert_allclose(crps(stated(mean, 0.7), value), exact, rtol=0.01, atol=2e-3)
    far = crps(stated(np.zeros(2), 1e-3), np.array([-100.0, 100.0]))
    np.testing.assert_allclose(far, 100, atol=0.1)


@pytest.mark.parametrize(("claimed", "covered"), [(0.5, (0.5, 0.8, 0.95)), (0.25, None)])
def test_the_tally_tells_whom_to_believe(claimed, covered):
    draw = np.random.default_rng(1)
    mean = draw.normal(size=(4000, 2, 3))
    truth = (mean + 0.5 * draw.normal(size=mean.shape)).astype(np.float32)
    tally = tally_numbers(stated(mean, claimed), truth)
    found = np.stack([tally.coverage_50, tally.coverage_80, tally.coverage_95])
    right = norm.cdf(norm.ppf(0.5 + np.array([0.5, 0.8, 0.95]) / 2) * claimed / 0.5) * 2 - 1
    np.testing.assert_allclose(found, np.stack([right, right], axis=1), atol=0.015)
    if covered:
        np.testing.assert_allclose(right, covered)
        assert tally.calibration_error < 0.005
    else:
        assert tally.calibration_error > 0.04
    np.testing.assert_allclose(tally.median_error, 0.5 * np.sqrt(2 / np.pi), atol=0.01)
    if covered:
        np.testing.assert_allclose(tally.crps, 0.5 / np.sqrt(np.pi), atol=0.01)
    told = (tally + tally).to_dict()
    assert told["gaps"] == 8000
    assert sum(one["true"] for one in told["reliability"]) == pytest.approx(1)
