"""A head whose components depend on each other: each one given any others of the frame.

After Uria, Murray and Larochelle (2014), *A deep and tractable density estimator*. One hidden layer
sees the context and the observed components, and gives the log-odds of all others. The probability
of a frame is the chain rule from the first component to the last.

A component with the values 0 to R has R log-odds: of being above 0, of being above 1 given that it
is above 0, and so on. So a key first sounds or not, and one that sounds is struck or held.
"""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Shaped

from caesura.errors import whole_number
from caesura.later import Array, PRNGKeyArray, jax, jnp
from caesura.nets.arrays import Numbers, gelu, log_sigmoid, namespace, scan, sigmoid
from caesura.nets.cells import plus, product
from caesura.nets.frames import Frame, Keyboard
from caesura.nets.heads.base import Head, Query
from caesura.nets.initial import MaybeKey, Weights, from_states, glorot, split, zeros

PREFIXES = 0.5  # the share of prefixes of the order among the subsets shown in training

Choose = Callable[[Float[Numbers, "R *B"], Shaped[Numbers, "*B"]], Shaped[Numbers, "*B"]]


class Orderless(Head):
    """D switches or keys, each given the context and those before it.

    It is trained on all orders but used in one, from low to high. On chorales, that order is better
    than the reverse.
    """

    frames: ClassVar[type[Frame]] = Keyboard  # type: ignore[type-abstract]
    in_numpy: ClassVar[bool] = True

    # O = R·D: "above 0" for all components, then "above 1" for all, and so on.
    frame: Frame
    W_y: Float[Weights, "O C"]
    b_y: Float[Weights, " O"]
    W_z: Float[Weights, "H C"]
    b_z: Float[Weights, " H"]
    W_v: Float[Weights, "H O"]  # from the values of what is observed
    W_o: Float[Weights, "H D"]  # from which components are observed
    V_y: Float[Weights, "O H"]

    def __init__(self, key: MaybeKey, frame: Frame, sizes: tuple[int, ...], hidden: int = 0):
        whole_number("head_hidden", hidden, 1)
        key_v, key_o, key_y, key_z, *keys = split(key, 4 + len(sizes))
        D, context = frame.components, sum(sizes)
        odds = (frame.cardinality - 1) * D
        self.frame = frame
        self.W_y = from_states(keys, odds, sizes)
        self.b_y = zeros(key, odds)
        self.W_z = glorot(key_z, hidden, context)
        self.b_z = zeros(key, hidden)
        self.W_v = glorot(key_v, hidden, odds)
        self.W_o = glorot(key_o, hidden, D)
        self.V_y = glorot(key_y, odds, hidden)

    @property
    def hidden(self) -> int:
        return len(self.b_z)

    def log_prob(self, query: Query) -> Float[Numbers, "*B"]:
        each = self.chain(query)
        return namespace(each).sum(each, axis=0)

    def chain(self, query: Query) -> Float[Numbers, "D *B"]:
        known = ~self.frame.unknown(query.frame)
        scored = query._replace(missing=query.missing & known)
        start = self._hidden(query, ~query.missing & known)
        return self._walk(scored, start, query.frame, lambda odds, x: x)[1]

    def sample(self, key: PRNGKeyArray, query: Query) -> Shaped[Array, " D"]:
        key_values = jax.random.split(key)[1]  # as in version 0.1, which drew an order first
        return self.draw(jax.random.uniform(key_values, query.frame.shape), query)

    def draw(self, chance: Float[Numbers, "D *B"], query: Query) -> Shaped[Numbers, "D *B"]:
        _, frame, missing = query
        start = self._hidden(query, ~missing & ~self.frame.unknown(frame))

        def choose(log_odds: Float[Numbers, "R *B"], chance: Float[Numbers, "*B"]) -> Numbers:
            above = sigmoid(log_odds[0])  # P(x > r)
            x = (chance < above).astype(frame.dtype)
            for odds in log_odds[1:]:
                above = above * sigmoid(odds)
                x = x + (chance < above)
            return x

        drawn, _ = self._walk(query, start, chance, choose)
        return namespace(drawn).where(missing, drawn, frame)

    def marginals(self, query: Query) -> Float[Numbers, "D K *B"]:
        log_odds = self._log_odds(query, ~query.missing & ~self.frame.unknown(query.frame))
        every = (_log_prob(log_odds, value) for value in range(self.frame.cardinality))
        return namespace(log_odds).stack(list(every), axis=1)

    def objective(self, key: PRNGKeyArray, query: Query) -> Float[Array, ""]:
        """Show a random subset of the missing components; return the weighted loss of the others.

        The number that is shown is uniform between none and all. With the weight below, the mean
        over random subsets is the mean of −log p over all orders. A share of the subsets are
        prefixes of the fixed order instead: scoring a whole frame meets no others.
        """
        _, frame, missing = query
        key_kind, _, key_set, key_shown = jax.random.split(key, 4)  # as in version 0.1
        known = ~self.frame.unknown(frame)
        scored = missing & known
        count = jnp.sum(scored)
        fillable = int(np.sum(self.frame.fillable))
        place = jnp.where(
            jax.random.bernoulli(key_kind, PREFIXES),
            jnp.asarray(np.arange(1, frame.size + 1) / (fillable + 1), jnp.float32),
            jax.random.uniform(key_set, frame.shape),
        )
        shown = scored & (place < jax.random.uniform(key_shown))
        rest = scored & ~shown
        log_odds = self._log_odds(query, (~missing & known) | shown)
        nll = jnp.sum(jnp.where(rest, -_log_prob(log_odds, frame), 0.0))
        return nll * (count + 1) / jnp.maximum(jnp.sum(rest), 1)

    def _hidden(self, query: Query, observed: Bool[Numbers, "D *B"]) -> Float[Numbers, "H *B"]:
        """Return the pre-activations of the hidden layer."""
        xp = namespace(observed)
        values = xp.where(observed, query.frame, 0)
        bits = xp.concatenate([values > r for r in range(self.frame.cardinality - 1)])
        of_frame = product(self.W_v, bits.astype(self.W_v.dtype))
        of_frame = of_frame + product(self.W_o, observed.astype(self.W_o.dtype))
        return plus(product(self.W_z, query.context), self.b_z) + of_frame

    def _linear(self, query: Query) -> Float[Numbers, "R D *B"]:
        return self._by_odds(plus(product(self.W_y, query.context), self.b_y))

    def _by_odds(self, rows: Float[Numbers, "O *n"]) -> Float[Numbers, "R D *n"]:
        return rows.reshape(-1, self.frame.components, *rows.shape[1:])

    def _log_odds(self, query: Query, observed: Bool[Numbers, "D *B"]) -> Float[Numbers, "R D *B"]:
        """Return the log-odds of every component that is not observed, given the observed ones."""
        z = gelu(self._hidden(query, observed)).astype(self.V_y.dtype)
        return self._linear(query) + self._by_odds(product(self.V_y, z))

    def _walk(
        self,
        query: Query,
        start: Float[Numbers, "H *B"],
        given: Shaped[Numbers, "D *B"],
        choose: Choose,
    ) -> tuple[Shaped[Numbers, "D *B"], Float[Numbers, "D *B"]]:
        """Visit the missing components in order; return their values and log-probabilities.

        `choose(log-odds, given)` makes each value. A value changes the pre-activations by R + 1
        columns of weights, so the whole chain costs D·R·H.
        """

        xp = namespace(start)

        def visit(
            a: Float[Numbers, "H *B"], i: tuple[Numbers, ...]
        ) -> tuple[Numbers, tuple[Numbers, Numbers]]:
            linear, v_y, w, given, missing = i
            log_odds = linear + xp.dot(v_y, gelu(a))
            x = choose(log_odds, given)
            bits = [missing & (x > r) for r in range(len(log_odds))]
            a = a + product(w, xp.stack([*bits, missing]).astype(w.dtype))
            return a, (x, xp.where(missing, _log_prob(log_odds, x), 0.0))

        # For what a value is above, and for that it is observed.
        of_value, of_any = xp.moveaxis(self._by_odds(self.W_v.T), 0, 2), self.W_o.T[:, :, None]
        W = xp.concatenate([of_value, of_any], axis=2)
        linear, V_y = (xp.swapaxes(a, 0, 1) for a in (self._linear(query), self._by_odds(self.V_y)))
        visited = (linear, V_y, W, given, query.missing)
        if not isinstance(start, np.ndarray):
            return scan(visit, start, visited)
        # A loop of NumPy can leave out what is missing nowhere.
        some = query.missing.any(axis=tuple(range(1, query.missing.ndim)))
        x, log_probs = np.zeros_like(query.frame), np.zeros(query.frame.shape, start.dtype)
        if some.any():
            x[some], log_probs[some] = scan(visit, start, tuple(a[some] for a in visited))
        return x, log_probs


def _log_prob(
    log_odds: Float[Numbers, "R *D"], x: Shaped[Numbers, "*D"] | int
) -> Float[Numbers, "*D"]:
    """Return Σ_r log p(x > r or not | x ≥ r); what is below r says nothing of it."""
    xp = namespace(log_odds)
    log_prob = log_sigmoid(xp.where(x > 0, log_odds[0], -log_odds[0]))
    for r, odds in enumerate(log_odds[1:], 1):
        step = log_sigmoid(xp.where(x > r, odds, -odds))
        log_prob = log_prob + xp.where(x >= r, step, 0.0)
    return log_prob
