"""Tables that are sent as CSV: how they can be drawn, and how their gaps are filled."""

from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from caesura.errors import CaesuraError, lookup
from caesura.filler.filler import Filler
from caesura.filler.imputation import MEDIAN, fill_quantiles, fill_samples
from caesura.kinds import Series
from caesura.kinds.series.columns import finite_numbers
from caesura.kinds.series.csv_cells import filled_csv
from caesura.kinds.series.table import column_names, numbers, parse_csv
from caesura.kinds.series.times import find_time_column, times_of
from caesura.training.loop import Progress, Stopped
from caesura.training.recipe import choose
from caesura.training.train import train
from caesura.web.limits import COLUMNS, MISSING, ROWS
from caesura.web.schemas import (
    Column,
    FilledColumn,
    FitDraws,
    FitTrains,
    SeriesFill,
    SeriesFilled,
    TableAnswer,
    TableQuestion,
)

RECIPE = "series"
LEVELS = (0.05, 0.25, MEDIAN, 0.75, 0.95)
DRAWS = 100  # that quantiles are made of
PATHS = 5  # draws that are shown

Report = Callable[[FitTrains | FitDraws], None]


class Table(NamedTuple):
    """A table to be filled, by a model that is there or by one that is still to be trained."""

    asked: SeriesFill
    frame: Any
    filler: Filler | None


def tell_table(asked: TableQuestion) -> TableAnswer:
    """The columns of numbers, and when their rows were."""
    frame = _read(asked.sequence)
    names = column_names(frame)
    time = find_time_column(frame)
    index = times_of(frame, time)
    x = np.arange(len(frame), dtype=float) if index is None else _seconds(index)
    columns = [
        Column(name=name, values=_values(finite_numbers(frame, place, name)))
        for place, name in enumerate(names)
        if name != time and _has_numbers(frame[name])
    ]
    if not columns:
        raise CaesuraError("The table has no column of numbers.")
    shown = [time, *(column.name for column in columns)]
    others = [name for name in names if name not in shown]
    return TableAnswer(time=time or None, x=x.tolist(), columns=columns, others=others)


def read_fill(fillers: Mapping[str, Filler], asked: SeriesFill) -> Table:
    """What is asked, if it can be learnt, or if the model knows such tables."""
    frame = _read(asked.sequence)
    filler = None if asked.model is None else lookup(fillers, asked.model, "model")
    if filler is None:
        kind = Series.learn([frame], columns=asked.columns)
    elif not isinstance(filler.kind, Series):
        raise CaesuraError(f"The model '{asked.model}' is not for series.")
    elif asked.columns is not None:
        raise CaesuraError("Columns are chosen in training: the model has its own.")
    else:
        kind = filler.kind
    missing = kind.read(frame).missing
    if not missing[kind.rows_of(frame)].any():
        raise CaesuraError("Nothing is missing in these columns.")
    if (count := int(missing.sum())) > MISSING:
        raise CaesuraError(
            f"In the table {count} numbers are missing, and the server draws {MISSING} at most."
        )
    return Table(asked, frame, filler)


def fill_table(
    table: Table, updates: int, report: Report, stop: Callable[[], bool]
) -> SeriesFilled:
    """The table, filled as `caesura fill series` does; `Stopped` where that is asked for."""
    asked, frame, filler = table
    filler = filler or _train(asked, frame, updates, report, stop)
    assert isinstance(filler.kind, Series)

    def go_on(*_: int) -> None:
        if stop():
            raise Stopped

    go_on()
    report(FitDraws())
    how = {"seed": asked.seed, "report": go_on}
    quantiles = [t for (t,) in fill_quantiles(filler, [frame], LEVELS, DRAWS, **how)]
    paths = [t for (t,) in fill_samples(filler, [frame], PATHS, **how)]
    names = filler.kind.names[: filler.kind.filled]
    drawable = [name for name in names if _has_numbers(frame[name])]  # words have no quantiles
    return SeriesFilled(
        sequence=filled_csv(StringIO(asked.sequence), frame, quantiles[LEVELS.index(MEDIAN)]),
        levels=list(LEVELS),
        columns=[_tell(name, frame, quantiles, paths) for name in drawable],
        seed=asked.seed,
    )


def _train(
    asked: SeriesFill, frame: Any, updates: int, report: Report, stop: Callable[[], bool]
) -> Filler:
    steps = min(updates, choose(RECIPE, "series", (), {}).recipe.steps)
    report(FitTrains(step=0, steps=steps, validation=None, seconds_left=None))

    def tell(_: str, progress: Progress) -> None:
        report(
            FitTrains(
                step=progress.step,
                steps=progress.steps,
                validation=progress.validation,
                # The first update compiles, so that it says nothing of those to come.
                seconds_left=progress.seconds_left if progress.step > 1 else None,
            )
        )

    return train(
        [frame],
        kind="series",
        recipe=RECIPE,
        seed=asked.seed,
        columns=asked.columns,
        steps=steps,
        report=tell,
        stop=stop,
    )


def _tell(name: str, frame: Any, quantiles: list[Any], paths: list[Any]) -> FilledColumn:
    rows = np.flatnonzero(frame[name].isna())
    return FilledColumn(
        name=name,
        rows=rows.tolist(),
        quantiles=[table[name].iloc[rows].tolist() for table in quantiles],
        samples=[table[name].iloc[rows].tolist() for table in paths],
    )


def _read(sequence: str) -> Any:
    """The DataFrame in a CSV text of bounded size."""
    frame = parse_csv(sequence)
    rows, columns = frame.shape
    if rows > ROWS or columns > COLUMNS:
        raise CaesuraError(
            f"The table has {rows} rows and {columns} columns, "
            f"and the server takes {ROWS} and {COLUMNS} at most."
        )
    return frame


def _seconds(index: Any) -> Float64[np.ndarray, " rows"]:
    return index.tz_localize(None).to_numpy().astype("datetime64[ms]").astype(np.int64) / 1000


def _has_numbers(column: Any) -> bool:
    found = numbers(column)
    return found is not None and not np.isnan(found).all()


def _values(found: Float64[np.ndarray, " rows"]) -> list[float | None]:
    return [None if number != number else number for number in found.tolist()]
