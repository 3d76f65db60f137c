"""Tables of numbers: pandas DataFrames and arrays, column by column, and files that hold them."""

import os
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from io import StringIO
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64

from caesura.errors import CaesuraError, extra
from caesura.files import cannot_read

MOST_CELLS = 10**8  # of a Parquet file, in which a few bytes can stand for any number of them


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table that was read from a file, with the text of the file if that is CSV.

    It can stand wherever a table can: with it, fills are written as the file writes its cells.
    """

    table: Any
    text: str | None = None


def is_frame(data: Any) -> bool:
    """Return whether it is a DataFrame, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def load_table(data: Any) -> Any:
    """Return a DataFrame or an array [rows, columns]; a path stands for what is in the file."""
    if isinstance(data, str | os.PathLike):
        data = read_table(Path(data))
    if isinstance(data, TableFile):
        return data.table
    if is_frame(data):
        _check_names(list(map(str, data.columns)))
        if not len(data):
            raise CaesuraError("The table has no rows.")
        return data
    try:
        array = np.asarray(data)
    except (TypeError, ValueError):
        raise CaesuraError("A series is a table of numbers, with rows of equal length.") from None
    if array.dtype == object:
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            sentence = "A series holds numbers, and None or NaN where one is missing."
            raise CaesuraError(sentence) from None
    if array.dtype.kind not in "biuf":
        raise CaesuraError(f"A series holds numbers, not {array.dtype}.")
    if array.ndim != 2:
        raise CaesuraError(f"A series has the shape [steps, columns], not {list(array.shape)}.")
    if not array.size:
        raise CaesuraError("The series is empty.")
    return array


def column_names(table: Any) -> list[str]:
    """Return the names of the columns; those of an array are x0, x1 and so on."""
    if is_frame(table):
        return list(map(str, table.columns))
    return [f"x{number}" for number in range(table.shape[1])]


def column(table: Any, place: int) -> Any:
    """Return a column as it is kept: a pandas Series or an array."""
    return table.iloc[:, place] if is_frame(table) else table[:, place]


def columns(table: Any) -> list[Any]:
    """Return all columns, each as `column` does; of many columns that takes less time."""
    return [own for _, own in table.items()] if is_frame(table) else list(table.T)


def numbers(column: Any) -> Float64[np.ndarray, " T"] | None:
    """Return the column as real numbers, NaN where something is missing.

    None if it holds anything else: words, dates, categories or truth values.
    """
    if column.dtype == object:
        known = np.asarray(~missing(column))
        if not all(isinstance(v, Real) and not isinstance(v, bool) for v in column[known]):
            return None
    elif column.dtype.kind not in "iuf":
        return None
    try:
        return as_numbers(column)
    except OverflowError:  # a whole number of more than 308 digits
        return None


def as_numbers(column: Any) -> Float64[np.ndarray, " T"]:
    """Return the column as numbers; anything else in it raises an error."""
    if isinstance(column, np.ndarray):
        return column.astype(np.float64)
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def missing(column: Any) -> Any:
    """Return where the column holds nothing."""
    return np.isnan(column) if isinstance(column, np.ndarray) else column.isna().to_numpy()


def mixes(column: Any) -> str | None:
    """Return a word of a column that otherwise holds numbers, if it is such a column."""
    if isinstance(column, np.ndarray) or column.dtype.kind not in "OUT":
        return None
    words = column[~missing(column)]
    is_number = [_is_number(word) for word in words]
    return str(words.iloc[is_number.index(False)]) if len(set(is_number)) == 2 else None


def read_table(path: Path) -> TableFile:
    """Return the table in a CSV or Parquet file, which is read once.

    Raises
    ------
    FileMissingError
        If there is no such file.
    ExtraMissingError
        If pandas is not installed.
    CaesuraError
        If the file holds no table.
    """
    pd = _pandas()
    if os.path.exists(path) and not os.path.isfile(path):  # a device might never end
        raise CaesuraError(f"Cannot read '{path}': it is not a file.")
    try:
        if path.suffix.lower() != ".parquet":
            return parse_csv(path.read_bytes().decode("utf-8-sig"))
        _check_parquet(path)
        return TableFile(load_table(pd.read_parquet(path)))
    except CaesuraError as error:
        raise CaesuraError(f"The file '{path}' cannot be used: {error}") from None
    except OSError as error:
        raise cannot_read(path, error) from error
    except UnicodeDecodeError as error:
        raise CaesuraError(
            f"The file '{path}' is not UTF-8 text: its byte {error.start} cannot be read."
        ) from error
    except Exception as error:  # a broken file makes the parsers raise almost anything
        raise CaesuraError(f"The file '{path}' is not a table that pandas can read.") from error


def parse_csv(text: str) -> TableFile:
    """Return the table in the text of a CSV file."""
    _pandas()
    try:
        return TableFile(load_table(read_csv(text)), text)
    except CaesuraError:
        raise
    except Exception:  # broken text makes the parser raise almost anything
        raise CaesuraError("The text is not a table in CSV that pandas can read.") from None


def read_csv(text: str) -> Any:
    """Return the DataFrame in CSV text; if it has one column, an empty line is a missing cell."""
    pd = _pandas()
    header = pd.read_csv(StringIO(text), nrows=1, header=None, dtype=str, na_filter=False)
    names = header.iloc[0].tolist()
    _check_names([name for name in names if name])  # pandas would give twins other names
    with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):
        try:
            return _parse_csv(text, len(names))
        except pd.errors.ParserWarning:
            raise CaesuraError(
                f"A row has more cells than the header, which has {len(names)}."
            ) from None


def read_words(text: str, width: int) -> Any:
    """Return the cells of CSV text as they are written there, once `read_csv` has read it."""
    # To pandas, an empty cell after the last column is one too many if it is read as a word.
    with warnings.catch_warnings(action="ignore", category=_pandas().errors.ParserWarning):
        return _parse_csv(text, width, dtype=str, na_filter=False)


def _parse_csv(text: str, width: int, **options: Any) -> Any:
    options |= {"skip_blank_lines": width > 1, "index_col": False}
    return _pandas().read_csv(StringIO(text), **options)


def _pandas() -> Any:
    with extra("series", "Tables in files need pandas"):
        import pandas
    return pandas


def _check_names(names: list[str]) -> None:
    for name, count in Counter(names).most_common(1):
        if count > 1:
            raise CaesuraError(f"The table has two columns called '{name}'.")


def _check_parquet(path: Path) -> None:
    from pyarrow.parquet import read_metadata

    shape = read_metadata(path)
    if shape.num_rows * shape.num_columns > MOST_CELLS:
        raise CaesuraError(f"It has {shape.num_rows} rows, too many to be read at once.")


def _is_number(word: Any) -> bool:
    try:
        float(word)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
