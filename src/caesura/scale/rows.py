"""Rows: an id, and a text, a MIDI file or a table in CSV, or the path of such a file."""

import os
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset

from caesura.errors import CaesuraError, lookup
from caesura.kinds import KINDS, Composition, Kind, Music, Series, Song
from caesura.kinds.series.table import parse_csv
from caesura.kinds.text.files import find_files

ID, PATH, DATA, MISSING = "id", "path", "data", "missing"


class Asked(NamedTuple):
    """What `Filler.fill` takes."""

    data: Any
    missing: Any


def files_as_rows(kind: str, folder: Path) -> pa.Table:
    """The files of a folder that are of this kind, by their paths inside it."""
    files = list(find_files(folder)) if kind == "text" else KINDS[kind].find([folder])
    names = [os.fsencode(file.relative_to(folder).as_posix()) for file in files]
    return pa.table(
        {
            ID: [name.decode("utf-8", "backslashreplace") for name in names],
            PATH: pa.array([os.fsencode(file.absolute()) for file in files], pa.binary()),
        }
    )


def parquet_columns(source: Path, id_column: str, data_column: str) -> dict[str, str]:
    """The columns of Parquet files that make up rows, each with the name that it has here."""
    try:
        known = pyarrow.dataset.dataset(source, format="parquet").schema.names
    except (OSError, pa.ArrowException) as error:
        raise CaesuraError(f"The Parquet data in '{source}' cannot be read.") from error
    columns = {id_column: ID, data_column: DATA}
    for name in columns:
        lookup(dict.fromkeys(known), name, "column")
    return columns | ({MISSING: MISSING} if MISSING in known else {})


def parquet_as_rows(source: Path, columns: dict[str, str], batch: int) -> Iterator[pa.Table]:
    """So many rows of Parquet files at a time."""
    data = pyarrow.dataset.dataset(source, format="parquet")
    for rows in data.to_batches(columns=list(columns), batch_size=batch):
        yield pa.Table.from_batches([rows]).rename_columns(list(columns.values()))


def check_columns(names: list[str]) -> None:
    """One sentence if rows with these columns cannot be filled."""
    if ID not in names or not {PATH, DATA} & set(names):
        raise CaesuraError(
            f"Rows to be filled have the columns '{ID}' and '{DATA}', or '{ID}' and '{PATH}', "
            f"not {', '.join(names) or 'none'}: rename them."
        )


def not_done(rows: pa.Table, done: pa.Array) -> pa.Table:
    """The rows whose ids, as words, are not among those."""
    if rows[ID].null_count:
        raise CaesuraError("A row has no id.")
    rows = rows.set_column(rows.column_names.index(ID), ID, rows[ID].cast(pa.string()))
    return rows.filter(pc.invert(pc.is_in(rows[ID], value_set=done)))


def read_row(kind: Kind, row: dict[str, Any], composition: Composition | None) -> Asked:
    """What is asked by one row."""
    data, missing = _data(kind, row), row.get(MISSING)
    if missing is None:
        if not isinstance(kind, Music):
            return Asked(data, None)
        arrangement = (composition or Composition()).arrange(kind, data)
        return Asked(arrangement.music, arrangement.missing)
    if isinstance(kind, Series):
        raise CaesuraError("In a table empty cells are missing, not the steps of a list.")
    if composition is not None:
        raise CaesuraError("What is missing is said of all songs and of this one: one must do.")
    return Asked(data, missing)


def _data(kind: Kind, row: dict[str, Any]) -> Any:
    if row.get(PATH) is not None:
        return Path(os.fsdecode(row[PATH]))
    data = row.get(DATA)
    if isinstance(kind, Music):
        if not isinstance(data, bytes):
            raise CaesuraError("The row holds no bytes of a MIDI file.")
        return Song.from_bytes(data)
    if not isinstance(data, str):
        raise CaesuraError("The row holds no text.")
    return parse_csv(data) if isinstance(kind, Series) else data


def csv_of(row: dict[str, Any]) -> Path | StringIO | None:
    """The CSV that the row's table was read from, if it was."""
    if row.get(PATH) is None:
        return StringIO(row[DATA])
    path = Path(os.fsdecode(row[PATH]))
    return path if path.suffix.lower() == ".csv" else None
