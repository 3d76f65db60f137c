"""A text with gaps, and the probability of every fill by both nets, from sums over all of them."""

from dataclasses import dataclass
from functools import cache, cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import oracle
from caesura.filler.filler import Filler
from caesura.kinds import Text
from caesura.nets.frames import Categorical
from caesura.nets.pair import Pair
from caesura.nets.rnn import bidirectional, unidirectional
from caesura.sequence import Sequence
from caesura.strategies import STRATEGIES, Window, around_missing

Search = STRATEGIES["search"]
ALPHABET = "abc"


@cache
def random_pair() -> Pair:
    """Nets that never heard of each other, with weights so large that they are far from uniform."""
    rng = np.random.default_rng(2)

    def random(make, size):
        net = eqx.filter_eval_shape(
            make, jax.random.key(0), Categorical(len(ALPHABET)), head="softmax", hidden=6
        )
        draw = lambda a: jnp.asarray(size * rng.normal(size=a.shape), jnp.float32)  # noqa: E731
        return jax.tree.map(draw, net)

    return Pair(random(unidirectional, 0.5), random(bidirectional, 0.3))


@dataclass(frozen=True)
class Problem:
    """A sequence with gaps, all of its fills, and what each net makes of them."""

    pair: Pair
    missing: np.ndarray
    fills: np.ndarray  # [n, T, 1]
    log_p: np.ndarray  # of each fill and what follows it within reach, given what precedes it
    log_q: np.ndarray  # from left to right, tokens for the steps that come later
    lookahead: int

    def log_target(self, weight: float) -> np.ndarray:
        log = (1 - weight) * self.log_p + weight * self.log_q
        return log - np.logaddexp.reduce(log)

    @property
    def evidence(self) -> float:
        """What lengths are compared by: the probability of what follows."""
        return float(np.exp(self.log_p).sum())

    def total(self, weight: float = 0.5) -> float:
        """The normaliser of `log_target`."""
        return float(np.exp((1 - weight) * self.log_p + weight * self.log_q).sum())

    @property
    def first(self) -> int:
        return int(np.argmax(self.missing))

    def by_parts(self, weight: float = 0.5) -> dict[tuple[str, ...], float]:
        """The probability of each fill, by what stands in its gaps."""
        gaps = oracle.gaps(self.missing)
        chances = np.exp(self.log_target(weight))
        return {
            tuple("".join(ALPHABET[fill[t, 0]] for t in gap) for gap in gaps): float(chance)
            for fill, chance in zip(self.fills, chances, strict=True)
        }

    @cached_property
    def window(self) -> Window:
        last = len(self.missing) - int(np.argmax(self.missing[::-1]))
        stop = min(len(self.missing), last + self.lookahead)
        return around_missing(self.pair, Sequence(self.fills[0], self.missing), stop)

    @cached_property
    def in_window(self) -> np.ndarray:
        """All fills as the window has them: [1, n, W, 1]."""
        window = self.window
        width = min(window.values.shape[1], len(self.missing) - self.first)
        fills = np.repeat(np.asarray(window.values)[:, None], len(self.fills), axis=1)
        fills[0, :, :width] = self.fills[:, self.first : self.first + width]
        return fills

    def numbers(self, values) -> np.ndarray:
        """Which of the fills some windows hold; a wrong value at an observed step is no fill."""
        known = {fill.tobytes(): i for i, fill in enumerate(self.in_window[0])}
        rows = np.ascontiguousarray(np.asarray(values), self.in_window.dtype)
        return np.array([known[row.tobytes()] for row in rows])


@cache
def make_problem(text: str, *, lookahead: int = 20) -> Problem:
    """What is missing is a `_`, and `?` is observed but not in the alphabet."""
    pair = random_pair()
    missing = np.array([[char == "_"] for char in text])
    values = np.array([[0 if char == "_" else ALPHABET.find(char)] for char in text], np.int32)
    fills = oracle.fills(values, missing, len(ALPHABET))
    order = np.flatnonzero(missing)
    reach = slice(order[0], order[-1] + 1 + lookahead)
    scored = np.zeros_like(missing)
    scored[reach] = True
    log_p = np.log([oracle.oneway(pair.forward, fill, scored) for fill in fills])
    in_order = [oracle.in_order(pair.bidirectional, fill, missing, order) for fill in fills]
    return Problem(pair, missing, np.array(fills), log_p, np.log(in_order), lookahead)


def random_filler() -> Filler:
    pair = random_pair()
    nets = {"forward": pair.forward, "bidirectional": pair.bidirectional}
    return Filler(Text(ALPHABET), nets, "search")
