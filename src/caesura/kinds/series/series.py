"""Series: a table of numbers and levels, one row a step, from DataFrames, arrays or files."""

from collections.abc import Iterable
from collections.abc import Sequence as List
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float32, Float64, Shaped

from caesura.errors import CaesuraError, lookup, whole_number
from caesura.kinds.base import Kind
from caesura.kinds.series import table as tables
from caesura.kinds.series.columns import (
    check_bounds,
    check_covariate,
    chosen_names,
    columns_to_fill,
    finite_numbers,
    levels_that_inform,
    limits_of,
    observed_cells,
    observed_numbers,
    standard_of,
)
from caesura.kinds.series.levels import MOST, Level, level_numbers, shares_of, switches_of
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
from caesura.nets.bins import CENTRES
from caesura.sequence import Sequence

LEAST_OBSERVED = 100  # numbers in a column


@dataclass(frozen=True)
class Series(Kind):
    """The columns of a table, standardised; NaN, None or NA is missing.

    A frame holds first the columns that are filled, numbers before categories, then those that only
    inform: covariates and the calendar, which are observed and no one's to guess. A category of K
    levels is K − 1 switches of 0 and 1, one for each level but the first. Other columns come
    through untouched: words of many kinds, dates, and those in which training saw nothing. Rows
    that are absent between the times of others are steps of which nothing is observed; a covariate
    is NaN there, which is the `UNKNOWN` of real numbers.

    What is drawn outside a column's bounds is moved to them. That is a monotone map onto where the
    truth must lie: quantiles stay quantiles, no interval loses a truth that it held, and where
    values often lie at the bound (no rain today), the mass beyond becomes theirs.
    """

    frame: ClassVar[str] = "continuous"
    head: ClassVar[str] = "mixture"
    options: ClassVar[tuple[str, ...]] = (
        *("columns", "covariates", "bounds", "calendar", "freq", "time", "add_rows"),
        *("least_observed", "categorical"),
    )

    names: tuple[str, ...]  # of the columns in a frame
    places: tuple[int, ...]  # where an array has them
    width: int  # how many columns an array has
    filled: int  # so many of them, from the first, can be filled
    locations: tuple[float, ...]
    scales: tuple[float, ...]  # zero for a column that never varied: it is filled as it was
    levels: tuple[tuple[Level, ...], ...]  # of categories; none for numbers
    lowest: tuple[float | None, ...]
    highest: tuple[float | None, ...]
    calendar: tuple[str, ...] = ()
    freq: str = ""  # of the grid on which times lie; without one, rows are taken as they come
    time: str = ""  # the column that holds the times, instead of the index
    add_rows: bool = False  # whether absent rows are written, too

    def __post_init__(self) -> None:
        each = (self.places, self.locations, self.scales, self.levels)
        limits = zip(self.lowest, self.highest, strict=False)
        for name in self.calendar:
            lookup(PERIODS, name, "part of the calendar")
        if (
            any(len(values) != len(self.names) for values in each)
            or not len(self.lowest) == len(self.highest) == self.numbers
            or any(self.levels[: self.numbers])
            or not all(len(one) == len(set(one)) in (0, *range(2, MOST + 1)) for one in self.levels)
            or not 1 <= self.filled <= len(self.names) == len(set(self.names))
            or not all(0 <= place < self.width for place in self.places)
            or not all(np.isfinite(self.locations))
            or not all(np.isfinite(scale) and scale >= 0 for scale in self.scales)
            or any(low is not None and high is not None and low >= high for low, high in limits)
        ):
            raise CaesuraError("The columns of the series do not fit together.")

    @classmethod
    def find(cls, paths: Iterable[Path]) -> list[Path]:
        """CSV and Parquet files."""
        return tables.find_tables(paths)

    @classmethod
    def items(cls, data: Any) -> list[Any]:
        """One table, an array [series, steps, columns], or a list of tables and paths."""
        if tables.is_frame(data):
            return [data]
        if isinstance(data, np.ndarray):
            return list(data) if data.ndim == 3 else [data]
        return super().items(Path(d) if isinstance(d, str) else d for d in data)

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
        """A kind with the columns' locations and scales, from observed values alone.

        `columns` and `covariates` are names, or numbers of an array's columns; all columns of
        numbers are filled unless some are chosen. `bounds` is (least, most) for all of them or for
        each by its name, None for no bound. `calendar` is "auto", or some of "hour", "weekday"
        and "yearday"; `freq` is one of pandas', and found out where it is not given. `time` is the
        column that holds the times, by default the first if it does and the index does not. A
        column of which fewer than `least_observed` numbers are known is refused: nobody could learn
        it. Those that `categorical` names are read as categories, whatever they hold.
        """
        for name in others:
            lookup(dict.fromkeys(cls.options), name, "field of a series")
        loaded = [tables.load_table(item) for item in items]
        known = tables.column_names(loaded[0])
        for number, one in enumerate(loaded):
            if tables.column_names(one) != known:
                raise CaesuraError(f"Table {number} has not the columns of the first.")
        if time is None:
            time = find_time_column(loaded[0]) if tables.is_frame(loaded[0]) else ""
        least = whole_number("least_observed", least_observed, 1)
        informing = chosen_names(covariates, known, "covariates")
        named = chosen_names(categorical, known, "categorical columns")
        filling = columns_to_fill(loaded, known, columns, named, [*informing, time], least)
        indices = [times_of(one, time) for one in loaded if tables.is_frame(one)]
        index = max((i for i in indices if i is not None), key=len, default=None)
        names = [*filling.numbers, *filling.levels, *informing]
        for name in named:
            if name not in names:
                raise CaesuraError(
                    f"The categorical column '{name}' is neither filled nor informs."
                )
        place_of = {name: place for place, name in enumerate(known)}
        places = [place_of[name] for name in names]
        levels = filling.levels | levels_that_inform(loaded, known, informing, named)
        standards = [
            _standard(loaded, place, name, least, name in levels)
            for name, place in zip(names, places, strict=True)
        ]
        limits = limits_of(bounds, filling.numbers)
        return cls(
            names=tuple(names),
            places=tuple(places),
            width=len(known),
            filled=len(filling.numbers) + len(filling.levels),
            locations=tuple(location for location, _ in standards),
            scales=tuple(scale for _, scale in standards),
            levels=tuple(levels.get(name, ()) for name in names),
            lowest=tuple(low for low, _ in limits),
            highest=tuple(high for _, high in limits),
            calendar=choose_calendar(index, calendar),
            freq=_frequency(index, freq),
            time=time,
            add_rows=add_rows,
        )

    @property
    def size(self) -> int:
        """Components of a frame: columns that are filled, covariates, and the calendar."""
        return sum(self._widths) + 2 * len(self.calendar)

    @property
    def informing(self) -> int:
        """The covariates and the calendar."""
        return self.size - sum(self._widths[: self.filled])

    @property
    def numbers(self) -> int:
        """How many of the columns that are filled, from the first, are no categories."""
        return self.filled - sum(map(bool, self.levels[: self.filled]))

    @property
    def categories(self) -> tuple[int, ...]:
        return tuple(map(len, self.levels[self.numbers : self.filled]))

    @property
    def places_in_frame(self) -> list[slice]:
        """The components of each column."""
        ends = np.cumsum([0, *self._widths]).tolist()
        return [slice(*pair) for pair in pairwise(ends)]

    def read(self, data: Any) -> Sequence:
        values = self._values(data)
        missing = np.isnan(values) & (np.arange(self.size) < self.size - self.informing)
        return Sequence(np.where(missing, np.float32(0), values), missing)

    def read_complete(self, data: Any) -> Sequence:
        """What is not observed is NaN."""
        values = self._values(data)
        return Sequence(values, np.zeros(values.shape, bool))

    def write(
        self, data: Any, missing: Bool[np.ndarray, "T D"], values: Shaped[np.ndarray, "T D"]
    ) -> Any:
        """The table with what is missing, and only that, replaced; its index as it was.

        Columns keep their types but for whole numbers with gaps, which become real ones.
        """
        table = tables.load_table(data)
        grid = self._grid(table)
        if missing.shape != (grid.steps, self.size):
            raise CaesuraError(
                f"`missing` has the shape {list(missing.shape)}, "
                f"but the series has {[grid.steps, self.size]}."
            )
        in_units = self.to_units(values)
        if self.add_rows and tables.is_frame(table) and grid.index is not None:
            table = with_all_rows(table, grid, self.time)
            grid = grid._replace(rows=np.arange(grid.steps))
        filled = table.copy()
        each = zip(self._places(table)[: self.filled], self.places_in_frame, strict=False)
        for number, (place, inside) in enumerate(each):
            where = missing[grid.rows, inside.start]
            if not where.any():
                continue
            if levels := self.levels[number]:
                shares = shares_of(values[grid.rows, inside][where].astype(np.float64))
                filled = with_levels_at(filled, place, where, shares.argmax(axis=1), levels)
            else:
                new = in_units[grid.rows, number][where]
                filled = with_numbers_at(filled, place, where, new, self.names[number])
        return filled

    def to_units(self, values: Shaped[np.ndarray, "*n T D"]) -> Float64[np.ndarray, "*n T columns"]:
        """The numbers that are filled, in the user's own units and within their bounds."""
        location, scale = (np.array(a[: self.numbers]) for a in (self.locations, self.scales))
        numbers = location + scale * values[..., : self.numbers]
        low = np.array([-np.inf if b is None else b for b in self.lowest])
        high = np.array([np.inf if b is None else b for b in self.highest])
        return np.clip(numbers, low, high)

    def likeliest(self, means: Float32[np.ndarray, "T D"]) -> Float32[np.ndarray, "T D"]:
        """Means of draws with the level that was drawn most often for each category."""
        likeliest = means.copy()
        for inside in self.places_in_frame[self.numbers : self.filled]:
            shares = shares_of(means[:, inside].astype(np.float64))
            chosen = shares.argmax(axis=1).astype(np.float64)
            likeliest[:, inside] = switches_of(chosen, shares.shape[1])
        return likeliest

    def shares(self, data: Any, means: Float32[np.ndarray, "T D"]) -> dict[str, Any]:
        """How often each level of each category was drawn for the rows of the user's table, whose
        form the answers have."""
        table = tables.load_table(data)
        grid, index = self._grid(table), getattr(table, "index", None)
        rows = grid.rows
        if self.add_rows and grid.index is not None:
            rows, index = np.arange(grid.steps), grid.index
        found, places = dict[str, Any](), self.places_in_frame
        for number in range(self.numbers, self.filled):
            share = shares_of(means[rows, places[number]].astype(np.float64))
            if tables.is_frame(table):
                share = type(table)(share, index=index, columns=list(self.levels[number]))
            found[self.names[number]] = share
        return found

    def log_scale(self, missing: Bool[np.ndarray, "T D"]) -> float:
        scales = np.array([scale or 1.0 for scale in self.scales[: self.numbers]])
        return float(np.sum(np.log(scales) * missing[:, : self.numbers].sum(axis=0)))

    def symbols(self) -> list[Any]:
        """Standardised numbers: one in each of the bins in which their distribution is told."""
        return CENTRES.tolist()

    def rows_of(self, data: Any) -> Shaped[np.ndarray, " rows"]:
        """Which step each row of the table is."""
        return self._grid(tables.load_table(data)).rows

    def _grid(self, table: Any) -> Grid:
        index = times_of(table, self.time) if tables.is_frame(table) else None
        if index is None:
            if self.freq or self.calendar:
                raise CaesuraError(
                    "The model has learnt from rows with times, but these rows have none."
                )
            return Grid(len(table), np.arange(len(table)))
        return even_grid(index, self.freq)

    def _places(self, table: Any) -> list[int]:
        """Where the table has the columns of a frame."""
        if not tables.is_frame(table):
            if table.shape[1] != self.width:
                raise CaesuraError(
                    f"The series has {table.shape[1]} columns, where the model knows {self.width}."
                )
            return list(self.places)
        known = {name: place for place, name in enumerate(tables.column_names(table))}
        for name in self.names:
            lookup(known, name, "column")
        return [known[name] for name in self.names]

    def _values(self, data: Any) -> Shaped[np.ndarray, "T D"]:
        """Standardised, with NaN for what is not observed."""
        table = tables.load_table(data)
        grid = self._grid(table)
        values = np.full((grid.steps, self.size), np.nan, np.float32)
        each = zip(self._places(table), self.places_in_frame, self.names, self.levels, strict=True)
        for number, (place, inside, name, levels) in enumerate(each):
            if levels:
                column = level_numbers(tables.column(table, place), levels, name)
                values[grid.rows, inside] = switches_of(column, len(levels))
            else:
                column = finite_numbers(table, place, name)
                scale = self.scales[number] or 1.0
                values[grid.rows, inside.start] = (column - self.locations[number]) / scale
            if number < self.numbers:
                check_bounds(column, name, self.lowest[number], self.highest[number])
            elif number >= self.filled:
                check_covariate(column, name)
        if self.calendar:
            values[:, sum(self._widths) :] = calendar_features(grid.moments(), self.calendar)
        return values

    @property
    def _widths(self) -> list[int]:
        """How many components each column has."""
        return [len(levels) - 1 if levels else 1 for levels in self.levels]


def _frequency(index: Any, asked: Any) -> str:
    if asked is None:
        return "" if index is None else infer_frequency(index)
    if index is None:
        raise CaesuraError("A frequency is for rows that have times.")
    return check_frequency(asked)


def _standard(
    loaded: List[Any], place: int, name: str, least: int, is_category: bool
) -> tuple[float, float]:
    """The location and the scale of a column; switches stay 0 and 1."""
    if is_category:
        count, what = observed_cells([tables.column(one, place) for one in loaded]), "levels"
    else:
        observed = np.concatenate([observed_numbers(one, place, name) for one in loaded])
        count, what = len(observed), "numbers"
    if count < least:
        raise CaesuraError(
            f"The column '{name}' has {count} observed {what}, too few to learn "
            f"from: at least {least} are needed, unless `least_observed` is less."
        )
    return (0.0, 1.0) if is_category else standard_of(name, observed)
