"""Rows filled by the workers of a Ray cluster, which may be this machine alone."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caesura.errors import CaesuraError, whole_number
from caesura.kinds import Composition
from caesura.scale.filling import BATCH, TOGETHER, Filling, Report, Summary
from caesura.scale.results import open_results
from caesura.scale.rows import check_columns
from caesura.scale.worker import Worker

if TYPE_CHECKING:
    from ray.data import Dataset

# A batch whose worker dies is given to another, but not for ever: they may die of one of its rows.
ACTOR = {"max_restarts": -1, "max_task_retries": 3}


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
    fields = kind_fields or {}
    filling = Filling(model, samples, strategy, seed, fields, composition, together)
    return fill_on_ray(ds, filling, Path(output), batch=batch, workers=workers, report=report)


def fill_on_ray(
    ds: "Dataset",
    filling: Filling,
    output: Path,
    *,
    batch: int = BATCH,
    workers: int | None = None,
    report: Report = lambda summary: None,
) -> Summary:
    """The same, of what is told in one piece."""
    import ray
    from ray.data import ActorPoolStrategy
    from ray.exceptions import RayError

    filling.load()  # a mistake is known before any worker starts
    whole_number("batch", batch, 1)
    check_columns(ds.schema().names)
    cores = int(ray.cluster_resources().get("CPU", 1))
    folder = output.absolute()
    summary = Summary()
    with open_results(folder, filling.record()) as done:
        told = ds.repartition(target_num_rows_per_block=batch).map_batches(
            Worker,
            fn_constructor_args=(filling, folder, done),
            batch_size=None,  # a block is a batch
            batch_format="pyarrow",
            compute=ActorPoolStrategy(min_size=1, max_size=workers or max(1, cores)),
            num_cpus=1 if cores > 1 else 0,  # or who reads the rows would wait for a core for ever
            ray_remote_args_fn=lambda: ACTOR,
        )
        try:
            for counts in told.iter_rows():
                summary = summary.plus(**counts)
                report(summary)
        except RayError as error:
            raise CaesuraError(
                f"Ray gave up on a batch of rows: {error} "
                "What is filled stays, and the same call goes on from there."
            ) from error
    return summary
