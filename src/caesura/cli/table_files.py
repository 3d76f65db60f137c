"""Filled tables as files: what was read from a CSV file is written as it stood there."""

from pathlib import Path
from typing import Any

from caesura.files import replacing
from caesura.kinds.table import read_csv

DIGITS = 9  # of what is new: more than a model of single precision knows


def write_table(output: Path, source: Path, given: Any, filled: Any) -> None:
    """The filled table, as CSV or as Parquet; `given` is what `source` held.

    Between CSV files, cells that were not empty keep the very characters that they had.
    """
    import pandas as pd

    csv = output.suffix.lower() == ".csv"
    if csv and source.suffix.lower() == ".csv" and len(given) == len(filled):
        text = read_csv(source, dtype=str, na_filter=False)
        for name in filled.columns:
            if name not in given.columns:
                text[name] = _words(filled[name])
                continue
            new = (given[name].isna() & filled[name].notna()).to_numpy()
            if new.any():
                text.loc[new, name] = _words(filled.loc[new, name])
        filled = text
    _write(output, filled, index=not isinstance(filled.index, pd.RangeIndex))


def write_samples(output: Path, tables: list[Any]) -> None:
    """The tables one below the other, with the number of each."""
    import pandas as pd

    numbered = [t.assign(sample=number) for number, t in enumerate(tables, 1)]
    index = not isinstance(tables[0].index, pd.RangeIndex)
    _write(output, pd.concat(numbered, ignore_index=not index), index=index)


def _words(column: Any) -> Any:
    return [f"{number:.{DIGITS}g}" if number == number else "" for number in column]


def _write(output: Path, table: Any, index: bool) -> None:
    with replacing(output) as part:
        if output.suffix.lower() == ".csv":
            table.to_csv(part, index=index)
        else:
            table.to_parquet(part, index=index or None)
