"""Short tables and single columns, filled at once, beside simple and structural models.

    pip install statsmodels
    python benchmarks/short_tables.py [--seeds 20] [--only Nile] [--adapt quick --budget 30s]

The tables come with statsmodels. In each column, a tenth of the numbers is hidden: as single
points, or as one block. Errors are mean absolute ones, in standard deviations of the column;
`inside` is the share of hidden numbers in their intervals of 90 %. `structural` is a local linear
trend with a season and noise, fitted to each column by itself, and its Kalman smoother.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
import statsmodels.api as sm

from caesura.sklearn import SeriesImputer

SHARE = 0.1
BEYOND = 1.6449  # deviations, on either side of an interval of 90 %


class Table(NamedTuple):
    frame: pd.DataFrame
    period: int  # rows of a cycle; 0 if there is none


class Filled(NamedTuple):
    best: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None


def tables() -> dict[str, Table]:
    """Return public tables: short ones, and single columns, two of which are longer."""
    data = sm.datasets
    macro = data.macrodata.load_pandas().data.drop(columns=["year", "quarter"])
    nino = data.elnino.load_pandas().data.set_index("YEAR").to_numpy(float).ravel()
    co2 = data.co2.load_pandas().data["co2"].dropna()
    spots = data.sunspots.load_pandas().data["SUNACTIVITY"]
    return {
        "US macro, 203 quarters, 12 columns": Table(macro, 0),
        "El Niño, 480 months": Table(_one(nino[-480:]), 12),
        "CO2, 480 weeks": Table(_one(co2[-480:]), 52),
        "El Niño, 732 months": Table(_one(nino), 12),
        "CO2, 2225 weeks": Table(_one(co2), 52),
        "sunspots, 309 years": Table(_one(spots), 11),
        "Nile, 100 years": Table(_one(data.nile.load_pandas().data["volume"]), 0),
    }


def _one(numbers: object) -> pd.DataFrame:
    return pd.DataFrame({"x": np.asarray(numbers, float)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="", help="the beginning of the name of a table")
    parser.add_argument("--adapt", default="none")
    parser.add_argument("--budget", default="30s")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of fits that do not converge

    def caesura(frame: pd.DataFrame, period: int) -> Filled:
        options = {} if given.adapt == "none" else {"adapt": given.adapt, "budget": given.budget}
        imputer = SeriesImputer(**options, random_state=0).fit(frame)
        low, high = imputer.quantile(frame, [0.05, 0.95])
        return Filled(*(part.to_numpy() for part in (imputer.transform(frame), low, high)))

    methods = {"line": line, "season": season, "structural": structural, "caesura": caesura}
    print(f"| table | hidden | {' | '.join(methods)} | inside: structural | caesura | seconds |")
    print("|---|---|" + "---:|" * (len(methods) + 3))
    for name, table in tables().items():
        if not name.startswith(given.only):
            continue
        for pattern, hide in PATTERNS.items():
            errors: dict[str, list[float]] = {method: [] for method in methods}
            inside: dict[str, list[float]] = {method: [] for method in methods}
            seconds = 0.0
            for seed in range(given.seeds):
                truth = table.frame.to_numpy(float)
                hidden = hide(np.random.default_rng(seed), *truth.shape)
                frame = table.frame.astype(float).mask(hidden)
                for method, fill in methods.items():
                    began = time.monotonic()
                    found = fill(frame, table.period)
                    seconds = time.monotonic() - began  # of the last, which is ours
                    off = np.abs(found.best - truth) / truth.std(axis=0)
                    errors[method].append(off[hidden].mean())
                    if found.low is not None:
                        held = (truth >= found.low) & (truth <= found.high)
                        inside[method].append(held[hidden].mean())
            shown = [f"{np.mean(errors[method]):.3f}" for method in methods]
            best = min(shown)
            shown = [f"**{error}**" if error == best else error for error in shown]
            held = [f"{100 * np.mean(inside[m]):.0f}" for m in ("structural", "caesura")]
            print(
                f"| {name} | {pattern} | {' | '.join([*shown, *held])} | {seconds:.1f} |",
                flush=True,
            )


def points(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    return rng.random((rows, columns)).argsort(axis=0) < SHARE * rows


def block(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """One run in each column, at places of its own."""
    length = round(SHARE * rows)
    first = rng.integers(1, rows - length, columns)
    at = np.arange(rows)[:, None]
    return (at >= first) & (at < first + length)


PATTERNS: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "points": points,
    "block": block,
}


def line(frame: pd.DataFrame, period: int) -> Filled:
    return Filled(frame.interpolate(limit_direction="both").to_numpy())


def season(frame: pd.DataFrame, period: int) -> Filled:
    """The mean of the same place in the cycles before and after; without a period, the line."""
    if not period:
        return line(frame, period)
    each = [frame.shift(sign * period * cycle) for cycle in (1, 2, 3) for sign in (-1, 1)]
    means = pd.concat(each).groupby(level=0).mean()
    return Filled(frame.fillna(means).interpolate(limit_direction="both").to_numpy())


def structural(frame: pd.DataFrame, period: int) -> Filled:
    parts = [_smoothed(frame[name].to_numpy(), period) for name in frame]
    return Filled(*(np.stack(part, axis=1) for part in zip(*parts, strict=True)))


def _smoothed(numbers: np.ndarray, period: int) -> tuple[np.ndarray, ...]:
    """The mean of one column at each step given all that is observed, and an interval."""
    middle, scale = np.nanmean(numbers), np.nanstd(numbers)
    harmonics = min(4, period // 2)
    cycle = [{"period": period, "harmonics": harmonics}] if period else None
    model = sm.tsa.UnobservedComponents(
        (numbers - middle) / scale, "local linear trend", freq_seasonal=cycle
    )
    fitted = model.fit(disp=False, maxiter=200).smoother_results
    design, noise = fitted.design[0, :, 0], fitted.obs_cov[0, 0, 0]
    mean = design @ fitted.smoothed_state
    variance = noise + np.einsum("i,ijt,j->t", design, fitted.smoothed_state_cov, design)
    off = BEYOND * np.sqrt(np.maximum(variance, 0))
    return tuple(middle + scale * part for part in (mean, mean - off, mean + off))


if __name__ == "__main__":
    main()
