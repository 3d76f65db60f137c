"""Tables as JSON values that a page can draw."""

from typing import Any

import numpy as np

from caesura.errors import CaesuraError
from caesura.kinds.series import table as tables
from caesura.kinds.series.columns import finite_numbers
from caesura.kinds.series.times import local_times, times_of


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
    x = np.arange(len(table), dtype=float)
    if tables.is_frame(table) and (index := times_of(table, time)) is not None:
        x = local_times(index).astype("datetime64[ms]").astype(np.int64) / 1000
    columns, others = [], []
    for place, name in enumerate(tables.column_names(table)):
        column = tables.column(table, place)
        found = None if name == time else tables.numbers(column)
        if found is not None and not np.isnan(found).all():
            values = [None if v != v else v for v in finite_numbers(column, name).tolist()]
            columns.append({"name": name, "values": values})
        elif name != time:
            others.append(name)
    if not columns:
        raise CaesuraError("The table has no column of numbers.")
    return {"time": time or None, "x": x.tolist(), "columns": columns, "others": others}
