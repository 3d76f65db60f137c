"""A net that was trained on tables, pooled with a Gaussian model of the same tables.

Some numbers of the validation data are held out before the net is trained. So neither model has
seen them, and they say how much each should count.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from caesura.filler import Filler
from caesura.filler.opening import method_of
from caesura.filler.passes import fill_pass
from caesura.filler.rehearsal import INTERVAL, SHARES, Part, parts_of, steady_share
from caesura.filler.stretches import cut
from caesura.filler.tasks import Task, batches
from caesura.kinds.series import Series
from caesura.kinds.series.curves import Curve
from caesura.kinds.series.experts import between
from caesura.kinds.series.factors import WindowModel, with_type
from caesura.kinds.series.pool import Pool
from caesura.scoring.scores import quantiles
from caesura.sequence import Sequence as Steps
from caesura.training.loop import Data
from caesura.training.prepare import Prepared
from caesura.training.progress import Report
from caesura.training.tuning import fit_model


class Held(NamedTuple):
    """Data without the numbers that are held out, and these."""

    prepared: Prepared
    parts: list[Part]


class Drawn(NamedTuple):
    """Numbers that were held out, and random fills of both models."""

    column: Int[np.ndarray, " n"]
    truth: Float[np.ndarray, " n"]
    line: Float[np.ndarray, " n"]  # between the nearest observed numbers
    net: Float[np.ndarray, "draws n"]
    gaussian: Float[np.ndarray, "draws n"]

    def mixed(self, share: float) -> Float[np.ndarray, "draws n"]:
        """Return random fills, so many of them of the Gaussian model."""
        count = round(share * len(self.net))
        return np.concatenate([self.net[count:], self.gaussian[:count]])

    def errors(self, share: float) -> Float[np.ndarray, " n"]:
        return np.abs(np.median(self.mixed(share), axis=0) - self.truth)


class CheckedPool(NamedTuple):
    """What was found for one column; errors are mean absolute ones, in standard deviations."""

    column: str
    hidden: int
    error: float
    net_error: float  # of the net alone
    gaussian_error: float
    line_error: float  # of the line between the nearest observed numbers
    inside: float  # the share of the numbers in their intervals of 90 %


def hold_numbers(prepared: Prepared) -> Held:
    """Hold out some numbers of the validation data, in gaps like those of the tables."""
    kind = prepared.kind
    assert isinstance(kind, Series)
    parts = parts_of(prepared.data.valid, kind.numbers)
    valid = [np.array(piece) for piece in prepared.data.valid]
    for part in parts:
        valid[part.number][part.first : part.first + len(part.table)][part.hidden] = np.nan
    return Held(prepared._replace(data=Data(prepared.data.train, valid)), parts)


def pooled(
    filler: Filler,
    held: Held,
    seconds: float,
    seed: int = 0,
    report: Report | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Filler:
    """Return a filler whose net is pooled with a Gaussian model, if that is better.

    Parameters
    ----------
    filler
        With a net that was trained on the data.
    held
        The data, and the numbers that the net has not seen.
    seconds
        How long the Gaussian model is fitted, by the clock.
    seed, report, stop
        As for `tune`.

    Returns
    -------
    Filler
        Its `training["pool"]` says what was found, column by column.
    """
    kind, data = filler.kind, held.prepared.data
    assert isinstance(kind, Series)
    if not any(part.hidden[:, : kind.numbers].any() for part in held.parts):
        return filler  # nothing says that a pool would be better
    runs, until = [*data.train, *data.valid], time.monotonic() + seconds
    longest = max(map(len, runs))
    model, rounds = fit_model(runs, held.parts, kind.numbers, longest, until, seed, report, stop)
    model = _as_stored(model)
    drawn = draw_both(filler, Pool(model, 1.0, kind.numbers), held.parts, seed)
    share = choose_share(drawn)
    record: dict[str, Any] = {"share": share, "rounds": rounds, "seconds": seconds}
    names = [column.name for column in kind.filled]
    record |= {"columns": [one._asdict() for one in _checked(drawn, share, names)]}
    pool = Pool(model, share, kind.numbers) if share else None
    return replace(filler, pool=pool, training=filler.training | {"pool": record})


def choose_share(drawn: Drawn) -> float:
    """Return the share whose medians are nearest to the numbers, or one that is hardly worse."""
    return steady_share(np.stack([drawn.errors(share) for share in SHARES]))


def draw_both(filler: Filler, pool: Pool, parts: Sequence[Part], seed: int) -> Drawn:
    """Return random fills of the numbers that are hidden in some tables, by both models."""
    method, draws, found = method_of(filler, None), Series.draws, []
    for part in parts:
        missing = part.hidden & (np.arange(part.hidden.shape[1]) < pool.numbers)
        values = np.where(missing, 0.0, part.known).astype(np.float32)
        stretches = cut(
            Steps(values, missing), method.net.frame, filler.kind.stretch, filler.kind.around
        )
        tasks = [Task(one, seed, number, draws, 0) for number, one in enumerate(stretches)]
        line = between(np.nan_to_num(part.known), ~np.isnan(part.known))
        for some in batches(method, tasks):
            filled = fill_pass(method, [tasks[number] for number in some])
            for number, one in zip(some, filled, strict=True):
                rng = np.random.default_rng([seed, number])
                at, other = tuple(one.places.T), pool.draw(rng, tasks[number].gap, draws)
                found.append(Drawn(at[1], part.table[at], line[at], one.drawn, other))
    columns, truths, lines, nets, others = zip(*found, strict=True)
    flat = (np.concatenate(part) for part in (columns, truths, lines))
    return Drawn(*flat, *(np.concatenate(part, axis=1) for part in (nets, others)))


def _checked(drawn: Drawn, share: float, names: list[str]) -> list[CheckedPool]:
    """Return how good the pool is in each column."""
    low, high = quantiles(drawn.mixed(share), [(1 - INTERVAL) / 2, (1 + INTERVAL) / 2])
    errors = [drawn.errors(one) for one in (share, 0.0, 1.0)]
    errors += [np.abs(drawn.line - drawn.truth), (low <= drawn.truth) & (drawn.truth <= high)]
    found = []
    for number in np.unique(drawn.column).tolist():
        own = drawn.column == number
        means = (float(each[own].mean()) for each in errors)
        found.append(CheckedPool(names[number], int(own.sum()), *means))
    return found


def _as_stored(model: WindowModel) -> WindowModel:
    """Return the model as a file has it, so that a loaded one is the same."""
    curves = [
        Curve(*(part.astype(np.float32).astype(np.float64) for part in curve))
        for curve in model.curves
    ]
    return WindowModel(curves, with_type(model.gaussian, np.float32))
