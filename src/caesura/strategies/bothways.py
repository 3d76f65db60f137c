"""`bothways`: missing steps are filled once each, along time or against it, from missing-value
tokens."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PRNGKeyArray, PyTree, Shaped

from caesura.nets.cells import State
from caesura.nets.heads.base import Query
from caesura.nets.rnn import Net, NetName
from caesura.strategies.base import Estimate, Marginals, Strategy, exactly, split_lanes
from caesura.strategies.cursor import Step, Visit, draw, force
from caesura.strategies.nade import each_alone
from caesura.strategies.window import Window


class BothWays(Strategy):
    """Eq. (7), averaged over two orders where `nade` averages over all of them.

    A fill is one pass through its window, from the left or from the right as a coin falls. Its
    score is exact however long the gaps are: the mean of two passes. So this is the cheapest way to
    many samples of many windows.
    """

    net: ClassVar[NetName] = "bidirectional"
    needs_missing_input: ClassVar[bool] = True

    @eqx.filter_jit
    def draw(
        self, key: PRNGKeyArray, net: Net, window: Window, samples: int
    ) -> Shaped[Array, "B S W D"]:
        """Every other sample goes the other way; which way the first goes is random."""
        key_coin, *keys = jax.random.split(key, 3)
        half = jnp.repeat(window.values[:, None], -(-samples // 2), axis=1)
        ways = zip(keys, (False, True), strict=True)
        drawn = jnp.stack([_pass(k, net, window, half, draw, left)[0] for k, left in ways], axis=2)
        drawn = drawn.reshape(len(half), -1, *half.shape[2:])
        return jnp.roll(drawn, jax.random.bernoulli(key_coin), axis=1)[:, :samples]

    @eqx.filter_jit
    def log_prob(
        self, key: PRNGKeyArray, net: Net, window: Window, fills: Shaped[Array, "B S W D"]
    ) -> Estimate:
        ways = [_pass(key, net, window, fills, force, left)[1] for left in (False, True)]
        return exactly(jnp.logaddexp(*(jnp.sum(w, axis=2) for w in ways)) - jnp.log(2))

    @eqx.filter_jit
    def marginals(self, key: PRNGKeyArray, net: Net, window: Window) -> Marginals:
        return each_alone(net, window)


def _pass(
    key: PRNGKeyArray,
    net: Net,
    window: Window,
    fills: Shaped[Array, "B S W D"],
    visit: Visit,
    leftward: bool,
) -> tuple[Shaped[Array, "B S W D"], PyTree[Shaped[Array, "B S W ..."]]]:
    """All fills of all windows, side by side; what is written, and what is noted, at every step.

    No cursor is needed: the states ahead of a step are those of tokens whatever was filled on the
    way to it, and the same for all fills of a window.
    """
    samples = fills.shape[1]
    lanes = fills.reshape(-1, *fills.shape[2:])
    stack, other = (net.backward, net.forward) if leftward else (net.forward, net.backward)
    start, end = (window.right, window.left) if leftward else (window.left, window.right)

    def states_ahead(window: Window, end: State) -> PyTree[Shaped[Array, "W ..."]]:
        inputs = net.inputs(window.values, window.missing)
        states = other.run(end, inputs, window.valid, reverse=not leftward)
        return jax.tree.map(lambda h: h[:-1] if leftward else h[1:], states)

    def one(
        passed: State,
        key: PRNGKeyArray,
        of_window: tuple[State, Bool[Array, " D"], Bool[Array, ""]],
        frame: Shaped[Array, " D"],
    ) -> tuple[State, PyTree]:
        ahead, missing, valid = of_window
        context = net.context(*((ahead, passed) if leftward else (passed, ahead)))
        written, noted = visit(net.head, key, Step(Query(context, frame, missing), frame))
        new = stack.step(passed, net.encode(written, jnp.zeros_like(missing)))
        return jax.tree.map(lambda n, o: jnp.where(valid, n, o), new, passed), (written, noted)

    def for_lanes(of_windows: PyTree) -> PyTree:
        return jax.tree.map(lambda a: jnp.repeat(a, samples, axis=0), of_windows)

    def all_lanes(passed: State, now: tuple[Array, PyTree, Array]) -> tuple[State, PyTree]:
        key, of_windows, frames = now
        keys = jax.random.split(key, len(frames))
        return jax.vmap(one)(passed, keys, for_lanes(of_windows), frames)

    of_windows = (jax.vmap(states_ahead)(window, end), window.missing, window.valid)
    in_time = jax.tree.map(lambda a: jnp.moveaxis(a, 1, 0), (of_windows, lanes))
    keys = jax.random.split(key, lanes.shape[1])
    _, answers = jax.lax.scan(all_lanes, for_lanes(start), (keys, *in_time), reverse=leftward)
    return jax.tree.map(lambda a: split_lanes(jnp.moveaxis(a, 0, 1), samples), answers)
