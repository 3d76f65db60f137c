"""Tables as JSON values that a page can draw."""

from typing import Any

import numpy as np
from jaxtyping import Float64

from caesura.errors import CaesuraError
from caesura.kinds.series import table as tables
from caesura.kinds.series.columns import finite_numbers
from caesura.kinds.series.times import times_of


def view_table(table: Any, time: str = "") -> dict[str, Any]:
    """Return the columns of numbers, when their rows were, and the names of the other columns.

    Parameters
    ----------
    table
        A DataFrame or an array.
    time
        The column that holds the times; if empty, the index may hold them.

    Returns
    -------
    dict
        "time": the column that holds the times, or None; "x": the seconds since 1970 by the clock
        of the table, or the number, of each row; "columns": for each column of numbers its "name"
        and "values", None where one is missing; "others": the names of the other columns.

    Raises
    ------
    CaesuraError
        If no column holds numbers.
    """
    names = tables.column_names(table)
    index = times_of(table, time) if tables.is_frame(table) else None
    x = np.arange(len(table), dtype=float) if index is None else _seconds(index)
    columns = [
        {"name": name, "values": _values(finite_numbers(table, place, name))}
        for place, name in enumerate(names)
        if name != time and _has_numbers(tables.column(table, place))
    ]
    if not columns:
        raise CaesuraError("The table has no column of numbers.")
    shown = {time, *(column["name"] for column in columns)}
    others = [name for name in names if name not in shown]
    return {"time": time or None, "x": x.tolist(), "columns": columns, "others": others}


def _seconds(index: Any) -> Float64[np.ndarray, " rows"]:
    return index.tz_localize(None).to_numpy().astype("datetime64[ms]").astype(np.int64) / 1000


def _has_numbers(column: Any) -> bool:
    found = tables.numbers(column)
    return found is not None and not np.isnan(found).all()


def _values(found: Float64[np.ndarray, " rows"]) -> list[float | None]:
    return [None if number != number else number for number in found.tolist()]
