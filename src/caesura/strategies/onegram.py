"""`onegram`: the frame's distribution in the training data, whatever stands around the gap."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray, Shaped

from caesura.nets.rnn import Net
from caesura.strategies.base import Estimate, Marginals, NetName, Strategy, exactly
from caesura.strategies.cursor import Noted, Step, note
from caesura.strategies.window import Window


class OneGram(Strategy):
    """The paper's baseline; its frequencies are smoothed by one more count for every value."""

    net: ClassVar[NetName] = "onegram"

    @eqx.filter_jit
    def draw(
        self, key: PRNGKeyArray, net: Net, window: Window, samples: int
    ) -> Shaped[Array, "B S W D"]:
        def fill(key: Array, frame: Array, missing: Array) -> Array:
            return net.head.sample(key, jnp.zeros(0), frame, missing)

        batch, width = window.valid.shape
        every_step = jax.vmap(jax.vmap(fill))
        every_sample = jax.vmap(every_step, in_axes=(1, None, None), out_axes=1)
        return every_sample(
            jax.random.split(key, (batch, samples, width)), window.values, window.missing
        )

    @eqx.filter_jit
    def log_prob(self, key: PRNGKeyArray, net: Net, window: Window) -> Estimate:
        return exactly(jnp.sum(_note(net, window).given, axis=1))

    @eqx.filter_jit
    def marginals(self, key: PRNGKeyArray, net: Net, window: Window) -> Marginals:
        return Marginals(*(exactly(n) for n in _note(net, window)))


def _note(net: Net, window: Window) -> Noted:
    def every_step(frame: Array, missing: Array) -> Noted:
        return note(net.head, Step(jnp.zeros(0), frame, missing, frame))

    return jax.vmap(jax.vmap(every_step))(window.values, window.missing)
