"""Rows a second, of very many texts: one at a time, like ones together, and by the workers of Ray.

    python benchmarks/scale.py           by the model that comes with the library, some minutes
    python benchmarks/scale.py --quick   few rows and no claims: does it still run?

Texts of 60 to 100 characters with a gap of four in each, one fill drawn for each. Every way fills
some rows first, since that compiles, and each is told which rows it shall answer: fills must be the
same all three times. What counts is how they compare: clocks differ from machine to machine.
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


def rate(fill, rows: pa.Table, warm: int) -> tuple[float, pd.Series]:
    """Rows a second once `warm` of them have been filled, and all fills."""
    began, last = [], []

    def report(summary) -> None:
        if summary.filled >= warm:
            (last if began else began).append((time.perf_counter(), summary.filled))

    with tempfile.TemporaryDirectory() as folder:
        fill(rows, Path(folder), report)
        told = pd.read_parquet(Path(folder) / "fills").set_index("id").sort_index()
    (start, before), (end, after) = began[0], last[-1]
    return (after - before) / (end - start), told.fill


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rows")
    parser.add_argument("--rows", type=int, default=4096)
    asked = parser.parse_args()
    count = 256 if asked.quick else asked.rows
    batch, warm = 64, count // 2  # by then both workers have compiled
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(
        num_cpus=WORKERS,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False

    def locally(together):
        filling = Filling("text", together=together)
        return lambda rows, out, report: fill_locally(
            [rows], filling, out, batch=batch, report=report
        )

    def on_ray(rows, out, report):
        ds = ray.data.from_arrow(rows)
        return fill_on_ray(ds, Filling("text"), out, batch=batch, workers=WORKERS, report=report)

    rows = texts(count)
    ways = {
        "one process, one at a time": (locally(1), rows.slice(0, count // 8), warm // 8),
        "one process, 32 together": (locally(32), rows, warm),
        f"Ray, {WORKERS} workers, 32 together": (on_ray, rows, warm),
    }
    print("| how | rows a second |\n|---|---|")
    found = []
    for name, (fill, some, after) in ways.items():
        speed, fills = rate(fill, some, after)
        found.append(fills)
        print(f"| {name} | {speed:.1f} |", flush=True)
    assert found[1].equals(found[2])
    assert found[0].equals(found[1][found[0].index])


if __name__ == "__main__":
    main()
