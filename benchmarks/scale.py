"""Rows a second, of very many texts: one at a time, like ones together, and by the workers of Ray.

    python benchmarks/scale.py           by the model that comes with the library, some minutes
    python benchmarks/scale.py --quick   few rows and no claims: does it still run?

Texts of 60 to 100 characters with a gap of four in each, one fill drawn for each. The clock runs
over the second half of the rows: by then all has been compiled. The fills must be the same all
three times. What counts is how the ways compare: clocks differ from machine to machine.
"""

import argparse
import logging
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import ray
from caesura.scale.filling import BATCH

from caesura.scale import Filling, fill_locally
from caesura.scale.on_ray import fill_on_ray

TEXT = (
    "The Battle of Hastings was fought in 1066 between the Normans and the English, on 14 October. "
)
GAP = 4
WORKERS = 2


def texts(count: int) -> pa.Table:
    draw = np.random.default_rng(0)
    rows = []
    for _ in range(count):
        length, turn = int(draw.integers(60, 100)), int(draw.integers(len(TEXT)))
        text = ((TEXT[turn:] + TEXT) * 2)[:length]
        start = int(draw.integers(length - GAP))
        rows.append(f"{text[:start]}{'_' * GAP}{text[start + GAP :]}")
    return pa.table({"id": [f"text {number}" for number in range(count)], "data": rows})


def rate(fill, rows: pa.Table) -> tuple[float, pd.Series]:
    """Rows a second once half of them have been filled, and all fills."""
    seen = []

    def report(summary) -> None:
        if summary.filled >= len(rows) // 2:
            seen.append((time.perf_counter(), summary.filled))

    with tempfile.TemporaryDirectory() as folder:
        fill(rows, Path(folder), report)
        told = pd.read_parquet(Path(folder) / "fills").set_index("id").sort_index()
    (start, before), (end, after) = seen[0], seen[-1]
    return (after - before) / (end - start), told.fill


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rows")
    parser.add_argument("--rows", type=int, default=4096)
    asked = parser.parse_args()
    count = 1024 if asked.quick else asked.rows
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(
        num_cpus=WORKERS,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False

    def locally(together, batch):
        filling = Filling("text", together=together)
        return lambda rows, out, report: fill_locally(
            [rows], filling, out, batch=batch, report=report
        )

    def on_ray(rows, out, report):
        ds = ray.data.from_arrow(rows)
        return fill_on_ray(ds, Filling("text"), out, workers=WORKERS, report=report)

    rows = texts(count)
    ways = {
        "one process, one at a time": (locally(1, 8), rows.slice(0, count // 16)),
        "one process, 32 together": (locally(32, BATCH), rows),
        f"Ray, {WORKERS} workers, 32 together": (on_ray, rows),
    }
    print("| how | rows a second |\n|---|---|")
    found = []
    for name, (fill, some) in ways.items():
        speed, fills = rate(fill, some)
        found.append(fills)
        print(f"| {name} | {speed:.1f} |", flush=True)
    assert found[1].equals(found[2])
    assert found[0].equals(found[1][found[0].index])


if __name__ == "__main__":
    main()
