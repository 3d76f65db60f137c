"""`inorder`: missing steps are filled once each, from left to right, from missing-value tokens."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray, PyTree, Shaped

from caesura.nets.cells import State
from caesura.nets.rnn import Net
from caesura.strategies.base import Estimate, Marginals, NetName, Strategy, exactly, split_lanes
from caesura.strategies.cursor import Step, Visit, draw, force
from caesura.strategies.nade import each_alone
from caesura.strategies.window import Window


class InOrder(Strategy):
    """Eq. (7) along one order, that of time, where `nade` averages over all of them.

    A fill is one pass through its window, and so is its score, which is exact however long the gaps
    are. That makes it the cheapest way to many samples of many windows.
    """

    net: ClassVar[NetName] = "bidirectional"
    needs_missing_input: ClassVar[bool] = True

    @eqx.filter_jit
    def draw(
        self, key: PRNGKeyArray, net: Net, window: Window, samples: int
    ) -> Shaped[Array, "B S W D"]:
        values = jnp.repeat(window.values[:, None], samples, axis=1)
        return _pass(key, net, window, values, draw)[0]

    @eqx.filter_jit
    def log_prob(
        self, key: PRNGKeyArray, net: Net, window: Window, fills: Shaped[Array, "B S W D"]
    ) -> Estimate:
        _, log_probs = _pass(key, net, window, fills, force)
        return exactly(jnp.sum(log_probs, axis=2))

    @eqx.filter_jit
    def marginals(self, key: PRNGKeyArray, net: Net, window: Window) -> Marginals:
        return each_alone(net, window)


def _pass(
    key: PRNGKeyArray, net: Net, window: Window, fills: Shaped[Array, "B S W D"], visit: Visit
) -> tuple[Shaped[Array, "B S W D"], PyTree[Shaped[Array, "B S W ..."]]]:
    """All fills of all windows, side by side; what is written, and what is noted, at every step.

    No cursor is needed: the states behind a step are those of tokens whatever is filled before it,
    and the same for all fills of a window.
    """
    samples = fills.shape[1]
    lanes = fills.reshape(-1, *fills.shape[2:])

    def behind(window: Window) -> PyTree[Shaped[Array, "W ..."]]:
        inputs = net.inputs(window.values, window.missing)
        states = net.backward.run(window.right, inputs, window.valid, reverse=True)
        return jax.tree.map(lambda h: h[1:], states)

    def for_lanes(of_windows: PyTree) -> PyTree:
        return jax.tree.map(lambda a: jnp.repeat(a, samples, axis=0), of_windows)

    def one(before: State, key: PRNGKeyArray, after: State, missing: Array, frame: Array) -> PyTree:
        step = Step(net.context(before, after), frame, missing, frame)
        written, noted = visit(net.head, key, step)
        seen = net.encode(written, jnp.zeros_like(missing))
        return net.forward.step(before, seen), (written, noted)

    def next_step(before: State, now: tuple[Array, PyTree, Array]) -> tuple[State, PyTree]:
        key, of_windows, frames = now
        keys = jax.random.split(key, len(frames))
        return jax.vmap(one)(before, keys, *for_lanes(of_windows), frames)

    in_time = jax.tree.map(
        lambda a: jnp.moveaxis(a, 1, 0), ((jax.vmap(behind)(window), window.missing), lanes)
    )
    keys = jax.random.split(key, lanes.shape[1])
    _, answers = jax.lax.scan(next_step, for_lanes(window.left), (keys, *in_time))
    return jax.tree.map(lambda a: split_lanes(jnp.moveaxis(a, 0, 1), samples), answers)
