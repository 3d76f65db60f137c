"""Tables of numbers: pandas DataFrames and arrays, column by column, and files that hold them."""

import os
import sys
import warnings
from collections import Counter
from io import StringIO
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64, Shaped

from caesura.errors import CaesuraError

SUFFIXES = {".csv", ".parquet"}
MOST_CELLS = 10**8  # of a Parquet file, in which a few bytes can stand for any number of them


def is_frame(data: Any) -> bool:
    """Whether it is a DataFrame; who has none need not have pandas either."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def load_table(data: Any) -> Any:
    """A DataFrame or an array [rows, columns]; a path stands for what is in the file."""
    if isinstance(data, (str, os.PathLike)):
        return read_table(Path(data))
    if is_frame(data):
        _check_names(list(map(str, data.columns)))
        if not len(data):
            raise CaesuraError("The table has no rows.")
        return data
    try:
        array = np.asarray(data)
    except (TypeError, ValueError):
        raise CaesuraError("A series is a table of numbers, each row as long.") from None
    if array.dtype == object:
        array = _numbers_of_objects(array)
    if array.dtype.kind not in "biuf":
        raise CaesuraError(f"A series holds numbers, not {array.dtype}.")
    if array.ndim != 2:
        raise CaesuraError(f"A series has the shape [steps, columns], not {list(array.shape)}.")
    if not array.size:
        raise CaesuraError("The series is empty.")
    return array


def column_names(table: Any) -> list[str]:
    """The columns' own names, or x0, x1 and so on."""
    if is_frame(table):
        return list(map(str, table.columns))
    return [f"x{number}" for number in range(table.shape[1])]


def column(table: Any, place: int) -> Any:
    """A column as it is kept: a pandas Series or an array."""
    return table.iloc[:, place] if is_frame(table) else table[:, place]


def numbers(column: Any) -> Float64[np.ndarray, " T"] | None:
    """The column as real numbers, NaN where something is missing; None if it holds anything else.

    So do words, dates, categories and truth values.
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
    """The column as numbers; what is none raises."""
    if isinstance(column, np.ndarray):
        return column.astype(np.float64)
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def missing(column: Any) -> Any:
    """Where the column holds nothing."""
    if isinstance(column, np.ndarray):
        return np.array([value is None or value != value for value in column], bool)
    return column.isna().to_numpy()


def float_type(column: Any) -> Any:
    """The type of new numbers for a column, which no cast shall complain of."""
    return np.dtype(f"f{column.dtype.itemsize}" if column.dtype.kind == "f" else "f8")


def mixes(column: Any) -> str | None:
    """A word of a column that else holds numbers, if it is such a one."""
    if isinstance(column, np.ndarray) or column.dtype.kind not in "OUT":
        return None
    words = column[~missing(column)]
    parsed = [_is_number(word) for word in words]
    return str(words.iloc[parsed.index(False)]) if any(parsed) and not all(parsed) else None


def read_table(path: Path) -> Any:
    """The DataFrame in a CSV or Parquet file."""
    try:
        import pandas as pd
    except ImportError:
        raise CaesuraError(
            "Tables in files need pandas: `pip install 'caesura[series]'` installs it."
        ) from None
    if os.path.exists(path) and not os.path.isfile(path):  # a device might never end
        raise CaesuraError(f"Cannot read '{path}': it is not a file.")
    try:
        if path.suffix.lower() == ".parquet":
            _check_parquet(path)
            return load_table(pd.read_parquet(path))
        return load_table(read_csv(path))
    except CaesuraError as error:
        raise CaesuraError(f"The file '{path}' cannot be used: {error}") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CaesuraError(f"Cannot read '{path}': {reason}.") from error
    except Exception as error:  # a broken file makes the parsers raise almost anything
        raise CaesuraError(f"The file '{path}' is no table that pandas can read.") from error


def read_csv(source: Path | StringIO, **options: Any) -> Any:
    """The DataFrame in a CSV file; where it has but one column, an empty line is a missing cell."""
    import pandas as pd

    # Not unpacked whatever its name ends with: a small file could unpack to more than any memory.
    options |= {"compression": None}
    as_words = options | {"dtype": str, "na_filter": False}
    header = pd.read_csv(source, nrows=1, header=None, **as_words)
    names = header.iloc[0].tolist()
    _check_names([name for name in names if name])  # pandas would give twins other names
    if isinstance(source, StringIO):
        source.seek(0)
    options |= {"skip_blank_lines": len(names) > 1, "index_col": False}
    with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):
        try:
            return pd.read_csv(source, **options)
        except pd.errors.ParserWarning:
            raise CaesuraError(f"Rows have more cells than the header's {len(names)}.") from None


def parse_csv(text: str) -> Any:
    """The DataFrame in the text of a CSV file."""
    try:
        return load_table(read_csv(StringIO(text)))
    except CaesuraError:
        raise
    except Exception:  # broken text makes the parser raise almost anything
        raise CaesuraError("That is no table in CSV that pandas can read.") from None


def find_tables(paths: Any) -> list[Path]:
    """Files, sorted: those that are named, and the *.csv and *.parquet in folders."""
    found: set[Path] = set()
    for path in map(Path, paths):
        if not os.path.exists(path):
            raise CaesuraError(f"There is no file or folder '{path}'.")
        if not os.path.isdir(path):
            found.add(path)
            continue
        inside = {
            file
            for file in path.rglob("*")
            if file.suffix.lower() in SUFFIXES and file.is_file() and file.name[0] != "."
        }
        if not inside:
            raise CaesuraError(f"The folder '{path}' holds no *.csv or *.parquet file.")
        found |= inside
    return sorted(found, key=Path.as_posix)


def _check_names(names: list[str]) -> None:
    twice, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise CaesuraError(f"The table has two columns called '{twice}'.")


def _check_parquet(path: Path) -> None:
    from pyarrow.parquet import read_metadata

    told = read_metadata(path)
    if told.num_rows * told.num_columns > MOST_CELLS:
        raise CaesuraError(f"It has {told.num_rows} rows, too many to be read at once.")


def _is_number(word: Any) -> bool:
    try:
        float(word)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _numbers_of_objects(array: Shaped[np.ndarray, "..."]) -> Float64[np.ndarray, "..."]:
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise CaesuraError(
            "A series holds numbers, and None or NaN where one is missing."
        ) from None
