"""Tables that no model was trained on, by the zero-shot protocol of TSPulse (Ekambaram et al.).

    python benchmarks/zero_shot.py            the table of docs/series.md
    python benchmarks/zero_shot.py --windows 8 --sets ETTh1 --baselines    a quick look

Windows of 512 steps of the test rows; columns are standardised by the training rows. Masks are
drawn for each column by itself: `block` hides aligned patches of 8 steps; `hybrid` hides 4 whole
patches for every eighth of the ratio, and the rest as single points. The mean squared error is over
hidden entries; `inside` is the share of them in the interval of 90 %. The data is in `zero/` of the
directory that CAESURA_DATA names, with the published numbers.
"""

import argparse
import csv
import io
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import caesura
from caesura.kinds.series.experts import between, consult, no_prior, standardise

LENGTH, PATCH = 512, 8
RATIOS = (0.125, 0.25, 0.375, 0.5)
HOURS = (8640, 11520, 14400)  # the end of training, the first and the end of the test rows
SETS = {
    "ETTh1": ("ETT-small.zip", "ETT-small/ETTh1.csv", 1),
    "ETTh2": ("ETT-small.zip", "ETT-small/ETTh2.csv", 1),
    "ETTm1": ("ETT-small.zip", "ETT-small/ETTm1.csv", 4),
    "ETTm2": ("ETT-small.zip", "ETT-small/ETTm2.csv", 4),
    "weather": ("weather.zip", "weather/weather.csv", 0),
}
Fill = Callable[[np.ndarray], dict[str, np.ndarray]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--windows", type=int, default=64, help="evenly spread over the test rows")
    parser.add_argument("--model", default="series", help="a name or a path")
    parser.add_argument("--baselines", action="store_true", help="without the model")
    parser.add_argument("--data", default=os.environ.get("CAESURA_DATA"))
    given = parser.parse_args()
    if not given.data:
        sys.exit("Error: name the data directory by --data or CAESURA_DATA.")
    folder = Path(given.data) / "zero"
    published = {
        (row["Dataset"], row["Mask Type"], float(row["Mask Ratio"])): float(row["MSE"])
        for row in csv.DictReader((folder / "tspulse_zeroshot.csv").open())
    }
    model = None if given.baselines else by_model(given.model)
    names: list[str] = []
    wins: dict[str, int] = {}
    cells = 0
    for name in given.sets.split(","):
        windows = load(folder, name, given.windows)
        for pattern in ("block", "hybrid"):
            for ratio in RATIOS:
                hidden = mask(np.random.default_rng([7, len(name)]), windows.shape, pattern, ratio)
                seen = np.where(hidden, np.nan, windows)
                fills = simple(seen) | (model(seen) if model else {})
                errors = {
                    method: float(((fill - windows) ** 2)[hidden].mean())
                    for method, fill in fills.items()
                    if fill.shape == windows.shape
                }
                errors = {"TSPulse": published[name, pattern, ratio]} | errors
                if "low" in fills:
                    inside = (windows >= fills["low"]) & (windows <= fills["high"])
                    errors = {k: v for k, v in errors.items() if k not in ("low", "high")}
                    errors["inside"] = 100 * float(inside[hidden].mean())
                if not names:
                    names = list(errors)
                    print(f"| set | mask | ratio | {' | '.join(names)} |")
                    print("|---|---|---:|" + "---:|" * len(names))
                shown = " | ".join(f"{errors[method]:.3f}" for method in names)
                print(f"| {name} | {pattern} | {ratio:g} | {shown} |", flush=True)
                cells += 1
                ours = errors.get("caesura", errors["ridge"])
                for rival in ("TSPulse", "line", "ridge"):
                    wins[rival] = wins.get(rival, 0) + (ours < errors[rival])
    print(f"Better in so many of {cells} cells: {wins}")


def load(folder: Path, name: str, count: int) -> np.ndarray:
    """Return windows of the test rows, [count, 512, columns]."""
    table, first = read(folder, name)
    starts = np.linspace(first - LENGTH, len(table) - LENGTH, count).astype(int)
    return np.stack([table[start : start + LENGTH] for start in starts])


def read(folder: Path, name: str) -> tuple[np.ndarray, int]:
    """Return a table, standardised by its training rows, and the first of its test rows."""
    archive, member, per_hour = SETS[name]
    with zipfile.ZipFile(folder / archive) as zipped:
        text = io.TextIOWrapper(zipped.open(member), encoding="latin-1")
        rows = list(csv.reader(text))
    table = np.array([row[1:] for row in rows[1:]], float)
    if per_hour:
        train, first, end = (n * per_hour for n in HOURS)
    else:
        train, end = int(0.7 * len(table)), len(table)
        first = end - int(0.2 * len(table))
    mean, scale = table[:train].mean(axis=0), table[:train].std(axis=0)
    return ((table - mean) / scale)[:end], first


def mask(
    rng: np.random.Generator, shape: tuple[int, ...], pattern: str, ratio: float
) -> np.ndarray:
    """Return what is hidden, drawn for each column of each window by itself."""
    count, length, columns = shape
    patches = length // PATCH
    whole = round(ratio * patches) if pattern == "block" else round(4 * ratio / 0.125)
    order = rng.random((count, patches, columns)).argsort(axis=1)
    hidden = np.repeat(order < whole, PATCH, axis=1)
    points = round(ratio * length) - whole * PATCH
    if pattern == "hybrid" and points > 0:
        chance = np.where(hidden, 2.0, rng.random(shape))
        hidden |= chance.argsort(axis=1).argsort(axis=1) < points
    return hidden


def simple(seen: np.ndarray) -> dict[str, np.ndarray]:
    """Return the line between neighbours, and a regression plus the line between its residuals."""
    observed = ~np.isnan(seen)
    table = standardise(np.nan_to_num(seen), observed, no_prior(seen))
    experts = consult(table.x, observed, np.ones((*seen.shape[:2], 1), bool))
    ridge = experts.base + between(table.x - experts.base, observed)
    parts = {"line": between(table.x, observed), "ridge": ridge}
    return {name: table.location + table.scale * part for name, part in parts.items()}


def by_model(name: str) -> Fill:
    """Return a function that fills windows, each a table of its own, with 90 % intervals."""
    filler = caesura.load(name)

    def fill(seen: np.ndarray) -> dict[str, np.ndarray]:
        fills = filler.fill_many(list(seen))
        low, high = zip(*(one.quantile([0.05, 0.95]) for one in fills), strict=True)  # type: ignore[attr-defined]
        medians, means = [one.best for one in fills], [mean(one) for one in fills]
        parts = {"caesura": medians, "its mean": means, "low": low, "high": high}
        return {name: np.stack(part) for name, part in parts.items()}

    return fill


def mean(fill: caesura.SeriesFill) -> np.ndarray:
    """Return the table with the means of the distributions in its gaps."""
    values = fill.sequence.values.copy()
    values[fill.sequence.missing] = fill.drawn.mean(axis=0)
    return fill.item.write(values, fill.sequence.missing)


if __name__ == "__main__":
    main()
