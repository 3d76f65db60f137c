"""The folder of answers: Parquet files that are whole or not there, and what they were made by."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet

from caesura.errors import CaesuraError
from caesura.files import lock, make_folder, replacing, write_text
from caesura.scale.answers import Answer

FILLS = "fills"  # the folder of the Parquet files, which together are one table
RECORD = "filling.json"


@contextmanager
def open_results(folder: Path, record: dict[str, Any]) -> Iterator[pa.Array]:
    """The ids of what is filled already, in a folder that is ours for a while.

    What could not be filled in an earlier run is tried again: its reasons are forgotten.
    """
    make_folder(folder / FILLS)
    with lock(folder):
        _check_record(folder / RECORD, record)
        for file in (folder / FILLS).glob("failed-*.parquet"):
            file.unlink()
        yield _done(folder)


def write_answers(
    folder: Path, ids: Sequence[str], seeds: Sequence[int], answers: Sequence[Answer], fill: Any
) -> tuple[int, int]:
    """One file for what is filled and one for what is not, by names that follow from the rows.

    So a batch that is done twice leaves no row twice. How many rows are in each is the answer.
    """
    name = hashlib.sha256("\n".join(ids).encode()).hexdigest()[:16]
    columns = {"id": list(ids), "seed": list(seeds)}
    columns |= {field: [getattr(a, field) for a in answers] for field in Answer._fields}
    table = pa.table(columns, schema=_schema(fill))
    failed = pa.array([answer.reason is not None for answer in answers], pa.bool_())
    parts = {"part": table.filter(pc.invert(failed)), "failed": table.filter(failed)}
    for kind, rows in parts.items():
        if len(rows):
            with replacing(folder / FILLS / f"{kind}-{name}.parquet") as part:
                pa.parquet.write_table(rows, part)
    return len(parts["part"]), len(parts["failed"])


def _schema(fill: Any) -> pa.Schema:
    return pa.schema(
        {
            "id": pa.string(),
            "seed": pa.int64(),
            "fill": fill,
            "log_prob": pa.float64(),
            "standard_error": pa.float64(),
            "confidence": pa.list_(pa.float64()),
            "reason": pa.string(),
        }
    )


def _check_record(file: Path, record: dict[str, Any]) -> None:
    told = json.dumps(record, indent=2, sort_keys=True) + "\n"
    if not file.exists():
        write_text(file, told)
    elif file.read_text(encoding="utf-8") != told:
        raise CaesuraError(
            f"The folder '{file.parent}' holds fills by another model or with other options, "
            f"which its file '{file.name}' names: choose another folder."
        )


def _done(folder: Path) -> pa.Array:
    files = sorted(str(file) for file in (folder / FILLS).glob("part-*.parquet"))
    if not files:
        return pa.array([], pa.string())
    return pa.dataset.dataset(files).to_table(columns=["id"])["id"].combine_chunks()
