"""Metropolis–Hastings inside Gibbs: the posterior of the forward net over frames of any kind.

Where `bayes` tries every symbol at a step, here the bidirectional net proposes one frame. The fills
come from the posterior in the limit of many steps, but how probable a fill is cannot be told, so
this is a sampler beside the strategies and not one of them; `sir` gives the score.
"""

from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from caesura.nets.pair import Pair
from caesura.strategies.base import split_lanes
from caesura.strategies.bayes import look_ahead
from caesura.strategies.cursor import (
    Cursor,
    Order,
    enter,
    given_the_rest,
    move,
    random_order,
    row,
    write,
)
from caesura.strategies.nade import NADE
from caesura.strategies.window import Window


class Sampled(NamedTuple):
    """Fills, and the share of the proposals on the way to each that were accepted."""

    fills: Shaped[Array, "B S W D"]
    acceptance: Float[Array, "B S"]


class Chain(NamedTuple):
    """One chain a lane: the same values under two cursors, and how often they changed."""

    proposer: Cursor  # of the bidirectional net
    judge: Cursor  # of the forward net
    accepted: Int[Array, " L"]


@eqx.filter_jit
def sample_posterior(
    key: PRNGKeyArray, net: Pair, window: Window, samples: int, sweeps: int
) -> Sampled:
    """`samples` chains for each window, from a fill by `nade`; a sweep visits every missing step.

    What follows the gaps speaks as far as the window reaches (`SIR.stop`).
    """
    lanes = window.repeat(samples)
    key_start, key_orders, key_visits = jax.random.split(key, 3)
    start = NADE().draw(key_start, net.bidirectional, window.of("bidirectional"), samples)
    values, nothing = start.reshape(lanes.values.shape), jnp.zeros_like(lanes.missing)
    chain = Chain(
        enter(net.bidirectional, lanes.of("bidirectional"), values, nothing),
        enter(net.forward, lanes.of("forward"), values, nothing),
        jnp.zeros(len(values), jnp.int32),
    )

    def sweep(i: Int[Array, ""], chain: Chain) -> Chain:
        key_order = jax.random.fold_in(key_orders, i)
        order = random_order(key_order, lanes, samples, rightward=i % 2 == 0)
        return _sweep(jax.random.fold_in(key_visits, i), net, lanes, order, chain)

    chain = jax.lax.fori_loop(0, sweeps, sweep, chain)
    visits = sweeps * jnp.sum(lanes.missing_steps, axis=1)
    sampled = Sampled(chain.judge.values, chain.accepted / visits)
    return Sampled(*(split_lanes(a, samples) for a in sampled))


def _sweep(key: PRNGKeyArray, net: Pair, lanes: Window, order: Order, chain: Chain) -> Chain:
    head = net.bidirectional.head
    conditional = given_the_rest(net.bidirectional)

    def visit(i: Int[Array, ""], chain: Chain) -> Chain:
        here = i < order.visits
        t = jnp.where(here, order.steps[:, i], chain.judge.at)
        proposer = move(net.bidirectional, chain.proposer, t)
        judge = move(net.forward, chain.judge, t)
        context = conditional.look(proposer)
        old, missing = row(judge.values, t), row(lanes.missing, t)
        key_frames, key_choice = jax.random.split(jax.random.fold_in(key, i))
        new = jax.vmap(head.sample)(jax.random.split(key_frames, len(t)), context, old, missing)
        both = jnp.stack([old, new], axis=1)
        proposed = jax.vmap(jax.vmap(head.log_prob, (None, 0, None)))(context, both, missing)
        log_weight = look_ahead(net.forward, judge, lanes.valid, both) - proposed
        log_ratio = log_weight[:, 1] - log_weight[:, 0]
        accept = here & (jnp.log(jax.random.uniform(key_choice, t.shape)) < log_ratio)
        values = write(judge.values, t, accept, new)
        proposer, judge = (replace(cursor, values=values) for cursor in (proposer, judge))
        return Chain(proposer, judge, chain.accepted + accept)

    return jax.lax.fori_loop(0, jnp.max(order.visits), visit, chain)
