"""The directory of answers: Parquet files, each complete or absent, and how they were made."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet

from caesura.errors import CaesuraError
from caesura.files import lock, make_folder, replacing, write_text


class Answer(NamedTuple):
    """What becomes of a row: a fill and how sure it is, or the reason why there is none."""

    fill: str | bytes | None = None
    log_prob: float | None = None
    standard_error: float | None = None
    confidence: list[float] | None = None
    reason: str | None = None


FILLS = "fills"  # the directory of the Parquet files, which together are one table
RECORD = "run.json"


@contextmanager
def open_results(folder: Path, record: dict[str, Any]) -> Iterator[pa.Array]:
    """Lock the directory, and yield the ids of the rows that are filled already.

    Rows that failed in an earlier run are tried again: their reasons are removed.
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
    """Write one file for the rows that were filled and one for those that failed.

    Their names follow from the ids, so a batch that is done twice leaves no row twice. Return how
    many rows are in each.
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
            f"The directory '{file.parent}' holds fills by another model or with other options, "
            f"which are in its file '{file.name}': choose another directory."
        )


def _done(folder: Path) -> pa.Array:
    files = sorted(str(file) for file in (folder / FILLS).glob("part-*.parquet"))
    if not files:
        return pa.array([], pa.string())
    return pa.dataset.dataset(files).to_table(columns=["id"])["id"].combine_chunks()
