"""What a net does not see of series in training; their own missing values have no effect there."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from caesura.hardware import Tuning
from caesura.nets.frames import Continuous
from caesura.nets.rnn import bidirectional
from caesura.training.batches import Chunks, Corpus, draw_example
from caesura.training.missingness import holes
from caesura.training.objectives import total_nll, total_objective
from caesura.training.recipe import choose

T, D, DRAWS = 30, 4, 4000


@pytest.fixture(scope="module")
def unseen() -> np.ndarray:
    keys = jax.random.split(jax.random.key(0), DRAWS)
    return np.asarray(jax.jit(jax.vmap(partial(holes, length=T, components=D)))(keys))


def test_every_component_is_unseen_as_often_as_the_others(unseen):
    share = unseen.mean(axis=(0, 1))
    assert np.all(np.abs(share - share.mean()) < 0.03)
    assert 0.3 < share.mean() < 0.6


def test_the_net_meets_all_shapes(unseen):
    """Each of them in a fair share of the draws; singled out by what the others hardly make."""
    columns, share = unseen.mean(axis=1), unseen.mean(axis=(1, 2))
    few = (share > 0) & (share < 0.2)
    one_more_than_another = columns.max(axis=1) > columns.min(axis=1) + 0.4
    whole_frames = unseen.all(axis=2).mean(axis=1) > 0.3
    assert few.mean() > 0.15
    assert one_more_than_another.mean() > 0.07
    assert whole_frames.mean() > 0.23
    assert unseen.all(axis=(1, 2)).mean() < 0.05


def recipe(**fields):
    small = {"batch": 2, "length": T, "hidden": 3, "head_hidden": 4, "valid_steps": T}
    return choose("series", "series", (), small | fields).recipe


def series(seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=(60, D)).astype(np.float32)
    values[np.random.default_rng(seed).random(values.shape) < 0.3] = np.nan
    return values


def test_numbers_reach_the_net_as_they_are():
    corpus = Corpus([series(0)])
    example = draw_example(jax.random.key(1), corpus, recipe())
    assert example.values.dtype == jnp.float32
    rows = [series(0)[t : t + T] for t in range(31)]
    assert any(np.array_equal(example.values, row, equal_nan=True) for row in rows)
    assert np.isnan(Chunks([series(1)], recipe()).values).any()


@pytest.mark.slow
def test_what_data_lack_is_no_target_and_moves_nothing():
    """Neither the score nor the gradient is lost to it, and empty frames do not count."""
    net = bidirectional(
        jax.random.key(0), Continuous(D), head="mixture", cell="lstm", hidden=3, head_hidden=4
    )
    values = series(2)
    values[5] = np.nan
    keys = jax.random.split(jax.random.key(3), 2)
    example = partial(draw_example, corpus=Corpus([values[:T]]), recipe=recipe())
    batch = jax.vmap(example, out_axes=1)(keys)
    assert np.isnan(batch.values).any()

    def loss(net):
        return total_objective(net, batch, Tuning(), jax.random.key(4), 0.0).nll

    value, gradient = eqx.filter_value_and_grad(loss)(net)
    assert np.isfinite(value)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
    exact = total_nll(net, batch, Tuning())
    assert np.isfinite(exact.nll)
    assert exact.steps == 2 * int((~np.isnan(values[:T])).any(axis=1).sum()) == 2 * (T - 1)
