"""`oneway`: the forward net fills from left to right and never looks at what follows."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray, PyTree, Shaped

from caesura.errors import whole_number
from caesura.nets.rnn import Net, NetName
from caesura.strategies.base import (
    Estimate,
    Marginals,
    Strategy,
    exactly,
    log_mean,
    on_copies,
    split_lanes,
)
from caesura.strategies.cursor import (
    Cursor,
    Noted,
    Visit,
    draw,
    draw_and_note,
    enter,
    force,
    given_the_rest,
    left_to_right,
    walk,
)
from caesura.strategies.window import Window


class OneWay(Strategy):
    """Eqs. (1), (2) and (6) as they stand: the joint is exact, marginals average over fills."""

    net: ClassVar[NetName] = "forward"

    samples: int = eqx.field(static=True, default=100)

    def __check_init__(self) -> None:
        whole_number("samples", self.samples, 1)

    @eqx.filter_jit
    def draw(
        self, key: PRNGKeyArray, net: Net, window: Window, samples: int
    ) -> Shaped[Array, "B S W D"]:
        cursor, _ = _fill(key, net, window.repeat(samples), draw)
        return split_lanes(cursor.values, samples)

    @eqx.filter_jit
    def log_prob(
        self, key: PRNGKeyArray, net: Net, window: Window, fills: Shaped[Array, "B S W D"]
    ) -> Estimate:
        _, log_probs = _fill(key, net, window.with_fills(fills), force)
        return exactly(split_lanes(jnp.sum(log_probs, axis=1), fills.shape[1]))

    @eqx.filter_jit
    def marginals(self, key: PRNGKeyArray, net: Net, window: Window) -> Marginals:
        def run(key: PRNGKeyArray, lanes: Window, copies: int) -> Noted:
            noted: Noted = _fill(key, net, lanes, draw_and_note)[1]
            return noted

        return Marginals(*(log_mean(n) for n in on_copies(key, window, self.samples, run)))


def _fill(key: PRNGKeyArray, net: Net, window: Window, visit: Visit) -> tuple[Cursor, PyTree]:
    cursor = enter(net, window, window.values, window.missing)
    return walk(key, net, given_the_rest(net), cursor, window, left_to_right(window), visit)
