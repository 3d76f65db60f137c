"""Tuning of the pretrained model for tables: updates of its weights on the user's own tables.

Some of what is observed is held out, as in a rehearsal. In the rest, more is hidden again and
again, and the net learns to fill it. The net that fills the held-out numbers best is kept: if that
is the pretrained one, nothing changes.
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
from caesura.filler.rehearsal import Values, gaps_of, hide, parts_of, rehearse
from caesura.filler.tables import TableFiller
from caesura.hardware import pad, tuning_for, window_width
from caesura.kinds.series import Series
from caesura.kinds.series.experts import Prior
from caesura.nets.rnn import Net
from caesura.training.columns import Lanes, objective
from caesura.training.loop import Progress, Stopped
from caesura.training.progress import Report

LONGEST = 128  # steps of a lane in an update
BATCH = 64  # lanes
RATE = 1e-3
WARM_UP = 0.1  # of the time, in which the learning rate grows
MAKING = 0.2  # of the time, at most, to make lanes to learn from
POOL = 2048  # lanes, at most
CHECKS = 6

OPTIMISER = optax.apply_if_finite(
    optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam(b2=0.99)), 2**30
)


class Tuned(NamedTuple):
    """A filler whose net was tuned, and its mean errors on the held-out numbers."""

    filler: TableFiller
    before: float
    after: float
    updates: int


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
    before = rehearse(filler.nets["bidirectional"], parts, kind.numbers, learnt.prior).error
    best, error, updates = filler.nets["bidirectional"], before, 0
    rng, known = np.random.default_rng(seed), [table.copy() for table in values]
    for part in parts:  # what is held out is never seen
        known[part.number][part.first : part.first + len(part.table)][part.hidden] = np.nan
    pool = _pool(rng, known, kind.numbers, learnt.prior, began + MAKING * seconds)
    if pool is None or not math.isfinite(before):
        return Tuned(filler, before, before, 0)
    net, state = best, OPTIMISER.init(eqx.filter(best, eqx.is_array))
    checked = began
    slowest = 0.0  # seconds of an update; the first one compiles, and does not count
    while (now := time.monotonic()) - began + slowest < seconds:
        if stop():
            raise Stopped
        share = (now - began) / seconds
        rate = RATE * min(1.0, share / WARM_UP) * (1 + math.cos(math.pi * share)) / 2
        at = rng.integers(0, pool.hidden.shape[1], BATCH)
        batch = Lanes(*(jnp.asarray(part[:, at]) for part in pool))
        key = jax.random.fold_in(jax.random.key(seed), updates)
        net, state, loss = jax.block_until_ready(_update(net, state, batch, jnp.float32(rate), key))
        updates += 1
        if updates > 1:
            slowest = max(slowest, time.monotonic() - now)
        left, found = began + seconds - time.monotonic(), None
        if left <= slowest or time.monotonic() - checked > seconds / CHECKS:
            found = rehearse(net, parts, kind.numbers, learnt.prior).error
            checked = time.monotonic()
            if found < error:
                best, error = net, found
        if report is not None:
            each = slowest or 1.0
            pace = BATCH * len(pool.hidden) / each
            steps = updates + int(max(left, 0) / each)
            told = Progress(updates, steps, float(loss), found, pace, max(left, 0.0), 0)
            report("tuning", told)
    tuned = replace(filler, nets={**filler.nets, "bidirectional": best})
    tuned = replace(tuned, learnt=tuned.learn(kind, values))
    return Tuned(tuned, before, error, updates)


@eqx.filter_jit
def _update(
    net: Net,
    state: optax.OptState,
    lanes: Lanes,
    rate: Float[Array, ""],
    key: PRNGKeyArray,
) -> tuple[Net, optax.OptState, Float[Array, ""]]:
    loss, gradient = eqx.filter_value_and_grad(objective)(net, lanes, tuning_for("float32"), key)
    change, state = OPTIMISER.update(gradient, state)
    return eqx.apply_updates(net, jax.tree.map(lambda d: -rate * d, change)), state, loss


def _pool(
    rng: np.random.Generator, tables: Sequence[Values], columns: int, prior: Prior, until: float
) -> Lanes | None:
    """Return lanes with some of their numbers hidden; None if there is nothing to hide."""
    gaps = gaps_of([np.isnan(table[: 4 * ROWS]) for table in tables], columns)
    length = min(LONGEST, window_width(max(map(len, tables))))
    pieces: list[Lanes] = []
    for _ in range(POOL):
        table = tables[int(rng.integers(len(tables)))]
        first = int(rng.integers(max(1, len(table) - ROWS + 1)))
        table = table[first : first + ROWS]
        pieces += _pieces(table, hide(rng, np.isnan(table), gaps), columns, prior, length)
        if len(pieces) >= POOL or (pieces and time.monotonic() > until):
            break
    if not pieces:
        return None
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
