"""The head that weighs predictions, and nets for single columns: by NumPy, by JAX, and by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from caesura.errors import CaesuraError
from caesura.filler.columns import quantiles_of
from caesura.hardware import Tuning
from caesura.nets.columns import distributions, one_pass
from caesura.nets.eager import with_numpy
from caesura.nets.frames import Continuous
from caesura.nets.heads.base import Query
from caesura.nets.heads.logistics import Logistics
from caesura.nets.rnn import Net, bidirectional
from caesura.sequence import Sequence, Span
from caesura.strategies import BothWays, around_each

INFORMING = 6


def net(hidden: int = 5) -> Net:
    frame = Continuous(1 + INFORMING, INFORMING)
    made = bidirectional(
        jax.random.key(1),
        frame,
        head="weighing",
        hidden=hidden,
        cell="gru",
        layers=2,
        head_hidden=7,
    )
    # Weights that are all random, so that nothing is tested at zero.
    leaves, structure = jax.tree.flatten(made)
    keys = jax.random.split(jax.random.key(2), len(leaves))
    moved = [a + 0.2 * jax.random.normal(k, a.shape) for a, k in zip(leaves, keys, strict=True)]
    return jax.tree.unflatten(structure, moved)


def frames(steps: int = 12, lanes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(steps, lanes, 1 + INFORMING)).astype(np.float32)
    return values, rng.random((steps, lanes)) < 0.4


@pytest.mark.slow
def test_numpy_and_jax_agree():
    values, missing = frames()
    found = one_pass(with_numpy(net()), values, missing)
    valid = jnp.ones(missing.shape, bool)
    unseen = (jnp.asarray(missing),) * 2
    again = distributions(net(), jnp.asarray(values), valid, *unseen, Tuning())
    for mine, other in zip(found, again, strict=True):
        np.testing.assert_allclose(mine, np.asarray(other)[missing], atol=1e-5)


def test_what_is_missing_is_not_seen():
    values, missing = frames()
    found = one_pass(with_numpy(net()), values, missing)
    other = values.copy()
    other[..., 0] = np.where(missing, 99.0, values[..., 0])
    again = one_pass(with_numpy(net()), other, missing)
    for mine, its in zip(found, again, strict=True):
        assert np.array_equal(mine, its)


@pytest.mark.slow
def test_the_density_is_normalised_and_is_that_of_the_draws():
    made = net()
    context = jax.random.normal(jax.random.key(3), (2 * (5 + 4 * (1 + INFORMING)),))
    context = jnp.abs(context)  # ages are no negative numbers
    frame = jax.random.normal(jax.random.key(4), (1 + INFORMING,))
    missing = jnp.arange(1 + INFORMING) == 0
    points = np.linspace(-60, 60, 24001)

    def log_prob(x):
        return made.head.log_prob(Query(context, frame.at[0].set(x), missing))

    density = np.exp(np.asarray(jax.vmap(log_prob)(jnp.asarray(points, jnp.float32))))
    assert np.trapezoid(density, points) == pytest.approx(1, abs=2e-3)
    count = 4000
    draw = jax.vmap(lambda key: made.head.sample(key, Query(context, frame, missing)))
    drawn = np.asarray(draw(jax.random.split(jax.random.key(5), count)))
    assert np.array_equal(drawn[:, 1:], np.broadcast_to(frame[1:], drawn[:, 1:].shape))
    below = np.cumsum(density) * (points[1] - points[0])
    for level in (0.1, 0.5, 0.9):
        share = np.mean(drawn[:, 0] < points[np.searchsorted(below, level)])
        assert abs(share - level) < 4 * (level * (1 - level) / count) ** 0.5 + 2e-3
    mass = np.exp(np.asarray(made.head.marginals(Query(context, frame, missing)))[0])
    assert mass.sum() == pytest.approx(1, abs=1e-4)


def test_the_joint_density_of_two_numbers_integrates_to_one():
    """`bothways` with this head: a proper distribution of what is missing together."""
    values, _ = frames(steps=6, lanes=1)
    missing = np.zeros((6, 1 + INFORMING), bool)
    missing[[2, 3], 0] = True
    made = net()
    window = around_each(made, [Sequence(values[:, 0], missing)], [Span(2, 4)], [4])
    points = np.linspace(-40, 40, 161)
    grid = np.stack(np.meshgrid(points, points, indexing="ij"), axis=-1).reshape(-1, 2)
    fills = np.repeat(np.asarray(window.values)[:, None], len(grid), axis=1)
    fills[0, :, 0, 0], fills[0, :, 1, 0] = grid[:, 0], grid[:, 1]
    nats = BothWays().log_prob(jax.random.key(0)[None], made, window, jnp.asarray(fills)).log_prob
    density = np.exp(np.asarray(nats[0], np.float64)).reshape(161, 161)
    assert np.trapezoid(np.trapezoid(density, points), points) == pytest.approx(1, abs=0.03)


def test_quantiles_are_where_so_much_is_below():
    rng = np.random.default_rng(1)
    weights = np.log(rng.dirichlet(np.ones(4), 50))
    found = Logistics(weights, rng.normal(size=(50, 4)), np.exp(rng.normal(size=(50, 4))))
    levels = np.array([0.005, 0.05, 0.5, 0.9, 0.995])
    for level, values in zip(levels, quantiles_of(found, levels), strict=True):
        np.testing.assert_allclose(found.below(values), level, atol=2e-3)


def test_the_head_is_for_one_number():
    with pytest.raises(CaesuraError, match="for one number"):
        bidirectional(jax.random.key(0), Continuous(6, 4), head="weighing", hidden=3, head_hidden=3)
