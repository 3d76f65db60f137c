"""A head whose components depend on each other: any of them, given any others of the frame.

After Uria, Murray and Larochelle (2014), *A deep and tractable density estimator*. One hidden layer
sees the context and whatever is observed of the frame, and gives the log-odds of all the rest. The
probability of a frame is the chain rule along a fixed order, or the mean over some of them.
"""

import hashlib
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from caesura.errors import whole_number
from caesura.nets.cells import glorot, product
from caesura.nets.frames import Binary, Frame
from caesura.nets.heads.base import Head, from_states

PREFIXES = 0.5  # the share of beginnings of an order among the sets that are shown in training

Choose = Callable[[Float[Array, ""], Shaped[Array, ""]], Shaped[Array, ""]]


class Orderless(Head):
    """D switches, each given the context and those that come before it in an order."""

    frames: ClassVar[type[Frame]] = Binary

    frame: Frame
    W_y: Float[Array, "D C"]
    b_y: Float[Array, " D"]
    W_z: Float[Array, "H C"]
    b_z: Float[Array, " H"]
    W_v: Float[Array, "H D"]  # from the values of what is observed
    W_o: Float[Array, "H D"]  # from which components are
    V_y: Float[Array, "D H"]
    orders: int = eqx.field(static=True)

    def __init__(
        self,
        key: PRNGKeyArray,
        frame: Frame,
        sizes: tuple[int, ...],
        hidden: int = 0,
        orders: int = 1,
    ):
        whole_number("head_hidden", hidden, 1)
        key_v, key_o, key_y, key_z, *keys = jax.random.split(key, 4 + len(sizes))
        D, context = frame.components, sum(sizes)
        self.frame = frame
        self.W_y = from_states(keys, D, sizes)
        self.b_y = jnp.zeros(D)
        self.W_z = glorot(key_z, hidden, context)
        self.b_z = jnp.zeros(hidden)
        self.W_v = glorot(key_v, hidden, D)
        self.W_o = glorot(key_o, hidden, D)
        self.V_y = glorot(key_y, D, hidden)
        self.orders = orders

    @property
    def hidden(self) -> int:
        return len(self.b_z)

    def log_prob(
        self, context: Float[Array, " C"], frame: Shaped[Array, " D"], missing: Bool[Array, " D"]
    ) -> Float[Array, ""]:
        def along(order: Int[Array, " D"]) -> Float[Array, ""]:
            known = ~self.frame.unknown(frame)
            start = self._hidden(context, frame, ~missing & known)
            _, log_probs = self._walk(
                order, context, start, frame, missing & known, lambda odds, x: x
            )
            return jnp.sum(log_probs)

        each = jax.lax.map(along, jnp.asarray(self._orders()))
        return jax.nn.logsumexp(each) - jnp.log(self.orders)

    def sample(
        self,
        key: PRNGKeyArray,
        context: Float[Array, " C"],
        frame: Shaped[Array, " D"],
        missing: Bool[Array, " D"],
    ) -> Shaped[Array, " D"]:
        key_order, key_values = jax.random.split(key)
        order = jax.random.choice(key_order, jnp.asarray(self._orders()))
        start = self._hidden(context, frame, ~missing & ~self.frame.unknown(frame))
        noise = jax.random.uniform(key_values, frame.shape)

        def draw(log_odds: Float[Array, ""], noise: Float[Array, ""]) -> Shaped[Array, ""]:
            return (noise < jax.nn.sigmoid(log_odds)).astype(frame.dtype)

        drawn, _ = self._walk(order, context, start, noise, missing, draw)
        return jnp.where(missing, drawn, frame)

    def marginals(
        self, context: Float[Array, " C"], frame: Shaped[Array, " D"], missing: Bool[Array, " D"]
    ) -> Float[Array, "D K"]:
        log_odds = self._log_odds(context, frame, ~missing & ~self.frame.unknown(frame))
        return jnp.stack([jax.nn.log_sigmoid(-log_odds), jax.nn.log_sigmoid(log_odds)], axis=1)

    def objective(
        self,
        key: PRNGKeyArray,
        context: Float[Array, " C"],
        frame: Shaped[Array, " D"],
        missing: Bool[Array, " D"],
    ) -> Float[Array, ""]:
        """One pass: some of the missing components are shown, and the others predicted from them.

        How many are shown is uniform from none to all; weighted so, the mean over random sets is
        that of −log p over all orders. A share of the sets are the beginnings of an order instead:
        when whole frames are scored, no others are met.
        """
        key_kind, key_order, key_set, key_shown = jax.random.split(key, 4)
        known = ~self.frame.unknown(frame)
        scored = missing & known
        count = jnp.sum(scored)
        places = (np.argsort(self._orders(), axis=1) + 1) / (frame.size + 1)
        place = jnp.where(
            jax.random.bernoulli(key_kind, PREFIXES),
            jax.random.choice(key_order, jnp.asarray(places, jnp.float32)),
            jax.random.uniform(key_set, frame.shape),
        )
        shown = scored & (place < jax.random.uniform(key_shown))
        rest = scored & ~shown
        log_odds = self._log_odds(context, frame, (~missing & known) | shown)
        nll = jnp.sum(jnp.where(rest, -_log_prob(log_odds, frame), 0.0))
        return nll * (count + 1) / jnp.maximum(jnp.sum(rest), 1)

    def _orders(self) -> Int[np.ndarray, "orders D"]:
        """From the first component to the last, then others that have no system.

        For chorales, that is better than the way down. The others go by hashes, which no library's
        next version draws otherwise.
        """
        D = self.frame.components

        def place(order: int, component: int) -> bytes:
            return hashlib.sha256(f"{order}.{component}".encode()).digest()

        others = [sorted(range(D), key=lambda d: place(i, d)) for i in range(1, self.orders)]
        return np.array([list(range(D)), *others])

    def _hidden(
        self, context: Float[Array, " C"], frame: Shaped[Array, " D"], observed: Bool[Array, " D"]
    ) -> Float[Array, " H"]:
        """The pre-activations of the hidden layer."""
        values = jnp.where(observed, frame, 0).astype(self.W_v.dtype)
        of_frame = product(self.W_v, values) + product(self.W_o, observed.astype(self.W_o.dtype))
        return product(self.W_z, context) + self.b_z + of_frame

    def _log_odds(
        self, context: Float[Array, " C"], frame: Shaped[Array, " D"], observed: Bool[Array, " D"]
    ) -> Float[Array, " D"]:
        """Of every component that is not observed, given those that are."""
        z = jax.nn.gelu(self._hidden(context, frame, observed))
        return product(self.W_y, context) + self.b_y + product(self.V_y, z.astype(self.V_y.dtype))

    def _walk(
        self,
        order: Int[Array, " D"],
        context: Float[Array, " C"],
        start: Float[Array, " H"],
        given: Shaped[Array, " D"],
        missing: Bool[Array, " D"],
        choose: Choose,
    ) -> tuple[Shaped[Array, " D"], Float[Array, " D"]]:
        """The missing components in turn: their values, which `choose` makes of the log-odds and
        what is given for each, and the log-probabilities of those.

        A value changes the pre-activations by a column of weights, so the whole chain costs D·H.
        """

        def visit(a: Float[Array, " H"], i: Int[Array, ""]) -> tuple[Array, tuple[Array, Array]]:
            log_odds = linear[i] + jnp.dot(self.V_y[i], jax.nn.gelu(a))
            x = choose(log_odds, given[i])
            a = a + jnp.where(missing[i], W_v[i] * x + W_o[i], 0.0)
            return a, (x, jnp.where(missing[i], _log_prob(log_odds, x), 0.0))

        linear = product(self.W_y, context) + self.b_y
        W_v, W_o = self.W_v.T, self.W_o.T
        _, (x, log_probs) = jax.lax.scan(visit, start, order)
        return jnp.zeros_like(x).at[order].set(x), log_probs


def _log_prob(log_odds: Float[Array, "*D"], x: Shaped[Array, "*D"]) -> Float[Array, "*D"]:
    return jax.nn.log_sigmoid(jnp.where(x > 0, log_odds, -log_odds))
