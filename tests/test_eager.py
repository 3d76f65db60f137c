"""The nets run by NumPy give what they give when JAX runs them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from caesura.hardware import few_blas_threads
from caesura.nets import eager, products
from caesura.nets.cells import CELLS
from caesura.nets.frames import Categorical
from caesura.nets.heads.base import Query
from caesura.nets.heads.linear import Softmax
from caesura.nets.rnn import Net, bidirectional
from caesura.scoring.gaps import score_steps
from caesura.sequence import UNKNOWN
from caesura.strategies.window import KnownEnds

SYMBOLS = 5
LENGTHS = (7, 0, 12, 7)


class Foreign(Softmax):
    """A head that knows nothing of NumPy."""

    in_numpy = False

    def log_probs(self, logits):
        assert logits.ndim == 1
        return jax.nn.log_softmax(logits)[None]


def make(cell: str = "lstm", missing_input: str = "added", **shape) -> Net:
    key = jax.random.key(0)
    shape = {"head": "softmax", "hidden": 6, "layers": 2, "head_hidden": 4} | shape
    net = bidirectional(key, Categorical(SYMBOLS), cell=cell, missing_input=missing_input, **shape)
    rng = np.random.default_rng(1)  # the gate starts at zero, where it does nothing
    return jax.tree.map(lambda a: jnp.asarray(rng.normal(size=a.shape), jnp.float32), net)


def texts() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(UNKNOWN, SYMBOLS, length) for length in LENGTHS]


@pytest.fixture(scope="module", params=[*((c, "added") for c in CELLS), ("gru", "gating")], ids=str)
def net(request) -> Net:
    return make(*request.param)


def states_by_jax(net: Net, text: np.ndarray):
    values = jnp.asarray(text[:, None])
    inputs = net.inputs(values, jnp.zeros(values.shape, bool))
    return net.states(inputs, jnp.ones(len(text), bool))


def assert_same(found, wanted) -> None:
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, np.asarray(b).T, atol=1e-5)


def test_texts_of_any_length_are_read_side_by_side(net):
    light, some = eager.with_numpy(net), [text for text in texts() if len(text)]
    for stack, way in ((light.forward, 1), (light.backward, -1)):
        begin = eager.start(stack, len(some))
        found = eager.read(light, stack, begin, [text[::way] for text in some])
        for text, states in zip(some, found, strict=True):
            by_jax = states_by_jax(net, text)
            wanted = (
                by_jax.forward if way == 1 else jax.tree.map(lambda h: h[::-1], by_jax.backward)
            )
            assert_same(states, wanted)


def test_an_empty_text_leaves_the_state_as_it_was(net):
    light = eager.with_numpy(net)
    begin = jax.tree.map(lambda a: a + 0.5, eager.start(light.forward, len(LENGTHS)))
    found = eager.read(light, light.forward, begin, texts())
    for a, b in zip(jax.tree.leaves(found[1]), jax.tree.leaves(begin), strict=True):
        assert np.array_equal(a, b[:, 1:2])


def test_texts_may_be_empty_beside_one_of_a_single_symbol(net):
    light = eager.with_numpy(net)
    begin = eager.start(light.forward, 3)
    nothing, one = np.zeros(0, int), np.array([2])
    found = eager.read(light, light.forward, begin, [nothing, one, nothing])
    assert_same(found[1], states_by_jax(net, one).forward)
    assert all(a.shape[-1] == 1 for a in jax.tree.leaves(found[0]))


def test_a_step_is_a_text_of_one_symbol(net):
    light, symbols = eager.with_numpy(net), np.array([3, UNKNOWN, 0])
    begin = jax.tree.map(lambda a: a + 0.5, eager.start(light.forward, 3))
    stepped = eager.step(light, light.forward, begin, symbols)
    found = eager.read(light, light.forward, begin, [symbols[n : n + 1] for n in range(3)])
    last = eager.join([eager.take(states, slice(-1, None)) for states in found])
    for a, b in zip(jax.tree.leaves(stepped), jax.tree.leaves(last), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("length", [0, 1, 5])
def test_symbols_are_followed_as_step_by_step(net, length):
    light, rng = eager.with_numpy(net), np.random.default_rng(1)
    symbols = rng.integers(UNKNOWN, SYMBOLS, (length, 3))
    states = jax.tree.map(lambda a: a + 0.5, eager.start(light.forward, 3))
    rows = eager.table(light, light.forward)
    tops, last = eager.follow(light, states, symbols, rows)
    assert len(tops) == length + 1
    for now, top in zip(symbols, tops, strict=False):
        for a, b in zip(jax.tree.leaves(top), jax.tree.leaves(states[-1]), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)
        states = eager.step(light, light.forward, states, now, rows)
    for a, b in zip(jax.tree.leaves(last), jax.tree.leaves(states), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_a_text_is_not_read_twice(net, monkeypatch):
    """Also if it is in a batch with others, and only as long as it is known."""
    light, counts = eager.with_numpy(net), []
    read = eager.read
    monkeypatch.setattr(eager, "read", lambda *a: counts.append(len(a[3])) or read(*a))
    known, (a, nothing, b, c) = KnownEnds(most=2), texts()
    for some, count in (([a, b, a], 2), ([b, a], 0), ([nothing, c, b], 1), ([nothing, a], 1)):
        counts.clear()
        found = known.read("forward", light, light.forward, some)
        assert counts == ([count] if count else [])
        for row, text in enumerate(some):
            last = jax.tree.map(lambda h: h[-1], states_by_jax(net, text).forward)
            mine = jax.tree.map(lambda h, row=row: h[row], found)
            for x, y in zip(jax.tree.leaves(mine), jax.tree.leaves(last), strict=True):
                np.testing.assert_allclose(x, y, atol=1e-5)
    counts.clear()
    known.read("backward", light, light.backward, [a])  # another stack has other states
    assert counts == [1]


def test_a_text_that_ends_otherwise_is_read_from_there_on(net, monkeypatch):
    light, steps = eager.with_numpy(net), []
    read = eager.read
    monkeypatch.setattr(eager, "read", lambda *a: steps.append(list(map(len, a[3]))) or read(*a))
    monkeypatch.setattr(KnownEnds, "PIECE", 4)
    known, text = KnownEnds(), texts()[2]
    other = np.append(text[:6], [0, 1, 2])
    for some, counts in (([text], [12]), ([other], [5]), ([other, text[:8]], [])):
        steps.clear()
        found = known.read("forward", light, light.forward, some)
        assert steps == ([counts] if counts else [])
        for row, one in enumerate(some):
            last = jax.tree.map(lambda h: h[-1], states_by_jax(net, one).forward)
            mine = jax.tree.map(lambda h, row=row: h[row], found)
            for x, y in zip(jax.tree.leaves(mine), jax.tree.leaves(last), strict=True):
                np.testing.assert_allclose(x, y, atol=1e-5)


@pytest.mark.parametrize("foreign", [False, True])
def test_predictions_are_those_of_the_head(foreign):
    net, text = make(), texts()[2]
    if foreign:
        old = net.head
        net = jax.tree.map(lambda a: a, net)
        head = object.__new__(Foreign)
        for name in ("frame", "W_y", "b_y", "join"):
            object.__setattr__(head, name, getattr(old, name))
        object.__setattr__(net, "head", head)
    contexts = net.contexts(states_by_jax(net, text))
    nothing = jnp.zeros((len(text), 1), jnp.int32)
    wanted = jax.vmap(lambda *query: net.head.marginals(Query(*query))[0])(
        contexts, nothing, nothing == 0
    )
    light = eager.with_numpy(net)
    (before,) = eager.read(light, light.forward, eager.start(light.forward, 1), [text])
    (after,) = eager.read(light, light.backward, eager.start(light.backward, 1), [text[::-1]])
    found = eager.predict(
        light, eager.take(before, slice(0, -1)), eager.take(after, slice(-2, None, -1))
    )
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_each_symbol_is_predicted_from_all_the_others(net):
    text = texts()[2]
    found = eager.step_log_probs(eager.with_numpy(net), text)
    wanted = score_steps(net, [text[:, None]])
    assert len(found) == wanted.steps == np.sum(text != UNKNOWN)
    assert -found.mean() == pytest.approx(wanted.nll, abs=1e-5)


def test_the_threads_of_products_are_limited_until_the_last_user_ends():
    from threadpoolctl import threadpool_info

    def threads() -> list[int]:
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    before = threads()
    first, second = few_blas_threads(), few_blas_threads()
    with first:
        with second:
            inside = threads()
        assert threads() == inside
    assert threads() == before
    assert all(a <= b for a, b in zip(inside, before, strict=True))


def test_steps_may_follow_the_same_state(net):
    net = eager.with_numpy(net)
    rng = np.random.default_rng(2)
    states = eager.start(net.forward, 3)
    states = eager.step(net, net.forward, states, rng.integers(0, SYMBOLS, 3))
    parents, symbols = np.array([2, 0, 0, 2, 2]), rng.integers(UNKNOWN, SYMBOLS, 5)
    found = eager.step(net, net.forward, states, symbols, parents=parents)
    wanted = eager.step(net, net.forward, eager.take(states, parents), symbols)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("shape", [(12, 7), (384, 96), (1728, 432)])
def test_products_of_any_number_of_lanes(monkeypatch, shape, small):
    monkeypatch.setattr(products, "multiplies_small", lambda: small)
    rng = np.random.default_rng(0)
    W = rng.normal(size=shape).astype(np.float32)
    for count in (1, 2, 3, 4, 9, 15, 16, 31, 47, 48, 49, 97):
        x = rng.normal(size=(shape[1], count)).astype(np.float32)
        wanted = W.astype(np.float64) @ x
        for order in "CF":
            found = products.times(np.asfortranarray(W), np.asarray(x, order=order))
            np.testing.assert_allclose(found, wanted, atol=1e-4)
            assert found.flags.f_contiguous or (order == "C" and count > 1)


def test_lanes_keep_their_order_in_memory(net):
    """A batch that is copied lane by lane stays so: another order would be slow."""
    ready = eager.with_numpy(net)
    begin = eager.start(ready.forward, 3)
    rows = eager.table(ready, ready.forward)
    one = eager.step(ready, ready.forward, begin, np.array([0, 1, 2]), rows, np.array([0, 0, 2]))
    tops, last = eager.follow(ready, one, np.array([[0, 1, 2], [2, 1, 0]]), rows)
    for state in jax.tree.leaves((begin, one, tops, last, eager.take(one, np.array([2, 0])))):
        assert state.flags.f_contiguous
