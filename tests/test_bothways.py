"""`bothways` against the products of its conditionals, each from the equations anew."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oracle
from caesura.errors import CaesuraError
from caesura.sequence import Sequence, Span
from caesura.strategies import BothWays, around_each, around_missing
from small_nets import make_net, random_values

KEY = jax.random.key(0)


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


def test_a_score_is_the_chain_rule_along_time_and_against_it():
    net, sequences, fills = bernoulli_case()
    spans = [Span(s.gaps[0].start, s.gaps[-1].stop) for s in sequences]
    window = around_each(net, sequences, spans, [span.stop for span in spans])
    inside = np.zeros((2, 4, *window.values.shape[1:]), np.int32)
    for row, (sequence, some) in enumerate(zip(sequences, fills, strict=True)):
        first, last = sequence.gaps[0].start, sequence.gaps[-1].stop
        inside[row, :, : last - first] = some[:, first:last]
    found = BothWays().log_prob(KEY, net, window, jnp.asarray(inside))
    for row, (sequence, some) in enumerate(zip(sequences, fills, strict=True)):
        wanted = [np.log(by_hand(net, fill, sequence.missing)) for fill in some]
        np.testing.assert_allclose(found.log_prob[row], wanted, atol=2e-5)
    assert not np.any(found.standard_error)


def test_fills_are_drawn_as_often_as_they_score():
    net = sharp(make_net("bidirectional", "softmax"))
    missing = np.array([[False], [True], [True], [False], [True], [False]])
    sequence = Sequence(random_values(net.frame, 6), missing)
    window = around_missing(net, sequence, 5)
    fills = oracle.fills(sequence.values, missing, 4)
    probs = np.array([by_hand(net, fill, missing) for fill in fills])
    assert probs.sum() == pytest.approx(1)
    draws, n = np.asarray(BothWays().draw(KEY, net, window, 10_000))[0, :, :4], 10_000
    counts = np.array([(draws == fill[1:5]).all(axis=(1, 2)).sum() for fill in fills])
    assert counts.sum() == n  # what is observed was left alone
    assert (np.abs(counts - n * probs) < 5 * np.sqrt(n * probs * (1 - probs)) + 1).all()
    assert probs.max() > 5 * np.median(probs)  # else anything would pass


def test_a_net_without_a_missing_value_input_is_refused():
    net = make_net("bidirectional", "softmax", missing_input="none")
    with pytest.raises(CaesuraError, match="'bothways' needs a net trained with a missing-value"):
        BothWays().check(net)
