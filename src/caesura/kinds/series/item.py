"""A table, opened: on an even grid of steps, and with its gaps filled."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float32, Int, Shaped

from caesura.errors import CaesuraError, lookup
from caesura.kinds.base import Item
from caesura.kinds.series import table as tables
from caesura.kinds.series.csv_cells import fill_cells, plain_csv
from caesura.kinds.series.levels import shares_of, switches_of
from caesura.kinds.series.replacement import with_all_rows, with_column, with_levels, with_numbers
from caesura.kinds.series.times import Grid, calendar_features, even_grid, local_times, times_of
from caesura.kinds.series.view import view_table
from caesura.sequence import Sequence

if TYPE_CHECKING:
    from caesura.kinds.series.series import Series


@dataclass(frozen=True, eq=False)
class TableItem(Item):
    """A table on an even grid of steps, and the text of the CSV file that it was read from."""

    suffix: ClassVar[str] = ".csv"

    kind: "Series"
    original: Any
    text: str | None = None

    @cached_property
    def grid(self) -> Grid:
        """The steps, and which of them each row is."""
        index = times_of(self.original, self.kind.time) if tables.is_frame(self.original) else None
        if index is not None:
            return even_grid(index, self.kind.freq)
        if self.kind.freq or self.kind.calendar:
            raise CaesuraError(
                "The model was trained on rows with times, but these rows have none."
            )
        return Grid(len(self.original), np.arange(len(self.original)))

    @cached_property
    def places(self) -> list[int]:
        """Where the table has the columns of a frame."""
        if tables.is_frame(self.original):
            known = {name: place for place, name in enumerate(tables.column_names(self.original))}
            return [lookup(known, column.name, "column") for column in self.kind.columns]
        if (width := self.original.shape[1]) != self.kind.width:
            raise CaesuraError(
                f"The series has {width} columns, but the model knows {self.kind.width}."
            )
        return [column.place for column in self.kind.columns]

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
            return np.arange(len(self.original))
        return local_times(self.grid.index)[self.written_rows]

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
        cells = tables.columns(self.original)
        for column, place, inside in zip(kind.columns, self.places, kind.components, strict=True):
            found = column.read(cells[place])
            if column.levels:
                values[rows, inside] = switches_of(found, len(column.levels))
            else:
                values[rows, inside.start] = (found - column.location) / (column.scale or 1.0)
        if kind.calendar:
            waves = calendar_features(local_times(self.grid.index), kind.calendar)
            values[:, -waves.shape[1] :] = waves
        return Sequence(values, np.zeros(values.shape, bool))

    def write(self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]) -> Any:
        """Return the table with only the missing values replaced, and its index as it was.

        Columns keep their types, except that whole numbers with gaps become real numbers.
        """
        self._check_shape(missing)
        kind, rows, numbers = self.kind, self.written_rows, self.kind.to_units(values)
        filled = self.original.copy()
        if self._adds_rows:
            filled = with_all_rows(filled, self.grid, kind.time)
        each = zip(kind.filled, self.places, kind.components, strict=False)
        for number, (column, place, inside) in enumerate(each):
            where = missing[rows, inside.start]
            if not where.any():
                continue
            cells = tables.column(filled, place)
            if column.levels:
                shares = shares_of(values[rows, inside][where].astype(np.float64))
                levels = [column.levels[level] for level in shares.argmax(axis=1)]
                cells = with_levels(cells, where, levels)
            else:
                cells = with_numbers(cells, where, numbers[rows, number][where], column.name)
            filled = with_column(filled, place, cells)
        return filled

    def content(self, filled: Any) -> str:
        """Return the filled table as CSV text.

        If the table was read from CSV, its cells keep their characters, and numbers that fill its
        gaps have as many decimals as the observed ones of their column.
        """
        if not tables.is_frame(filled):
            import pandas as pd

            return plain_csv(pd.DataFrame(filled, columns=tables.column_names(filled)))
        if self.text is None or len(filled) not in (len(self.original), len(self.written_rows)):
            return plain_csv(filled)
        words, given = tables.read_words(self.text, self.original.shape[1]), self.original
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
        index = self.grid.index if self._adds_rows else getattr(self.original, "index", None)
        found: dict[str, Any] = {}
        for column, inside in zip(self.kind.filled, self.kind.components, strict=False):
            if column.levels:
                shares = shares_of(means[self.written_rows, inside].astype(np.float64))
                if index is not None:
                    shares = type(self.original)(shares, index=index, columns=list(column.levels))
                found[column.name] = shares
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
