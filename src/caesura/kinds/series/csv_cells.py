"""The cells of a CSV file: observed ones keep their characters, fills are written like them."""

import re
from collections.abc import Iterable
from typing import Any

DIGITS = 9  # significant digits of a new number: more than a model of single precision knows
MORE_DECIMALS = 2  # of a quantile than its column has


def fill_cells(words: Any, given: Any, filled: Any) -> Any:
    """Return a table of words: the cells as they were, and the fills where there were none.

    Parameters
    ----------
    words
        The cells of the file as they were written.
    given
        The same cells as values.
    filled
        The filled table, of as many rows. Columns that the file does not have are added; "a_q0.9"
        is a quantile of the column "a".
    """
    cells = words.copy()
    for name in filled.columns:
        if name in given.columns:
            new = (given[name].isna() & filled[name].notna()).to_numpy()
            if not new.any():
                continue
            # True may be written as TRUE.
            as_written = dict(zip(given[name].tolist(), words[name], strict=True))
            decimals = _decimals(words[name], given[name])
            cells.loc[new, name] = _written(filled.loc[new, name], as_written, decimals)
        else:
            quantile = re.fullmatch(r"(.+)_q[\d.e-]+", str(name), re.DOTALL)
            column, decimals = quantile[1] if quantile else None, None
            if column in given.columns:
                decimals = _decimals(words[column], given[column], MORE_DECIMALS)
            cells[name] = _written(filled[name], {}, decimals)
    return cells


def plain_csv(table: Any) -> str:
    """Return a DataFrame as CSV text; its index is left out if it only counts the rows."""
    import pandas as pd

    return str(table.to_csv(index=not isinstance(table.index, pd.RangeIndex)))


def count_decimals(cells: Iterable[str]) -> int | None:
    """Return the largest number of decimals among written numbers.

    None if there is no number, or if they have more decimals than a model knows: then they were
    hardly written by hand, but printed in full.

    Examples
    --------
    >>> count_decimals(["1.50", "+7", "1e3"])
    2
    >>> count_decimals(["12", "7"])
    0
    >>> count_decimals(["0.30000000000000004"])
    """
    counts = [0.0]
    for cell in cells:
        mantissa, _, exponent = cell.strip().lower().partition("e")
        counts.append(len(mantissa.partition(".")[2]) - float(exponent or 0))
    most = max(counts)
    return None if len(counts) == 1 or most > DIGITS else int(most)


def _decimals(words: Any, column: Any, more: int = 0) -> int | None:
    if column.dtype.kind not in "iuf":
        return None
    decimals = count_decimals(words[column.notna().to_numpy()])
    return None if decimals is None else decimals + more


def _written(column: Any, as_written: dict[Any, str], decimals: int | None) -> list[str]:
    each = zip(column, column.isna(), strict=True)
    return ["" if nothing else _word(value, as_written, decimals) for value, nothing in each]


def _word(value: Any, as_written: dict[Any, str], decimals: int | None) -> str:
    if isinstance(value, bool | str):
        return as_written.get(value, str(value))
    if decimals is None:
        return f"{value:.{DIGITS}g}"
    word = f"{value:.{decimals}f}"
    return word if float(word) else word.removeprefix("-")  # there is no -0.00
