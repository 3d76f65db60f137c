"""The only Gibbs loop: `gsn` and `bayes` differ in the conditional they resample a step from."""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree, Shaped

from caesura.errors import whole_number
from caesura.nets.rnn import Net
from caesura.strategies.base import (
    Estimate,
    Marginals,
    Strategy,
    log_mean,
    on_copies,
    split_lanes,
)
from caesura.strategies.cursor import (
    Conditional,
    Cursor,
    Noted,
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

LAST = 1  # how many sweeps are to go, at the last one


class Chains(NamedTuple):
    """Some chains for each window, one a lane, and what is random in them."""

    lanes: Window
    copies: int  # chains for each window
    start: PRNGKeyArray
    orders: PRNGKeyArray
    visits: PRNGKeyArray


class Gibbs(Strategy):
    """Random start, then M steps that each resample one missing step given all the others."""

    steps: int | Int[Array, ""] = 100  # M; one compiled program serves all that come as arrays
    chains: int = eqx.field(static=True, default=100)

    def __check_init__(self) -> None:
        if not isinstance(self.steps, Array):
            whole_number("steps", self.steps, 1)
        whole_number("chains", self.chains, 1)

    @abstractmethod
    def conditional(self, net: Net, window: Window) -> Conditional:
        """What a step is resampled from."""

    @eqx.filter_jit
    def draw(
        self, key: PRNGKeyArray, net: Net, window: Window, samples: int
    ) -> Shaped[Array, "B S W D"]:
        chains = Chains(window.repeat(samples), samples, *jax.random.split(key, 3))
        return split_lanes(self._sweep_all_but(0, net, chains).values, samples)

    @eqx.filter_jit
    def log_prob(
        self, key: PRNGKeyArray, net: Net, window: Window, fills: Shaped[Array, "B S W D"]
    ) -> Estimate:
        samples = fills.shape[1]

        def run(key: PRNGKeyArray, lanes: Window, copies: int) -> Float[Array, "L S"]:
            chains = Chains(lanes, copies, *jax.random.split(key, 3))
            cursor = self._sweep_all_but(1, net, chains)
            order = self._order(LAST, chains)
            # No chain depends on the fills, so each is run once, and then forced to all of them.
            cursor, order = jax.tree.map(lambda a: jnp.repeat(a, samples, axis=0), (cursor, order))
            forced = chains._replace(lanes=lanes.with_fills(jnp.repeat(fills, copies, axis=0)))
            log_probs = self._sweep(LAST, net, forced, cursor, order, force)[1]
            return jnp.sum(log_probs, axis=1).reshape(-1, samples)

        return log_mean(on_copies(key, window, self.chains, run))

    @eqx.filter_jit
    def marginals(self, key: PRNGKeyArray, net: Net, window: Window) -> Marginals:
        def run(key: PRNGKeyArray, lanes: Window, copies: int) -> Noted:
            chains = Chains(lanes, copies, *jax.random.split(key, 3))
            cursor = self._sweep_all_but(1, net, chains)
            order = self._order(LAST, chains)
            noted: Noted = self._sweep(LAST, net, chains, cursor, order, draw_and_note)[1]
            return noted

        return Marginals(*(log_mean(n) for n in on_copies(key, window, self.chains, run)))

    def _sweep_all_but(self, last: int, net: Net, chains: Chains) -> Cursor:
        """One chain a lane, from a random start; the `last` sweeps are left to the caller."""
        lanes = chains.lanes
        each_step = jax.random.split(chains.start, lanes.valid.shape)
        start = jax.vmap(jax.vmap(net.frame.start))(each_step)
        start = jnp.where(lanes.missing, start, lanes.values)
        cursor = enter(net, lanes, start, jnp.zeros_like(lanes.missing))
        longest = jnp.max(self._sweeps(lanes))

        def sweep(i: Array, cursor: Cursor) -> Cursor:
            order = self._order(longest - i, chains)
            return self._sweep(longest - i, net, chains, cursor, order, draw)[0]

        return jax.lax.fori_loop(0, longest - last, sweep, cursor)

    def _sweeps(self, lanes: Window) -> Int[Array, " L"]:
        """M steps in the longest gap, of g steps, are M/g sweeps; at least one."""
        return jnp.maximum(-(-self.steps // lanes.longest_gap), 1)

    def _order(self, to_go: int | Int[Array, ""], chains: Chains) -> Order:
        """Every missing step once, in a new random order for every sweep.

        Lanes with longer gaps make fewer sweeps: they start later, and all end together.
        """
        lanes, key = chains.lanes, jax.random.fold_in(chains.orders, to_go)
        # There and back again: with several gaps, a sweep begins where the one before it ended.
        order = random_order(key, lanes, chains.copies, rightward=to_go % 2 == 0)
        return Order(order.steps, jnp.where(to_go <= self._sweeps(lanes), order.visits, 0))

    def _sweep(
        self,
        to_go: int | Int[Array, ""],
        net: Net,
        chains: Chains,
        cursor: Cursor,
        order: Order,
        visit: Visit,
    ) -> tuple[Cursor, PyTree[Array]]:
        key = jax.random.fold_in(chains.visits, to_go)
        conditional = self.conditional(net, chains.lanes)
        return walk(key, net, conditional, cursor, chains.lanes, order, visit)
