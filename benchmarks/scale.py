"""Rows per second of very many texts: one at a time, in batches, by several processes, by Ray.

    python benchmarks/scale.py           by the model that comes with the library, some minutes
    python benchmarks/scale.py --quick   few rows and no claims: does it still run?

Texts of 60 to 100 characters with a gap of four in each, one fill drawn for each. The clock runs
over the second half of the rows, after everything has been compiled; the seconds in the last column
are those of all rows, from the start on. The milliseconds of CPU a row say what a row costs on all
cores together, which other work on the machine hardly changes; those of Ray's workers are not
known. The fills must be the same all times. Ray is left out if it is not installed.
"""

import argparse
import importlib.util
import logging
import os
import tempfile
import time
from contextlib import suppress
from multiprocessing import active_children
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from caesura.scale import Run, fill_locally
from caesura.scale.on_ray import fill_on_ray
from caesura.scale.run import BATCH

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


def cpu_seconds() -> float:
    """Return the CPU time of this process and of those that it has started, as Linux counts it."""
    total = time.process_time()
    for process in active_children():
        with suppress(FileNotFoundError):
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


class Rate(NamedTuple):
    """What was measured once half of the rows had been filled."""

    rows_a_second: float
    cpu_ms_a_row: float


def rate(fill, rows: pa.Table) -> tuple[Rate, pd.Series]:
    """Return how fast the second half of the rows is filled, and all fills."""
    seen = []

    def report(summary) -> None:
        if summary.filled >= len(rows) // 2:
            seen.append((time.perf_counter(), cpu_seconds(), summary.filled))

    with tempfile.TemporaryDirectory() as folder:
        fill(rows, Path(folder), report)
        told = pd.read_parquet(Path(folder) / "fills").set_index("id").sort_index()
    seconds, cpu, filled = np.subtract(seen[-1], seen[0])
    return Rate(filled / seconds, 1000 * cpu / filled), told.fill


def start_ray():
    """Return Ray, started on as many cores as there are workers, or None without it."""
    if importlib.util.find_spec("ray") is None:
        return None
    import ray.data

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(
        num_cpus=WORKERS,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rows")
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--strategy", help="the model's own by default")
    asked = parser.parse_args()
    count = 128 if asked.quick else asked.rows
    batch = 16 if asked.quick else asked.batch
    run = Run("text", draws=1, strategy=asked.strategy)

    def locally(batch, workers):
        return lambda rows, out, report: fill_locally(
            [rows], run, out, batch=batch, workers=workers, report=report
        )

    rows = texts(count)
    ways = {
        "one process, one at a time": (locally(1, 1), rows.slice(0, count // 16)),
        f"one process, batches of {batch}": (locally(batch, 1), rows),
        f"{WORKERS} processes, batches of {batch}": (locally(batch, WORKERS), rows),
    }
    ray = start_ray()
    if ray is not None:

        def on_ray(rows, out, report):
            ds = ray.data.from_arrow(rows)
            return fill_on_ray(ds, run, out, batch=batch, workers=WORKERS, report=report)

        ways[f"Ray, {WORKERS} workers, batches of {batch}"] = (on_ray, rows)
    print("| how | rows a second | relative to one process | CPU ms a row | seconds for all rows |")
    print("|---|---|---|---|---|")
    found, rates = [], []
    for name, (fill, some) in ways.items():
        start = time.perf_counter()
        measured, fills = rate(fill, some)
        found.append(fills)
        rates.append(measured)
        speed, cpu = measured
        relative = f"{speed / rates[1].rows_a_second:.2f}" if len(rates) > 1 else ""
        shown = "" if name.startswith("Ray") else f"{cpu:.0f}"
        seconds = time.perf_counter() - start
        print(f"| {name} | {speed:.1f} | {relative} | {shown} | {seconds:.0f} |", flush=True)
    assert all(fills.equals(found[1]) for fills in found[2:])
    assert found[0].equals(found[1][found[0].index])


if __name__ == "__main__":
    main()
