"""Texts read from right to left, to compare the lengths of a gap, against the oracle."""

from dataclasses import replace

import numpy as np
import pytest

import oracle
from caesura.nets import eager
from caesura.sequence import UNKNOWN
from caesura.strategies.backwards import UNSEEN, log_backwards
from enumerated import Search, make_problem, random_filler, random_pair
from markov_pair import markov_filler, over_lengths, ranked
from small_nets import make_net

EVERYTHING = Search(width=340, draws=4, negligible=0.0, echo=False)
WEIGHTS = [0.3, 0.5, 1.0]


def read_backwards(net, text: np.ndarray, steps: range) -> float:
    """The log-probability of some steps, each given what is to its right and nothing else."""
    total = 0.0
    for t in steps:
        values = np.concatenate([np.full(UNSEEN, UNKNOWN), text[t:]])[:, None]
        unknown = (np.arange(len(values)) <= UNSEEN)[:, None]
        if text[t] != UNKNOWN:
            total += np.log(oracle.predict(net, values, unknown)[UNSEEN][0][text[t]])
    return total


@pytest.mark.parametrize("cell", ["tanh", "gru", "lstm"])
@pytest.mark.parametrize("gap", [0, 3])
def test_fills_are_read_with_what_stands_before_them(cell, gap):
    net = make_net("bidirectional", "softmax", cell=cell, layers=2)
    rng = np.random.default_rng(0)
    before, after = np.array([2, UNKNOWN, 1, 3]), np.array([0, 3, 1])
    fills = rng.integers(4, size=(5, gap))
    light = eager.with_numpy(net)
    (way,) = eager.read(light, light.backward, eager.start(light.backward, 1), [after[::-1]])
    found = log_backwards(light, eager.take(way, slice(-1, None)), fills, before)
    texts = [np.concatenate([before, fill, after]) for fill in fills]
    wanted = [read_backwards(net, text, range(len(before) + gap)) for text in texts]
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("text", ["ab{1-4}cd", "cab{0-3}cda"])
def test_with_exact_nets_the_length_has_its_posterior(weight, text):
    before, rest = text.split("{")
    lengths, after = rest.split("}")
    shortest, longest = map(int, lengths.split("-"))
    wanted, _ = over_lengths(before[-1], after, dict.fromkeys(range(shortest, longest + 1), 1.0))
    strategy = replace(EVERYTHING, length_weight=weight)
    (gap,) = markov_filler("search").fill(text, strategy=strategy).gaps
    assert gap.lengths == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("weight", WEIGHTS)
def test_lengths_are_compared_by_what_follows_and_what_is_before(weight):
    evidence = {}
    for n in (1, 2, 3):
        problem = make_problem("cab" + "_" * n + "bca")
        texts = problem.fills[:, :, 0]
        log_r = [read_backwards(random_pair().bidirectional, x, range(3 + n)) for x in texts]
        evidence[n] = problem.evidence ** (1 - weight) * np.exp(log_r).sum() ** weight
    strategy = replace(EVERYTHING, length_weight=weight)
    (gap,) = random_filler().fill("cab{1-3}bca", strategy=strategy).gaps
    assert gap.lengths == pytest.approx(ranked(evidence), abs=1e-4)
