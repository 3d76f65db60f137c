"""A net trained on a linear Gaussian process comes close to its exact posterior."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

from caesura.nets.frames import Continuous
from caesura.nets.rnn import bidirectional, unidirectional
from caesura.sequence import Sequence
from caesura.strategies import NADE, OneWay, Strategy, around_missing
from caesura.training.loop import Data, fit
from caesura.training.recipe import choose

pytestmark = pytest.mark.slow

STEPS, D = 20, 2
A = np.array([[0.9, 0.0], [0.3, 0.5]])  # x_t = A x_{t−1} + noise
NOISE = np.array([[0.19, 0.1], [0.1, 0.4]])
STATIONARY = solve_discrete_lyapunov(A, NOISE)
SCALE = np.sqrt(np.diag(STATIONARY))


def draw(count: int, length: int, seed: int) -> np.ndarray:
    """Sequences of the process, standardised."""
    random = np.random.default_rng(seed)
    noise = random.multivariate_normal(np.zeros(D), NOISE, (length, count))
    x = [random.multivariate_normal(np.zeros(D), STATIONARY, count)]
    for more in noise[1:]:
        x.append(x[-1] @ A.T + more)
    return (np.stack(x, axis=1) / SCALE).astype(np.float32)


def covariance(length: int) -> np.ndarray:
    """[T D, T D] of a standardised sequence: Cov(x_s, x_t) = A^(s−t) Σ for s ≥ t."""
    blocks = np.zeros((length, D, length, D))
    for s in range(length):
        for t in range(s + 1):
            block = np.linalg.matrix_power(A, s - t) @ STATIONARY / np.outer(SCALE, SCALE)
            blocks[s, :, t], blocks[t, :, s] = block, block.T
    return blocks.reshape(length * D, length * D)


def exact_nll(values: np.ndarray, missing: np.ndarray, seen: np.ndarray) -> float:
    """The mean over sequences of −log p(missing | seen), by the formulas for Gaussians."""
    m, o, C = missing.ravel(), seen.ravel(), covariance(len(missing))
    gain = C[np.ix_(m, o)] @ np.linalg.inv(C[np.ix_(o, o)])
    left = C[np.ix_(m, m)] - gain @ C[np.ix_(o, m)]
    flat = values.reshape(len(values), -1)
    off = flat[:, m] - flat[:, o] @ gain.T
    mahalanobis = np.einsum("ni,ij,nj->n", off, np.linalg.inv(left), off)
    log_det = np.linalg.slogdet(2 * np.pi * left)[1]
    return float(0.5 * (mahalanobis + log_det).mean())


def trained(name: str):
    """A small net of a short training."""
    small = {"hidden": 24, "head_hidden": 32, "steps": 600, "batch": 32, "length": STEPS}
    small |= {"dropout": 0.0, "learning_rate": 0.01, "validate_every": 200}
    recipe = choose(name, "series", (), small).recipe
    build = bidirectional if recipe.net == "bidirectional" else unidirectional
    net = build(
        jax.random.key(0), Continuous(D), head="mixture", cell="lstm", hidden=24, head_hidden=32
    )
    train = draw(1, 20_000, 0)[0]
    train[np.random.default_rng(1).random(train.shape) < 0.05] = np.nan  # what data lack
    data = Data([train], list(draw(50, STEPS, 2)))
    return fit(jax.random.key(1), net, data, recipe).net


def windows(net, strategy: Strategy, values: np.ndarray, missing: np.ndarray):
    stop = int(np.flatnonzero(missing.any(axis=1))[-1]) + 1
    each = [
        around_missing(net, Sequence(row, missing), strategy.stop(stop, len(row))) for row in values
    ]
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), *each)


def whole_frames() -> np.ndarray:
    missing = np.zeros((STEPS, D), bool)
    missing[8:11] = True
    return missing


def parts_of_frames() -> np.ndarray:
    missing = np.zeros((STEPS, D), bool)
    missing[7:12, 0] = missing[9:11, 1] = missing[15, 1] = True
    return missing


CASES = {
    "whole frames": ("series", NADE(), whole_frames(), True),
    "parts of frames": ("series", NADE(), parts_of_frames(), True),
    "one way": ("series-rnn", OneWay(), whole_frames(), False),
}


@pytest.fixture(scope="module")
def nets():
    return {name: trained(name) for name in ("series", "series-rnn")}


@pytest.mark.parametrize("case", CASES)
def test_the_regret_is_small(nets, case, record_property):
    name, strategy, missing, sees_behind = CASES[case]
    values, net = draw(200, STEPS, 3), nets[name]
    window = windows(net, strategy, values, missing)
    score = strategy.log_prob(jax.random.key(0), net, window, window.values[:, None])
    nll = -float(np.asarray(score.log_prob)[:, 0].mean())
    # One way, a gap is known by what stands before it alone.
    seen = ~missing if sees_behind else ~missing & (np.arange(STEPS) < 8)[:, None]
    exact = exact_nll(values, missing, seen)
    regret = (nll - exact) / missing.sum()
    record_property("measured", f"{case}: {nll:.3f} nats, exact {exact:.3f}, {regret:.4f} a value")
    assert -0.01 < regret < 0.03


def test_samples_have_the_moments_of_the_posterior_and_leave_the_observed_alone(nets):
    missing, values = whole_frames(), draw(1, STEPS, 4)
    window = windows(nets["series"], NADE(), values, missing)
    drawn = np.asarray(NADE().draw(jax.random.key(0), nets["series"], window, 4000))[0]
    inside = np.asarray(window.missing)[0]
    given = np.broadcast_to(np.asarray(window.values)[0], drawn.shape)
    assert np.array_equal(drawn[:, ~inside], given[:, ~inside])
    m, C, flat = missing.ravel(), covariance(STEPS), values.ravel()
    gain = C[np.ix_(m, ~m)] @ np.linalg.inv(C[np.ix_(~m, ~m)])
    mean, left = gain @ flat[~m], C[np.ix_(m, m)] - gain @ C[np.ix_(~m, m)]
    found = drawn[:, inside]
    scale = np.sqrt(np.diag(left))
    np.testing.assert_allclose((found.mean(axis=0) - mean) / scale, 0, atol=0.2)
    np.testing.assert_allclose(found.std(axis=0) / scale, 1, atol=0.15)
    np.testing.assert_allclose(np.corrcoef(found.T), left / np.outer(scale, scale), atol=0.12)
