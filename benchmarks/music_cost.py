"""The processor time of a fill of music, by the length of the gap and the number of draws.

    python benchmarks/music_cost.py

The second table is the fit that `BothWays.work` and docs/performance.md have: seconds of a core for
a fill, for each step of its gap, and for each step of each draw. Every time is the best of two; the
second fill has read what is around the gap before.
"""

import time

import numpy as np

import caesura

STEPS, DRAWS = (2, 8, 48), (1, 8, 24)


def seconds(filler: caesura.Filler, steps: int, draws: int) -> float:
    roll = (np.random.default_rng(0).random((400, 88)) < 0.04).astype(float)
    roll[200 : 200 + steps] = np.nan
    times = []
    for seed in range(2):
        began = time.process_time()
        filler.fill(roll, strategy="bothways", draws=draws, seed=seed)
        times.append(time.process_time() - began)
    return min(times)


def main() -> None:
    filler = caesura.load("music")
    filler.fill(np.where(np.eye(20, 88) > 0, np.nan, 0), strategy="bothways", draws=1)
    sizes = [(steps, draws) for steps in STEPS for draws in DRAWS]
    found = np.array([seconds(filler, *size) for size in sizes])
    print("| steps | draws | processor time |\n|---:|---:|---:|")
    for (steps, draws), took in zip(sizes, found, strict=True):
        print(f"| {steps} | {draws} | {took:.3f} s |")
    parts = np.array([[1, steps, steps * draws] for steps, draws in sizes]) / found[:, None]
    fit = np.linalg.lstsq(parts, np.ones(len(found)))[0]  # relative errors count
    print(
        "\n| a fill | each step | each step of each draw | largest error |\n|---:|---:|---:|---:|"
    )
    numbers = " | ".join(f"{1000 * number:.2f} ms" for number in fit)
    print(f"| {numbers} | {np.abs(parts @ fit - 1).max():.0%} |")


if __name__ == "__main__":
    main()
