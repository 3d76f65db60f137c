"""`sir`: the bidirectional net proposes fills, and the forward net chooses among them."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal, NamedTuple

from jaxtyping import Float, Int, Shaped

from caesura.errors import CaesuraError, whole_number
from caesura.hardware import LANES
from caesura.later import Array, PyTree, field, jax, jnp
from caesura.nets.heads.base import Query
from caesura.nets.pair import Nets, Pair
from caesura.nets.rnn import Net, States
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
    Cursor,
    Noted,
    draw_and_score,
    enter,
    force,
    given_the_rest,
    keep_and_note,
    left_to_right,
    random_order,
    walk,
)
from caesura.strategies.keys import Keys, LaneKeys, fold, fold_each, keys_of_windows
from caesura.strategies.window import Window


class Particle(NamedTuple):
    """A fill of each lane, drawn as by `nade`, and its importance weight."""

    values: Shaped[Array, "*L W D"]
    log_weight: Float[Array, "*L"]


class SIR(Strategy):
    """Sampling importance resampling from the posterior of the forward net.

    K particles are drawn as in `nade`, each in a random order σ. A fill is one of them, chosen with
    probability proportional to w = p(x, what follows) / q(x | σ), where p is the forward net and q
    the bidirectional one. So a fill x has the probability E[p(x, what follows) / Z], where Z is the
    mean weight of x, in a random order, and of K − 1 other particles. This holds for any K; the
    distribution approaches the posterior as K grows. The fills that one call draws for a window are
    chosen from the same particles: each has this distribution, but they are not independent, unless
    they are `apart`. `marginals` average, over the particles by their weights, the distribution
    that the bidirectional net gives to a step, given the other steps of the particle. So a value is
    possible even if no particle has it.

    Parameters
    ----------
    particles
        K, the number of proposals for each fill (default 32).
    replicas
        The number of estimates of Z that a log-probability or a marginal averages over (default 4).
    lookahead
        How many steps after the last missing one are scored (default 20); None for all of them, at
        a cost that grows with the sequence. On text, 10 are as good as 20 (docs/experiments.md).
    apart
        Whether each fill is chosen from K particles of its own (default False: K for all of them).

    Examples
    --------
    >>> SIR(lookahead=10).stop(missing_stop=20, length=100)
    30
    """

    name: ClassVar[str] = "sir"
    net: ClassVar[Literal["pair"]] = "pair"

    particles: int = field(static=True, default=32)
    replicas: int = field(static=True, default=4)
    lookahead: int | None = field(static=True, default=20)
    apart: bool = field(static=True, default=False)

    def __check_init__(self) -> None:
        whole_number("particles", self.particles, 1)
        whole_number("replicas", self.replicas, 1)
        if self.lookahead is not None:
            whole_number("lookahead", self.lookahead, 0)

    def check(self, net: object) -> None:
        if not isinstance(net, Pair):
            raise CaesuraError("The strategy 'sir' needs a pair of nets, not one.")
        if net.bidirectional.missing_input == "none":
            raise CaesuraError(
                "The strategy 'sir' needs a bidirectional net trained with a missing-value input."
            )

    def stop(self, missing_stop: int, length: int) -> int:
        return length if self.lookahead is None else min(length, missing_stop + self.lookahead)

    def padded(self, steps: int) -> int:
        # Few, since programs are large here; two or three bars of music fit into 48 steps, with the
        # 20 that follow them. See `work` for what padding costs.
        width = 48 if steps <= 48 else 128
        while width < steps:
            width *= 4
        return width

    def lanes(self, samples: int) -> int:
        return samples * self.replicas

    def work(self, net: Nets, width: int, gaps: Sequence[int], samples: int) -> int:
        """Return a number of steps: the window is written at each visit, and orders go to and fro.

        The factors were fitted to times of music on two busy cores, in windows of 32 to 128 steps
        and gaps of 1 to 60. The marginals take about as long as eight fills.
        """
        steps = width * (6 + sum(gaps)) + 4 * sum(gap**2 for gap in gaps)
        return (8 + samples) * steps

    def states(self, net: Nets, width: int, longest_gap: int, samples: int) -> int:
        return width * max(samples * self.replicas, LANES)  # LANES particles run at once

    @program
    def draw(self, key: Keys, net: Pair, window: Window, samples: int) -> Shaped[Array, "B S W D"]:
        def run(keys: LaneKeys, lanes: Window) -> Particle:
            return _propose(keys, net, lanes, _all_missing(net, lanes))

        keys = keys_of_windows(key, len(window.valid))
        sets = samples if self.apart else 1
        drawn: Particle = on_copies(keys.fold(0), window, sets * self.particles, run)
        log_weight = drawn.log_weight.reshape(-1, sets, self.particles)
        log_weight = jnp.broadcast_to(log_weight, (len(log_weight), samples, self.particles))
        choices = fold_each(fold(keys.own, 1), jnp.arange(samples))
        chosen = jax.vmap(jax.vmap(jax.random.categorical))(choices, log_weight)
        if self.apart:
            chosen += self.particles * jnp.arange(samples)
        return jnp.take_along_axis(drawn.values, chosen[:, :, None, None], axis=1)

    @program
    def log_prob(
        self, key: Keys, net: Pair, window: Window, fills: Shaped[Array, "B S W D"]
    ) -> Estimate:
        samples, conditional = fills.shape[1], given_the_rest(net.bidirectional)

        def run(keys: LaneKeys, lanes: Window) -> tuple[Array, Array]:
            others = _log_sum(
                keys.fold(0), net, lanes, self.particles - 1, lambda _, other: other.log_weight
            )
            # The other particles do not depend on the fills: they are the same for all of them.
            keys = keys.fold(1)
            cursor, order = _all_missing(net, lanes), random_order(keys.order, lanes)
            cursor, order = jax.tree.map(lambda a: jnp.repeat(a, samples, axis=0), (cursor, order))
            forced = lanes.with_fills(jnp.repeat(fills, len(lanes.valid) // len(fills), axis=0))
            own = keys.repeat(samples).own
            _, log_q = walk(own, net.bidirectional, conditional, cursor, forced, order, force)
            return others, jnp.sum(log_q, axis=1).reshape(-1, samples)

        others, log_q = on_copies(keys_of_windows(key, len(fills)), window, self.replicas, run)
        log_p = judge(net.forward, window.with_fills(fills)).reshape(-1, 1, samples)
        log_sum = jnp.logaddexp(others[:, :, None], log_p - log_q)
        return log_mean(log_p - log_sum + jnp.log(self.particles))

    @program
    def marginals(self, key: Keys, net: Pair, window: Window) -> Marginals:
        def run(keys: LaneKeys, lanes: Window) -> Noted:
            def weighted(lanes: Window, particle: Particle) -> tuple[Array, Noted]:
                noted = _given_the_others(net.bidirectional, lanes, particle.values)
                return particle.log_weight, _plus(noted, particle.log_weight)

            log_sum, noted = _log_sum(keys, net, lanes, self.particles, weighted)
            return _plus(noted, -log_sum)

        keys = keys_of_windows(key, len(window.valid))
        return Marginals(*(log_mean(n) for n in on_copies(keys, window, self.replicas, run)))

    @program
    def effective_samples(self, key: Keys, net: Pair, window: Window) -> Float[Array, " B"]:
        """Return (Σ w)² / Σ w²: how many draws from the posterior K particles are worth."""

        def powers(_: Window, particle: Particle) -> tuple[Array, Array]:
            return particle.log_weight, 2 * particle.log_weight

        keys = keys_of_windows(key, len(window.valid))
        first, second = _log_sum(keys, net, window, self.particles, powers)
        return jnp.exp(2 * first - second)


def _log_sum(
    keys: LaneKeys,
    net: Pair,
    lanes: Window,
    particles: int,
    term: Callable[[Window, Particle], PyTree[Float[Array, "L ..."]]],
) -> PyTree[Float[Array, "L ..."]]:
    """Return the log of the sum of a term over new particles of each lane, some at a time."""
    count = len(lanes.valid)
    at_once = max(1, min(particles, LANES // count))
    many = lanes.repeat(at_once)
    begin = _all_missing(net, lanes)
    cursor = jax.tree.map(lambda a: jnp.repeat(a, at_once, axis=0), begin)

    def next_terms(numbers: Int[Array, " n"]) -> PyTree:
        terms = term(many, _propose(keys.copies(numbers), net, many, cursor))
        return jax.tree.map(lambda a: split_lanes(a, at_once), terms)

    def add(log_sum: PyTree, numbers: Int[Array, " n"]) -> tuple[PyTree, None]:
        real = numbers < particles  # the last block may have too many

        def plus(total: Array, terms: Float[Array, "L n ..."]) -> Array:
            counted = real.reshape(-1, *[1] * (terms.ndim - 2))
            new = jax.nn.logsumexp(jnp.where(counted, terms, -jnp.inf), axis=1)
            return jnp.logaddexp(total, new)

        return jax.tree.map(plus, log_sum, next_terms(numbers)), None

    count_blocks = -(-particles // at_once)
    blocks = jnp.arange(count_blocks * at_once).reshape(count_blocks, at_once)
    shapes = jax.eval_shape(next_terms, blocks[0])
    nothing = jax.tree.map(lambda a: jnp.full((count, *a.shape[2:]), -jnp.inf, a.dtype), shapes)
    return jax.lax.scan(add, nothing, blocks)[0]


def _all_missing(net: Pair, lanes: Window) -> Cursor:
    """Return cursors at the start: no missing step is filled."""
    seen = lanes.of("bidirectional")
    return enter(net.bidirectional, seen, lanes.values, lanes.missing)


def _propose(keys: LaneKeys, net: Pair, lanes: Window, cursor: Cursor) -> Particle:
    """Return one particle per lane."""
    proposer = net.bidirectional
    order = random_order(keys.order, lanes)
    cursor, log_q = walk(
        keys.own, proposer, given_the_rest(proposer), cursor, lanes, order, draw_and_score
    )
    log_p = judge(net.forward, lanes.with_fills(cursor.values[:, None]))
    return Particle(cursor.values, log_p - jnp.sum(log_q, axis=1))


def judge(net: Net, lanes: Window) -> Float[Array, " L"]:
    """Return log Π P(x_τ | x_1 … x_{τ−1}) from the first missing step to the end of each lane."""

    def whole(lane: Window) -> Float[Array, ""]:
        nothing = jnp.zeros_like(lane.missing)
        states = net.forward.run(
            lane.left, net.inputs(lane.values, nothing), lane.valid, reverse=False
        )
        contexts = net.contexts(States(states, lane.right))
        log_probs = jax.vmap(net.head.log_prob)(Query(contexts, lane.values, ~nothing))
        return jnp.sum(jnp.where(lane.valid, log_probs, 0.0))

    return jax.vmap(whole)(lanes.of("forward"))


def _given_the_others(net: Net, lanes: Window, values: Shaped[Array, "L W D"]) -> Noted:
    """Return what the bidirectional net says of each missing step given all other values."""
    seen = lanes.of("bidirectional")
    cursor = enter(net, seen, values, jnp.zeros_like(lanes.missing))
    order = left_to_right(lanes)
    unused = jnp.broadcast_to(jax.random.key(0), len(lanes.valid))
    noted: Noted = walk(unused, net, given_the_rest(net), cursor, lanes, order, keep_and_note)[1]
    return noted


def _plus(noted: Noted, log_weight: Float[Array, " L"]) -> Noted:
    return Noted(*(n + log_weight.reshape(-1, *[1] * (n.ndim - 1)) for n in noted))
