"""`caesura fill … --engine`: many files, or the rows of Parquet files, into one directory."""

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caesura.cli.filling import Asked, check_kind
from caesura.cli.options import Engine
from caesura.cli.output import answer_json, note
from caesura.errors import CaesuraError, FileMissingError, extra
from caesura.pretrained import NAMES, find_model

if TYPE_CHECKING:
    from caesura.scale import Summary


def fill_many(kind: str, model: str, source: Path, asked: Asked, **more: Any) -> None:
    """Fill everything, and answer with the directory of the answers.

    `more` are other fields of `caesura.scale.Run`.
    """
    output = _check_places(source, asked.output)
    if asked.engine is Engine.RAY:  # before pyarrow, so that one message names all that is needed
        with extra("ray", "--engine ray needs Ray"):
            import ray.data  # noqa: F401
    from caesura.scale import Run, fill_locally
    from caesura.training.progress import counting

    check_kind(kind, model)
    place = model if model in NAMES else str(Path(find_model(model)).absolute())
    run = Run(place, asked.samples, asked.strategy, asked.seed, **more)
    with counting("rows done") as count:

        def report(so_far: "Summary") -> None:
            count(sum(so_far), None, f"{so_far.failed} failed, {so_far.skipped} skipped")

        if asked.engine is Engine.RAY:
            from caesura.scale.on_ray import fill_on_ray

            rows = _ray_rows(kind, source, asked)
            summary = fill_on_ray(rows, run, output, workers=asked.workers, report=report)
        else:
            rows = _local_rows(kind, source, asked)
            summary = fill_locally(rows, run, output, workers=asked.workers, report=report)
    if summary.failed:
        note(f"{summary.failed} could not be filled: the column 'reason' says why.")
    if asked.json:
        answer_json({"folder": str(output), **summary._asdict()})
    else:
        print(output / "fills")


def _check_places(source: Path, output: Path | None) -> Path:
    if output is None:
        raise CaesuraError(
            "The option --engine needs a directory for the answers: specify it with -o."
        )
    if not os.path.exists(source):
        raise FileMissingError(f"There is no file or directory '{source}'.")
    if source.resolve() in (output.resolve(), *output.resolve().parents):
        raise CaesuraError(f"The output '{output}' is inside the input: choose another directory.")
    return output


def _columns(kind: str, source: Path, asked: Asked) -> dict[str, str] | None:
    """Return the columns to read of Parquet files; None if each file is to be filled.

    In a directory of tables, each Parquet file is a table.
    """
    from caesura.kinds import KINDS
    from caesura.scale.rows import parquet_columns

    if os.path.isdir(source) and (
        ".parquet" in KINDS[kind].suffixes or not any(source.glob("*.parquet"))
    ):
        return None
    return parquet_columns(source, asked.id_column, asked.data_column)


def _local_rows(kind: str, source: Path, asked: Asked) -> Any:
    from caesura.scale.rows import files_as_rows, parquet_as_rows
    from caesura.scale.run import BATCH

    columns = _columns(kind, source, asked)
    if columns is None:
        return [files_as_rows(kind, source)]
    return parquet_as_rows(source, columns, BATCH)


def _ray_rows(kind: str, source: Path, asked: Asked) -> Any:
    """Return the rows, in the cluster that RAY_ADDRESS names or in one on this machine."""
    import ray.data

    from caesura.scale.rows import files_as_rows

    columns = _columns(kind, source, asked)
    files = files_as_rows(kind, source) if columns is None else None
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False
    if columns is None:
        return ray.data.from_arrow(files)
    rows = ray.data.read_parquet(str(source.absolute()), columns=list(columns))
    return rows.rename_columns(columns)
