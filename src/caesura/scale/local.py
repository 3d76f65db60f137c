"""Rows filled one batch after another, in this process."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from caesura.errors import whole_number
from caesura.scale.filling import BATCH, Filling, Report, Summary
from caesura.scale.results import open_results
from caesura.scale.rows import check_columns
from caesura.scale.worker import Worker


def fill_locally(
    tables: Iterable[pa.Table],
    filling: Filling,
    output: Path,
    *,
    batch: int = BATCH,
    report: Report = lambda summary: None,
) -> Summary:
    """What `fill_dataset` does, without Ray."""
    whole_number("batch", batch, 1)
    summary = Summary()
    filling.load()  # a mistake is known before the folder is touched
    with open_results(output, filling.record()) as done:
        worker = Worker(filling, output, done)
        for table in tables:
            check_columns(table.column_names)
            for first in range(0, len(table), batch):
                told = worker(table.slice(first, batch)).to_pylist()[0]
                summary = summary.plus(**told)
                report(summary)
    return summary
