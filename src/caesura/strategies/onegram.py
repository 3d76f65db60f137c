"""`onegram`: the distribution of frames in the training data, whatever is around the gap."""

from typing import ClassVar

from jaxtyping import Shaped

from caesura.later import Array, jax, jnp
from caesura.nets.heads.base import Query
from caesura.nets.rnn import Net, NetName
from caesura.programs import program
from caesura.strategies.base import Estimate, Marginals, Strategy, exactly, split_lanes
from caesura.strategies.cursor import Noted, Step, note
from caesura.strategies.keys import Keys, for_steps, keys_of_windows
from caesura.strategies.window import Window


class OneGram(Strategy):
    """The paper's baseline: the frequencies of values, with one pseudo-count for each.

    Examples
    --------
    >>> OneGram().is_exact(1000)
    True
    """

    name: ClassVar[str] = "onegram"
    net: ClassVar[NetName] = "onegram"

    def is_exact(self, longest_gap: int) -> bool:
        return True

    @program
    def draw(self, key: Keys, net: Net, window: Window, samples: int) -> Shaped[Array, "B S W D"]:
        def fill(key: Array, frame: Array, missing: Array) -> Array:
            return net.head.sample(key, Query(jnp.zeros(0), frame, missing))

        lanes = window.repeat(samples)
        keys = keys_of_windows(key, len(window.valid)).copies(jnp.arange(samples))
        each_step = for_steps(keys.own, lanes.valid.shape[1])
        drawn = jax.vmap(jax.vmap(fill))(each_step, lanes.values, lanes.missing)
        return split_lanes(drawn, samples)

    @program
    def log_prob(
        self, key: Keys, net: Net, window: Window, fills: Shaped[Array, "B S W D"]
    ) -> Estimate:
        noted = _note(net, window.with_fills(fills))
        return exactly(split_lanes(jnp.sum(noted.given, axis=1), fills.shape[1]))

    @program
    def marginals(self, key: Keys, net: Net, window: Window) -> Marginals:
        return Marginals(*(exactly(n) for n in _note(net, window)))


def _note(net: Net, window: Window) -> Noted:
    def every_step(frame: Array, missing: Array) -> Noted:
        return note(net.head, Step(Query(jnp.zeros(0), frame, missing), frame))

    return jax.vmap(jax.vmap(every_step))(window.values, window.missing)
