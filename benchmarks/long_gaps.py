"""Long gaps in long tables, filled at once without training.

    python benchmarks/long_gaps.py [--seeds 3] [--data DATA]

Tables are the last rows of sets that no model was trained on (those of `zero_shot.py`). In each
column, four runs of rows are hidden, at places of its own. Errors are mean absolute ones, in
standard deviations of the training rows; `inside` is the share in the intervals of 90 %.
"""

import argparse
import os
import sys
import warnings
from pathlib import Path

import numpy as np
from zero_shot import SETS, read

from caesura.errors import CaesuraWarning
from caesura.sklearn import SeriesImputer

ROWS, COLUMNS, RUNS = 6000, 7, 4
LENGTHS = (100, 200, 350)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", default=os.environ.get("CAESURA_DATA"))
    given = parser.parse_args()
    if not given.data:
        sys.exit("Error: name the data directory by --data or CAESURA_DATA.")
    warnings.simplefilter("ignore", CaesuraWarning)  # of columns that a line fills better
    print("| set | rows of a gap | line | caesura | inside, % |")
    print("|---|---:|---:|---:|---:|")
    for name in SETS:
        table = read(Path(given.data) / "zero", name)[0][-ROWS:, :COLUMNS]
        for length in LENGTHS:
            each = [measure(table, length, seed) for seed in range(given.seeds)]
            line, ours, inside = np.mean(each, axis=0)
            print(
                f"| {name} | {length} | {line:.3f} | {ours:.3f} | {100 * inside:.0f} |", flush=True
            )


def measure(table: np.ndarray, length: int, seed: int) -> tuple[float, float, float]:
    """Return the errors of a line and of ours, and how many numbers are inside."""
    rng, hidden = np.random.default_rng(seed), np.zeros(table.shape, bool)
    for column in np.repeat(np.arange(table.shape[1]), RUNS):
        start = int(rng.integers(len(table) - length))
        hidden[start : start + length, column] = True
    seen = np.where(hidden, np.nan, table)
    at = np.arange(len(table))
    columns = zip(table.T, hidden.T, strict=True)
    lines = np.stack([np.interp(at, at[~gone], x[~gone]) for x, gone in columns], axis=1)
    imputer = SeriesImputer(random_state=0).fit(seen)
    low, high = imputer.quantile(seen, [0.05, 0.95])
    errors = [
        float(np.abs(fill - table)[hidden].mean()) for fill in (lines, imputer.transform(seen))
    ]
    return *errors, float(((low <= table) & (table <= high))[hidden].mean())


if __name__ == "__main__":
    main()
