"""Tables that are sent as CSV: how they can be drawn, and how their gaps are filled."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple, cast

import numpy as np

from caesura.errors import CaesuraError, lookup
from caesura.filler import Filler, Request, SeriesFill, load
from caesura.filler.tables import TableFiller
from caesura.kinds import Series
from caesura.kinds.series import TableItem
from caesura.kinds.series.table import TableFile, parse_csv
from caesura.kinds.series.times import find_time_column
from caesura.kinds.series.view import view_table
from caesura.training.loop import Progress, Stopped
from caesura.training.recipe import choose
from caesura.training.train import train
from caesura.training.tuning import tune
from caesura.web.limits import COLUMNS, MISSING, ROWS
from caesura.web.schemas import (
    FilledColumn,
    FitDraws,
    FitTrains,
    TableAnswer,
    TableFilled,
    TableFillQuestion,
    TableQuestion,
)

RECIPE = "series"
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
DRAWS = 100  # that quantiles are made of
PATHS = 5  # draws that are shown
SECONDS = 30.0  # of tuning

Report = Callable[[FitTrains | FitDraws], None]


class Table(NamedTuple):
    """A table to be filled, by a model or by one that is still to be trained."""

    asked: TableFillQuestion
    item: TableItem
    filler: Filler | None


@cache
def pretrained() -> TableFiller:
    """Return the model that fills any table."""
    filler = load("series")
    assert isinstance(filler, TableFiller)
    return filler


def tell_table(asked: TableQuestion) -> TableAnswer:
    """Return the columns of numbers, and the times of their rows."""
    table = _read(asked.sequence).table
    return TableAnswer(**view_table(table, find_time_column(table)))


def read_fill(fillers: Mapping[str, Filler], asked: TableFillQuestion) -> Table:
    """Return what is asked, if it can be learnt, or if the model knows such tables."""
    table = _read(asked.sequence)
    filler: Filler | None = None
    if asked.model is None and asked.adapt == "full":
        kind = Series.learn([table], columns=asked.columns)
    elif asked.model is None:
        filler = pretrained().fitted([table], columns=asked.columns)
        kind = cast(Series, filler.kind)
    else:
        filler = lookup(fillers, asked.model, "model")
        if not isinstance(filler.kind, Series):
            raise CaesuraError(f"The model '{asked.model}' is not for series.")
        if asked.columns is not None:
            raise CaesuraError("Columns are chosen in training: the model has its own.")
        kind = replace(filler.kind, add_rows=False)  # the page draws the rows that it sent
        filler = replace(filler, kind=kind)
    item = kind.open(table)
    missing = item.sequence.missing
    if not missing[item.rows].any():
        raise CaesuraError("Nothing is missing in these columns.")
    if (count := int(missing.sum())) > MISSING:
        raise CaesuraError(
            f"The table lacks {count} values, and the server draws {MISSING} at most."
        )
    return Table(asked, item, filler)


def fill_table(table: Table, updates: int, report: Report, stop: Callable[[], bool]) -> TableFilled:
    """Fill the table as `caesura fill series` does; raise `Stopped` if `stop` says so."""
    asked, item, filler = table
    if filler is None:
        filler = _train(asked, item, updates, report, stop)
    elif asked.model is None and asked.adapt == "quick":
        filler = _tune(filler, asked, item, report, stop)

    def go_on(*_: int) -> None:
        if stop():
            raise Stopped

    go_on()
    report(FitDraws())
    at_once = isinstance(filler, TableFiller)  # its random fills take longer than all the rest
    request = Request(item, samples=0 if at_once else PATHS, draws=DRAWS, seed=asked.seed)
    (fill,) = filler.fill_many([request], report=go_on)
    assert isinstance(fill, SeriesFill)
    quantiles, paths = fill.quantile(LEVELS), fill.samples
    columns = []
    for column in item.kind.filled:
        if any(type(level) not in (int, float) for level in column.levels):
            continue  # words and truth values are not drawn as curves
        rows = np.flatnonzero(item.original[column.name].isna())
        numbers = [[t[column.name].iloc[rows].tolist() for t in ts] for ts in (quantiles, paths)]
        columns.append(
            FilledColumn(
                name=column.name, rows=rows.tolist(), quantiles=numbers[0], samples=numbers[1]
            )
        )
    return TableFilled(
        sequence=item.content(fill.best),
        levels=list(LEVELS),
        columns=columns,
        seed=asked.seed,
    )


def _train(
    asked: TableFillQuestion,
    item: TableItem,
    updates: int,
    report: Report,
    stop: Callable[[], bool],
) -> Filler:
    steps = min(updates, choose(RECIPE, "series", (), {}).recipe.steps)
    report(FitTrains(step=0, steps=steps, validation=None, seconds_left=None))

    return train(
        [item.original],
        kind="series",
        recipe=RECIPE,
        seed=asked.seed,
        columns=asked.columns,
        steps=steps,
        report=partial(_tell, report),
        stop=stop,
        pool=SECONDS,
    )


def _tune(
    filler: Filler,
    asked: TableFillQuestion,
    item: TableItem,
    report: Report,
    stop: Callable[[], bool],
) -> Filler:
    assert isinstance(filler, TableFiller)
    report(FitTrains(step=0, steps=1, validation=None, seconds_left=SECONDS))
    tell = partial(_tell, report)
    return tune(filler, [item], SECONDS, seed=asked.seed, report=tell, stop=stop).filler


def _tell(report: Report, _: str, progress: Progress) -> None:
    report(
        FitTrains(
            step=progress.step,
            steps=progress.steps,
            validation=progress.validation,
            # The first update compiles, so its time says nothing of the next ones.
            seconds_left=progress.seconds_left if progress.step > 1 else None,
        )
    )


def _read(sequence: str) -> TableFile:
    """Return the table in a CSV text of bounded size."""
    file = parse_csv(sequence)
    rows, columns = file.table.shape
    if rows > ROWS or columns > COLUMNS:
        raise CaesuraError(
            f"The table has {rows} rows and {columns} columns, "
            f"and the server takes {ROWS} and {COLUMNS} at most."
        )
    return file
