"""Rows filled by the workers of a Ray cluster, which may be this machine alone."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from caesura.errors import CaesuraError, one_line, whole_number
from caesura.kinds import Composition
from caesura.scale.filling import BATCH, TOGETHER, Filling, Report, Summary
from caesura.scale.results import open_results
from caesura.scale.rows import check_columns
from caesura.scale.worker import Worker

if TYPE_CHECKING:
    from ray.data import Dataset

TRIES = 3  # more for a batch whose worker has died: the next may die of the same row


def fill_dataset(
    ds: "Dataset",
    model: str | os.PathLike[str],
    *,
    output: str | os.PathLike[str],
    samples: int = 1,
    strategy: str | None = None,
    seed: int = 0,
    kind_fields: dict[str, Any] | None = None,
    composition: Composition | None = None,
    together: int = TOGETHER,
    batch: int = BATCH,
    workers: int | None = None,
    report: Report = lambda summary: None,
) -> Summary:
    """Fill every row of a Ray dataset, and write the answers as Parquet files under `output`.

    A row has an `id`, unlike any other's, and in `data` a text, the bytes of a MIDI file or a table
    in CSV; or in `path` the place of such a file. A column `missing` may hold lists of steps.
    `model` and `output` are places that all workers can reach; each loads the model once. Rows that
    an earlier run has filled are skipped.
    """
    from ray.exceptions import RayError

    filling = Filling(
        os.fspath(model), samples, strategy, seed, kind_fields or {}, composition, together
    )
    filling.load()  # a mistake is known before any worker starts
    whole_number("batch", batch, 1)
    folder = Path(output).absolute()
    check_columns(ds.schema().names)
    with open_results(folder, filling.record()) as done:
        try:
            return _run(ds, filling, folder, done, batch, workers, report)
        except RayError as error:
            raise CaesuraError(
                f"Ray could not finish; what is filled stays, and the same call goes on: "
                f"{one_line(str(error))}"
            ) from error


def _run(
    ds: "Dataset",
    filling: Filling,
    folder: Path,
    done: pa.Array,
    batch: int,
    workers: int | None,
    report: Report,
) -> Summary:
    import ray
    from ray.data import ActorPoolStrategy

    most = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
    told = ds.repartition(target_num_rows_per_block=batch).map_batches(
        Worker,
        fn_constructor_args=(filling, folder, done),
        batch_size=None,  # a block is a batch
        batch_format="pyarrow",
        compute=ActorPoolStrategy(min_size=1, max_size=most),
        max_restarts=-1,
        max_task_retries=TRIES,
    )
    summary = Summary()
    for counts in told.iter_rows():
        summary = summary.plus(**counts)
        report(summary)
    return summary
