"""Training hides what it should, counts what it should, and makes the loss small."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import caesura
import oracle
from caesura.kinds import Text
from caesura.nets.frames import Categorical
from caesura.nets.rnn import bidirectional, onegram
from caesura.sequence import UNKNOWN
from caesura.training.loop import Corpus, Schedule, fit
from caesura.training.missingness import Gaps, Nothing
from caesura.training.objectives import nll
from small_nets import FRAME_OF_HEAD, make_net, random_values


def hidden(gap: int, every: int, length: int, draws: int) -> np.ndarray:
    keys = jax.random.split(jax.random.key(0), draws)
    return np.asarray(jax.vmap(lambda key: Gaps(gap, every)(key, length))(keys))


def test_gaps_hide_one_to_five_steps_every_twenty_five():
    gap, every, length, draws = 5, 25, 200, 4000
    steps = hidden(gap, every, length, draws)
    # A block of 25 hides 3 of its steps on average: (1 + 2 + 3 + 4 + 5) / 5.
    assert steps.mean() == pytest.approx(3 / 25, abs=0.002)
    # No place is special, since the first gap's is random: 12 % each, within 6 standard errors.
    error = (0.12 * 0.88 / draws) ** 0.5
    assert np.abs(steps.mean(axis=0) - 0.12).max() < 6 * error


def test_hidden_steps_stand_close_and_far_apart_as_the_gaps_do():
    for steps in hidden(5, 25, 100, 50):
        places = np.flatnonzero(steps)
        apart = np.diff(places)
        assert np.all((apart < 5) | (apart > 25 - 5))


def test_every_number_of_hidden_steps_is_equally_likely():
    counts = []
    for steps in hidden(4, 12, 60, 1000):
        places = np.flatnonzero(steps)
        blocks = np.split(places, np.flatnonzero(np.diff(places) > 4) + 1)
        counts += [len(block) for block in blocks[1:-1]]  # the crop may cut the first and the last
    share = np.bincount(counts, minlength=5)[1:] / len(counts)
    assert np.abs(share - 0.25).max() < 6 * (0.25 * 0.75 / len(counts)) ** 0.5


def test_nothing_hides_nothing():
    assert not Nothing()(jax.random.key(0), 9).any()


@pytest.mark.parametrize("head", FRAME_OF_HEAD)
def test_the_loss_is_the_mean_over_real_steps(head):
    net = make_net("bidirectional", head)
    values = jnp.asarray(np.stack([random_values(net.frame, 6, seed) for seed in (0, 1)]))
    unknown = jnp.zeros(values.shape, bool).at[0, 2].set(True)
    valid = jnp.arange(6) < jnp.array([[6], [4]])
    total = 0.0
    for row, length in ((0, 6), (1, 4)):
        some, seen = values[row, :length], unknown[row, :length]
        states = net.states(net.inputs(some, seen), jnp.ones(length, bool))
        for t, context in enumerate(net.contexts(states)):
            total -= net.head.log_prob(context, some[t], jnp.ones(net.frame.components, bool))
    assert nll(net, values, unknown, valid) == pytest.approx(float(total) / 10, rel=1e-5)


def test_unknown_values_are_no_targets():
    net = make_net("bidirectional", "softmax")
    values = np.stack([random_values(net.frame, 8, seed) for seed in (0, 1)])
    values[0, [1, 6]] = values[1, 3] = UNKNOWN
    hidden = np.zeros(values.shape, bool)
    hidden[0, 2] = True
    nats = []
    for row in (0, 1):
        probs = oracle.predict(net, values[row], hidden[row] | (values[row] == UNKNOWN))
        nats += [-np.log(p[0, x]) for p, (x,) in zip(probs, values[row], strict=True) if x >= 0]
    assert len(nats) == 13
    ask = (jnp.asarray(values), jnp.asarray(hidden), jnp.ones((2, 8), bool))
    loss_and_gradient = eqx.filter_jit(eqx.filter_value_and_grad(nll))
    assert loss_and_gradient(net, *ask)[0] == pytest.approx(np.mean(nats), rel=1e-5)
    nothing_known = jnp.full_like(ask[0], UNKNOWN)
    loss, gradient = loss_and_gradient(net, nothing_known, *ask[1:])
    assert loss == 0
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(gradient))


def test_a_net_can_learn_from_texts_with_unknown_and_gap_characters():
    text = "a_b’a_b’a_b’a_b’"
    kind = Text.learn([text], alphabet="paper")
    values = kind.read_complete(text).values
    net = bidirectional(jax.random.key(0), Categorical(kind.size), head="softmax", hidden=3)
    losses = []
    schedule = Schedule(steps=30, batch=4, length=8, learning_rate=3e-2)
    fit(
        jax.random.key(0),
        net,
        [values],
        Gaps(1, 4),
        schedule,
        lambda step, loss: losses.append(loss),
        report_every=15,
    )
    assert losses[1] < losses[0] < 5
    counts = np.exp(np.asarray(onegram(net.frame, values).head.log_probs)[0])
    assert counts[kind.alphabet.index("_")] == pytest.approx((4 + 1) / (12 + 96))


def test_crops_come_from_one_piece_and_short_ones_are_padded():
    pieces = [np.full((3, 1), 1, np.int32), np.arange(100, 140, dtype=np.int32)[:, None]]
    corpus = Corpus(pieces)
    crops, valid = jax.vmap(partial(corpus.crop, length=8))(
        jax.random.split(jax.random.key(0), 500)
    )
    short = np.asarray(crops)[:, 0, 0] == 1
    assert 0 < short.mean() < 0.2  # 3 of 43 steps
    assert np.asarray(valid)[short].sum(axis=1).tolist() == [3] * short.sum()
    long = np.asarray(crops)[~short, :, 0]
    assert np.asarray(valid)[~short].all()
    assert np.all(np.diff(long, axis=1) == 1)
    assert {long.min(), long.max()} == {100, 139}


def test_training_learns_and_is_repeatable():
    text = ["abcabcabcabcabcabcabcabcabcabcabcabc"] * 3
    losses = []
    options = {"hidden": 8, "steps": 60, "batch": 8, "length": 24, "learning_rate": 2e-2, "gap": 2}
    one = caesura.train(text, kind="text", report=lambda *r: losses.append(r), **options)
    two = caesura.train(text, kind="text", **options)
    assert one.fill("abc__cab", samples=3).best == "abcabcab"
    assert [net for net, *_ in losses] == ["bidirectional"] * 2 + ["forward"] * 2
    assert losses[1][2] < 0.5 * np.log(3)
    for a, b in zip(jax.tree.leaves(one.nets), jax.tree.leaves(two.nets), strict=True):
        assert np.array_equal(a, b)


def test_fit_leaves_the_net_it_was_given_alone():
    net = make_net("bidirectional", "bernoulli")
    before = jax.tree.map(np.array, net)
    fit(
        jax.random.key(0),
        net,
        [random_values(net.frame, 30)],
        Nothing(),
        Schedule(steps=2, batch=2, length=10),
    )
    for a, b in zip(jax.tree.leaves(net), jax.tree.leaves(before), strict=True):
        assert np.array_equal(a, b)
