"""Rows filled by the workers of a Ray cluster, which may be this machine alone."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from caesura.errors import CaesuraError, whole_number
from caesura.kinds.base import Arranging
from caesura.scale.results import open_results
from caesura.scale.rows import check_columns, not_done
from caesura.scale.run import BATCH, Report, Run, Summary
from caesura.scale.worker import Worker

if TYPE_CHECKING:
    from ray.data import Dataset

# A batch whose worker dies is given to another, but not for ever: they may die of one of its rows.
ACTOR = {"max_restarts": -1, "max_task_retries": 3}


class RayWorker(Worker):
    """A worker as Ray calls it: a table in, a table out."""

    def __init__(self, run: Run, directory: Path, done: pa.Array) -> None:
        super().__init__(run, directory)
        self.done = done

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Fill the rows that are not done; return how many were filled, failed or skipped."""
        rows = not_done(batch, self.done)
        counts = self.fill(rows)._replace(skipped=len(batch) - len(rows))
        return pa.Table.from_pylist([counts._asdict()])


def fill_dataset(
    ds: "Dataset",
    model: str | os.PathLike[str],
    *,
    output: str | os.PathLike[str],
    draws: int | None = None,
    strategy: str | None = None,
    seed: int = 0,
    kind_fields: Mapping[str, Any] | None = None,
    arrangement: Arranging | None = None,
    batch: int = BATCH,
    workers: int | None = None,
    report: Report = lambda summary: None,
) -> Summary:
    """Fill every row of a Ray dataset, and write the answers as Parquet files under `output`.

    Rows that an earlier run has filled are skipped.

    Parameters
    ----------
    ds
        Rows with a unique `id`. The column `data` has a text, the bytes of a MIDI or MusicXML file,
        or a table in CSV. Or the column `path` has the path of such a file. A column `missing` may
        hold lists of steps.
    model, output
        Paths that all workers can reach. Each worker loads the model once.
    draws, strategy, seed, kind_fields, arrangement
        The options for every row, as in `caesura.scale.Run`.
    batch
        The number of rows that are filled and written at a time.
    workers
        The number of processes; by default one for each core of the cluster.
    report
        Called with a `Summary` after each batch.

    Returns
    -------
    Summary
        How many rows were filled, failed, or skipped.

    Examples
    --------
    A dataset of one row, filled by the model that comes with the library::

        ds = ray.data.from_items([{"id": "a", "data": "The qu___ brown fox"}])
        caesura.scale.fill_dataset(ds, "text", output="out")
    """
    run = Run(model, draws, strategy, seed, kind_fields or {}, arrangement)
    return fill_on_ray(ds, run, Path(output), batch=batch, workers=workers, report=report)


def fill_on_ray(
    ds: "Dataset",
    run: Run,
    output: Path,
    *,
    batch: int = BATCH,
    workers: int | None = None,
    report: Report = lambda summary: None,
) -> Summary:
    """Do what `fill_dataset` does, for a run that is given as one record."""
    import ray
    from ray.data import ActorPoolStrategy
    from ray.exceptions import RayError

    run.load()  # a mistake is known before any worker starts
    whole_number("batch", batch, 1)
    if workers is not None:
        whole_number("workers", workers, 1)
    check_columns(ds.schema().names)
    cores = int(ray.cluster_resources().get("CPU", 1))
    directory = output.absolute()
    summary = Summary()
    with open_results(directory, run.record()) as done:
        counts_of_batches = ds.repartition(target_num_rows_per_block=batch).map_batches(
            RayWorker,
            fn_constructor_args=(run, directory, done),
            batch_size=None,  # a block is a batch
            batch_format="pyarrow",
            compute=ActorPoolStrategy(min_size=1, max_size=workers or max(1, cores)),
            num_cpus=1 if cores > 1 else 0,  # or who reads the rows would wait for a core for ever
            ray_remote_args_fn=lambda: ACTOR,
        )
        try:
            for counts in counts_of_batches.iter_rows():
                summary = summary.plus(Summary(**counts))
                report(summary)
        except RayError as error:
            raise CaesuraError(
                f"Ray gave up on a batch of rows: {error} "
                "The rows that are filled stay, and the same call continues from there."
            ) from error
    return summary
