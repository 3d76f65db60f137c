"""Rows filled on this machine, in this process or by one process for each core."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path

import jax
import pyarrow as pa

from caesura.errors import whole_number
from caesura.hardware import cores
from caesura.scale.processes import fill_in_processes, refuse_in_worker
from caesura.scale.results import open_results
from caesura.scale.rows import check_columns, not_done
from caesura.scale.run import BATCH, Report, Run, Summary
from caesura.scale.worker import Worker


def fill_locally(
    tables: Iterable[pa.Table],
    run: Run,
    output: Path,
    *,
    batch: int = BATCH,
    workers: int | None = None,
    report: Report = lambda summary: None,
) -> Summary:
    """Do what `fill_dataset` does, without Ray.

    Parameters
    ----------
    tables
        PyArrow tables with the columns that `fill_dataset` describes.
    run
        The model, and what is asked of it.
    output
        The directory for the answers.
    batch
        Rows that are read, filled and written at a time.
    workers
        The number of processes; by default one for each core, or this process alone if JAX has a
        GPU, which workers do not use. There are no more of them than batches, and a single batch is
        filled by this process, since a worker takes seconds to start. Workers import the program
        that starts them, so it must call this function under ``if __name__ == "__main__":``.
    report
        Called with a `Summary` after each batch.
    """
    refuse_in_worker()
    whole_number("batch", batch, 1)
    if workers is not None:
        whole_number("workers", workers, 1)
    summary = Summary()

    def count(more: Summary) -> None:
        nonlocal summary
        summary = summary.plus(more)
        report(summary)

    filler = run.load()  # a mistake is known before the directory is touched
    with open_results(output, run.record()) as done:
        batches = _to_do(tables, batch, done, count)
        first_two = list(islice(batches, 2))
        batches = chain(first_two, batches)
        workers = workers or (cores() if jax.default_backend() == "cpu" else 1)
        if workers == 1 or len(first_two) < 2:
            worker = Worker(run, output, filler)
            summaries = (worker.fill(rows) for rows in batches)
        else:
            del filler  # each worker has its own
            summaries = fill_in_processes(batches, run, output, workers)
        with closing(summaries):  # whatever happens, no process stays
            for each in summaries:
                count(each)
    return summary


def _to_do(
    tables: Iterable[pa.Table], batch: int, done: pa.Array, count: Callable[[Summary], None]
) -> Iterator[pa.Table]:
    """Yield batches of rows that are not done; those that are done are counted."""
    for table in tables:
        check_columns(table.column_names)
        for first in range(0, len(table), batch):
            given = table.slice(first, batch)
            rows = not_done(given, done)
            if len(rows) < len(given):
                count(Summary(skipped=len(given) - len(rows)))
            if len(rows):
                yield rows
