"""Nets that learn to fill gaps from left to right, and trainings that start from a model."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import caesura
import oracle
from caesura.errors import CaesuraError
from caesura.hardware import Tuning
from caesura.training.batches import Example, hide
from caesura.training.objectives import total_nll
from caesura.training.recipe import Recipe, choose
from sentences import checked
from small_nets import make_net, random_values

T = 9
TINY = {"hidden": 4, "head_hidden": 0, "layers": 1, "steps": 2, "batch": 2, "length": 12}
TEXT = ["abcd" * 20] * 6


def recipe(**fields) -> Recipe:
    small = {"length": 200, "gap": (3, 5), "every": 10, "batch": 2, "in_order": 0.4}
    return choose("nade", "text", (), small | fields).recipe


def test_a_share_of_the_stretches_is_filled_in_order():
    values, valid = jnp.zeros((200, 1), jnp.int32), jnp.ones(200, bool)
    keys = jax.random.split(jax.random.key(0), 2000)
    found = jax.vmap(lambda key: hide(key, values, valid, recipe(targets="gaps")))(keys)
    in_order, unseen = np.asarray(found.in_order), np.asarray(found.unseen)[..., 0]
    ordered = in_order.any(axis=1)
    assert ordered.mean() == pytest.approx(0.4, abs=4 * (0.24 / 2000) ** 0.5)
    assert np.array_equal(unseen[ordered], in_order[ordered])  # gaps as a whole
    assert np.array_equal(unseen[ordered], np.asarray(found.targets)[ordered])
    assert unseen[ordered].mean() == pytest.approx(0.4, abs=0.01)
    assert unseen[~ordered].mean() < 0.3  # only some steps of each gap
    plain = hide(keys[0], values, valid, recipe(in_order=0.0))
    assert plain.in_order is None
    assert found.in_reverse is None


def test_half_of_them_may_be_filled_from_right_to_left():
    values, valid = jnp.zeros((200, 1), jnp.int32), jnp.ones(200, bool)
    keys = jax.random.split(jax.random.key(0), 2000)
    found = jax.vmap(lambda key: hide(key, values, valid, recipe(ways="both")))(keys)
    rightwards, leftwards = (np.asarray(a) for a in (found.in_order, found.in_reverse))
    shares = rightwards.any(axis=1).mean(), leftwards.any(axis=1).mean()
    assert shares == pytest.approx((0.2, 0.2), abs=4 * (0.16 / 2000) ** 0.5)
    assert not (rightwards.any(axis=1) & leftwards.any(axis=1)).any()
    assert np.asarray(found.unseen)[..., 0][rightwards | leftwards].all()


@pytest.mark.parametrize("way", ["rightwards", "leftwards"])
def test_the_loss_is_that_of_filling_in_order(way):
    net = make_net("bidirectional", "softmax")
    values = random_values(net.frame, T)
    gap = np.zeros((T, 1), bool)
    gap[3:6] = True
    at = jnp.asarray(gap)
    example = Example(jnp.asarray(values)[:, None], at[:, None], at, at | True, at)
    order = [3, 4, 5]
    if way == "leftwards":
        example, order = example._replace(in_order=~at & at, in_reverse=at), order[::-1]
    total = total_nll(net, example, Tuning())
    expected = -np.log(oracle.in_order(net, values, gap, order))
    assert int(total.steps) == 3
    assert float(total.nll) == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
def test_a_training_starts_from_a_model():
    first = caesura.train(TEXT, kind="text", recipe="nade,rnn", validate_every=1, **TINY)
    still = {"learning_rate": 1e-30, "validate_every": 1}
    again = caesura.train(TEXT, kind="text", recipe="nade,rnn", start=first, **TINY | still)
    for a, b in zip(jax.tree.leaves(first.nets), jax.tree.leaves(again.nets), strict=True):
        assert np.allclose(a, b, atol=1e-6)
    assert again.kind == first.kind


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"hidden": 5}, "has other sizes than the recipe"),
        ({"alphabet": "ab"}, "does not have alphabet='ab'"),
    ],
)
def test_a_model_to_start_from_must_fit(fields, sentence):
    first = caesura.train(TEXT, kind="text", validate_every=1, **TINY)
    with pytest.raises(CaesuraError, match=sentence) as caught:
        caesura.train(TEXT, kind="text", start=first, validate_every=1, **TINY | fields)
    checked(caught.value)


@pytest.mark.parametrize("fields", [{"in_order": 1.5}, {"gap": 0}, {"net": "forward"}])
def test_bad_recipes(fields):
    with pytest.raises(CaesuraError) as caught:
        recipe(**fields)
    checked(caught.value)
