"""Whole batches give what single sequences give: the same contexts, and the same gradients."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from caesura.hardware import Tuning
from caesura.nets.batch import Inputs, contexts
from caesura.nets.frames import Categorical
from caesura.nets.rnn import Net, bidirectional, unidirectional

T, LENGTHS = 7, (7, 4, 1)
FRAME = Categorical(4)
TUNINGS = {"plain": Tuning(), "tuned": Tuning(unroll=3, width=8)}


def make(cell: str, layers: int, missing_input: str | None) -> Net:
    shape = {"head": "softmax", "hidden": 5, "cell": cell, "layers": layers}
    if missing_input is None:
        net = unidirectional(jax.random.key(1), FRAME, **shape)
    else:
        net = bidirectional(jax.random.key(1), FRAME, **shape, missing_input=missing_input)
    # Biases and gates start at zero, where mistakes in them would not show.
    return jax.tree.map(lambda a: a + 0.1 * jax.random.normal(jax.random.key(2), a.shape), net)


def batch() -> tuple[jax.Array, jax.Array, jax.Array]:
    draw = np.random.default_rng(0)
    values = jnp.asarray(draw.integers(0, 4, (T, len(LENGTHS), 1)))
    unknown = jnp.asarray(draw.random(values.shape) < 0.3)
    return values, unknown, jnp.arange(T)[:, None] < jnp.array(LENGTHS)


def one_by_one(net: Net) -> jax.Array:
    def alone(values, unknown, valid):
        return net.contexts(net.states(net.inputs(values, unknown), valid))

    return jax.vmap(alone, in_axes=1, out_axes=1)(*batch())


def together(net: Net, tuning: Tuning, dropout: float = 0.0) -> jax.Array:
    values, unknown, valid = batch()
    x, m = jax.vmap(jax.vmap(net.encode))(values, unknown)
    return contexts(net, Inputs(x, m, valid), tuning, jax.random.key(0), dropout)


def weighed(found: jax.Array) -> jax.Array:
    """A number that depends on every context of a real step in its own way."""
    weights = jax.random.normal(jax.random.key(3), found.shape)
    return jnp.sum(jnp.where(batch()[2][..., None], jnp.sin(found) * weights, 0.0))


CASES = [(1, None, "plain"), (1, "none", "plain"), (2, "added", "plain"), (2, "gating", "tuned")]


@pytest.mark.parametrize(("layers", "missing_input", "tuning"), CASES)
@pytest.mark.parametrize(
    "cell",
    [
        "lstm",
        pytest.param("tanh", marks=pytest.mark.slow),
        pytest.param("gru", marks=pytest.mark.slow),
    ],
)
def test_a_batch_is_its_sequences(cell, layers, missing_input, tuning):
    net = make(cell, layers, missing_input)
    value, gradient = eqx.filter_value_and_grad(lambda n: weighed(one_by_one(n)))(net)
    fast, its_gradient = eqx.filter_value_and_grad(lambda n: weighed(together(n, TUNINGS[tuning])))(
        net
    )
    assert float(fast) == pytest.approx(float(value), abs=1e-5)
    for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(its_gradient), strict=True):
        np.testing.assert_allclose(b, a, atol=2e-5)


def test_dropout_takes_its_share_and_keeps_the_mean():
    net = make("tanh", 1, "none")
    whole = np.asarray(together(net, Tuning()))
    thinned = np.asarray(together(net, Tuning(), dropout=0.25))
    lost = (thinned == 0)[whole != 0]
    assert abs(lost.mean() - 0.25) < 6 * (0.25 * 0.75 / len(lost)) ** 0.5
    kept = thinned != 0
    np.testing.assert_allclose(thinned[kept], whole[kept] / 0.75, rtol=1e-5)


@pytest.mark.parametrize("missing_input", [None, "added"])
def test_two_layers_with_dropout_learn_in_bfloat16_too(missing_input):
    net = make("lstm", 2, missing_input)
    exact, rounded = (
        jax.grad(lambda net, t=tuning: weighed(together(net, t, dropout=0.2)))(net)
        for tuning in (Tuning(), Tuning(dtype=jnp.bfloat16))
    )
    for a, b in zip(jax.tree.leaves(exact), jax.tree.leaves(rounded), strict=True):
        np.testing.assert_allclose(b, a, atol=0.1)


def loops(jaxpr) -> list:
    """All loops over time, however deep in other programs."""
    found = []
    for equation in jaxpr.eqns:
        inner = (getattr(value, "jaxpr", value) for value in equation.params.values())
        for one in (value for value in inner if hasattr(value, "eqns")):
            found += [equation] if equation.primitive.name == "scan" else loops(one)
    return found


def test_a_step_reads_and_keeps_no_more_than_it_must():
    """A loop over time is as fast as memory, so what it reads and writes at each step is counted.

    The recurrent weights are rounded before the loops. A step of a tanh keeps h and the slope.
    """
    net = make("tanh", 1, "none")
    tuning = Tuning(dtype=jnp.bfloat16, width=8)
    program = jax.make_jaxpr(jax.grad(lambda net: weighed(together(net, tuning))))(net)
    forth, back = loops(program.jaxpr)
    for loop in forth, back:
        body = loop.params["jaxpr"].jaxpr
        (product,) = (e for e in body.eqns if e.primitive.name == "dot_general")
        weights = (2, 8, 8)  # both directions, five units padded to eight
        assert [v.aval.dtype for v in product.invars if v.aval.shape == weights] == [jnp.bfloat16]
        inside = [v for e in body.eqns for v in e.outvars if v.aval.shape == weights]
        assert not inside
    kept = forth.outvars[forth.params["num_carry"] :]
    assert [(v.aval.shape, v.aval.dtype) for v in kept] == [((T, 2, 3, 8), jnp.bfloat16)] * 2


def test_the_gradient_of_all_weights_of_a_layer_is_one_product():
    """One over all steps, after the loops, with the larger array as it is and not transposed."""
    program = jax.make_jaxpr(jax.grad(lambda net: weighed(together(net, Tuning()))))(
        make("lstm", 1, "none")
    )
    steps = T * len(LENGTHS)

    def summed(equation) -> int:
        (first, _), _ = equation.params["dimension_numbers"]
        return int(np.prod([equation.invars[0].aval.shape[axis] for axis in first]))

    products = [e for e in program.jaxpr.eqns if e.primitive.name == "dot_general"]
    (product,) = (e for e in products if summed(e) == steps)
    # Both directions: h of 5 units, 4 symbols and 1 for the bias; then the gradients of 4 gates.
    assert [v.aval.size for v in product.invars] == [2 * steps * (5 + 4 + 1), 2 * steps * 4 * 5]
