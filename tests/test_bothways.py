"""`bothways` against the products of its conditionals, each from the equations anew.

Windows of NumPy are filled by NumPy, and those of JAX by JAX: both have to be right.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oracle
from caesura.errors import CaesuraError
from caesura.nets.eager import with_numpy
from caesura.sequence import UNKNOWN, Sequence, Span
from caesura.strategies import BothWays, around_each, around_each_eagerly, around_missing
from small_nets import make_net, random_values

KEY = jax.random.key(0)


BY = {"by JAX": lambda window: window, "by NumPy": lambda w: jax.tree.map(np.asarray, w)}
by = pytest.mark.parametrize("by", BY.values(), ids=BY)


def sharp(net):
    """With larger weights, so that what it says is far from uniform."""
    return jax.tree.map(lambda a: 2.5 * a, net)


def bernoulli_case():
    """Two sequences whose frames are partly missing, and four fills of each."""
    net = sharp(make_net("bidirectional", "bernoulli"))
    rng = np.random.default_rng(1)
    sequences, fills = [], []
    for length in (7, 12):
        missing = rng.random((length, 3)) < 0.4
        missing[1, 0] = missing[-2, 1] = True
        values = random_values(net.frame, length)
        sequences.append(Sequence(values, missing))
        others = rng.integers(0, 2, (4, length, 3)).astype(np.int32)
        fills.append(np.where(missing, others, values))
    return net, sequences, fills


def by_hand(net, fill, missing):
    """The mean of the chain rule along time and against it."""
    steps = np.flatnonzero(missing.any(axis=1)).tolist()
    return np.mean([oracle.in_order(net, fill, missing, way) for way in (steps, steps[::-1])])


@by
def test_a_score_is_the_chain_rule_along_time_and_against_it(by):
    net, sequences, fills = bernoulli_case()
    spans = [Span(s.gaps[0].start, s.gaps[-1].stop) for s in sequences]
    window = around_each(net, sequences, spans, [span.stop for span in spans])
    inside = np.zeros((2, 4, *window.values.shape[1:]), np.int32)
    for row, (sequence, some) in enumerate(zip(sequences, fills, strict=True)):
        first, last = sequence.gaps[0].start, sequence.gaps[-1].stop
        inside[row, :, : last - first] = some[:, first:last]
    found = BothWays().log_prob(KEY, net, by(window), jnp.asarray(inside))
    for row, (sequence, some) in enumerate(zip(sequences, fills, strict=True)):
        wanted = [np.log(by_hand(net, fill, sequence.missing)) for fill in some]
        np.testing.assert_allclose(found.log_prob[row], wanted, atol=2e-5)
    assert not np.any(found.standard_error)


@by
def test_fills_are_drawn_as_often_as_they_score(by):
    net = sharp(make_net("bidirectional", "softmax"))
    missing = np.array([[False], [True], [True], [False], [True], [False]])
    sequence = Sequence(random_values(net.frame, 6), missing)
    window = by(around_missing(net, sequence, 5))
    fills = oracle.fills(sequence.values, missing, 4)
    probs = np.array([by_hand(net, fill, missing) for fill in fills])
    assert probs.sum() == pytest.approx(1)
    draws, n = np.asarray(BothWays().draw(KEY, net, window, 10_000))[0, :, :4], 10_000
    counts = np.array([(draws == fill[1:5]).all(axis=(1, 2)).sum() for fill in fills])
    assert counts.sum() == n  # what is observed was left alone
    assert (np.abs(counts - n * probs) < 5 * np.sqrt(n * probs * (1 - probs)) + 1).all()
    assert probs.max() > 5 * np.median(probs)  # else anything would pass


def keyboard():
    """A small one, whose keys depend on each other, and two steps of which most is missing."""
    net = jax.tree.map(lambda a: 1.5 * a, make_net("bidirectional", "orderless", cell="lstm"))
    missing = np.zeros((6, 3), bool)
    missing[2], missing[4] = True, [True, False, True]
    values = random_values(net.frame, 6)
    values[1, 1] = UNKNOWN  # observed, but not known
    return net, Sequence(values, missing)


def test_numpy_says_of_a_keyboard_what_jax_says():
    net, sequence = keyboard()
    window = around_missing(net, sequence, 5)
    fills = np.array(oracle.fills(sequence.values, sequence.missing, 2))[:, 2:5]
    padded = np.zeros((1, len(fills), *window.values.shape[1:]), np.int32)
    padded[0, :, :3] = fills
    light = BY["by NumPy"](window)
    one, other = (BothWays().log_prob(KEY, net, w, padded).log_prob for w in (window, light))
    np.testing.assert_allclose(other, one, atol=1e-5)
    assert np.exp(other).sum() == pytest.approx(1, abs=1e-5)  # these are all fills
    for a, b in zip(*(BothWays().marginals(KEY, net, w) for w in (window, light)), strict=True):
        where = np.asarray(window.missing_steps)[0]
        found, wanted = np.asarray(b.log_prob)[0][where], np.asarray(a.log_prob)[0][where]
        np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_numpy_draws_the_fills_of_a_keyboard_as_often_as_they_score():
    net, sequence = keyboard()
    window = around_each_eagerly(with_numpy(net), [sequence], [Span(2, 5)], [5])
    fills = np.array(oracle.fills(sequence.values, sequence.missing, 2))[None, :, 2:5]
    n = 20_000
    probs = np.exp(BothWays().log_prob(KEY, net, window, fills).log_prob[0])
    drawn = BothWays().draw(np.array([[0, 1]], np.uint32), net, window, n)[0]
    counts = np.array([(drawn == fill).all(axis=(1, 2)).sum() for fill in fills[0]])
    assert counts.sum() == n
    assert (np.abs(counts - n * probs) < 5 * np.sqrt(n * probs * (1 - probs)) + 1).all()
    assert probs.max() > 5 * np.median(probs)


def test_the_first_draws_do_not_depend_on_how_many_there_are():
    net, sequence = keyboard()
    window = around_each_eagerly(with_numpy(net), [sequence], [Span(2, 5)], [5])
    one, few, many = (BothWays().draw(KEY, net, window, n) for n in (1, 5, 700))
    assert np.array_equal(few, many[:, :5])
    assert np.array_equal(one, many[:, :1])  # which goes in one direction only
    assert len(np.unique(many[0], axis=0)) > 10


@pytest.mark.parametrize("missing_input", ["added", "each", "gating"])
@pytest.mark.parametrize("head", ["bernoulli", "orderless", "softmax"])
def test_what_is_around_a_gap_is_read_by_numpy_as_by_jax(head, missing_input):
    net = make_net("bidirectional", head, cell="gru", missing_input=missing_input, layers=2)
    sequences, spans = [], [Span(2, 5), Span(6, 7), Span(0, 9)]
    for seed, span in enumerate(spans):
        values = random_values(net.frame, 9, seed)
        values[seed + 5, 0] = UNKNOWN
        missing = np.zeros(values.shape, bool)
        missing[slice(*span)] = True
        sequences.append(Sequence(values, missing))
    ends = [span.stop for span in spans]
    wanted = around_each(net, sequences, spans, ends)
    found = around_each_eagerly(with_numpy(net), sequences, spans, ends)
    states = [(window.left, window.right) for window in (found, wanted)]
    for a, b in zip(*map(jax.tree.leaves, states), strict=True):
        assert isinstance(a, np.ndarray)
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert found.values.shape[1] == 9  # not padded to more
    valid = np.asarray(wanted.valid)[:, :9]
    assert np.array_equal(found.valid, valid)
    for part in ("values", "missing"):
        a, b = (np.asarray(getattr(window, part)) for window in (found, wanted))
        assert np.array_equal(a[valid], b[:, :9][valid])


def test_a_net_without_a_missing_value_input_is_refused():
    net = make_net("bidirectional", "softmax", missing_input="none")
    with pytest.raises(CaesuraError, match="'bothways' needs a net trained with a missing-value"):
        BothWays().check(net)
