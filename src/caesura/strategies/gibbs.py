"""The only Gibbs loop: `gsn` and `bayes` differ in the conditional they resample a step from."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray, Shaped

from caesura.nets.rnn import Net
from caesura.strategies.base import Estimate, Marginals, Strategy, log_mean, split_lanes
from caesura.strategies.cursor import (
    Conditional,
    Cursor,
    Visit,
    draw,
    draw_and_note,
    enter,
    force,
    random_order,
    walk,
)
from caesura.strategies.window import Window


class Gibbs(Strategy):
    """Random start, then M steps that each resample one missing step given all the others."""

    steps: int = eqx.field(static=True, default=100)  # M
    chains: int = eqx.field(static=True, default=100)

    @abstractmethod
    def conditional(self, net: Net, window: Window) -> Conditional:
        """What a step is resampled from."""

    @eqx.filter_jit
    def draw(
        self, key: PRNGKeyArray, net: Net, window: Window, samples: int
    ) -> Shaped[Array, "B S W D"]:
        cursor, _ = self._chain(key, net, window.repeat(samples), draw)
        return jnp.moveaxis(split_lanes(cursor.values, samples), 0, 1)

    @eqx.filter_jit
    def log_prob(self, key: PRNGKeyArray, net: Net, window: Window) -> Estimate:
        _, log_probs = self._chain(key, net, window.repeat(self.chains), force)
        return log_mean(split_lanes(jnp.sum(log_probs, axis=1), self.chains))

    @eqx.filter_jit
    def marginals(self, key: PRNGKeyArray, net: Net, window: Window) -> Marginals:
        _, noted = self._chain(key, net, window.repeat(self.chains), draw_and_note)
        return Marginals(*(log_mean(split_lanes(n, self.chains)) for n in noted))

    def _chain(
        self, key: PRNGKeyArray, net: Net, window: Window, last: Visit
    ) -> tuple[Cursor, Array]:
        """One chain a lane; its visits draw, and those of the last sweep do what `last` does."""
        key_start, key_sweeps = jax.random.split(key)
        conditional = self.conditional(net, window)

        def sweep(i: Int[Array, ""], cursor: Cursor, visit: Visit) -> tuple[Cursor, Array]:
            key_order, key_visits = jax.random.split(jax.random.fold_in(key_sweeps, i))
            # There and back again: with several gaps, the next sweep begins where this one ends.
            order = random_order(key_order, window, rightward=i % 2 == 0)
            return walk(key_visits, net, conditional, cursor, window, order, visit)

        keys = jax.random.split(key_start, window.valid.shape)
        start = jnp.where(window.missing, jax.vmap(jax.vmap(net.frame.start))(keys), window.values)
        cursor = enter(net, window, start, jnp.zeros_like(window.missing))
        # M steps are M/g sweeps over the g missing steps.
        missing = jnp.max(jnp.sum(window.missing_steps, axis=1))
        sweeps = jnp.maximum(-(-self.steps // missing), 1)
        cursor = jax.lax.fori_loop(0, sweeps - 1, lambda i, c: sweep(i, c, draw)[0], cursor)
        return sweep(sweeps - 1, cursor, last)
