"""How long SeriesImputer takes for a table of 10 000 rows and 10 columns, a tenth of it missing.

    python benchmarks/imputer.py [--rows 10000] [--columns 10] [--devices 2]

JAX takes a CPU for one device unless told otherwise, as the command line does; with a device for
each core, they share a batch.

Seconds of the clock, with compilation, and of all cores together; the error is that of the medians
on what was hidden, in standard deviations, beside linear interpolation.
"""

import argparse
import os
import time

import jax
import numpy as np
import pandas as pd

from caesura.sklearn import SeriesImputer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--devices", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", arguments.devices)
    draw = np.random.default_rng(0)
    truth = waves(draw, arguments.rows, arguments.columns)
    hidden = draw.random(truth.shape) < 0.1
    hours = pd.date_range("2024-01-01", periods=len(truth), freq="h")
    frame = pd.DataFrame(np.where(hidden, np.nan, truth), index=hours).add_prefix("sensor ")
    imputer = SeriesImputer(random_state=0, verbose=True)
    print("| | seconds | CPU | error |\n|---|---|---|---|")
    clock, cpu = time.monotonic(), time.process_time()
    for name, work in {
        "fit": imputer.fit,
        "transform": imputer.transform,
        "transform again": imputer.transform,
        "interpolate": pd.DataFrame.interpolate,
    }.items():
        answer = work(frame)
        wall, used = time.monotonic() - clock, time.process_time() - cpu
        error = "" if name == "fit" else f"{error_of(answer.to_numpy(), truth, hidden):.3f}"
        print(f"| {name} | {wall:.1f} | {used:.1f} | {error} |", flush=True)
        clock, cpu = time.monotonic(), time.process_time()


def waves(draw: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Sensors of one weather: daily waves, shared and own disturbances that fade slowly."""
    noise = draw.normal(size=(rows, 3 + columns))
    for row in range(1, rows):
        noise[row] = 0.9 * noise[row - 1] + 0.4 * noise[row]
    daily = np.sin(np.arange(rows)[:, None] * 2 * np.pi / 24 + draw.uniform(0, 6, columns))
    return 2 * daily + noise[:, :3] @ draw.normal(size=(3, columns)) + noise[:, 3:]


def error_of(filled: np.ndarray, truth: np.ndarray, hidden: np.ndarray) -> float:
    return float(np.nanmean(np.abs(filled - truth)[hidden]) / truth.std())


if __name__ == "__main__":
    main()
