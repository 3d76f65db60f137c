"""`sir`: the bidirectional net proposes fills, and the forward net chooses one of them."""

from collections.abc import Callable
from typing import ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree, Shaped

from caesura.errors import CaesuraError, whole_number
from caesura.hardware import LANES
from caesura.nets.heads.base import Query
from caesura.nets.pair import Pair
from caesura.nets.rnn import Net, States
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
from caesura.strategies.window import Window


class Particle(NamedTuple):
    """A fill of each lane, drawn as by `nade`, and how much the forward net makes of it."""

    values: Shaped[Array, "*L W D"]
    log_weight: Float[Array, "*L"]


class SIR(Strategy):
    """Sampling importance resampling: the forward net's posterior, where none can enumerate it.

    A fill is one of K `particles` that are drawn as by `nade`, each in an order σ of its own, with
    a chance in proportion to its weight w = p(x, what follows) / q(x | σ): p is the forward net, q
    the bidirectional one. So a fill x has the probability E[p(x, what follows) / Z], where Z is the
    mean weight of x itself, in a random order, and of K − 1 other particles; its score is the mean
    over some `replicas` of them. That is what is drawn at any K, and with K it comes to the
    posterior. `marginals` are what the bidirectional net says of a step given the other steps of
    the particles, by their weights: no value is impossible because it is in none of them.
    """

    net: ClassVar[Literal["pair"]] = "pair"

    particles: int = eqx.field(static=True, default=32)
    replicas: int = eqx.field(static=True, default=8)
    # How many steps behind the last missing one may speak; all of them if None, at a cost that
    # grows with the sequence. On text, ten tell as much as twenty (docs/experiments.md).
    lookahead: int | None = eqx.field(static=True, default=20)

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

    @eqx.filter_jit
    def draw(
        self, key: PRNGKeyArray, net: Pair, window: Window, samples: int
    ) -> Shaped[Array, "B S W D"]:
        def run(key: PRNGKeyArray, lanes: Window, copies: int) -> Particle:
            return _propose(key, net, lanes, _all_missing(net, lanes), copies)

        key, key_choice = jax.random.split(key)
        drawn: Particle = on_copies(key, window, samples * self.particles, run)
        groups = (len(window.valid), samples, self.particles)
        chosen = jax.random.categorical(key_choice, drawn.log_weight.reshape(groups))
        values = drawn.values.reshape(*groups, *window.values.shape[1:])
        return jnp.take_along_axis(values, chosen[:, :, None, None, None], axis=2)[:, :, 0]

    @eqx.filter_jit
    def log_prob(
        self, key: PRNGKeyArray, net: Pair, window: Window, fills: Shaped[Array, "B S W D"]
    ) -> Estimate:
        samples, conditional = fills.shape[1], given_the_rest(net.bidirectional)

        def run(key: PRNGKeyArray, lanes: Window, copies: int) -> tuple[Array, Array]:
            key, key_order = jax.random.split(key)
            others = _log_sum(
                key, net, lanes, copies, self.particles - 1, lambda _, other: other.log_weight
            )
            # No other particle depends on the fills, so all of them meet the same ones.
            cursor, order = _all_missing(net, lanes), random_order(key_order, lanes, copies)
            cursor, order = jax.tree.map(lambda a: jnp.repeat(a, samples, axis=0), (cursor, order))
            forced = lanes.with_fills(jnp.repeat(fills, copies, axis=0))
            _, log_q = walk(key, net.bidirectional, conditional, cursor, forced, order, force)
            return others, jnp.sum(log_q, axis=1).reshape(-1, samples)

        others, log_q = on_copies(key, window, self.replicas, run)
        log_p = _judge(net.forward, window.with_fills(fills)).reshape(-1, 1, samples)
        log_sum = jnp.logaddexp(others[:, :, None], log_p - log_q)
        return log_mean(log_p - log_sum + jnp.log(self.particles))

    @eqx.filter_jit
    def marginals(self, key: PRNGKeyArray, net: Pair, window: Window) -> Marginals:
        def run(key: PRNGKeyArray, lanes: Window, copies: int) -> Noted:
            def weighted(lanes: Window, particle: Particle) -> tuple[Array, Noted]:
                noted = _given_the_others(net.bidirectional, lanes, particle.values)
                return particle.log_weight, _plus(noted, particle.log_weight)

            log_sum, noted = _log_sum(key, net, lanes, copies, self.particles, weighted)
            return _plus(noted, -log_sum)

        return Marginals(*(log_mean(n) for n in on_copies(key, window, self.replicas, run)))

    @eqx.filter_jit
    def effective_samples(self, key: PRNGKeyArray, net: Pair, window: Window) -> Float[Array, " B"]:
        """(Σ w)² / Σ w²: how many draws from the posterior the K particles of a fill stand for."""

        def powers(_: Window, particle: Particle) -> tuple[Array, Array]:
            return particle.log_weight, 2 * particle.log_weight

        first, second = _log_sum(key, net, window, 1, self.particles, powers)
        return jnp.exp(2 * first - second)


def _log_sum(
    key: PRNGKeyArray,
    net: Pair,
    lanes: Window,
    copies: int,
    particles: int,
    term: Callable[[Window, Particle], PyTree[Float[Array, "L ..."]]],
) -> PyTree[Float[Array, "L ..."]]:
    """The sum of a term over new particles of each lane, in logs; as many at once as are a gain."""
    count = len(lanes.valid)
    at_once = max(1, min(particles, LANES // count))
    blocks = -(-particles // at_once)
    many = lanes.repeat(at_once)
    begin = _all_missing(net, lanes)
    cursor = jax.tree.map(lambda a: jnp.repeat(a, at_once, axis=0), begin)

    def next_terms(key: PRNGKeyArray) -> PyTree:
        terms = term(many, _propose(key, net, many, cursor, copies * at_once))
        return jax.tree.map(lambda a: split_lanes(a, at_once), terms)

    def add(log_sum: PyTree, block: tuple[PRNGKeyArray, Array]) -> tuple[PyTree, None]:
        key, number = block
        # The last block may have some to spare.
        real = number * at_once + jnp.arange(at_once) < particles

        def plus(total: Array, terms: Float[Array, "L n ..."]) -> Array:
            counted = real.reshape(-1, *[1] * (terms.ndim - 2))
            new = jax.nn.logsumexp(jnp.where(counted, terms, -jnp.inf), axis=1)
            return jnp.logaddexp(total, new)

        return jax.tree.map(plus, log_sum, next_terms(key)), None

    shapes = jax.eval_shape(next_terms, key)
    nothing = jax.tree.map(lambda a: jnp.full((count, *a.shape[2:]), -jnp.inf, a.dtype), shapes)
    numbered = (jax.random.split(key, blocks), jnp.arange(blocks))
    return jax.lax.scan(add, nothing, numbered)[0]


def _all_missing(net: Pair, lanes: Window) -> Cursor:
    """Where every particle begins."""
    seen = lanes.of("bidirectional")
    return enter(net.bidirectional, seen, lanes.values, lanes.missing)


def _propose(key: PRNGKeyArray, net: Pair, lanes: Window, cursor: Cursor, copies: int) -> Particle:
    """One particle a lane."""
    key_order, key_visits = jax.random.split(key)
    proposer = net.bidirectional
    order = random_order(key_order, lanes, copies)
    cursor, log_q = walk(
        key_visits, proposer, given_the_rest(proposer), cursor, lanes, order, draw_and_score
    )
    log_p = _judge(net.forward, lanes.with_fills(cursor.values[:, None]))
    return Particle(cursor.values, log_p - jnp.sum(log_q, axis=1))


def _judge(net: Net, lanes: Window) -> Float[Array, " L"]:
    """log Π P(x_τ | x_1 … x_{τ−1}) from the first missing step to the end of each lane."""

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
    """What the bidirectional net says of each missing step while all other values are known."""
    seen = lanes.of("bidirectional")
    cursor = enter(net, seen, values, jnp.zeros_like(lanes.missing))
    order, unused = left_to_right(lanes), jax.random.key(0)
    noted: Noted = walk(unused, net, given_the_rest(net), cursor, lanes, order, keep_and_note)[1]
    return noted


def _plus(noted: Noted, log_weight: Float[Array, " L"]) -> Noted:
    return Noted(*(n + log_weight.reshape(-1, *[1] * (n.ndim - 1)) for n in noted))
