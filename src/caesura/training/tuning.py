"""Tuning of the pretrained model for tables, on the user's own tables.

Some of what is observed is held out, as in a rehearsal. In the rest, more is hidden in many ways,
and the net learns to fill it. The net that fills the held-out numbers best is kept: if that is the
pretrained one, nothing changes.

In little time, only the head learns, so that what the cells read around each hidden number is
computed once. In more time, all weights learn.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray, Shaped

from caesura.filler.columns import FARTHEST, ROWS, lanes_of
from caesura.filler.rehearsal import Rehearsal, Values, gaps_of, hide, parts_of
from caesura.filler.tables import TableFiller
from caesura.hardware import pad, tuning_for
from caesura.kinds.series import Series
from caesura.kinds.series.experts import Prior
from caesura.nets.arrays import Numbers
from caesura.nets.columns import read
from caesura.nets.heads.base import Head
from caesura.nets.heads.weighing import Weighing
from caesura.nets.rnn import Net
from caesura.training.columns import Lanes, objective, unseen
from caesura.training.loop import Progress, Stopped
from caesura.training.progress import Report

LONGEST = 128  # steps of a lane
LANES = 64  # that are read at a time
EPOCHS = 10  # more would learn the hidden numbers by heart
RATE = 1e-3
WARM_UP = 0.05  # of the updates, in which the learning rate grows
CHECKS = 8

OPTIMISER = optax.apply_if_finite(
    optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam(b2=0.99)), 2**30
)


class Tuned(NamedTuple):
    """A filler whose net was tuned, and its mean errors on the held-out numbers."""

    filler: TableFiller
    before: float
    after: float
    updates: int


Examples: TypeAlias = tuple[Shaped[Numbers, "n ..."], ...]


class Way(NamedTuple):
    """Which weights are tuned, and how.

    Attributes
    ----------
    seconds
        How long, if nothing else is said.
    lanes
        How many are made, at most.
    making
        The share of the time, at most, in which examples are made.
    weights
        Those of a net that are tuned.
    replace
        The net with others in their place.
    gather
        The examples that are in some lanes, in the first axis.
    batch
        How many of them are in an update, for lanes of a length.
    loss
        What is minimised.
    """

    seconds: float
    lanes: int
    making: float
    weights: Callable[[Net], Any]
    replace: Callable[[Net, Any], Net]
    gather: Callable[[Net, Lanes, int], Examples]
    batch: Callable[[int], int]
    loss: Callable[[Net, Examples, PRNGKeyArray], Float[Array, ""]]


def tune(
    filler: TableFiller,
    tables: Sequence[Any],
    adapt: str,
    seconds: float | None = None,
    *,
    seed: int = 0,
    report: Report | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Tuned:
    """Tune a filler on tables within a time.

    Parameters
    ----------
    filler
        Fitted to the tables.
    tables
        As `TableFiller.fitted` takes them.
    adapt
        The name of one of `WAYS`.
    seconds
        By the clock, including what JAX compiles; by default those of the way.
    seed
        Of what is hidden.
    report
        Called with the name of the net and the progress, whose validation is the mean error of the
        held-out numbers.
    stop
        Whether to end at once.

    Raises
    ------
    Stopped
        If `stop` said so.
    """
    began, way = time.monotonic(), WAYS[adapt]
    seconds = way.seconds if seconds is None else seconds
    kind, learnt = filler.kind, filler.learnt
    assert isinstance(kind, Series)
    assert learnt is not None
    values = [kind.open(one).complete.values for one in tables]
    parts = parts_of(values, kind.numbers)
    held = Rehearsal(parts, kind.numbers, learnt.prior)
    before = held.fill(filler.nets["bidirectional"]).error
    checking = time.monotonic() - began
    net = best = filler.nets["bidirectional"]
    error, updates = before, 0
    rng, known = np.random.default_rng(seed), [table.copy() for table in values]
    for part in parts:  # what is held out is never seen
        known[part.number][part.first : part.first + len(part.table)][part.hidden] = np.nan
    length = min(LONGEST, max(map(len, known)))
    making = began + way.making * seconds
    pool = _pool(rng, net, way, known, length, kind.numbers, learnt.prior, making)
    if pool is None or not math.isfinite(before):
        return Tuned(filler, before, before, 0)
    state = OPTIMISER.init(eqx.filter(way.weights(net), eqx.is_array))
    count, batch = len(pool[0]), way.batch(length)
    most = -(-EPOCHS * count // batch)
    started = checked = time.monotonic()
    # At the end, the net is checked, and then fitted.
    until = max(started, began + seconds - 3 * checking)
    share = 0.0  # of the updates, or of the time
    while share < 1 or not updates:
        if stop():
            raise Stopped
        rate = RATE * min(1.0, share / WARM_UP + 1 / most) * (1 + math.cos(math.pi * share)) / 2
        at, key = rng.integers(0, count, batch), jax.random.key(updates)
        some = tuple(part[at] for part in pool)
        net, state, loss = _update(way, net, state, some, np.float32(rate), key)
        jax.block_until_ready(loss)
        updates, now = updates + 1, time.monotonic()
        share = max(updates / most, (now - started) / (until - started) if until > now else 1.0)
        if share < 1 and now - checked < max((until - started) / CHECKS, 3 * checking):
            continue
        found = held.fill(net).error
        checked = time.monotonic()
        if found < error:
            best, error = net, found
        if report is not None:
            each = (now - started) / updates
            left = max(0.0, min(until - now, each * (most - updates)))
            steps = updates + round(left / each)
            report("tuning", Progress(updates, steps, float(loss), found, batch / each, left, 0))
    tuned = replace(filler, nets={**filler.nets, "bidirectional": best})
    tuned = replace(tuned, learnt=tuned.learn(kind, values))
    return Tuned(tuned, before, error, updates)


@eqx.filter_jit
def _update(
    way: Way,
    net: Net,
    state: optax.OptState,
    examples: Examples,
    rate: Float[Numbers, ""],
    key: PRNGKeyArray,
) -> tuple[Net, optax.OptState, Float[Array, ""]]:
    def loss(weights: Any) -> Float[Array, ""]:
        return way.loss(way.replace(net, weights), examples, key)

    weights = way.weights(net)
    value, gradient = eqx.filter_value_and_grad(loss)(weights)
    change, state = OPTIMISER.update(gradient, state)
    changed = eqx.apply_updates(weights, jax.tree.map(lambda d: -rate * d, change))
    return way.replace(net, changed), state, value


def _pool(
    rng: np.random.Generator,
    net: Net,
    way: Way,
    tables: Sequence[Values],
    length: int,
    columns: int,
    prior: Prior,
    until: float,
) -> Examples | None:
    """Return hidden numbers and what is around them; None if there is nothing to hide."""
    gaps = gaps_of([np.isnan(table[: 4 * ROWS]) for table in tables], columns)
    pieces: list[Lanes] = []
    found: list[Examples] = []
    order = rng.permutation(len(tables))
    for number in range(way.lanes):
        table = tables[order[number % len(order)]]
        first = int(rng.integers(max(1, len(table) - ROWS + 1)))
        table = table[first : first + ROWS]
        pieces += _pieces(table, hide(rng, np.isnan(table), gaps), columns, prior, length)
        while len(pieces) >= LANES:
            found.append(way.gather(net, _beside(pieces[:LANES]), number))
            pieces = pieces[LANES:]
        if len(found) * LANES >= way.lanes or (found and time.monotonic() > until):
            break
    if not found and pieces:  # so few that some are taken more than once
        found = [way.gather(net, _beside((pieces * LANES)[:LANES]), 0)]
    return tuple(map(np.concatenate, zip(*found, strict=True))) if found else None


def _beside(pieces: list[Lanes]) -> Lanes:
    return Lanes(*(np.stack(part, axis=1) for part in zip(*pieces, strict=True)))


def _pieces(
    table: Values, hidden: Bool[np.ndarray, "T D"], columns: int, prior: Prior, length: int
) -> list[Lanes]:
    """Return stretches of the columns in which something is hidden, padded to one length."""
    found = []
    known = np.where(hidden, np.nan, table)
    for lane in lanes_of(known, hidden, prior, np.ones(table.shape[1])):
        if lane.scale == 0 or lane.column >= columns:
            continue
        truth = (table[slice(*lane.rows), lane.column] - lane.base) / lane.scale
        targets = hidden[slice(*lane.rows), lane.column] & (np.abs(truth) < FARTHEST)
        frames = lane.frames.copy()
        frames[targets, 0] = truth[targets]
        for first in range(0, len(truth), length):
            here = slice(first, first + length)
            if targets[here].any():
                parts = (frames, lane.missing, np.ones(len(truth), bool), targets)
                found.append(Lanes(*(pad(part[here], length) for part in parts)))
    return found


def _with_head(net: Net, head: Head) -> Net:
    return eqx.tree_at(lambda one: one.head, net, head)


def _hidden_numbers(net: Net, lanes: Lanes, number: int) -> Examples:
    """Return hidden numbers with what informs about them, and what cells read around them."""
    contexts = np.asarray(_read(net, lanes, jax.random.key(number)))
    return contexts[lanes.targets], lanes.frames[lanes.targets]


@eqx.filter_jit
def _read(net: Net, lanes: Lanes, key: PRNGKeyArray) -> Float[Array, "T B C"]:
    tuning = tuning_for("float32")
    seen = read(net, lanes.frames, lanes.valid, *unseen(key, lanes), tuning)
    return jnp.moveaxis(seen, 1 + tuning.batch_axis, 1)


def _loss_of_numbers(net: Net, examples: Examples, key: PRNGKeyArray) -> Float[Array, ""]:
    contexts, frames = examples
    head = net.head
    assert isinstance(head, Weighing)
    found = jax.vmap(head.distribution)(contexts, frames)
    return -jnp.mean(found.log_density(frames[:, 0]))


def _whole_lanes(net: Net, lanes: Lanes, number: int) -> Examples:
    return tuple(np.swapaxes(part, 0, 1) for part in lanes)


def _loss_of_lanes(net: Net, examples: Examples, key: PRNGKeyArray) -> Float[Array, ""]:
    lanes = Lanes(*(jnp.swapaxes(part, 0, 1) for part in examples))
    return objective(net, lanes, tuning_for("float32"), key)


WAYS = {
    "quick": Way(
        seconds=30.0,
        lanes=8192,
        making=0.5,
        weights=lambda net: net.head,
        replace=_with_head,
        gather=_hidden_numbers,
        batch=lambda length: 256,
        loss=_loss_of_numbers,
    ),
    "full": Way(
        seconds=180.0,
        lanes=16384,
        making=0.25,
        weights=lambda net: net,
        replace=lambda net, weights: weights,
        gather=_whole_lanes,
        batch=lambda length: min(max(2048 // length, 16), 128),
        loss=_loss_of_lanes,
    ),
}
