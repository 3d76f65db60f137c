"""The nets against the oracle, and what may flow from where to where in them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oracle
from caesura.nets.cells import CELLS
from caesura.nets.frames import Binary, Categorical
from caesura.nets.heads.base import Query
from caesura.nets.rnn import Input, bidirectional, unidirectional

T, HIDDEN = 6, 5
FRAMES = {"softmax": Categorical(3), "bernoulli": Binary(3)}
NETS = {"bidirectional": bidirectional, "forward": unidirectional}

every_cell = pytest.mark.parametrize("cell", CELLS)
every_depth = pytest.mark.parametrize("layers", [1, 2])
every_head = pytest.mark.parametrize("head", FRAMES)
every_net = pytest.mark.parametrize("direction", NETS)


def make(direction, head="softmax", **options):
    """A net far from its initialisation, with biases and gates that are not zero."""
    net = eqx.filter_eval_shape(
        NETS[direction], jax.random.key(0), FRAMES[head], head=head, hidden=HIDDEN, **options
    )
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda a: jnp.asarray(1.5 * rng.normal(size=a.shape), jnp.float32), net)


def random_sequence(frame, missing_part=0.4):
    """Values and which of them are unknown."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, frame.cardinality, (T, frame.components))
    return values, rng.random(values.shape) < missing_part


@eqx.filter_jit
def outputs(net, inputs, valid):
    """Log-probabilities [T, D, K] of every value at every step."""
    contexts = net.contexts(net.states(inputs, valid))
    frame = jnp.zeros(net.frame.components, jnp.int32)
    return jax.vmap(lambda context: net.head.marginals(Query(context, frame, frame == 0)))(contexts)


@eqx.filter_jit
def probabilities(net, values, unknown):
    return jnp.exp(outputs(net, net.inputs(values, unknown), jnp.ones(T, bool)))


def assert_outputs_equal_the_oracle(net):
    values, unknown = random_sequence(net.frame)
    wanted = oracle.predict(net, values, unknown)
    assert np.ptp(wanted, axis=0).max() > 0.01  # what is said depends on the step
    with jax.disable_jit():  # which takes less time here than to compile
        found = probabilities(net, jnp.asarray(values), jnp.asarray(unknown))
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@every_cell
@every_depth
@every_head
@pytest.mark.parametrize("missing_input", ["none", "added", "gating"])
def test_bidirectional_outputs_equal_the_oracle(cell, layers, head, missing_input):
    net = make("bidirectional", head, cell=cell, layers=layers, missing_input=missing_input)
    assert_outputs_equal_the_oracle(net)


@every_cell
@every_depth
@every_head
def test_forward_outputs_equal_the_oracle(cell, layers, head):
    assert_outputs_equal_the_oracle(make("forward", head, cell=cell, layers=layers))


@every_cell
@every_depth
@every_net
def test_each_output_depends_on_exactly_the_inputs_it_may_see(cell, layers, direction):
    net = make(direction, cell=cell, layers=layers)
    x, m = eqx.filter_jit(net.inputs)(*random_sequence(net.frame))
    jacobian = jax.jit(jax.jacrev(lambda x: outputs(net, Input(x, m), jnp.ones(T, bool))))(x)
    seen = np.abs(jacobian).max(axis=(1, 2, 4)) > 0  # [t, s] is about y_t and x_s
    before = np.tri(T, k=-1, dtype=bool)
    assert (seen == (before if direction == "forward" else before | before.T)).all()


@every_cell
def test_states_outside_the_sequence_are_zero(cell):
    net, length = make("bidirectional", cell=cell, layers=2), 4
    inputs = eqx.filter_jit(net.inputs)(*random_sequence(net.frame))
    states = eqx.filter_jit(net.states)(inputs, np.arange(T) < length)
    forward, backward = jax.tree.map(np.asarray, states)
    for h in jax.tree.leaves(forward):
        assert (h[0] == 0).all()
        assert (h[1:] != 0).any(axis=1).all()
    for h in jax.tree.leaves(backward):
        assert (h[length:] == 0).all()
        assert (h[:length] != 0).any(axis=1).all()


@every_cell
def test_a_padded_batch_gives_what_each_sequence_gives_alone(cell):
    net = make("bidirectional", cell=cell, layers=2)
    lengths = np.array([3, T, 4])
    rng = np.random.default_rng(2)
    values = rng.integers(0, 3, (3, T, 1))  # in the padding, too
    unknown = rng.random((3, T, 1)) < 0.4

    @jax.jit
    @jax.vmap
    def batch(values, unknown, valid):
        return jnp.exp(outputs(net, net.inputs(values, unknown), valid))

    found = batch(values, unknown, np.arange(T) < lengths[:, None])
    for i, n in enumerate(lengths):
        alone = oracle.predict(net, values[i, :n], unknown[i, :n])
        np.testing.assert_allclose(found[i, :n], alone, atol=1e-5)


@every_cell
def test_gates_do_nothing_where_nothing_is_unknown(cell):
    gated = make("bidirectional", cell=cell, missing_input="gating")

    def gates(net):
        return [cell.gate for cell in net.forward.cells + net.backward.cells]

    ungated = eqx.tree_at(gates, gated, replace_fn=lambda gate: None)
    values, some = random_sequence(gated.frame)

    def difference(unknown):
        a, b = (probabilities(net, values, unknown) for net in (gated, ungated))
        return np.abs(a - b).max()

    assert difference(np.zeros_like(some)) < 1e-6
    assert difference(some) > 0.01


def assert_uniform(weights, s):
    """Drawn from U[−s, s]: by chance, 500 weights miss the outermost twentieth once in 10^5."""
    assert weights.size >= 500
    assert 0.95 * s < weights.max() <= s
    assert -s <= weights.min() < -0.95 * s


@every_cell
@every_net
def test_weights_start_as_in_the_paper(cell, direction):
    c, symbols = 32, 20
    net = NETS[direction](
        jax.random.key(0), Categorical(symbols), head="softmax", hidden=c, cell=cell, layers=2
    )
    net = jax.tree.map(np.asarray, net)

    def glorot(d_in, d_out):
        return (6 / (d_in + d_out)) ** 0.5

    stacks = [net.forward, net.backward] if direction == "bidirectional" else [net.forward]
    for first, second in (stack.cells for stack in stacks):
        assert_uniform(first.W_x, 1.0)
        for weights in (first.W_h, second.W_h, second.W_x):
            for gate in np.split(weights, first.blocks):
                assert_uniform(gate, glorot(c, c))
    for W_y in np.split(np.asarray(net.head.W_y), len(stacks), axis=1):
        assert_uniform(W_y, glorot(c, symbols))


@every_cell
def test_biases_and_gates_start_at_zero_but_for_the_forget_gate(cell):
    net = bidirectional(
        jax.random.key(0),
        Categorical(3),
        head="softmax",
        hidden=HIDDEN,
        cell=cell,
        missing_input="gating",
    )
    net = jax.tree.map(np.asarray, net)
    assert (net.head.b_y == 0).all()
    for one in net.forward.cells + net.backward.cells:
        assert (one.gate == 0).all()
        for i, bias in enumerate(np.split(one.b_h, one.blocks)):
            assert (bias == (cell == "lstm" and i == 1)).all()
