"""Tuning of the pretrained model for tables: updates of its head on the user's own tables.

Some of what is observed is held out, as in a rehearsal. In the rest, more is hidden in many ways,
and the head learns to fill it. The cells stay: what they read around each hidden number is computed
once. The net that fills the held-out numbers best is kept: if that is the pretrained one, nothing
changes.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from caesura.filler.columns import FARTHEST, ROWS, lanes_of
from caesura.filler.rehearsal import Rehearsal, Values, gaps_of, hide, parts_of
from caesura.filler.tables import TableFiller
from caesura.hardware import pad, tuning_for, window_width
from caesura.kinds.series import Series
from caesura.kinds.series.experts import Prior
from caesura.nets.arrays import Numbers
from caesura.nets.columns import read
from caesura.nets.heads.base import Head
from caesura.nets.heads.weighing import Weighing
from caesura.nets.rnn import Net
from caesura.training.columns import Lanes, unseen
from caesura.training.loop import Progress, Stopped
from caesura.training.progress import Report

LONGEST = 128  # steps of a lane
LANES = 64  # that are read at a time
POOL = 8192  # lanes at most
BATCH = 256  # hidden numbers in an update
EPOCHS = 10  # more would learn the hidden numbers by heart
RATE = 1e-3
WARM_UP = 0.05  # of the updates, in which the learning rate grows
MAKING = 0.5  # of the time, at most, to hide numbers and to read what is around them
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


class Questions(NamedTuple):
    """Hidden numbers, with what informs about them, and what cells have read around them."""

    contexts: Float[Numbers, "n C"]
    frames: Float[Numbers, "n D"]


def tune(
    filler: TableFiller,
    tables: Sequence[Any],
    seconds: float,
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
    seconds
        By the clock, including what JAX compiles.
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
    began = time.monotonic()
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
    pool = _pool(rng, net, known, kind.numbers, learnt.prior, began + MAKING * seconds)
    if pool is None or not math.isfinite(before):
        return Tuned(filler, before, before, 0)
    state = OPTIMISER.init(eqx.filter(net.head, eqx.is_array))
    most = -(-EPOCHS * len(pool.frames) // BATCH)
    started = checked = time.monotonic()
    # At the end, the net is checked, and then fitted.
    until = max(started, began + seconds - 3 * checking)
    share = 0.0  # of the updates, or of the time
    while share < 1 or not updates:
        if stop():
            raise Stopped
        rate = RATE * min(1.0, share / WARM_UP + 1 / most) * (1 + math.cos(math.pi * share)) / 2
        at = rng.integers(0, len(pool.frames), BATCH)
        some = Questions(*(part[at] for part in pool))
        head, state, loss = _update(net.head, state, some, np.float32(rate))
        net = _with_head(net, jax.block_until_ready(head))
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
            report("tuning", Progress(updates, steps, float(loss), found, BATCH / each, left, 0))
    tuned = replace(filler, nets={**filler.nets, "bidirectional": best})
    tuned = replace(tuned, learnt=tuned.learn(kind, values))
    return Tuned(tuned, before, error, updates)


@eqx.filter_jit
def _update(
    head: Head, state: optax.OptState, questions: Questions, rate: Float[Numbers, ""]
) -> tuple[Head, optax.OptState, Float[Array, ""]]:
    def loss(head: Head) -> Float[Array, ""]:
        assert isinstance(head, Weighing)
        found = jax.vmap(head.distribution)(questions.contexts, questions.frames)
        return -jnp.mean(found.log_density(questions.frames[:, 0]))

    value, gradient = eqx.filter_value_and_grad(loss)(head)
    change, state = OPTIMISER.update(gradient, state)
    return eqx.apply_updates(head, jax.tree.map(lambda d: -rate * d, change)), state, value


def _with_head(net: Net, head: Head) -> Net:
    return eqx.tree_at(lambda one: one.head, net, head)


def _pool(
    rng: np.random.Generator,
    net: Net,
    tables: Sequence[Values],
    columns: int,
    prior: Prior,
    until: float,
) -> Questions | None:
    """Return hidden numbers and what is around them; None if there is nothing to hide."""
    gaps = gaps_of([np.isnan(table[: 4 * ROWS]) for table in tables], columns)
    length = min(LONGEST, window_width(max(map(len, tables))))
    pieces: list[Lanes] = []
    found: list[Questions] = []
    for number in range(POOL):
        table = tables[int(rng.integers(len(tables)))]
        first = int(rng.integers(max(1, len(table) - ROWS + 1)))
        table = table[first : first + ROWS]
        pieces += _pieces(table, hide(rng, np.isnan(table), gaps), columns, prior, length)
        while len(pieces) >= LANES:
            found.append(_read_some(net, pieces[:LANES], number))
            pieces = pieces[LANES:]
        if len(found) * LANES >= POOL or (found and time.monotonic() > until):
            break
    if not found and pieces:  # so few that some are taken more than once
        found = [_read_some(net, (pieces * LANES)[:LANES], 0)]
    return Questions(*map(np.concatenate, zip(*found, strict=True))) if found else None


def _read_some(net: Net, pieces: list[Lanes], number: int) -> Questions:
    lanes = Lanes(*(np.stack(part, axis=1) for part in zip(*pieces, strict=True)))
    contexts = np.asarray(_read(net, lanes, jax.random.key(number)))
    return Questions(contexts[lanes.targets], lanes.frames[lanes.targets])


@eqx.filter_jit
def _read(net: Net, lanes: Lanes, key: PRNGKeyArray) -> Float[Array, "T B C"]:
    tuning = tuning_for("float32")
    return read(net, lanes.frames, lanes.valid, *unseen(key, lanes), tuning)


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
