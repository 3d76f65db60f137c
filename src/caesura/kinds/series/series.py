"""Series: a table of numbers and levels, one row a step, from DataFrames, arrays or files."""

from collections.abc import Sequence as List
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float32, Float64, Shaped

from caesura.errors import CaesuraError, lookup, whole_number
from caesura.kinds.base import Kind
from caesura.kinds.series import table as tables
from caesura.kinds.series.columns import Column, learn_columns
from caesura.kinds.series.item import TableItem
from caesura.kinds.series.levels import shares_of, switches_of
from caesura.kinds.series.times import (
    PERIODS,
    choose_calendar,
    choose_frequency,
    find_time_column,
    times_of,
)
from caesura.sequence import FrameSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from caesura.plots.series import Filled

LEAST_OBSERVED = 100  # numbers in a column
INTERVAL = (0.05, 0.95)  # that is drawn
FEWEST_DRAWN = 19  # draws for it


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
        order = [(not c.fills, c.fills and bool(c.levels)) for c in self.columns]
        twins = len({column.name for column in self.columns}) < len(self.columns)
        fit = all(column.fits(self.width) for column in self.columns)
        if not self.filled or order != sorted(order) or twins or not fit:
            raise CaesuraError("The columns of the series do not agree with each other.")

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
        learnt = learn_columns(loaded, time, columns, covariates, categorical, bounds, least)
        indices = [times_of(one, time) for one in loaded if tables.is_frame(one)]
        index = max((i for i in indices if i is not None), key=len, default=None)
        parts, freq = choose_calendar(index, calendar), choose_frequency(index, freq)
        return cls(learnt, len(known), parts, freq, time, add_rows)

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
        filled = sum(column.size for column in self.filled)
        size = sum(column.size for column in self.columns) + 2 * len(self.calendar)
        categories = tuple(len(column.levels) for column in self.filled if column.levels)
        return FrameSpec("continuous", size, size - filled, categories)

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
            if data.kind == self:
                return data
            data = tables.TableFile(data.original, data.text)
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
        each = [(c.location, c.scale, *c.bounds) for c in self.filled[: self.numbers]]
        location, scale, low, high = np.array(each).reshape(-1, 4).T
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

    def html(self, fill: Any) -> str:
        from caesura.plots.html import chart_html

        if len(fill.completions) <= FEWEST_DRAWN:
            return ""
        return chart_html(self.drawn(fill), "90 % interval")

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
