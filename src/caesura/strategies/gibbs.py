"""The only Gibbs loop: `gsn` and `bayes` differ in the conditional they resample a step from."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray, PyTree, Shaped

from caesura.nets.rnn import Net
from caesura.strategies.base import Estimate, Marginals, Strategy, at_least, log_mean, split_lanes
from caesura.strategies.cursor import (
    Conditional,
    Cursor,
    Order,
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

    def __check_init__(self) -> None:
        at_least(1, steps=self.steps, chains=self.chains)

    @abstractmethod
    def conditional(self, net: Net, window: Window) -> Conditional:
        """What a step is resampled from."""

    @eqx.filter_jit
    def draw(
        self, key: PRNGKeyArray, net: Net, window: Window, samples: int
    ) -> Shaped[Array, "B S W D"]:
        cursor = self._sweep_all_but(0, key, net, window.repeat(samples))
        return jnp.moveaxis(split_lanes(cursor.values, samples), 0, 1)

    @eqx.filter_jit
    def log_prob(self, key: PRNGKeyArray, net: Net, window: Window) -> Estimate:
        log_probs = self._note_last_sweep(key, net, window.repeat(self.chains), force)
        return log_mean(split_lanes(jnp.sum(log_probs, axis=1), self.chains))

    @eqx.filter_jit
    def marginals(self, key: PRNGKeyArray, net: Net, window: Window) -> Marginals:
        noted = self._note_last_sweep(key, net, window.repeat(self.chains), draw_and_note)
        return Marginals(*(log_mean(split_lanes(n, self.chains)) for n in noted))

    def _sweeps(self, lanes: Window) -> Int[Array, " L"]:
        """M steps are M/g sweeps over g missing steps; at least one."""
        return jnp.maximum(-(-self.steps // jnp.sum(lanes.missing_steps, axis=1)), 1)

    def _sweep_all_but(self, last: int, key: PRNGKeyArray, net: Net, lanes: Window) -> Cursor:
        """One chain a lane, from a random start; the `last` sweeps are left to the caller."""
        keys = jax.random.split(jax.random.fold_in(key, 0), lanes.valid.shape)
        start = jnp.where(lanes.missing, jax.vmap(jax.vmap(net.frame.start))(keys), lanes.values)
        cursor = enter(net, lanes, start, jnp.zeros_like(lanes.missing))

        longest = jnp.max(self._sweeps(lanes))

        def sweep(i: Array, cursor: Cursor) -> Cursor:
            return self._sweep(longest - i, key, net, lanes, cursor, draw)[0]

        return jax.lax.fori_loop(0, longest - last, sweep, cursor)

    def _note_last_sweep(
        self, key: PRNGKeyArray, net: Net, lanes: Window, visit: Visit
    ) -> PyTree[Array]:
        cursor = self._sweep_all_but(1, key, net, lanes)
        return self._sweep(jnp.int32(1), key, net, lanes, cursor, visit)[1]

    def _sweep(
        self,
        to_go: Int[Array, ""],
        key: PRNGKeyArray,
        net: Net,
        lanes: Window,
        cursor: Cursor,
        visit: Visit,
    ) -> tuple[Cursor, PyTree[Array]]:
        """Visit every missing step once, in a new random order; `to_go` counts down to 1.

        Lanes with longer gaps make fewer sweeps: they start later, and all end together.
        """
        key_order, key_visits = jax.random.split(jax.random.fold_in(key, to_go))
        # There and back again: with several gaps, a sweep begins where the one before it ended.
        order = random_order(key_order, lanes, rightward=to_go % 2 == 0)
        order = Order(order.steps, jnp.where(to_go <= self._sweeps(lanes), order.visits, 0))
        conditional = self.conditional(net, lanes)
        return walk(key_visits, net, conditional, cursor, lanes, order, visit)
