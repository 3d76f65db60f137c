"""Tables with some of their cells replaced; columns keep their types where these can hold it."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float64

from caesura.errors import CaesuraError
from caesura.kinds.series import table as tables
from caesura.kinds.series.levels import Level
from caesura.kinds.series.times import Grid

EXACT = 2**53  # beyond it, floating-point numbers are not all whole numbers


def with_numbers(
    column: Any, where: Bool[np.ndarray, " T"], new: Float64[np.ndarray, " n"], name: str
) -> Any:
    """Return the column with new numbers in some rows; whole numbers become real numbers."""
    if column.dtype.kind in "iu":
        if np.abs(tables.as_numbers(column)[~where]).max(initial=0) > EXACT:
            raise CaesuraError(
                f"The column '{name}' has whole numbers beyond 2^53, "
                "which cannot be stored beside the real numbers that fill its gaps."
            )
        column = column.astype("Float64" if hasattr(column.dtype, "na_value") else np.float64)
    # Of the type of the column, so that pandas has nothing to cast.
    dtype = f"f{column.dtype.itemsize}" if column.dtype.kind == "f" else "f8"
    return _with_cells(column, where, new.astype(dtype))


def with_levels(column: Any, where: Bool[np.ndarray, " T"], new: list[Level]) -> Any:
    """Return the column with new levels in some rows; of objects if it has no room for them."""
    if hasattr(column.dtype, "categories"):
        others = [level for level in dict.fromkeys(new) if level not in column.cat.categories]
        column = column.cat.add_categories(others)
    try:
        return _with_cells(column, where, new)
    except (TypeError, ValueError):
        return _with_cells(column.astype(object), where, new)


def _with_cells(column: Any, where: Bool[np.ndarray, " T"], new: Any) -> Any:
    column = column.copy()
    (column if isinstance(column, np.ndarray) else column.iloc)[where] = new
    return column


def with_column(table: Any, place: int, column: Any) -> Any:
    """Return the table, which may be altered, with another column; an array gets its type."""
    if tables.is_frame(table):
        table.isetitem(place, column)
    else:
        table = table.astype(column.dtype)
        table[:, place] = column
    return table


def with_all_rows(table: Any, grid: Grid, time: str) -> Any:
    """Return the table with a row for every step; what is new in it is missing."""
    if not time:
        return table.reindex(grid.index)
    rows = table.set_axis(grid.rows).reindex(range(grid.steps))
    rows[time] = grid.index
    return rows
