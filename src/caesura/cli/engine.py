"""`caesura fill … --engine`: many files, or the rows of Parquet files, into one directory."""

import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from caesura.cli.filling import check_kind
from caesura.cli.options import Engine
from caesura.cli.output import answer_json, note
from caesura.errors import CaesuraError, ExtraMissingError, FileMissingError
from caesura.pretrained import NAMES

if TYPE_CHECKING:
    from caesura.scale import Summary


class Many(NamedTuple):
    """What is filled, by which engine, and where the answers go."""

    kind: str
    engine: Engine
    source: Path
    output: Path | None
    id_column: str
    data_column: str
    json: bool


def fill_many(many: Many, model: str, asked: Mapping[str, Any]) -> None:
    """Fill everything, and answer with the directory of the answers.

    Parameters
    ----------
    many
        What is filled.
    model
        The name of a model, or the path of a model file.
    asked
        The other fields of `caesura.scale.Run`.
    """
    output = _check_places(many)
    try:
        from caesura.scale import Run, fill_locally
    except ImportError:
        raise ExtraMissingError(
            "--engine needs pyarrow: install it with `pip install 'caesura[ray]'`."
        ) from None
    from caesura.training.progress import counting

    check_kind(many.kind, model)
    run = Run(model if model in NAMES else str(Path(model).absolute()), **asked)
    with counting("rows done") as count:

        def report(so_far: "Summary") -> None:
            count(sum(so_far), None, f"{so_far.failed} failed, {so_far.skipped} skipped")

        if many.engine is Engine.RAY:
            from caesura.scale.on_ray import fill_on_ray

            summary = fill_on_ray(_ray_rows(many), run, output, report=report)
        else:
            summary = fill_locally(_local_rows(many), run, output, report=report)
    if summary.failed:
        note(f"{summary.failed} could not be filled: the column 'reason' says why.")
    if many.json:
        answer_json({"folder": str(output), **summary._asdict()})
    else:
        print(output / "fills")


def _check_places(many: Many) -> Path:
    if many.output is None:
        raise CaesuraError("--engine needs a directory for the answers: specify it with -o.")
    if not os.path.exists(many.source):
        raise FileMissingError(f"There is no file or directory '{many.source}'.")
    if many.source.resolve() in (many.output.resolve(), *many.output.resolve().parents):
        raise CaesuraError(f"The output '{many.output}' is inside the input: choose another.")
    return many.output


def _is_parquet(many: Many) -> bool:
    """Return whether rows are read; in a directory of tables, each Parquet file is a table."""
    from caesura.kinds import KINDS

    if not os.path.isdir(many.source):
        return True
    return ".parquet" not in KINDS[many.kind].suffixes and any(many.source.glob("*.parquet"))


def _local_rows(many: Many) -> Iterable[Any]:
    from caesura.scale.rows import files_as_rows, parquet_as_rows, parquet_columns
    from caesura.scale.run import BATCH

    if not _is_parquet(many):
        return [files_as_rows(many.kind, many.source)]
    columns = parquet_columns(many.source, many.id_column, many.data_column)
    return parquet_as_rows(many.source, columns, BATCH)


def _ray_rows(many: Many) -> Any:
    try:
        import ray.data
    except ImportError:
        raise ExtraMissingError(
            "Ray is not installed: install it with `pip install 'caesura[ray]'`."
        ) from None
    from caesura.scale.rows import files_as_rows, parquet_columns

    if not _is_parquet(many):
        files = files_as_rows(many.kind, many.source)
        _start_ray()
        return ray.data.from_arrow(files)
    columns = parquet_columns(many.source, many.id_column, many.data_column)
    _start_ray()
    rows = ray.data.read_parquet(str(many.source.absolute()), columns=list(columns))
    return rows.rename_columns(columns)


def _start_ray() -> None:
    """Connect to the cluster that RAY_ADDRESS names, or start one on this machine."""
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False
