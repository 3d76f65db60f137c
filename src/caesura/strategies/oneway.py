"""`oneway`: the forward net fills from left to right and ignores what follows."""

from typing import ClassVar

from jaxtyping import Key, Shaped

from caesura.errors import whole_number
from caesura.later import Array, PyTree, field, jnp
from caesura.nets.rnn import Net, NetName
from caesura.programs import program
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
from caesura.strategies.keys import Keys, LaneKeys, keys_of_windows
from caesura.strategies.window import Window


class OneWay(Strategy):
    """Filling from left to right by the forward net, Eqs. (1), (2) and (6).

    The log-probability is exact. Marginals average over random fills.

    Parameters
    ----------
    samples
        The number of random fills that a marginal averages over (default 100).

    Examples
    --------
    >>> OneWay(samples=20).is_exact(1000)
    True
    """

    name: ClassVar[str] = "oneway"
    net: ClassVar[NetName] = "forward"

    samples: int = field(static=True, default=100)

    def __check_init__(self) -> None:
        whole_number("samples", self.samples, 1)

    def is_exact(self, longest_gap: int) -> bool:
        return True

    @program
    def draw(self, key: Keys, net: Net, window: Window, samples: int) -> Shaped[Array, "B S W D"]:
        keys = keys_of_windows(key, len(window.valid)).copies(jnp.arange(samples))
        cursor, _ = _fill(keys.own, net, window.repeat(samples), draw)
        return split_lanes(cursor.values, samples)

    @program
    def log_prob(
        self, key: Keys, net: Net, window: Window, fills: Shaped[Array, "B S W D"]
    ) -> Estimate:
        keys = keys_of_windows(key, len(window.valid)).repeat(fills.shape[1])
        _, log_probs = _fill(keys.own, net, window.with_fills(fills), force)
        return exactly(split_lanes(jnp.sum(log_probs, axis=1), fills.shape[1]))

    @program
    def marginals(self, key: Keys, net: Net, window: Window) -> Marginals:
        def run(keys: LaneKeys, lanes: Window) -> Noted:
            noted: Noted = _fill(keys.own, net, lanes, draw_and_note)[1]
            return noted

        keys = keys_of_windows(key, len(window.valid))
        return Marginals(*(log_mean(n) for n in on_copies(keys, window, self.samples, run)))


def _fill(keys: Key[Array, " L"], net: Net, window: Window, visit: Visit) -> tuple[Cursor, PyTree]:
    cursor = enter(net, window, window.values, window.missing)
    return walk(keys, net, given_the_rest(net), cursor, window, left_to_right(window), visit)
