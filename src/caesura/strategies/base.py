"""What every strategy can do, and what it answers with."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree, Shaped

from caesura.errors import CaesuraError
from caesura.hardware import LANES
from caesura.nets.rnn import Net, NetName
from caesura.strategies.window import Window


class Estimate(NamedTuple):
    """Log-probabilities in nats, and their standard errors: zero where nothing is random."""

    log_prob: Float[Array, "*shape"]
    standard_error: Float[Array, "*shape"]


class Marginals(NamedTuple):
    """Each missing step by itself, as the strategy sees it while the other gaps are not known."""

    values: Estimate  # [B, W, D, K]: of every value of each component
    steps: Estimate  # [B, W]: of the frame that the window gives for the step


class Strategy(eqx.Module):
    """How gaps are filled and how their probability is computed, on one distribution.

    The three verbs take a batch of windows; what a window holds where values are missing is not
    looked at, except by `marginals` to say how probable it is.
    """

    # What the strategy works with, and what its verbs are given: a net, or a pair of them.
    net: ClassVar[NetName | Literal["pair"]]
    # Whether the net must know what it is not to see from what is zero.
    needs_missing_input: ClassVar[bool] = False

    def check(self, net: Any) -> None:
        """Say in one sentence why the net cannot serve, if it cannot."""
        name = type(self).__name__.lower()
        if not isinstance(net, Net) or net.name != self.net:
            raise CaesuraError(f"The strategy '{name}' needs a {self.net} net, not this one.")
        if self.needs_missing_input and net.missing_input == "none":
            raise CaesuraError(
                f"The strategy '{name}' needs a net trained with a missing-value input; try 'gsn'."
            )

    def stop(self, missing_stop: int, length: int) -> int:
        """Where a window ends whose last missing step lies before `missing_stop`."""
        return missing_stop

    @abstractmethod
    def draw(
        self, key: PRNGKeyArray, net: Any, window: Window, samples: int
    ) -> Shaped[Array, "B S W D"]:
        """`samples` fills of each window."""

    @abstractmethod
    def log_prob(
        self, key: PRNGKeyArray, net: Any, window: Window, fills: Shaped[Array, "B S W D"]
    ) -> Estimate:
        """[B, S]: of each of S fills of a window, the joint of its values at all missing places."""

    @abstractmethod
    def marginals(self, key: PRNGKeyArray, net: Any, window: Window) -> Marginals:
        """The distribution at each missing place."""

    def effective_samples(
        self, key: PRNGKeyArray, net: Any, window: Window
    ) -> Float[Array, " B"] | None:
        """How many independent draws the particles of a fill are worth; None without particles."""
        return None


def exactly(log_prob: Float[Array, "*shape"]) -> Estimate:
    """What no chance had a part in."""
    return Estimate(log_prob, jnp.zeros_like(log_prob))


def log_mean(log_probs: Float[Array, "B n *rest"]) -> Estimate:
    """The log of a mean of n probabilities, with its error by the delta method.

    The error is infinite where one of them makes up more than half of the sum: the spread of the
    others then says nothing of what more of them would bring. That is the rule in long gaps.
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
    key: PRNGKeyArray,
    window: Window,
    copies: int,
    run: Callable[[PRNGKeyArray, Window, int], PyTree[Shaped[Array, "L ..."]]],
) -> PyTree[Shaped[Array, "B copies ..."]]:
    """What `run(key, lanes, n)` gives on `copies` of every window, n of them at once.

    Lanes stride together, and those of one copy in many windows go the same way (`random_order`):
    where there are windows enough, taking one copy after another spares the waiting, and memory.
    """
    windows = len(window.valid)
    fitting = (n for n in range(1, copies + 1) if copies % n == 0 and n * windows <= LANES)
    at_once = max(fitting, default=1)
    lanes = window.repeat(at_once)
    keys = jax.random.split(key, copies // at_once)
    blocks = jax.lax.map(lambda k: run(k, lanes, at_once), keys)

    def by_window(a: Array) -> Array:
        split = a.reshape(len(keys), windows, at_once, *a.shape[2:])
        return jnp.moveaxis(split, 0, 1).reshape(windows, copies, *a.shape[2:])

    return jax.tree.map(by_window, blocks)


def split_lanes(lanes: Shaped[Array, "Bn *rest"], n: int) -> Shaped[Array, "B n *rest"]:
    """Lanes of `Window.repeat(n)`, the copies of a window along an axis of their own."""
    return lanes.reshape(-1, n, *lanes.shape[1:])
