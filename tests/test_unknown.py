"""A value outside what the model knows is to every strategy what a missing-value token is."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oracle
from caesura.nets.frames import Categorical
from caesura.nets.rnn import bidirectional, onegram
from caesura.sequence import UNKNOWN, Sequence
from caesura.strategies import GSN, NADE, Bayes, OneWay, around_missing
from small_nets import make_net, random_values

KEY = jax.random.key(0)


def read(pattern: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random symbols, but for those that are missing (x) and those that are unknown (?)."""
    steps = np.array(list(pattern))[:, None]
    values = random_values(Categorical(4), len(pattern), seed)
    return np.where(steps == "?", UNKNOWN, values).astype(np.int32), steps == "x"


def score(strategy, net, values, missing, fills):
    """Log-probabilities of fills of whole sequences."""
    sequence = Sequence(values, missing)
    start = sequence.gaps[0].start
    stop = strategy.stop(sequence.gaps[-1].stop, len(sequence))
    window = around_missing(net, sequence, stop)
    inside = np.zeros((1, len(fills), *window.values.shape[1:]), np.int32)
    inside[0, :, : stop - start] = np.array(fills)[:, start:stop]
    return np.asarray(strategy.log_prob(KEY, net, window, jnp.asarray(inside)).log_prob)[0]


@pytest.mark.parametrize("missing_input", ["none", "added"])
def test_a_net_is_shown_the_missing_value_token(missing_input):
    net = bidirectional(KEY, Categorical(4), head="softmax", hidden=3, missing_input=missing_input)
    values, hidden = read("..?x?.")
    shown = net.inputs(jnp.asarray(values), jnp.asarray(hidden))
    anything = jnp.asarray(np.where(values == UNKNOWN, 2, values))
    token = net.inputs(anything, jnp.asarray(hidden | (values == UNKNOWN)))
    assert np.array_equal(shown.x, token.x)
    assert np.array_equal(shown.m, token.m)
    assert shown.m.tolist() == [0, 0, 1, 1, 1, 0]
    assert not shown.x[2, :4].any()


def test_the_onegram_does_not_count_it():
    values, _ = read("..?.??.")
    head = onegram(Categorical(4), values).head
    assert np.array_equal(
        head.log_probs, onegram(Categorical(4), values[values[:, 0] >= 0]).head.log_probs
    )


@pytest.mark.parametrize("strategy", [NADE(), NADE(exact_up_to=0), OneWay()], ids=repr)
def test_joints_equal_the_oracle(strategy):
    net = make_net(strategy.net, "softmax", cell="gru", layers=2)
    values, missing = read("?.x?xx.?")
    fills = oracle.fills(values, missing, 4)[::9]
    truth = {"bidirectional": oracle.nade, "forward": oracle.oneway}[strategy.net]
    wanted = np.log([truth(net, fill, missing) for fill in fills])
    found = score(strategy, net, values, missing, fills)
    sampled = isinstance(strategy, NADE) and not strategy.exact_up_to
    np.testing.assert_allclose(found, wanted, atol=0.02 if sampled else 2e-5)


@pytest.mark.parametrize("strategy", [GSN(steps=6, chains=400), Bayes(steps=20, chains=400)])
def test_chains_equal_the_oracle(strategy):
    net = make_net(strategy.net, "softmax")
    values, missing = read("?x?x.?.")
    fills = oracle.fills(values, missing, 4)
    make_chain = {"bidirectional": oracle.gsn, "forward": oracle.bayes}[strategy.net]
    # Each gap is one step long, so that a chain of n steps is one of n sweeps.
    chain = make_chain(net, fills, missing)
    start = np.full(len(fills), 1 / len(fills))
    found = np.exp(score(strategy, net, values, missing, fills))
    assert found.sum() == pytest.approx(1, abs=1e-5)
    for prob, fill in zip(found, fills, strict=True):
        mean, deviation = chain.forced(strategy.steps, start, fill)
        assert abs(prob - mean) < 4 * deviation / strategy.chains**0.5 + 1e-5
