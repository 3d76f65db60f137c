"""Tables of other libraries, such as polars: as pandas DataFrames, and back in their own form."""

from typing import Any

import numpy as np

from caesura.errors import extra
from caesura.kinds.series.table import is_frame


def is_foreign(table: Any) -> bool:
    """Return whether it is a table of another library than pandas, such as polars or PyArrow."""
    known = hasattr(table, "__arrow_c_stream__") or hasattr(table, "__narwhals_dataframe__")
    return known and hasattr(table, "columns") and not is_frame(table)


def to_pandas(table: Any) -> Any:
    """Return the table as a pandas DataFrame; what is null there is missing here."""
    return _narwhals().from_native(table, eager_only=True).to_pandas()


def like(table: Any, filled: Any) -> Any:
    """Return a filled DataFrame in the form of the table that it was made of.

    Only the missing cells are replaced, so the others come back bit for bit. Columns keep their
    types, except that whole numbers with gaps become real numbers.
    """
    nw = _narwhals()
    given = nw.from_native(table, eager_only=True)
    if list(filled.columns) != given.columns or len(filled) != len(given):  # rows or levels
        arrow = nw.from_native(filled.reset_index(drop=True), eager_only=True).to_arrow()
        return nw.from_arrow(arrow, backend=given.implementation).to_native()
    columns = []
    for name in given.columns:
        column = given[name]
        missing = column.is_null()
        if column.dtype.is_float():
            missing = missing | column.fill_null(0.0).is_nan()
        where = np.flatnonzero(missing.to_numpy() & filled[name].notna().to_numpy())
        columns.append(_with(column, where, filled[name].iloc[where]) if len(where) else column)
    return given.with_columns(*columns).to_native()


def _with(column: Any, where: Any, values: Any) -> Any:
    """The column with other values at some places."""
    nw, kept = _narwhals(), column.dtype
    if kept.is_integer():
        # PyArrow refuses to cast whole numbers that a real number holds only roughly.
        kept, numbers = nw.Float64(), column.to_list()
        real = [None if number is None else float(number) for number in numbers]
        column = nw.new_series(column.name, real, kept, backend=column.implementation)
    # Words are put among words; a category gets its type back afterwards.
    among = nw.String() if kept in (nw.Categorical, nw.Enum) else kept
    given = nw.new_series(column.name, values.tolist(), among, backend=column.implementation)
    return column.cast(among).scatter(where.tolist(), given).cast(kept)


def _narwhals() -> Any:
    with extra("polars", "Tables of polars need narwhals"):
        import narwhals
    return narwhals
