"""Rows filled one batch after another, in this process."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from caesura.errors import whole_number
from caesura.scale.results import open_results
from caesura.scale.rows import check_columns
from caesura.scale.run import BATCH, Report, Run, Summary
from caesura.scale.worker import Worker


def fill_locally(
    tables: Iterable[pa.Table],
    run: Run,
    output: Path,
    *,
    batch: int = BATCH,
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
    report
        Called with a `Summary` after each batch.
    """
    whole_number("batch", batch, 1)
    summary = Summary()
    filler = run.load()  # a mistake is known before the directory is touched
    with open_results(output, run.record()) as done:
        worker = Worker(run, output, done, filler)
        for table in tables:
            check_columns(table.column_names)
            for first in range(0, len(table), batch):
                counts = worker(table.slice(first, batch)).to_pylist()[0]
                summary = summary.plus(**counts)
                report(summary)
    return summary
