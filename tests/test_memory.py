"""What a net remembers: the nearest known values, found again by looking for them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from caesura.hardware import Tuning
from caesura.nets.batch import Inputs, contexts
from caesura.nets.frames import Continuous
from caesura.nets.memory import DEPTH, Memory
from caesura.nets.rnn import Net, bidirectional, unidirectional
from small_nets import make_net

T, D, LENGTHS = 9, 3, (9, 5, 1)
FRAME = Continuous(D)
TUNINGS = {"plain": Tuning(), "tuned": Tuning(unroll=3, width=8)}


def batch() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """[T, B, D]: some values are hidden, others not known, and −1 is a number like any other."""
    draw = np.random.default_rng(0)
    values = np.round(draw.normal(size=(T, len(LENGTHS), D)), 1).astype(np.float32)
    values[draw.random(values.shape) < 0.2] = -1
    values[draw.random(values.shape) < 0.2] = np.nan
    hidden = draw.random(values.shape) < 0.4
    return values, hidden, np.arange(T)[:, None] < np.array(LENGTHS)


def nearest(known: list[tuple[int, float]], t: int) -> list[float]:
    """The values nearest to t, then how far away they are; zeros where there are no more."""
    found = sorted((abs(at - t), value) for at, value in known)[:DEPTH]
    found += [(0, 0.0)] * (DEPTH - len(found))
    return [value for _, value in found] + [age for age, _ in found]


def brute_force(values, hidden, valid, t, reverse) -> np.ndarray:
    """[2 DEPTH, D] of one sequence, as it stands before step t."""
    columns = []
    for d in range(D):
        there = valid & ~hidden[:, d] & ~np.isnan(values[:, d])
        side = range(t + 1, T) if reverse else range(t)
        columns.append(nearest([(s, values[s, d]) for s in side if there[s]], t))
    return np.array(columns).T


def make(both: bool) -> Net:
    shape = {"head": "mixture", "hidden": 4, "cell": "gru", "layers": 2, "head_hidden": 3}
    build = bidirectional if both else unidirectional
    return build(jax.random.key(1), FRAME, **shape)


def one_by_one(net: Net) -> np.ndarray:
    def alone(values, hidden, valid):
        return net.contexts(net.states(net.inputs(values, hidden), valid))

    return np.asarray(jax.vmap(alone, in_axes=1, out_axes=1)(*map(jnp.asarray, batch())))


@pytest.mark.parametrize("both", [True, False])
def test_the_memory_is_what_a_search_finds(both):
    values, hidden, valid = batch()
    found, size = one_by_one(make(both)), Memory(FRAME).size
    for b, length in enumerate(LENGTHS):
        for t in range(length):
            sides = np.split(found[t, b], 2) if both else [found[t, b]]
            for reverse, side in zip((False, True), sides, strict=False):
                wanted = brute_force(values[:, b], hidden[:, b], valid[:, b], t, reverse)
                np.testing.assert_allclose(side[4:].reshape(-1, D), wanted, atol=1e-6)
                assert len(side) == 4 + size


@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("both", [True, False])
def test_a_batch_remembers_what_its_sequences_do(both, tuning):
    net, how = make(both), TUNINGS[tuning]
    values, hidden, valid = map(jnp.asarray, batch())
    x, m = jax.vmap(jax.vmap(net.encode))(values, hidden)
    found = np.asarray(contexts(net, Inputs(x, m, valid), how, jax.random.key(0)))
    np.testing.assert_allclose(found[batch()[2]], one_by_one(net)[batch()[2]], atol=1e-5)


def test_only_a_head_that_asks_has_nets_that_remember():
    assert make_net("bidirectional", "orderless").forward.memory is None
    assert make(True).backward.memory == Memory(FRAME)
    assert not jax.tree.leaves(Memory(FRAME))  # nothing to learn, nothing in a file
