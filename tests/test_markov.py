"""A net trained on a Markov chain comes close to the true posterior of its gaps."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from caesura.nets.frames import Categorical
from caesura.nets.rnn import bidirectional, unidirectional
from caesura.sequence import Sequence, Span
from caesura.strategies import STRATEGIES, Place, around_gaps
from caesura.training.loop import Data, fit
from caesura.training.recipe import choose

pytestmark = pytest.mark.slow

# From each symbol to the next; far from uniform, and not the same forwards as backwards.
A = np.array(
    [[0.1, 0.6, 0.2, 0.1], [0.05, 0.15, 0.7, 0.1], [0.6, 0.1, 0.1, 0.2], [0.3, 0.3, 0.3, 0.1]]
)
K, GAP = len(A), 3
FILLS = np.array(list(itertools.product(range(K), repeat=GAP)))
VALUES_SEED, GAPS = 99, [Span(t, t + GAP) for t in range(10, 90, 8)]


def chain(length: int, seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    values = [0]
    for _ in range(length - 1):
        values.append(draw.choice(K, p=A[values[-1]]))
    return np.array(values, np.int32)[:, None]


def true_posterior(values: np.ndarray, gap: Span) -> np.ndarray:
    """The probability of each of FILLS: its transitions, over their sum for all fills."""
    before, behind = values[gap.start - 1, 0], values[gap.stop, 0]
    paths = np.array([[before, *fill, behind] for fill in FILLS])
    joint = A[paths[:, :-1], paths[:, 1:]].prod(axis=1)
    return joint / joint.sum()


def true_marginals(values: np.ndarray, gap: Span) -> np.ndarray:
    """Forward–backward inside a gap: from what stands before it, and from what stands behind."""
    before, behind = values[gap.start - 1, 0], values[gap.stop, 0]
    power = np.linalg.matrix_power
    joint = np.array([power(A, i)[before] * power(A, GAP + 1 - i)[:, behind] for i in (1, 2, 3)])
    return joint / joint.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def nets():
    pieces = [chain(2000, seed) for seed in range(20)]
    frame = Categorical(K)
    key = jax.random.key(0)
    data = Data(pieces[:-1], pieces[-1:])
    schedule = {"steps": 800, "batch": 32, "length": 40, "learning_rate": 1e-2, "patience": 0}
    gaps = {"gap": GAP, "every": 10}
    both = bidirectional(key, frame, head="softmax", hidden=16)
    forward = unidirectional(key, frame, head="softmax", hidden=16)
    return {
        "bidirectional": fit(
            key, both, data, choose("nade", "text", (), schedule | gaps).recipe
        ).net,
        "forward": fit(key, forward, data, choose("rnn", "text", (), schedule).recipe).net,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("nade", {}),
        ("gsn", {"steps": 30, "chains": 100}),
        ("bayes", {"steps": 30, "chains": 100, "lookahead": 6}),
    ],
)
def test_regret_against_the_true_posterior_is_small(nets, name, options, record_property):
    strategy = STRATEGIES[name](**options)
    net = nets[strategy.net]
    values = chain(100, VALUES_SEED)
    stops = [strategy.stop(gap.stop, len(values)) for gap in GAPS]
    places = [Place(0, *gap, stop) for gap, stop in zip(GAPS, stops, strict=True)]
    window = around_gaps(net, [Sequence(values, np.zeros_like(values, bool))], places)
    truth = np.array([true_posterior(values, gap) for gap in GAPS])

    fills = np.repeat(np.asarray(window.values)[:, None], len(FILLS), axis=1)
    fills[:, :, :GAP, 0] = FILLS
    ours = strategy.log_prob(jax.random.key(1), net, window, jnp.asarray(fills)).log_prob
    regret = float((truth * (np.log(truth) - ours)).sum(axis=1).mean())

    marginals = strategy.marginals(jax.random.key(2), net, window).values.log_prob
    alone = np.exp(np.asarray(marginals))[:, :GAP, 0]
    off = np.abs(alone - np.array([true_marginals(values, gap) for gap in GAPS])).sum(axis=-1) / 2
    entropy = -(truth * np.log(truth)).sum(axis=1).mean()
    record_property(
        "measured",
        f"{name}: regret {regret:.4f} nats a gap of {GAP}, whose entropy is {entropy:.3f}; "
        f"marginals off by {off.mean():.3f} in total variation",
    )
    assert regret < 0.02
    assert off.mean() < 0.08


def test_oneway_pays_for_not_looking_ahead(nets):
    """By exactly what the future would have told it: the regret of the chain's own one-way fill."""
    strategy = STRATEGIES["oneway"]()
    values = chain(100, VALUES_SEED)
    sequence = Sequence(values, np.zeros_like(values, bool))
    window = around_gaps(nets["forward"], [sequence], [Place(0, *gap, gap.stop) for gap in GAPS])
    fills = window.values[:, None]
    score = np.asarray(
        strategy.log_prob(jax.random.key(1), nets["forward"], window, fills).log_prob
    )
    blind = [np.log(A[values[t - 1 : t + 2, 0], values[t : t + 3, 0]]).sum() for t, _ in GAPS]
    assert abs(np.mean(blind) - score.mean()) < 0.05
