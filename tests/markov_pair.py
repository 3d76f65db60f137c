"""A pair of nets that is a Markov chain: every probability of a gap is known in closed form."""

from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from caesura.filler.filler import Filler
from caesura.kinds import Text
from caesura.nets.frames import Categorical
from caesura.nets.pair import Pair
from caesura.nets.rnn import Stack, bidirectional, unidirectional

# From each symbol to the next; far from uniform, and not the same forwards as backwards.
A = np.array(
    [
        [0.11, 0.59, 0.19, 0.11],
        [0.05, 0.15, 0.71, 0.09],
        [0.61, 0.08, 0.12, 0.19],
        [0.29, 0.33, 0.31, 0.07],
    ]
)
K = len(A)
ALPHABET = "abcd"
DEPTH = 8  # how many steps away the nearest known symbol may be
LARGE = 40.0


def markov_pair() -> Pair:
    """The forward net is the chain; the bidirectional one has its exact posteriors.

    Given the nearest known symbols, d steps before and e after, x has the probability
    A^d[before, x] A^e[x, after], up to a constant. So a stack needs to know which symbol was the
    last known one, and how long ago: one hidden unit for each case is +1, all others are −1.
    """
    frame, key = Categorical(K), jax.random.key(0)
    shape = {"head": "softmax", "hidden": K * DEPTH}
    powers = [np.linalg.matrix_power(A, d + 1) for d in range(DEPTH)]
    after_it = np.log(np.concatenate(powers))  # [case, symbol], from what stands before
    before_it = np.log(np.concatenate([power.T for power in powers]))
    net = unidirectional(key, frame, **shape)
    forward = eqx.tree_at(
        lambda net: (net.forward, net.head),
        net,
        (_register(net.forward), _read(net.head, after_it)),
    )
    net = bidirectional(key, frame, **shape)
    both = eqx.tree_at(
        lambda net: (net.forward, net.backward, net.head),
        net,
        (
            _register(net.forward),
            _register(net.backward),
            _read(net.head, np.concatenate([after_it, before_it])),
        ),
    )
    return Pair(forward, both)


def _register(stack: Stack) -> Stack:
    """Unit (0, s) is on after the symbol s, and (d + 1, s) one missing step after (d, s)."""
    (cell,) = stack.cells
    W_x, W_h = np.zeros(cell.W_x.shape), np.zeros(cell.W_h.shape)
    b_h = np.full(K * DEPTH, -2.5 * LARGE)
    W_x[:K, :K], b_h[:K] = 2 * LARGE * np.eye(K), -LARGE
    W_h[K:, :-K] = LARGE * np.eye(K * (DEPTH - 1))
    W_x[K:, K:] = 2 * LARGE  # the missing-value token, if there is one
    weights = [jnp.asarray(a, jnp.float32) for a in (W_x, W_h, b_h)]
    return eqx.tree_at(
        lambda stack: (stack.cells[0].W_x, stack.cells[0].W_h, stack.cells[0].b_h), stack, weights
    )


def _read(head, log_probs):
    """Units of ±1 as cases: half of the row for each, and half of all rows for the bias."""
    half = jnp.asarray(log_probs / 2, jnp.float32)
    return eqx.tree_at(lambda head: (head.W_y, head.b_y), head, (half.T, half.sum(axis=0)))


def markov_filler(strategy: str) -> Filler:
    pair = markov_pair()
    nets = {"forward": pair.forward, "bidirectional": pair.bidirectional}
    return Filler(Text(ALPHABET), nets, strategy)


def chain_prob(before: str, text: str) -> float:
    """The probability of some characters after another one."""
    path = [ALPHABET.index(char) for char in before + text]
    return float(np.prod(A[path[:-1], path[1:]]))


def joint(before: str, after: str, length: int) -> dict[str, float]:
    """The probability of every fill of a gap together with what follows it."""
    words = map("".join, product(ALPHABET, repeat=length))
    return {word: chain_prob(before, word + after) for word in words}


def posterior(before: str, after: str, length: int) -> dict[str, float]:
    """The probability of every fill given what surrounds the gap, most probable first."""
    return ranked(joint(before, after, length))


def over_lengths(
    before: str, after: str, weights: dict[int, float]
) -> tuple[dict[int, float], dict[str, float]]:
    """The posteriors of the length and of every fill of any length, given a prior of lengths."""
    prior = ranked(weights)
    found = {n: joint(before, after, n) for n in weights}
    lengths = ranked({n: prior[n] * sum(fills.values()) for n, fills in found.items()})
    fills = ranked({x: prior[n] * p for n, fills in found.items() for x, p in fills.items()})
    return lengths, fills


def ranked(weights):
    """Weights as probabilities, the largest first."""
    total = sum(weights.values())
    return {key: weights[key] / total for key in sorted(weights, key=lambda key: -weights[key])}
