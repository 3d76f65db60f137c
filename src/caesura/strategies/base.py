"""The base class of strategies, and the form of their answers."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from jaxtyping import Float, Shaped

from caesura.errors import CaesuraError
from caesura.hardware import LANES, window_width
from caesura.later import Array, Module, PyTree, jax, jnp
from caesura.nets.arrays import Numbers, namespace
from caesura.nets.pair import Nets
from caesura.nets.rnn import Net, NetName
from caesura.strategies.keys import Keys, LaneKeys
from caesura.strategies.window import Window


class Estimate(NamedTuple):
    """Log-probabilities in nats, and their standard errors, which are zero if nothing is random."""

    log_prob: Float[Numbers, "*shape"]
    standard_error: Float[Numbers, "*shape"]


class Marginals(NamedTuple):
    """The distribution of each missing step by itself, while the other gaps are not known."""

    values: Estimate  # [B, W, D, K]: of every value of each component
    steps: Estimate  # [B, W]: of the frame that the window holds at the step


class Strategy(Module):
    """How gaps are filled and how the probability of a fill is computed, by one distribution.

    The three verbs `draw`, `log_prob` and `marginals` take a batch of windows. They ignore the
    values that a window holds at missing places, except that `marginals` gives their probability.

    `key` is one key for all windows, or an array of one key per window. With one key per window,
    the answer for a window does not depend on the other windows in the batch (except for rounding).
    One key for all windows is faster if the strategy visits steps in random orders.
    """

    name: ClassVar[str]  # its key in STRATEGIES
    # The net that the verbs are given, or "pair" for a forward and a bidirectional one.
    net: ClassVar[NetName | Literal["pair"]]
    # Whether the net must be able to tell a missing value from a zero.
    needs_missing_input: ClassVar[bool] = False
    # False if a fill takes minutes, so that a server does not offer the strategy.
    interactive: ClassVar[bool] = True
    # Whether it has a verb `search`, as `Search` has, which a filler prefers to draws.
    searches: ClassVar[bool] = False
    # Whether `draw` fills a `Line` as it must be.
    keeps_lines: ClassVar[bool] = False
    # Whether the verbs accept one key per window.
    batched: ClassVar[bool] = True

    def check(self, net: Any) -> None:
        """Raise if the strategy cannot work with the net."""
        if not isinstance(net, Net) or net.name != self.net:
            raise CaesuraError(f"The strategy '{self.name}' needs a {self.net} net, not this one.")
        if self.needs_missing_input and net.missing_input == "none":
            raise CaesuraError(
                f"The strategy '{self.name}' needs a net trained with a missing-value input; "
                "try 'gsn'."
            )

    def in_numpy(self, net: Nets) -> bool:
        """Return whether the verbs run with NumPy if the window has arrays of NumPy.

        Nothing is compiled then. Windows of any size share a pass, and `key` may be numbers for
        each window.
        """
        return False

    @property
    def hears_echoes(self) -> bool:
        """Whether a window should have `echoes`."""
        return False

    def stop(self, missing_stop: int, length: int) -> int:
        """Return the end of the window of a sequence whose last missing step is before
        `missing_stop`."""
        return missing_stop

    def padded(self, steps: int) -> int:
        """Return the width to which a window of so many steps is padded; each is compiled."""
        return window_width(steps)

    def lanes(self, samples: int) -> int:
        """Return how many lanes run side by side for `samples` fills of one window."""
        return samples

    def work(self, net: Nets, width: int, gaps: Sequence[int], samples: int) -> int:
        """Return how long it takes to fill a window, in a unit of the strategy's own.

        Parameters
        ----------
        net, width, samples
            As for `states`.
        gaps
            The lengths of the gaps.
        """
        return self.states(net, width, max(gaps, default=0), samples)

    def is_exact(self, longest_gap: int) -> bool:
        """Return whether `log_prob` is exact if no gap is longer than `longest_gap`."""
        return False

    def states(self, net: Nets, width: int, longest_gap: int, samples: int) -> int:
        """Return how many states of the net the most expensive verb holds at once, per window.

        Parameters
        ----------
        net
            The net, or the pair, that the verbs are given.
        width
            The padded width of the window, `caesura.hardware.window_width`.
        longest_gap
            The number of steps of the longest gap in the window.
        samples
            The number of fills that are drawn or scored.
        """
        return samples * width

    @abstractmethod
    def draw(self, key: Any, net: Any, window: Window, samples: int) -> Shaped[Numbers, "B S W D"]:
        """Return `samples` random fills of each window."""

    @abstractmethod
    def log_prob(
        self, key: Any, net: Any, window: Window, fills: Shaped[Numbers, "B S W D"]
    ) -> Estimate:
        """Return the joint log-probability, [B, S], of all missing values of each fill."""

    @abstractmethod
    def marginals(self, key: Any, net: Any, window: Window) -> Marginals:
        """Return the distribution at each missing place."""

    def effective_samples(self, key: Keys, net: Any, window: Window) -> Float[Array, " B"] | None:
        """Return how many independent draws the particles of a fill are worth; None without any."""
        return None


def exactly(log_prob: Float[Numbers, "*shape"]) -> Estimate:
    """Return the estimate of a log-probability that is not random."""
    return Estimate(log_prob, namespace(log_prob).zeros_like(log_prob))


def log_mean(log_probs: Float[Array, "B n *rest"]) -> Estimate:
    """Return the log of a mean of n probabilities, with its error by the delta method.

    The error is infinite where one probability makes up more than half of the sum: the spread of
    the others then says nothing about the error. In long gaps this is the rule.
    """
    n = log_probs.shape[1]
    top = jnp.max(log_probs, axis=1, keepdims=True)
    top = jnp.where(jnp.isfinite(top), top, 0.0)
    probs = jnp.exp(log_probs - top)
    mean = jnp.mean(probs, axis=1)
    error = jnp.std(probs, axis=1, ddof=1 if n > 1 else 0) / (mean * n**0.5)
    carried_by_one = jnp.max(probs, axis=1) > 0.5 * n * mean
    return Estimate(jnp.log(mean) + top[:, 0], jnp.where(carried_by_one, jnp.inf, error))


def on_copies(
    keys: LaneKeys,
    window: Window,
    copies: int,
    run: Callable[[LaneKeys, Window], PyTree[Shaped[Array, "L ..."]]],
) -> PyTree[Shaped[Array, "B copies ..."]]:
    """Return what `run(keys, lanes)` gives for `copies` of every window, some of them at a time.

    Lanes run in lockstep, and the lanes of one copy in many windows visit their steps in the same
    order if all windows share a key. If there are enough windows, running one copy after another
    saves waiting, and memory.
    """
    windows = len(window.valid)
    fitting = (n for n in range(1, copies + 1) if copies % n == 0 and n * windows <= LANES)
    at_once = max(fitting, default=1)
    lanes = window.repeat(at_once)
    numbers = jnp.arange(copies).reshape(-1, at_once)
    blocks = jax.lax.map(lambda some: run(keys.copies(some), lanes), numbers)

    def by_window(a: Array) -> Array:
        split = a.reshape(len(numbers), windows, at_once, *a.shape[2:])
        return jnp.moveaxis(split, 0, 1).reshape(windows, copies, *a.shape[2:])

    return jax.tree.map(by_window, blocks)


def split_lanes(lanes: Shaped[Array, "Bn *rest"], n: int) -> Shaped[Array, "B n *rest"]:
    """Return the lanes of `Window.repeat(n)` with an axis for the copies of a window."""
    return lanes.reshape(-1, n, *lanes.shape[1:])
