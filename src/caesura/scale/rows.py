"""Rows: an id, and the content of a file to fill, or the path of one."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset

from caesura.errors import CaesuraError, lookup
from caesura.kinds import KINDS
from caesura.kinds.base import Item, Kind

ID, PATH, DATA, MISSING = "id", "path", "data", "missing"


def files_as_rows(kind: str, folder: Path) -> pa.Table:
    """Return a row for each file of this kind in a directory; its id is its path there."""
    files = KINDS[kind].find([folder])
    names = [os.fsencode(file.relative_to(folder).as_posix()) for file in files]
    return pa.table(
        {
            ID: [name.decode("utf-8", "backslashreplace") for name in names],
            PATH: pa.array([os.fsencode(file.absolute()) for file in files], pa.binary()),
        }
    )


def parquet_columns(source: Path, id_column: str, data_column: str) -> dict[str, str]:
    """Return the columns of Parquet files that make up rows, each with its name here."""
    try:
        known = pyarrow.dataset.dataset(source, format="parquet").schema.names
    except (OSError, pa.ArrowException) as error:
        raise CaesuraError(f"The Parquet data in '{source}' cannot be read.") from error
    columns = {id_column: ID, data_column: DATA}
    for name in columns:
        lookup(dict.fromkeys(known), name, "column")
    return columns | ({MISSING: MISSING} if MISSING in known else {})


def parquet_as_rows(source: Path, columns: dict[str, str], batch: int) -> Iterator[pa.Table]:
    """Yield the rows of Parquet files, `batch` at a time."""
    data = pyarrow.dataset.dataset(source, format="parquet")
    for rows in data.to_batches(columns=list(columns), batch_size=batch):
        yield pa.Table.from_batches([rows]).rename_columns(list(columns.values()))


def check_columns(names: list[str]) -> None:
    """Raise an error if rows with these columns cannot be filled."""
    if ID not in names or not {PATH, DATA} & set(names):
        raise CaesuraError(
            f"Rows need the columns '{ID}' and '{DATA}', or '{ID}' and '{PATH}', but have "
            f"{', '.join(names) or 'none'}: rename them."
        )


def not_done(rows: pa.Table, done: pa.Array) -> pa.Table:
    """Return the rows whose ids, as strings, are not among those that are done."""
    if rows[ID].null_count:
        raise CaesuraError("A row has no id.")
    rows = rows.set_column(rows.column_names.index(ID), ID, rows[ID].cast(pa.string()))
    return rows.filter(pc.invert(pc.is_in(rows[ID], value_set=done)))


def open_row(kind: Kind, row: Mapping[str, Any]) -> Item:
    """Return the data of one row, read once: from its file, or from what it holds."""
    if row.get(PATH) is not None:
        return kind.open(Path(os.fsdecode(row[PATH])))
    content, wanted = row.get(DATA), bytes if kind.binary else str
    if not isinstance(content, wanted):
        raise CaesuraError(f"The row holds no {'bytes' if kind.binary else 'text'} to fill.")
    return kind.open_content(content)
