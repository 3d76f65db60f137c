"""`caesura fill … --engine`: the files of a folder or the rows of Parquet files, into a folder."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from caesura.cli.live_line import LiveLine
from caesura.cli.models import load_for
from caesura.cli.options import Engine
from caesura.cli.output import answer_json, note
from caesura.errors import CaesuraError
from caesura.pretrained import find_model

if TYPE_CHECKING:
    from caesura.scale import Filling, Summary


class Many(NamedTuple):
    """What is to be filled, by whom, and where the answers go."""

    engine: Engine
    source: Path
    output: Path | None
    id_column: str
    data_column: str
    json: bool


def fill_many(
    many: Many,
    kind: str,
    model: str | None,
    filling: Mapping[str, Any],
    not_for_many: Mapping[str, Any],
) -> None:
    """Fill all, and answer with the folder of the answers."""
    for option, given in not_for_many.items():
        if given:
            raise CaesuraError(f"With --engine there is no {option}: it is for one {kind} alone.")
    output = _check_places(many)
    try:
        from caesura.scale import Filling
    except ImportError:
        raise CaesuraError("Many are filled with pyarrow: pip install 'caesura[ray]'.") from None
    weights = Path(find_model(model or kind)).absolute()
    load_for(kind, weights)
    asked = Filling(str(weights), **filling)
    with LiveLine() as line:
        run = _on_ray if many.engine is Engine.RAY else _locally
        summary = run(many, kind, asked, output, line)
    if summary.failed:
        note(f"{summary.failed} could not be filled: the column 'reason' says why.")
    if many.json:
        answer_json({"folder": str(output), **summary._asdict()})
    else:
        print(output / "fills")


def _check_places(many: Many) -> Path:
    if many.output is None:
        raise CaesuraError("With --engine the answers need a folder: give it with -o.")
    if not os.path.exists(many.source):
        raise CaesuraError(f"There is no file or folder '{many.source}'.")
    if many.source.resolve() in (many.output.resolve(), *many.output.resolve().parents):
        raise CaesuraError(f"The output '{many.output}' lies in what is read: choose another.")
    return many.output


def _is_parquet(many: Many, kind: str) -> bool:
    """Whether rows are to be read; each of the *.parquet in a folder of series is a table."""
    if not os.path.isdir(many.source):
        return True
    return kind != "series" and any(many.source.glob("*.parquet"))


def _locally(many: Many, kind: str, filling: "Filling", output: Path, line: LiveLine) -> "Summary":
    from caesura.scale import fill_locally
    from caesura.scale.filling import BATCH
    from caesura.scale.rows import files_as_rows, parquet_as_rows, parquet_columns

    if _is_parquet(many, kind):
        columns = parquet_columns(many.source, many.id_column, many.data_column)
        rows = parquet_as_rows(many.source, columns, BATCH)
    else:
        rows = iter([files_as_rows(kind, many.source)])
    return fill_locally(rows, filling, output, report=lambda so_far: _show(line, so_far))


def _on_ray(many: Many, kind: str, filling: "Filling", output: Path, line: LiveLine) -> "Summary":
    try:
        import ray.data
    except ImportError:
        raise CaesuraError("Ray is not installed: pip install 'caesura[ray]'.") from None
    from caesura.scale.on_ray import fill_on_ray
    from caesura.scale.rows import files_as_rows, parquet_columns

    if _is_parquet(many, kind):
        columns = parquet_columns(many.source, many.id_column, many.data_column)
        _start_ray()
        rows = ray.data.read_parquet(str(many.source.absolute()), columns=list(columns))
        rows = rows.rename_columns(columns)
    else:
        files = files_as_rows(kind, many.source)
        _start_ray()
        rows = ray.data.from_arrow(files)
    return fill_on_ray(rows, filling, output, report=lambda so_far: _show(line, so_far))


def _start_ray() -> None:
    """The cluster that RAY_ADDRESS names, or one of this machine alone; its workers keep what they
    compile where this process does."""
    import jax
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    for name in (
        "jax_compilation_cache_dir",
        "jax_persistent_cache_min_compile_time_secs",
        "jax_persistent_cache_min_entry_size_bytes",
    ):
        if (told := jax.config.values[name]) is not None:
            os.environ[name.upper()] = str(told)
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False


def _show(line: LiveLine, summary: "Summary") -> None:
    line.show(f"{summary.filled} filled, {summary.failed} failed, {summary.skipped} skipped")
