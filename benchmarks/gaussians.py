"""Two Gaussian models of windows, fitted to the training parts of TSI-Bench: how fast each learns.

    CAESURA_DATA=data python benchmarks/gaussians.py [--sets ett,italy] [--seconds 5,10,20]

`factors` has factors that all columns share, `covariance` a covariance for every two numbers of a
window. Both see the numbers as they are. After so many seconds of the processor, their means fill
the withheld entries of the test part: the errors are mean absolute ones, in standardised units.
"""

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import tsi_bench
from printing import head, line
from tsi_zero_shot import PATTERNS, tables

import caesura
from caesura.hardware import few_blas_threads
from caesura.kinds.series import Series
from caesura.kinds.series.factors import WindowModel, scores_of
from caesura.training import covariance, factors
from caesura.training.tuning import both_curves, runs_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", default="ett,italy")
    parser.add_argument("--patterns", default=",".join(PATTERNS))
    parser.add_argument("--seconds", default="5,10,20", help="of the processor, for each model")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    marks = [float(one) for one in given.seconds.split(",")]
    head("set", "removed", "model", *(f"{mark:g} s" for mark in marks), "rounds")
    for name in given.sets.split(","):
        for pattern in given.patterns.split(","):
            task = tsi_bench.load(name, pattern, given.seed)
            for model, found, rounds in learn(task, marks, given.seed):
                line(name, pattern, model, *(f"{error:.4f}" for error in found), str(rounds))


def learn(
    task: tsi_bench.Task, marks: list[float], seed: int
) -> Iterator[tuple[str, list[float], int]]:
    """Yield the name of each model, its errors, and after how many rounds it ended."""
    seen = tables(task.train, task.joined)
    kind = caesura.load("series").fitted(seen).kind  # type: ignore[attr-defined]
    items = [kind.open(one) for one in seen]
    values = [item.complete.values for item in items]
    runs = runs_of(items, values)
    size = max(map(len, values)), sum(map(len, values)), values[0].shape[1]
    curves, _ = both_curves(np.concatenate(runs), kind.numbers)
    scores = [scores_of(curves, run) for run in runs]
    models: dict[str, Any] = {"factors": factors.rounds(scores, factors.window_length(*size), seed)}
    if rows := covariance.fitting_rows(*size):
        models["covariance"] = covariance.rounds(scores, rows, seed)
    with few_blas_threads():
        for name, rounds in models.items():
            found, spent = list[float](), 0.0
            for count, gaussian in enumerate(timed(rounds), 1):
                spent += gaussian[1]
                if spent >= marks[len(found)]:
                    found.append(error_of(task, kind, WindowModel(curves, gaussian[0])))
                if len(found) == len(marks):
                    yield name, found, count
                    break


def timed(rounds: Iterator[Any]) -> Iterator[tuple[Any, float]]:
    """Yield each model, and how many seconds of the processor its round took."""
    while True:
        start = time.process_time()
        model = next(rounds)
        yield model, time.process_time() - start


def error_of(task: tsi_bench.Task, kind: Series, model: WindowModel) -> float:
    """Return the error on the withheld entries of the test part."""
    fills = []
    for frame in tables(task.test, task.joined):
        known = kind.open(frame).complete.values
        said = model.say(np.nan_to_num(known), ~np.isnan(known)).mean
        numbers = zip(model.curves, said.T, kind.filled, strict=True)
        columns = [
            curve.to_numbers(column) * of.scale + of.location for curve, column, of in numbers
        ]
        fills.append(np.stack(columns, axis=1))
    return tsi_bench.error(np.stack(fills), task.test)


if __name__ == "__main__":
    main()
