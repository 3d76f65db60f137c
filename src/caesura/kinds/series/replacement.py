"""Tables with some of their cells replaced; columns keep their types where these can hold it."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int

from caesura.errors import CaesuraError
from caesura.kinds.series import table as tables
from caesura.kinds.series.levels import Level, with_levels
from caesura.kinds.series.times import Grid

EXACT = 2**53  # beyond it, floating-point numbers are not all whole numbers


def with_numbers_at(
    table: Any, place: int, where: Bool[np.ndarray, " T"], new: Float64[np.ndarray, " n"], name: str
) -> Any:
    """Return the table with other numbers in some rows of one column."""
    column = tables.column(table, place)
    if column.dtype.kind in "iu":
        known = tables.as_numbers(column)[~where]
        if np.abs(known).max(initial=0) > EXACT:
            raise CaesuraError(
                f"The column '{name}' has whole numbers beyond 2^53, "
                "which cannot stand beside the real numbers that fill its gaps."
            )
        column = column.astype("Float64" if hasattr(column.dtype, "na_value") else np.float64)
    if not tables.is_frame(table):
        table = table.astype(column.dtype)
        table[where, place] = new
        return table
    column = column.copy()
    column.iloc[np.flatnonzero(where)] = new.astype(tables.float_type(column))
    table.isetitem(place, column)
    return table


def with_levels_at(
    table: Any,
    place: int,
    where: Bool[np.ndarray, " T"],
    numbers: Int[np.ndarray, " n"],
    levels: tuple[Level, ...],
) -> Any:
    """Return the table with other levels in some rows of one column."""
    if not tables.is_frame(table):
        table[where, place] = np.array(levels)[numbers]
        return table
    table.isetitem(place, with_levels(tables.column(table, place), where, numbers, levels))
    return table


def with_all_rows(table: Any, grid: Grid, time: str) -> Any:
    """Return the table with a row for every step; what is new in it is missing."""
    if not time:
        return table.reindex(grid.index)
    rows = table.set_axis(grid.rows).reindex(range(grid.steps))
    rows[time] = grid.index
    return rows
