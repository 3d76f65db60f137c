"""The pretrained model for tables by the protocol of TSI-Bench: nothing is trained on the sets.

    python benchmarks/tsi_zero_shot.py [--seeds 1] [--sets ett,italy,beijing,physionet]
    python benchmarks/tsi_zero_shot.py --budget 30s      tuned on the training part for so long
    python benchmarks/tsi_zero_shot.py --budget 30s --jobs 13 --csv quick.csv   rows side by side

The means and scales of the columns, and how wide intervals are, come from the training part. The
errors are mean absolute ones on the withheld entries of the test part, in standardised units;
`inside` is the share of these entries in their intervals of 90 %. Seconds are of the processor: of
reading and fitting or tuning, and of the test. With `--csv`, each row is written when it is found,
and rows that the file has already are not measured again.
"""

import argparse
import csv
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import tsi_bench
from tsi_bench import Part

import caesura
from caesura.kinds.series.times import seconds_of
from caesura.training.tuning import tune

PATTERNS = ("point01", "point05", "block05", "subseq05")
COLUMNS = ("set", "pattern", "seed", "budget", "every")
FOUND = ("median", "inside", "interpolation", "fit", "test")


class Asked(NamedTuple):
    """A row to measure."""

    set: str
    pattern: str
    seed: int
    budget: float
    every: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--sets", default="ett,italy,beijing,physionet")
    parser.add_argument("--patterns", default=",".join(PATTERNS))
    parser.add_argument("--every", type=int, default=1, help="of the test windows, each such one")
    parser.add_argument("--budget", help="the time to tune the model on the training part")
    parser.add_argument("--jobs", type=int, default=1, help="rows at a time, each on one core")
    parser.add_argument("--csv", type=Path, default=Path(os.devnull))
    given = parser.parse_args()
    budget = seconds_of(given.budget) if given.budget else 0.0
    tasks = [
        (name, pattern)
        for name, pattern in product(given.sets.split(","), given.patterns.split(","))
        if name != "physionet" or pattern == PATTERNS[0]
    ]
    asked = [
        Asked(name, pattern, seed, budget, given.every)
        for seed in range(given.seeds)
        for name, pattern in tasks
    ]
    rows = read(given.csv)
    for row, numbers in measured([one for one in asked if one not in rows], given.jobs):
        rows[row] = numbers
        append(given.csv, row, numbers)
        print(*row, *(f"{number:.4f}" for number in numbers), flush=True)
    print("| set | removed | median | inside | interpolation | best published | fit, s | test, s |")
    print("|---|---|---:|---:|---:|---|---:|---:|")
    for name, pattern in tasks:
        found = [rows[one] for one in asked if (one.set, one.pattern) == (name, pattern)]
        ours, inside, line, fit, test = np.mean(found, axis=0)
        model, best = tsi_bench.published(name, pattern)
        print(
            f"| {name} | {pattern} | {ours:.4f} | {100 * inside:.0f} | {line:.3f} "
            f"| {best:.4f} ({model}) | {fit:.0f} | {test:.0f} |"
        )


def measured(asked: list[Asked], jobs: int) -> Any:
    """Yield each row with its numbers, in the order in which they are found."""
    if jobs == 1:
        yield from ((one, measure(one)) for one in asked)
        return
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # of the processes
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(measure, one): one for one in asked}
        for done in as_completed(running):
            yield running[done], done.result()


def measure(asked: Asked) -> tuple[float, ...]:
    """Return our error, the share inside, that of interpolation, and seconds of the processor."""
    name, pattern, seed, budget, every = asked
    task, clock = tsi_bench.load(name, pattern, seed), tsi_bench.time.process_time()
    seen = tables(task.train, task.joined)
    filler = caesura.load("series").fitted(seen)  # type: ignore[attr-defined]
    if budget:
        items = [filler.kind.open(one) for one in seen]  # not a part of the budget
        filler = tune(filler, items, budget, seed=seed).filler
    fitted = tsi_bench.time.process_time()
    part = Part(*(array[::every] for array in task.test))
    fills = filler.fill_many(tables(part, task.joined))
    low, high = (np.stack([np.asarray(t) for t in of]) for of in zip(*bounds(fills), strict=True))
    best = np.stack([np.asarray(fill.best) for fill in fills])
    inside = ((part.values >= low) & (part.values <= high))[part.withheld].mean()
    line = tsi_bench.error(tsi_bench.interpolate(part.seen), part)
    seconds = fitted - clock, tsi_bench.time.process_time() - fitted
    return tsi_bench.error(best, part), float(inside), line, *seconds


def bounds(fills: list[caesura.SeriesFill]) -> list[list[np.ndarray]]:
    return [fill.quantile([0.05, 0.95]) for fill in fills]


def tables(part: Part, joined: bool) -> list[pd.DataFrame]:
    """Return the windows, with their times if they follow each other."""
    frames = [pd.DataFrame(window).add_prefix("x") for window in part.seen]
    if joined:
        frames = [
            f.set_axis(pd.DatetimeIndex(m)) for f, m in zip(frames, part.moments, strict=True)
        ]
    return frames


def read(path: Path) -> dict[Asked, tuple[float, ...]]:
    """Return the rows that a file has."""
    if not path.is_file():
        return {}
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    types = Asked.__annotations__.values()
    return {
        Asked(*(of(row[name]) for of, name in zip(types, COLUMNS, strict=True))): tuple(
            float(row[name]) for name in FOUND
        )
        for row in rows
    }


def append(path: Path, row: Asked, numbers: tuple[float, ...]) -> None:
    fresh = not path.exists()
    with open(path, "a", newline="") as file:
        writer = csv.writer(file)
        if fresh:
            writer.writerow((*COLUMNS, *FOUND))
        writer.writerow((*row, *numbers))


if __name__ == "__main__":
    main()
