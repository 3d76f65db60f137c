"""Series: a table of numbers and levels, one row a step, from DataFrames, arrays or files."""

import json
from collections.abc import Sequence as List
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int, Shaped

from caesura.errors import CaesuraError, lookup, whole_number
from caesura.kinds.base import Item, Kind
from caesura.kinds.series import table as tables
from caesura.kinds.series.columns import (
    Choice,
    Column,
    check_bounds,
    check_covariate,
    finite_numbers,
    learn_columns,
)
from caesura.kinds.series.csv_cells import fill_cells, plain_csv
from caesura.kinds.series.levels import level_numbers, shares_of, switches_of
from caesura.kinds.series.replacement import with_all_rows, with_levels_at, with_numbers_at
from caesura.kinds.series.times import (
    PERIODS,
    Grid,
    calendar_features,
    check_frequency,
    choose_calendar,
    even_grid,
    find_time_column,
    infer_frequency,
    times_of,
)
from caesura.kinds.series.view import view_table
from caesura.sequence import FrameSpec, Sequence

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from caesura.plots.series import Filled

LEAST_OBSERVED = 100  # numbers in a column
INTERVAL = (0.05, 0.95)  # that is drawn


@dataclass(frozen=True)
class Series(Kind):
    """The columns of a table, standardised; NaN, None or NA is missing.

    A frame holds first the columns that are filled, numbers before categories, then those that only
    inform: covariates and the calendar, which must be observed. A category of K levels is K − 1
    switches of 0 and 1, one for each level but the first. Other columns are left as they are: words
    of many levels, dates, and columns in which training saw nothing. If rows are absent between the
    times of others, nothing is observed at these steps; a covariate is NaN there, which is the
    `UNKNOWN` of real numbers.

    A draw outside a column's bounds is moved to the bound. That is a monotone map onto where the
    truth must be: quantiles stay quantiles, no interval loses a truth that it held, and if values
    are often at the bound (no rain today), they get the probability that was beyond it.

    Parameters
    ----------
    columns
        The columns in a frame, in the order above.
    width
        How many columns an array has.
    calendar
        Parts of the calendar that inform: some of "hour", "weekday" and "yearday".
    freq
        The frequency of the grid of times, as pandas writes it; if empty, each row is a step.
    time
        The column that holds the times; if empty, the index of the table may hold them.
    add_rows
        Whether absent rows are written, too.

    Examples
    --------
    >>> table = np.array([[1.0, 5.0], [np.nan, 6.0], [3.0, 10.0]])
    >>> kind = Series.learn([table], least_observed=2)
    >>> [(column.name, column.location) for column in kind.columns]
    [('x0', 2.0), ('x1', 7.0)]
    >>> item = kind.open(table)
    >>> item.write(item.sequence.values, item.missing)[:, 0].tolist()
    [1.0, 2.0, 3.0]
    """

    name: ClassVar[str] = "series"
    head: ClassVar[str] = "mixture"
    options: ClassVar[tuple[str, ...]] = (
        *("columns", "covariates", "bounds", "calendar", "freq", "time", "add_rows"),
        *("least_observed", "categorical"),
    )
    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".parquet")
    draws: ClassVar[int] = 100
    stretch: ClassVar[int] = 128
    around: ClassVar[int] = 64

    columns: tuple[Column, ...]
    width: int
    calendar: tuple[str, ...] = ()
    freq: str = ""
    time: str = ""
    add_rows: bool = False

    def __post_init__(self) -> None:
        for name in self.calendar:
            lookup(PERIODS, name, "part of the calendar")
        order = [
            (not column.fills, column.fills and bool(column.levels)) for column in self.columns
        ]
        if (
            not self.filled
            or order != sorted(order)
            or len({column.name for column in self.columns}) < len(self.columns)
            or not all(column.fits(self.width) for column in self.columns)
        ):
            raise CaesuraError("The columns of the series do not fit together.")

    @classmethod
    def load(cls, path: Path) -> Any:
        """Return the DataFrame in a CSV or Parquet file.

        `caesura.kinds.series.read_table` also keeps the text of a CSV file, so that fills can be
        written as the file writes its cells.
        """
        return tables.read_table(path).table

    @classmethod
    def items(cls, data: Any) -> list[Any]:
        """Return tables: data is one, an array [series, steps, columns], or a list of tables."""
        return super().items([data] if tables.is_frame(data) else data)

    @classmethod
    def learn(
        cls,
        items: List[Any],
        *,
        columns: Any = None,
        covariates: Any = None,
        bounds: Any = None,
        calendar: Any = "auto",
        freq: Any = None,
        time: str | None = None,
        add_rows: bool = False,
        least_observed: int = LEAST_OBSERVED,
        categorical: Any = None,
        **others: Any,
    ) -> "Series":
        """Return a kind with the columns' locations and scales, from observed values only.

        Parameters
        ----------
        items
            Tables with equal columns.
        columns
            The columns to fill, by their names, or their numbers in an array; all columns of
            numbers and of few levels by default.
        covariates
            The columns that only inform.
        bounds
            (least, most) for all columns, or for each by its name; None for no bound.
        calendar
            "auto", or some of "hour", "weekday" and "yearday".
        freq
            The frequency of the times, as pandas writes it; by default it is inferred.
        time
            The column that holds the times; by default the first if it does, unless the index does.
        add_rows
            Whether absent rows are written, too.
        least_observed
            How many observed values a column needs to be learnt.
        categorical
            Columns that are read as categories, whatever they hold.

        Raises
        ------
        CaesuraError
            If the tables do not fit each other or the options, or too little is observed.
        """
        for name in others:
            lookup(dict.fromkeys(cls.options), name, "field of a series")
        loaded = [tables.load_table(item) for item in items]
        known = tables.column_names(loaded[0])
        for number, one in enumerate(loaded):
            if tables.column_names(one) != known:
                raise CaesuraError(f"Table {number} does not have the columns of the first.")
        if time is None:
            time = find_time_column(loaded[0]) if tables.is_frame(loaded[0]) else ""
        least = whole_number("least_observed", least_observed, 1)
        choice = Choice(columns, covariates, categorical, bounds, least)
        learnt = learn_columns(loaded, choice, time)
        indices = [times_of(one, time) for one in loaded if tables.is_frame(one)]
        index = max((i for i in indices if i is not None), key=len, default=None)
        return cls(
            columns=learnt,
            width=len(known),
            calendar=choose_calendar(index, calendar),
            freq=_frequency(index, freq),
            time=time,
            add_rows=add_rows,
        )

    @property
    def filled(self) -> tuple[Column, ...]:
        """The columns that can be filled, the first in a frame."""
        return tuple(column for column in self.columns if column.fills)

    @property
    def numbers(self) -> int:
        """How many of the filled columns, the first, hold numbers; each is one component."""
        return sum(not column.levels for column in self.filled)

    @property
    def frame(self) -> FrameSpec:
        informing = sum(column.size for column in self.columns if not column.fills)
        informing += 2 * len(self.calendar)
        return FrameSpec(
            "continuous",
            sum(column.size for column in self.filled) + informing,
            informing,
            tuple(len(column.levels) for column in self.filled if column.levels),
        )

    @property
    def components(self) -> list[slice]:
        """The components of each column in a frame."""
        ends = np.cumsum([0, *(column.size for column in self.columns)]).tolist()
        return [slice(*pair) for pair in pairwise(ends)]

    def open(self, data: Any) -> "TableItem":
        """Return a DataFrame, an array or the table in a file as an item.

        Raises
        ------
        FileMissingError
            If there is no such file.
        CaesuraError
            If the table lacks a column, holds a value that the model does not know, or has no times
            where the model needs them.
        """
        if isinstance(data, TableItem):
            return data if data.kind == self else self.open(tables.TableFile(data.table, data.text))
        if (path := self.path_of(data)) is not None:
            data = tables.read_table(path)
        text = data.text if isinstance(data, tables.TableFile) else None
        item = TableItem(self, tables.load_table(data), text)
        _ = item.complete  # so that mistakes are found here
        return item

    def open_content(self, content: Any) -> "TableItem":
        """Return the text of a CSV file as an item."""
        return self.open(tables.parse_csv(content))

    def to_units(self, values: Shaped[np.ndarray, "*n T D"]) -> Float64[np.ndarray, "*n T columns"]:
        """Return the filled numbers in the user's own units and within their bounds."""
        columns = self.filled[: self.numbers]
        low = [-np.inf if column.lowest is None else column.lowest for column in columns]
        high = [np.inf if column.highest is None else column.highest for column in columns]
        location, scale = np.array([(c.location, c.scale) for c in columns]).reshape(-1, 2).T
        return np.clip(location + scale * values[..., : self.numbers], low, high)

    def likeliest(self, means: Float32[np.ndarray, "T D"]) -> Float32[np.ndarray, "T D"]:
        """Return means of draws, but for each category the level that was drawn most often."""
        likeliest = means.copy()
        for inside in self.components[self.numbers : len(self.filled)]:
            shares = shares_of(means[:, inside].astype(np.float64))
            chosen = shares.argmax(axis=1).astype(np.float64)
            likeliest[:, inside] = switches_of(chosen, shares.shape[1])
        return likeliest

    def log_scale(self, missing: Bool[np.ndarray, "T D"]) -> float:
        scales = np.array([column.scale or 1.0 for column in self.filled[: self.numbers]])
        return float(np.sum(np.log(scales) * missing[:, : self.numbers].sum(axis=0)))

    def plot(self, fill: Any) -> "Figure":
        from caesura.plots.series import plot_filled

        return plot_filled(self.drawn(fill), "90 % interval")

    def drawn(self, fill: Any) -> "list[Filled]":
        """Return the columns of numbers that were filled, each with its interval of 90 %."""
        from caesura.plots.series import Filled

        item: TableItem = fill.item
        answers = (fill.best, *fill.quantile(INTERVAL))
        drawn: list[Filled] = []
        for number, column in enumerate(self.filled[: self.numbers]):
            missing = fill.missing[item.written_rows, number]
            if missing.any():
                parts = [tables.column(table, item.places[number]) for table in answers]
                curves = map(tables.as_numbers, parts)
                drawn.append(Filled(column.name, item.x, missing, *curves))
        return drawn


@dataclass(frozen=True, eq=False)
class TableItem(Item):
    """A table on an even grid of steps, and the text of the CSV file that it was read from."""

    suffix: ClassVar[str] = ".csv"

    kind: Series
    table: Any
    text: str | None = None

    @property
    def original(self) -> Any:
        return self.table

    @cached_property
    def grid(self) -> Grid:
        """The steps, and which of them each row is."""
        index = times_of(self.table, self.kind.time) if tables.is_frame(self.table) else None
        if index is not None:
            return even_grid(index, self.kind.freq)
        if self.kind.freq or self.kind.calendar:
            raise CaesuraError("The model has learnt from rows with times, but these have none.")
        return Grid(len(self.table), np.arange(len(self.table)))

    @cached_property
    def places(self) -> list[int]:
        """Where the table has the columns of a frame."""
        if not tables.is_frame(self.table):
            width = self.table.shape[1]
            if width != self.kind.width:
                raise CaesuraError(
                    f"The series has {width} columns, where the model knows {self.kind.width}."
                )
            return [column.place for column in self.kind.columns]
        known = {name: place for place, name in enumerate(tables.column_names(self.table))}
        return [lookup(known, column.name, "column") for column in self.kind.columns]

    @property
    def rows(self) -> Int[np.ndarray, " rows"]:
        """Which step each row of the table is."""
        return self.grid.rows

    @property
    def written_rows(self) -> Int[np.ndarray, " rows"]:
        """Which step each row of a written table is: with `add_rows`, there is one for each."""
        return np.arange(self.grid.steps) if self._adds_rows else self.rows

    @property
    def x(self) -> Shaped[np.ndarray, " rows"]:
        """The local time of each row of a written table, or its number."""
        if self.grid.index is None:
            return np.arange(len(self.table))
        moments = self.grid.index.tz_localize(None).to_numpy()
        return np.asarray(moments[self.written_rows])

    @cached_property
    def sequence(self) -> Sequence:
        values, frame = self.complete.values, self.kind.frame
        missing = np.isnan(values) & (np.arange(frame.size) < frame.size - frame.informing)
        return Sequence(np.where(missing, np.float32(0), values), missing)

    @cached_property
    def complete(self) -> Sequence:
        """The standardised table; what is not observed is NaN, which is unknown."""
        kind, rows = self.kind, self.rows
        values = np.full((self.grid.steps, kind.frame.size), np.nan, np.float32)
        for column, place, inside in zip(kind.columns, self.places, kind.components, strict=True):
            if column.levels:
                cells = tables.column(self.table, place)
                found = level_numbers(cells, column.levels, column.name)
                values[rows, inside] = switches_of(found, len(column.levels))
            else:
                found = finite_numbers(self.table, place, column.name)
                values[rows, inside.start] = (found - column.location) / (column.scale or 1.0)
            check_bounds(found, column.name, column.lowest, column.highest)
            if not column.fills:
                check_covariate(found, column.name)
        if kind.calendar:
            waves = calendar_features(self.grid.moments(), kind.calendar)
            values[:, -waves.shape[1] :] = waves
        return Sequence(values, np.zeros(values.shape, bool))

    def write(self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]) -> Any:
        """Return the table with only the missing values replaced, and its index as it was.

        Columns keep their types, except that whole numbers with gaps become real numbers.
        """
        self._check_shape(missing)
        kind, rows = self.kind, self.written_rows
        in_units = kind.to_units(values)
        adds_rows = self._adds_rows
        filled = with_all_rows(self.table, self.grid, kind.time) if adds_rows else self.table.copy()
        each = zip(kind.filled, self.places, kind.components, strict=False)
        for number, (column, place, inside) in enumerate(each):
            where = missing[rows, inside.start]
            if not where.any():
                continue
            if column.levels:
                shares = shares_of(values[rows, inside][where].astype(np.float64))
                filled = with_levels_at(filled, place, where, shares.argmax(axis=1), column.levels)
            else:
                new = in_units[rows, number][where]
                filled = with_numbers_at(filled, place, where, new, column.name)
        return filled

    def content(self, filled: Any) -> str:
        """Return the filled table as CSV text.

        If the table was read from CSV, its cells keep their characters, and numbers that fill its
        gaps have as many decimals as the observed ones of their column.
        """
        if not tables.is_frame(filled):
            import pandas as pd

            return plain_csv(pd.DataFrame(filled, columns=tables.column_names(filled)))
        if self.text is None or len(filled) not in (len(self.table), len(self.written_rows)):
            return plain_csv(filled)
        words, given = self._words, self.table
        if len(filled) > len(given):
            given = with_all_rows(given, self.grid, self.kind.time)
            words = words.set_axis(self.rows).reindex(range(len(filled))).fillna("")
            words[self.kind.time] = filled[self.kind.time].astype(str)
        return plain_csv(fill_cells(words, given, filled))

    def plain(self, filled: Any) -> Any:
        """Return a table as an object of columns, index and data, an array as a list of lists."""
        if tables.is_frame(filled):
            text = filled.to_json(orient="split", date_format="iso", double_precision=15)
            return json.loads(text)
        if filled.dtype.kind == "f":  # NaN, in a column that is left as it is, is no JSON
            filled = np.where(np.isnan(filled), np.array(None), filled)
        return filled.tolist()

    def probabilities(self, means: Float32[np.ndarray, "T D"]) -> dict[str, Any]:
        """Return how often each level of each category was drawn, from the means of draws.

        Returns
        -------
        dict
            By the name of the category, a table of the shares of its levels: a DataFrame or an
            array, as the user's table is, with as many rows as `write` gives.
        """
        index = getattr(self.table, "index", None)
        if self._adds_rows:
            index = self.grid.index
        found, components = dict[str, Any](), self.kind.components
        for number in range(self.kind.numbers, len(self.kind.filled)):
            column = self.kind.columns[number]
            share = shares_of(means[self.written_rows, components[number]].astype(np.float64))
            if index is not None:
                share = type(self.table)(share, index=index, columns=list(column.levels))
            found[column.name] = share
        return found

    def cells(self, places: Bool[np.ndarray, "T D"]) -> int:
        """Return how many cells of the table the places in frames stand for."""
        firsts = [inside.start for inside in self.kind.components[: len(self.kind.filled)]]
        return int(places[:, firsts].sum())

    def view(self, filled: Any) -> dict[str, Any]:
        """Return the columns of numbers, their times, and the names of the other columns."""
        return view_table(filled, self.kind.time)

    @property
    def _adds_rows(self) -> bool:
        return self.kind.add_rows and self.grid.index is not None

    @cached_property
    def _words(self) -> Any:
        """The cells of the CSV file as they are written there."""
        assert self.text is not None
        return tables.read_words(self.text, self.table.shape[1])


def columns_of_format_1(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a `Series` as JSON, from those that model files of format 1 have.

    There, each property of the columns was a list of its own.

    Raises
    ------
    CaesuraError
        If the lists do not fit together.
    """
    try:
        names, numbers = fields["names"], len(fields["lowest"])
        each = [fields[key] for key in ("places", "locations", "scales", "levels")]
        bounds = [fields[key] + [None] * (len(names) - numbers) for key in ("lowest", "highest")]
        columns = [
            {
                "name": name,
                "place": place,
                "location": location,
                "scale": scale,
                "levels": levels,
                "lowest": lowest,
                "highest": highest,
                "fills": number < fields["filled"],
            }
            for number, (name, place, location, scale, levels, lowest, highest) in enumerate(
                zip(names, *each, *bounds, strict=True)
            )
        ]
        others = ("width", "calendar", "freq", "time", "add_rows")
        return {"columns": columns} | {key: fields[key] for key in others if key in fields}
    except (KeyError, TypeError, ValueError) as error:
        raise CaesuraError("The columns of the series do not fit together.") from error


def _frequency(index: Any, asked: Any) -> str:
    if asked is None:
        return "" if index is None else infer_frequency(index)
    if index is None:
        raise CaesuraError("A frequency is for rows that have times.")
    return check_frequency(asked)
