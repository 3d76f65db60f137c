"""The Gibbs sampler of `gsn` and `bayes`, which differ in the conditional of a step."""

from abc import abstractmethod
from typing import NamedTuple

from jaxtyping import Float, Int, Shaped

from caesura.errors import whole_number
from caesura.later import Array, PyTree, field, jax, jnp
from caesura.nets.pair import Nets
from caesura.nets.rnn import Net
from caesura.programs import program
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
from caesura.strategies.keys import Keys, LaneKeys, fold, for_steps, keys_of_windows
from caesura.strategies.window import Window

LAST = 1  # the number of sweeps to go at the last one
START = 0  # no sweep has this number: the keys for the start of a chain


class Chains(NamedTuple):
    """One chain per lane, and its keys."""

    lanes: Window
    keys: LaneKeys


class Gibbs(Strategy):
    """A random start, then M steps that each resample one missing step given all others."""

    steps: int | Int[Array, ""] = 100  # M; as an array, it is no reason to compile again
    chains: int = field(static=True, default=100)

    def __check_init__(self) -> None:
        if not isinstance(self.steps, jax.Array):
            whole_number("steps", self.steps, 1)
        whole_number("chains", self.chains, 1)

    def states(self, net: Nets, width: int, longest_gap: int, samples: int) -> int:
        return samples * width * self.chains

    @abstractmethod
    def conditional(self, net: Net, window: Window) -> Conditional:
        """Return the distribution that a step is resampled from."""

    @program
    def draw(self, key: Keys, net: Net, window: Window, samples: int) -> Shaped[Array, "B S W D"]:
        keys = keys_of_windows(key, len(window.valid)).copies(jnp.arange(samples))
        chains = Chains(window.repeat(samples), keys)
        return split_lanes(self._sweep_all_but(0, net, chains).values, samples)

    @program
    def log_prob(
        self, key: Keys, net: Net, window: Window, fills: Shaped[Array, "B S W D"]
    ) -> Estimate:
        samples = fills.shape[1]

        def run(keys: LaneKeys, lanes: Window) -> Float[Array, "L S"]:
            chains = Chains(lanes, keys)
            cursor, order = self._sweep_all_but(1, net, chains), self._order(LAST, chains)
            # Chains do not depend on the fills: each runs once and is then forced to all of them.
            cursor, order = jax.tree.map(lambda a: jnp.repeat(a, samples, axis=0), (cursor, order))
            copies = len(lanes.valid) // len(fills)
            forced = lanes.with_fills(jnp.repeat(fills, copies, axis=0))
            chains = Chains(forced, keys.repeat(samples))
            log_probs = self._sweep(LAST, net, chains, cursor, order, force)[1]
            return jnp.sum(log_probs, axis=1).reshape(-1, samples)

        keys = keys_of_windows(key, len(window.valid))
        return log_mean(on_copies(keys, window, self.chains, run))

    @program
    def marginals(self, key: Keys, net: Net, window: Window) -> Marginals:
        def run(keys: LaneKeys, lanes: Window) -> Noted:
            chains = Chains(lanes, keys)
            cursor, order = self._sweep_all_but(1, net, chains), self._order(LAST, chains)
            noted: Noted = self._sweep(LAST, net, chains, cursor, order, draw_and_note)[1]
            return noted

        keys = keys_of_windows(key, len(window.valid))
        return Marginals(*(log_mean(n) for n in on_copies(keys, window, self.chains, run)))

    def _sweep_all_but(self, last: int, net: Net, chains: Chains) -> Cursor:
        """Run every chain from a random start; the `last` sweeps are left to the caller."""
        lanes = chains.lanes
        each_step = for_steps(fold(chains.keys.own, START), lanes.valid.shape[1])
        start = jax.vmap(jax.vmap(net.frame.start))(each_step)
        start = jnp.where(lanes.missing, start, lanes.values)
        cursor = enter(net, lanes, start, jnp.zeros_like(lanes.missing))
        longest = jnp.max(self._sweeps(lanes))

        def sweep(i: Array, cursor: Cursor) -> Cursor:
            order = self._order(longest - i, chains)
            return self._sweep(longest - i, net, chains, cursor, order, draw)[0]

        return jax.lax.fori_loop(0, longest - last, sweep, cursor)

    def _sweeps(self, lanes: Window) -> Int[Array, " L"]:
        """Return M/g for a longest gap of g steps; at least one."""
        return jnp.maximum(-(-self.steps // lanes.longest_gap), 1)

    def _order(self, to_go: int | Int[Array, ""], chains: Chains) -> Order:
        """Return every missing step once, in a new random order for every sweep.

        Lanes with longer gaps make fewer sweeps: they start later, so that all end together.
        """
        lanes = chains.lanes
        # Alternating: with several gaps, a sweep starts where the previous one ended.
        order = random_order(fold(chains.keys.order, to_go), lanes, rightward=to_go % 2 == 0)
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
        conditional = self.conditional(net, chains.lanes)
        keys = fold(chains.keys.own, to_go)
        return walk(keys, net, conditional, cursor, chains.lanes, order, visit)
