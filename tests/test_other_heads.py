"""The distributions that benchmarks/series.py compares with the mixture."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
from other_heads import Binned, Bins, Spline, Splined

MEAN, SCALE = 0.3, 0.7


def make(distribution, count):
    parameters = jax.random.normal(jax.random.key(0), (count,))
    return distribution(parameters, jnp.asarray(MEAN), jnp.asarray(SCALE))


@pytest.mark.parametrize("head", [Binned, Splined])
def test_the_density_is_the_slope_of_the_share_below_and_draws_follow_it(head):
    found = make(head.distribution, head.count)
    grid = np.linspace(-20, 20, 40_001)
    density = np.exp(np.asarray(found.log_density(jnp.asarray(grid)), np.float64))
    sums = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(grid))])
    assert sums[-1] == pytest.approx(1, abs=1e-3)
    below = np.asarray(found.below(jnp.asarray(grid)))
    np.testing.assert_allclose(below, sums, atol=1e-3)
    draws = 20_000
    chance = jax.random.uniform(jax.random.key(1), (draws, 2), minval=1e-6)
    many = head.distribution(*(jnp.broadcast_to(a, (draws, *a.shape)) for a in found))
    drawn = np.asarray(many.draw(chance))
    for x in (-1.0, 0.0, 0.4, 1.0, 2.5):
        p = float(np.interp(x, grid, sums))
        assert abs((drawn < x).mean() - p) < 5 * (p * (1 - p) / draws) ** 0.5


@pytest.mark.parametrize(("distribution", "count"), [(Bins, Binned.count), (Spline, Splined.count)])
def test_zeros_are_the_logistic_distribution(distribution, count):
    plain = distribution(jnp.zeros(count), jnp.asarray(MEAN), jnp.asarray(SCALE))
    x = jnp.linspace(-12, 12, 50)
    wanted = jax.nn.sigmoid((x - MEAN) / SCALE)
    np.testing.assert_allclose(plain.below(x), wanted, atol=1e-5)
