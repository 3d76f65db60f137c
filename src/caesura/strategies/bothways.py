"""`bothways`: the bidirectional net fills each missing step once, from left to right or back."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Int, Key, Shaped

from caesura.later import Array, PRNGKeyArray, PyTree, jax, jnp
from caesura.nets.arrays import Numbers
from caesura.nets.cells import State
from caesura.nets.eager import with_numpy
from caesura.nets.heads.base import Query
from caesura.nets.pair import Nets
from caesura.nets.rnn import Net, NetName
from caesura.programs import program
from caesura.strategies.base import Estimate, Marginals, Strategy, exactly, split_lanes
from caesura.strategies.cursor import Step, Visit, draw, force
from caesura.strategies.keys import Keys, fold, generators, keys_of_windows
from caesura.strategies.nade import each_alone
from caesura.strategies.passing import Passes
from caesura.strategies.window import Window

COIN = 2**31 - 1  # the keys for the first direction: no sample has this number


class BothWays(Strategy):
    """Eq. (7) averaged over two orders, where `nade` averages over all of them.

    A fill is one pass over the window, from the left or from the right at random. Its score is
    exact for gaps of any length: the mean of two passes. So this is the cheapest strategy for many
    samples of many windows. Windows of NumPy are filled by NumPy, if the net's head can do it:
    then nothing is compiled. Windows of JAX, as an evaluation has them, are filled by JAX.

    NumPy fills a part that is filled alone (`Line`) as it must be: each step is drawn given that.
    Scores stay those of the model, which does not know of it.

    Examples
    --------
    >>> BothWays().is_exact(1000)
    True
    """

    name: ClassVar[str] = "bothways"
    net: ClassVar[NetName] = "bidirectional"
    needs_missing_input: ClassVar[bool] = True
    keeps_lines: ClassVar[bool] = True

    def in_numpy(self, net: Nets) -> bool:
        return isinstance(net, Net) and net.head.in_numpy

    def is_exact(self, longest_gap: int) -> bool:
        return True

    def work(self, net: Nets, width: int, gaps: Sequence[int], samples: int) -> int:
        # By NumPy, in units of 0.9 ms of a core: what is around the window is read, and a step
        # costs something however many fills take it (benchmarks/music_cost.py).
        return 40 + width * (8 + samples)

    def draw(self, key: Any, net: Net, window: Window, samples: int) -> Shaped[Numbers, "B S W D"]:
        """Return fills whose directions alternate; the first direction is random."""
        if self.in_numpy(net) and isinstance(window.values, np.ndarray):
            return _passes(net, window).draw(generators(key, len(window.valid)), samples)
        return self._draw(key, net, window, samples)

    def log_prob(
        self, key: Any, net: Net, window: Window, fills: Shaped[Numbers, "B S W D"]
    ) -> Estimate:
        if self.in_numpy(net) and isinstance(window.values, np.ndarray):
            return exactly(_passes(net, window).log_prob(np.asarray(fills)))
        return self._log_prob(key, net, window, fills)

    def marginals(self, key: Any, net: Net, window: Window) -> Marginals:
        if self.in_numpy(net) and isinstance(window.values, np.ndarray):
            return Marginals(*map(exactly, _passes(net, window).alone()))
        return self._marginals(key, net, window)

    @program
    def _draw(self, key: Keys, net: Net, window: Window, samples: int) -> Shaped[Array, "B S W D"]:
        keys = keys_of_windows(key, len(window.valid))
        pairs = jnp.arange(-(-samples // 2))
        half = jnp.repeat(window.values[:, None], len(pairs), axis=1)
        ways = [
            _pass(keys.copies(2 * pairs + left).own, net, window, half, draw, left)[0]
            for left in (False, True)
        ]
        coin = jax.vmap(jax.random.bernoulli)(fold(keys.own, COIN)).reshape(-1, 1, 1, 1)
        first, second = jnp.where(coin, ways[1], ways[0]), jnp.where(coin, ways[0], ways[1])
        drawn = jnp.stack([first, second], axis=2)
        return drawn.reshape(len(half), -1, *half.shape[2:])[:, :samples]

    @program
    def _log_prob(
        self, key: Keys, net: Net, window: Window, fills: Shaped[Array, "B S W D"]
    ) -> Estimate:
        keys = keys_of_windows(key, len(window.valid)).repeat(fills.shape[1])
        ways = [_pass(keys.own, net, window, fills, force, left)[1] for left in (False, True)]
        return exactly(jnp.logaddexp(*(jnp.sum(w, axis=2) for w in ways)) - jnp.log(2))

    @program
    def _marginals(self, key: Keys, net: Net, window: Window) -> Marginals:
        return each_alone(net, window)


def _passes(net: Net, window: Window) -> Passes:
    return Passes(with_numpy(net), window)


def _pass(
    keys: Key[Array, " BS"],
    net: Net,
    window: Window,
    fills: Shaped[Array, "B S W D"],
    visit: Visit,
    leftward: bool,
) -> tuple[Shaped[Array, "B S W D"], PyTree[Shaped[Array, "B S W ..."]]]:
    """Pass over all fills of all windows in parallel; return the frames and notes of every step.

    No cursor is needed: the states ahead of a step are those of missing-value tokens, the same for
    all fills of a window.
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

    def all_lanes(passed: State, now: tuple[Int[Array, ""], PyTree, Array]) -> tuple[State, PyTree]:
        t, of_windows, frames = now
        return jax.vmap(one)(passed, fold(keys, t), for_lanes(of_windows), frames)

    of_windows = (jax.vmap(states_ahead)(window, end), window.missing, window.valid)
    in_time = jax.tree.map(lambda a: jnp.moveaxis(a, 1, 0), (of_windows, lanes))
    steps = jnp.arange(lanes.shape[1])
    _, answers = jax.lax.scan(all_lanes, for_lanes(start), (steps, *in_time), reverse=leftward)
    return jax.tree.map(lambda a: split_lanes(jnp.moveaxis(a, 0, 1), samples), answers)
