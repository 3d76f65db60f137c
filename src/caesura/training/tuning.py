"""Tuning of the pretrained model for tables: a Gaussian model is fitted to the user's own tables.

Some of what is observed is held out, as in a rehearsal, and a Gaussian model of windows is fitted
to the rest. At first there are several: of the numbers as they are and of their ranks, each with
factors and, if windows are small, with a covariance for every two numbers. The one that fills the
held-out numbers best is kept. These numbers then say, column by column, how much it counts beside
the pretrained net: if that is nothing, nothing changes.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from caesura.filler.rehearsal import MORE, Part, Rehearsal, parts_of, without
from caesura.filler.tables import TableFiller
from caesura.hardware import few_blas_threads
from caesura.kinds.series import Series, TableItem
from caesura.kinds.series.curves import Curve, by_rank, straight
from caesura.kinds.series.factors import Gaussian, WindowModel, scores_of
from caesura.training import covariance, factors
from caesura.training.factors import Values, window_length
from caesura.training.loop import Progress, Stopped
from caesura.training.progress import Report

CHECKS = 6
RACE, OF_ALL = 4, 8  # rounds, and an eighth of all for each rival, after which one model goes on
PLENTY = 10  # windows for each of their numbers: then the fewer parameters of factors do not help
ROUNDS = 400  # more do not change the model by much
LAST = 2.5  # times as long as a rehearsal takes what is done at the end


class Tuned(NamedTuple):
    """A filler that was tuned, and its mean errors on the held-out numbers."""

    filler: TableFiller
    before: float
    after: float
    updates: int


class Try(NamedTuple):
    """A way to make scores of numbers, and the Gaussian models of these scores, round by round."""

    curves: list[Curve]
    rounds: Iterator[Gaussian]
    steps: int  # that a round reads


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
        As `TableFiller.fitted` takes them. Those that follow each other in time are read as one.
    seconds
        By the clock.
    seed
        Of the windows that are read.
    report
        Called with the name of the model and the progress, whose validation is the mean error of
        the Gaussian model on the held-out numbers.
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
    items = [kind.open(one) for one in tables]
    values = [item.complete.values for item in items]
    opened = time.monotonic()
    parts = parts_of(values, kind.numbers, times=MORE)
    unstretched = learnt.fitted._replace(spread=np.ones_like(learnt.fitted.spread))
    held = Rehearsal(parts, kind.numbers, unstretched)
    alone = held.fill(filler.nets["bidirectional"])
    before = alone.error
    if not np.isfinite(before):  # nothing can be held out
        return Tuned(filler, before, before, 0)
    known = without(values, parts)
    started = time.monotonic()
    until = max(began + seconds / 2, began + seconds - LAST * (started - opened))
    runs = runs_of(items, known)
    longest = max(map(len, values))
    best, updates = fit_model(runs, parts, kind.numbers, longest, until, seed, report, stop)
    tuned = filler.pooled(held, alone, best)
    assert tuned.learnt is not None
    weights = [one.hidden for one in tuned.learnt.checked]
    after = float(np.average([one.error for one in tuned.learnt.checked], weights=weights))
    return Tuned(tuned, before, after, updates)


def fit_model(
    runs: Sequence[Values],
    parts: Sequence[Part],
    columns: int,
    longest: int,
    until: float,
    seed: int = 0,
    report: Report | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[WindowModel, int]:
    """Return a Gaussian model of tables, and after how many rounds its fitting ended.

    Parameters
    ----------
    runs
        Tables, NaN where nothing is observed or where it is held out.
    parts
        What is held out: of the models after some of the rounds, the one with the least error there
        is returned.
    columns
        How many of the columns, the first, hold numbers.
    longest
        The rows of the longest table that is filled: windows are not longer.
    until
        When to end, as `time.monotonic` says it.
    seed, report, stop
        As for `tune`.
    """
    started = time.monotonic()
    tried = list(_tries(runs, columns, longest, seed))
    race = (len(tried) - 1) / OF_ALL
    best, error, updates, checked = None, np.inf, 0, started
    with few_blas_threads():
        while True:
            models = [WindowModel(one.curves, next(one.rounds)) for one in tried]
            if stop():
                raise Stopped
            updates, now = updates + 1, time.monotonic()
            last = updates == ROUNDS or now >= until
            some = now - started >= race * (until - started) or updates >= race * ROUNDS
            decided = updates >= RACE and some and len(tried) > 1
            due = now - checked >= (until - started) / CHECKS
            if not (last or due or decided):
                continue
            errors, checked = [error_of(one, parts, columns) for one in models], now
            winner = int(np.argmin(errors))
            found = errors[winner]
            if decided:  # from now on, only the better one
                tried = [tried[winner]]
            if best is None or found < error:
                best, error = models[winner], found
            if report is not None:
                each = (now - started) / updates
                left = 0.0 if last else min(until - now, each * (ROUNDS - updates))
                speed = sum(one.steps for one in tried) / each
                steps = updates + round(left / each)
                report("tuning", Progress(updates, steps, found, found, speed, left, 0))
            if last:
                return best, updates


def _tries(runs: Sequence[Values], columns: int, longest: int, seed: int) -> Iterator[Try]:
    """Yield the models that are tried."""
    size = longest, sum(map(len, runs)), runs[0].shape[1]
    rows, whole_rows = window_length(*size), covariance.fitting_rows(*size)
    windows = sum(len(run) - whole_rows + 1 for run in runs)
    for curves in both_curves(np.concatenate(runs), columns):
        scores = [scores_of(curves, run) for run in runs]
        if whole_rows:
            yield Try(
                curves, covariance.rounds(scores, whole_rows, seed), covariance.BATCH * whole_rows
            )
        if not whole_rows or windows < PLENTY * whole_rows * size[-1]:
            yield Try(curves, factors.rounds(scores, rows, seed), factors.BATCH * rows)


def both_curves(table: Float[np.ndarray, "T C"], columns: int) -> tuple[list[Curve], list[Curve]]:
    """Return straight curves for all columns, and curves by rank for the first of them."""
    lines = [straight(column) for column in table.T]
    return lines, [by_rank(column) for column in table.T[:columns]] + lines[columns:]


def error_of(model: WindowModel, parts: Sequence[Part], columns: int) -> float:
    """Return the mean absolute error of the model on the numbers that are hidden in parts."""
    known = [part.known for part in parts]
    said = model.say_each(known, [~np.isnan(table) for table in known])
    mean = np.concatenate([one.mean for one in said])
    truth = np.concatenate([part.table for part in parts])
    hidden = np.concatenate([part.hidden for part in parts])
    errors = []
    for column in range(columns):
        asked = hidden[:, column]
        numbers = model.curves[column].to_numbers(mean[asked, column])
        errors.append(np.abs(numbers - truth[asked, column]))
    return float(np.concatenate(errors).mean())


def runs_of(items: Sequence[TableItem], tables: Sequence[Values]) -> list[Values]:
    """Return the tables, those as one that follow each other in time."""
    runs: list[list[Values]] = []
    before: Any = None
    for item, table in zip(items, tables, strict=True):
        index: Any = item.grid.index
        follows = before is not None and index is not None and len(before) > 1
        if follows and index[0] - before[-1] == before[-1] - before[-2]:
            runs[-1].append(table)
        else:
            runs.append([table])
        before = index
    return [np.concatenate(run) for run in runs]
