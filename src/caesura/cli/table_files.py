"""Filled tables as files: what was read from a CSV file is written as it stood there."""

from pathlib import Path
from typing import Any

from caesura.files import replacing
from caesura.kinds.series.csv_cells import fill_cells


def write_table(output: Path, source: Path, given: Any, filled: Any) -> None:
    """The filled table, as CSV or as Parquet; `given` is what `source` held.

    Between CSV files, cells that were not empty keep the very characters that they had.
    """
    import pandas as pd

    csv = output.suffix.lower() == ".csv"
    if csv and source.suffix.lower() == ".csv" and len(given) == len(filled):
        filled = fill_cells(source, given, filled)
    _write(output, filled, index=not isinstance(filled.index, pd.RangeIndex))


def write_samples(output: Path, tables: list[Any]) -> None:
    """The tables one below the other, with the number of each."""
    import pandas as pd

    numbered = [t.assign(sample=number) for number, t in enumerate(tables, 1)]
    index = not isinstance(tables[0].index, pd.RangeIndex)
    _write(output, pd.concat(numbered, ignore_index=not index), index=index)


def _write(output: Path, table: Any, index: bool) -> None:
    with replacing(output) as part:
        if output.suffix.lower() == ".csv":
            table.to_csv(part, index=index)
        else:
            table.to_parquet(part, index=index or None)
