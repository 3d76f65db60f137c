"""The pretrained model for tables by the protocol of TSI-Bench: nothing is trained on the sets.

    python benchmarks/tsi_zero_shot.py [--seeds 1] [--sets ett,italy,beijing,physionet]
    python benchmarks/tsi_zero_shot.py --budget 30s      tuned on the training part for so long

The means and scales of the columns, and how wide intervals are, come from the training part. The
errors are mean absolute ones on the withheld entries of the test part, in standardised units;
`inside` is the share of these entries in their intervals of 90 %.
"""

import argparse

import numpy as np
import pandas as pd
import tsi_bench
from tsi_bench import Part

import caesura
from caesura.kinds.series.times import seconds_of
from caesura.training.tuning import tune

PATTERNS = ("point01", "point05", "block05", "subseq05")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--sets", default="ett,italy,beijing,physionet")
    parser.add_argument("--patterns", default=",".join(PATTERNS))
    parser.add_argument("--every", type=int, default=1, help="of the test windows, each such one")
    parser.add_argument("--budget", help="the time to tune the model on the training part")
    given = parser.parse_args()
    budget = seconds_of(given.budget) if given.budget else 0.0
    print("| set | removed | median | inside | interpolation | best published | seconds |")
    print("|---|---|---:|---:|---:|---|---:|")
    for name in given.sets.split(","):
        for pattern in PATTERNS[:1] if name == "physionet" else given.patterns.split(","):
            rows = [
                measure(name, pattern, seed, budget, given.every) for seed in range(given.seeds)
            ]
            ours, inside, line, seconds = np.mean(rows, axis=0)
            model, best = tsi_bench.published(name, pattern)
            print(
                f"| {name} | {pattern} | {ours:.4f} | {100 * inside:.0f} | {line:.3f} "
                f"| {best:.4f} ({model}) | {seconds:.0f} |",
                flush=True,
            )


def measure(
    name: str, pattern: str, seed: int, budget: float, every: int
) -> tuple[float, float, float, float]:
    """Return our error, the share inside, that of interpolation, and seconds of the processor."""
    task, clock = tsi_bench.load(name, pattern, seed), tsi_bench.time.process_time()
    seen = tables(task.train, task.joined)
    filler = caesura.load("series").fitted(seen)  # type: ignore[attr-defined]
    if budget:
        filler = tune(filler, seen, budget, seed=seed).filler
    part = Part(*(array[::every] for array in task.test))
    fills = filler.fill_many(tables(part, task.joined))
    low, high = (np.stack([np.asarray(t) for t in of]) for of in zip(*bounds(fills), strict=True))
    best = np.stack([np.asarray(fill.best) for fill in fills])
    inside = ((part.values >= low) & (part.values <= high))[part.withheld].mean()
    line = tsi_bench.error(tsi_bench.interpolate(part.seen), part)
    seconds = tsi_bench.time.process_time() - clock
    return tsi_bench.error(best, part), float(inside), line, seconds


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


if __name__ == "__main__":
    main()
