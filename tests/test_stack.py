"""A stack of trainings: each of them ends as if it had been trained alone."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from caesura.errors import CaesuraError
from caesura.hardware import Tuning
from caesura.nets.architecture import Architecture
from caesura.nets.frames import Binary, Categorical
from caesura.sequence import UNKNOWN
from caesura.training import loop, stack
from caesura.training.loop import Data, State, Stopped, fit
from caesura.training.recipe import Recipe, choose
from caesura.training.stack import Part, begin_stack, fit_stack, joinable
from caesura.training.token import with_token, without_token

KEYS = 6
TINY = {"hidden": 5, "steps": 8, "length": 14, "validate_every": 3, "gap": 2, "every": 7}
TINY |= {"learning_rate": [0.03, 0.1], "valid_steps": 60}


def recipe(name: str, kind: str = "music", **fields) -> Recipe:
    if name in ("paper-brnn", "paper-rnn"):
        fields["gap"] = 0
    return choose(name, kind, ("alphabet",), TINY | {"batch": 4} | fields).recipe


def rolls(seed: int, lengths: list[int]) -> list[np.ndarray]:
    draw = np.random.default_rng(seed)
    return [(draw.random((n, KEYS)) < 0.3).astype(np.int8) for n in lengths]


def part(
    name: str, data: Data, seed: int = 0, frame: Binary | Categorical | None = None, **fields
) -> Part:
    chosen = recipe(name, **fields)
    frame = frame or Binary(KEYS)
    head = "softmax" if isinstance(frame, Categorical) else "bernoulli"
    architecture = Architecture(
        chosen.net, frame.spec, head, "tanh", chosen.hidden, 1, chosen.missing_input
    )
    key_net, key_fit = jax.random.split(jax.random.key(seed))
    return Part(key_fit, architecture.build(key_net), data, chosen)


ONE = Data(rolls(0, [30, 9, 21]), rolls(1, [25]))
TWO = Data(rolls(2, [16, 40]), rolls(3, [12, 31, 8]))


def assert_alike(stacked, alone):
    for ours, theirs in zip(stacked.history, alone.history, strict=True):
        assert ours["step"] == theirs["step"]
        np.testing.assert_allclose(ours["loss"], theirs["loss"], rtol=2e-5)
        np.testing.assert_allclose(ours["nll"], theirs["nll"], rtol=2e-5)
    assert (stacked.step, stacked.learning_rate) == (alone.step, alone.learning_rate)
    assert stacked.nll == pytest.approx(alone.nll, rel=2e-5)
    assert jax.tree.structure(stacked.net) == jax.tree.structure(alone.net)
    for ours, theirs in zip(jax.tree.leaves(stacked.net), jax.tree.leaves(alone.net), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-5)


def check(parts: list[Part]) -> None:
    for one, stacked in zip(parts, fit_stack(parts), strict=True):
        assert_alike(stacked, fit(one.key, one.net, one.data, one.recipe))


@pytest.fixture(params=[Tuning(), Tuning(unroll=5, width=8)], ids=["cpu", "gpu"])
def tuned(request, monkeypatch):
    """The order of computation that suits a CPU, and the one that suits a GPU."""
    for module in (loop, stack):
        monkeypatch.setattr(module, "tuning_for", lambda precision: request.param)


@pytest.mark.slow
def test_a_training_in_a_stack_equals_the_same_training_alone(tuned):
    """Sets, seeds, batches, learning rates, gaps, targets and the token differ."""
    check(
        [
            part("paper-brnn", ONE),
            part("paper-nade", TWO, batch=6),
            part("paper-nade-masked", ONE, seed=3, learning_rate=[0.3, 0.01]),
        ]
    )


@pytest.mark.slow
def test_forward_nets_are_stacked_too():
    check([part("paper-rnn", ONE), part("paper-rnn", TWO, batch=2)])


@pytest.mark.slow
def test_an_unknown_symbol_is_no_token_to_a_net_without_one():
    draw = np.random.default_rng(0)
    texts = [draw.integers(UNKNOWN, 4, (n, 1)).astype(np.int8) for n in (40, 30)]
    data, frame = Data(texts[:1], texts[1:]), Categorical(4)
    fields = {"kind": "text", "burn_in": 0, "frame": frame}
    check([part("paper-brnn", data, **fields), part("paper-nade", data, **fields)])


@pytest.mark.slow
def test_a_stopped_stack_goes_on_and_ends_with_the_same_weights():
    parts = [part("paper-brnn", ONE), part("paper-nade", TWO)]
    saved: list[State] = []
    with pytest.raises(Stopped):
        fit_stack(parts, save=saved.append, stop=lambda: True)
    (state,) = saved
    assert 0 < state.step < parts[0].recipe.steps
    ends = fit_stack(parts, state=state, save=saved.append)
    assert saved[-1].step == parts[0].recipe.steps
    for one, other in zip(ends, fit_stack(parts), strict=True):
        for ours, theirs in zip(jax.tree.leaves(one.net), jax.tree.leaves(other.net), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    # A stack that was saved at its end has nothing left to do.
    again = fit_stack(parts, state=saved[-1], stop=lambda: True)
    assert again[0].nll == ends[0].nll


@pytest.mark.slow
def test_bad_gradients_of_one_training_do_not_end_the_others():
    """It keeps its best net; without one, there is an error."""
    long = {"steps": 120, "validate_every": 60}
    parts = [part("paper-brnn", ONE, **long), part("paper-nade", TWO, **long)]
    state = begin_stack(parts)
    nets = state.members
    broken = jax.tree.map(lambda a: a.at[0].set(jnp.nan), nets.weights)
    state = state._replace(members=replace(nets, weights=broken))
    with pytest.raises(CaesuraError, match="not finite"):
        fit_stack(parts, state=state)
    known = replace(state.members, best_nll=nets.best_nll.at[0].set(0.5))
    ends = fit_stack(parts, state=state._replace(members=known))
    assert (ends[0].nll, ends[0].step) == (0.5, 0)
    assert ends[0].skipped == 120
    other = fit(parts[1].key, parts[1].net, parts[1].data, parts[1].recipe)
    assert_alike(ends[1], other)


def test_what_may_be_stacked():
    brnn, nade, masked = map(recipe, ("paper-brnn", "paper-nade", "paper-nade-masked"))
    assert joinable(brnn, nade)
    assert joinable(nade, masked)
    assert joinable(nade, recipe("paper-nade", batch=9, learning_rate=[1.0, 2.0]))
    assert not joinable(brnn, recipe("paper-rnn"))
    assert not joinable(nade, recipe("paper-nade", gap=3))
    assert not joinable(nade, recipe("paper-nade", learning_rate=0.1))
    for other in ({"steps": 9}, {"length": 15}, {"hidden": 6}, {"patience": 2}, {"dropout": 0.1}):
        assert not joinable(nade, recipe("paper-nade", **other))
    alone = recipe("paper-nade", dropout=0.1)
    assert not joinable(alone, alone)
    with pytest.raises(CaesuraError, match="cannot be stacked"):
        fit_stack([part("paper-brnn", ONE), part("paper-rnn", ONE)])


def test_random_keys_do_not_depend_on_how_many_are_split():
    """A batch of a stack has as many rows as its largest training."""
    key = jax.random.key(5)
    few, many = jax.random.split(key, 3), jax.random.split(key, 8)
    np.testing.assert_array_equal(jax.random.key_data(few), jax.random.key_data(many[:3]))


def test_a_token_is_added_and_removed():
    net = part("paper-brnn", ONE).net
    more = with_token(net)
    assert more.missing_input == "added"
    assert more.forward.cells[0].W_x.shape[1] == KEYS + 1
    assert not jnp.any(more.backward.cells[0].W_x[:, -1])
    back = without_token(more)
    assert jax.tree.structure(back) == jax.tree.structure(net)
    assert all(map(np.array_equal, jax.tree.leaves(back), jax.tree.leaves(net)))
