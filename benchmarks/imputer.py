"""How long tables of 10 000 rows and 10 columns take to be filled, a tenth of them missing.

    python benchmarks/imputer.py [--rows 10000] [--columns 10] [--full] [--pypots]

`SeriesImputer` with the pretrained model, medians and intervals of 90 %, beside the imputers of
scikit-learn and linear interpolation; with `--full` also a model that is trained on the table, and
with `--pypots` SAITS and BRITS, which are trained on it too (`pip install pypots` first).
Seconds of the clock, and of all cores together; the error is that on what was hidden, in standard
deviations; `inside` is the share of it in the intervals.
"""

import argparse
import resource
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from caesura.sklearn import SeriesImputer

SLOW = 20_000  # rows, beyond which the neighbours of scikit-learn take minutes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--full", action="store_true", help="train on the table, too")
    parser.add_argument("--pypots", action="store_true")
    given = parser.parse_args()
    draw = np.random.default_rng(0)
    truth = waves(draw, given.rows, given.columns)
    hidden = draw.random(truth.shape) < 0.1
    hours = pd.date_range("2024-01-01", periods=len(truth), freq="h")
    frame = pd.DataFrame(np.where(hidden, np.nan, truth), index=hours).add_prefix("sensor ")
    methods: dict[str, Callable[[pd.DataFrame], Any]] = {"SeriesImputer()": at_once}
    if given.rows <= SLOW:
        methods["KNNImputer()"] = KNNImputer().fit_transform
    methods["IterativeImputer()"] = IterativeImputer(random_state=0).fit_transform
    methods["interpolate"] = lambda table: table.interpolate(limit_direction="both")
    if given.full:
        methods['SeriesImputer(adapt="full")'] = trained
    if given.pypots:
        import pypots_models

        for name in ("SAITS", "BRITS"):
            methods[f"{name} of PyPOTS"] = partial(pypots_models.fill, name=name)
    print(
        "| | seconds | CPU | error | inside, % | peak memory, GB |\n|---|---:|---:|---:|---:|---:|"
    )
    for name, method in methods.items():
        clock, cpu = time.monotonic(), time.process_time()
        answer = method(frame)
        wall, used = time.monotonic() - clock, time.process_time() - cpu
        best, *interval = answer if isinstance(answer, tuple) else (answer,)
        inside = ""
        if interval:
            low, high = map(np.asarray, interval)
            inside = f"{100 * np.mean(((truth >= low) & (truth <= high))[hidden]):.0f}"
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        error = error_of(np.asarray(best), truth, hidden)
        print(
            f"| `{name}` | {wall:.1f} | {used:.1f} | {error:.3f} | {inside} | {memory:.2f} |",
            flush=True,
        )


def at_once(frame: pd.DataFrame) -> tuple[Any, Any, Any]:
    """Medians and intervals by one pass over the table."""
    fill = SeriesImputer().fit(frame).filler_.fill(frame)
    return fill.best, *fill.quantile([0.05, 0.95])  # type: ignore[attr-defined]


def trained(frame: pd.DataFrame) -> tuple[Any, Any, Any]:
    fill = SeriesImputer(adapt="full", random_state=0).fit(frame).filler_.fill(frame)
    return fill.best, *fill.quantile([0.05, 0.95])  # type: ignore[attr-defined]


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
