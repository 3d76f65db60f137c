"""The protocol of TSI-Bench (Du et al. 2024, arXiv 2406.12747): sets, and what is withheld in them.

The folder of CAESURA_DATA holds `series/`, with ETTh1.csv.xz, beijing_air.npz, italy_air.npz and
physionet2012_a.npz, and `series/published/` with the benchmark's own figures. Everything is
standardised by the training part; windows do not overlap. Entries are withheld in all three parts
(of PhysioNet, in the validation and test parts), and never learnt from.
"""

import csv
import lzma
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

FOLDER = Path(os.environ.get("CAESURA_DATA", "data")) / "series"
NAMES = {"ett": "ETT_h1", "beijing": "BeijingAir", "italy": "ItalyAir"}  # in its tables
NAMES |= {"physionet": "PhysioNet2012"}
RUNS = {48: 36, 24: 18, 12: 8}  # by the steps of a window, as all that follows
SIDES = {48: 6, 24: 6, 12: 4}  # of blocks, in steps and in columns
FACTORS = {48: 0.36, 24: 0.0055, 12: 0.07}  # of how many blocks


class Part(NamedTuple):
    """Windows [n, T, D], NaN where data lack values, the entries withheld, and the times."""

    values: np.ndarray
    withheld: np.ndarray
    moments: np.ndarray  # [n, T]

    @property
    def seen(self) -> np.ndarray:
        return np.where(self.withheld, np.nan, self.values)


class Task(NamedTuple):
    """What to learn from, to choose by and to test on."""

    train: Part
    valid: Part
    test: Part
    joined: bool  # the windows of a part follow each other in time


class Windows(NamedTuple):
    """Values [n, T, D] and when they were measured, [n, T]."""

    values: np.ndarray
    moments: np.ndarray


Split = tuple[Windows, Windows, Windows]


def load(name: str, pattern: str, seed: int) -> Task:
    """A set with entries withheld in a pattern, anew for each seed."""
    split = SETS[name]()
    known = split[0].values
    mean, scale = np.nanmean(known, axis=(0, 1)), np.nanstd(known, axis=(0, 1))
    draw = np.random.default_rng(2024 + seed)
    train, valid, test = (
        Part((part.values - mean) / scale, hide(draw, pattern, part.values), part.moments)
        for part in split
    )
    if name == "physionet":
        train = train._replace(withheld=np.zeros_like(train.withheld))
    return Task(train, valid, test, name != "physionet")


def hide(draw: np.random.Generator, pattern: str, values: np.ndarray) -> np.ndarray:
    """Only what is known can be withheld, and asked for."""
    return PATTERNS[pattern](draw, *values.shape) & ~np.isnan(values)


def ett() -> Split:
    with lzma.open(FOLDER / "ETTh1.csv.xz", "rt") as file:
        rows = list(csv.reader(file))[1:]
    values, moments = (np.array([row[i] for row in rows]) for i in (slice(1, None), 0))
    return by_month(values.astype(float), moments.astype("M8[s]"), 14, 5, 48)


def beijing() -> Split:
    held = np.load(FOLDER / "beijing_air.npz")
    values = held["values"].reshape(len(held["values"]), -1).astype(float)
    return by_month(values, held["time"].astype("M8[s]"), 28, 10, 24)


def italy() -> Split:
    """The benchmark takes the code for what is missing as a value."""
    held = np.load(FOLDER / "italy_air.npz")
    values = np.nan_to_num(held["values"].astype(float), nan=-200)
    moments = held["time"].astype("M8[s]")
    first, second = int(0.6 * len(values)), int(0.8 * len(values))
    spans = slice(first), slice(first, second), slice(second, None)
    train, valid, test = (cut(values[span], moments[span], 12) for span in spans)
    return train, valid, test


def physionet() -> Split:
    held = np.load(FOLDER / "physionet2012_a.npz")
    used = [i for i, name in enumerate(held["features"]) if name not in ("MechVent", "Weight")]
    stays = held["a_mean"][:, :, used].astype(float)
    stays = stays[np.random.default_rng(2024).permutation(len(stays))]
    never = np.full(stays.shape[:2], "NaT", "M8[s]")  # hours of a stay; of which day, none knows
    first, second = int(0.64 * len(stays)), int(0.8 * len(stays))
    spans = slice(first), slice(first, second), slice(second, None)
    train, valid, test = (Windows(stays[span], never[span]) for span in spans)
    return train, valid, test


def by_month(values: np.ndarray, moments: np.ndarray, train: int, valid: int, steps: int) -> Split:
    _, month = np.unique(moments.astype("M8[M]"), return_inverse=True)
    of_part = np.digitize(month, [train, train + valid])
    first, second, third = (
        cut(values[of_part == part], moments[of_part == part], steps) for part in range(3)
    )
    return first, second, third


def cut(values: np.ndarray, moments: np.ndarray, steps: int) -> Windows:
    count = len(values) // steps
    used = slice(count * steps)
    return Windows(values[used].reshape(count, steps, -1), moments[used].reshape(count, steps))


Draw = np.random.Generator


def points(rate: float) -> Callable[[Draw, int, int, int], np.ndarray]:
    return lambda draw, count, steps, columns: draw.random((count, steps, columns)) < rate


def subsequences(draw: Draw, count: int, steps: int, columns: int) -> np.ndarray:
    """Half of the entries, in runs of one column."""
    length = RUNS[steps]
    withheld = np.zeros((count * columns, steps), bool)
    rows = draw.choice(
        len(withheld), math.ceil(len(withheld) * 0.5 * steps / length), replace=False
    )
    for row, start in zip(rows, draw.integers(0, steps - length, len(rows)), strict=True):
        withheld[row, start : start + length] = True
    return withheld.reshape(count, columns, steps).swapaxes(1, 2)


def blocks(draw: Draw, count: int, steps: int, columns: int) -> np.ndarray:
    """Squares, which may overlap; as in the benchmark, they spare the last step and column."""
    side = SIDES[steps]
    withheld = np.zeros((count, steps, columns), bool)
    places = count * (columns - side)
    rate = FACTORS[steps] * steps * columns / side**2
    for place in draw.choice(places, math.ceil(places * rate), replace=rate > 1):
        window, column = divmod(int(place), columns - side)
        step = int(draw.integers(0, steps - side))
        withheld[window, step : step + side, column : column + side] = True
    return withheld


SETS: dict[str, Callable[[], Split]] = {
    "ett": ett,
    "beijing": beijing,
    "italy": italy,
    "physionet": physionet,
}
PATTERNS = {"point01": points(0.1), "point05": points(0.5)}
PATTERNS |= {"subseq05": subsequences, "block05": blocks}


class Seconds(NamedTuple):
    """By the clock on the wall, and of all cores together."""

    wall: float
    cpu: float

    @staticmethod
    def now() -> "Seconds":
        return Seconds(time.monotonic(), time.process_time())

    def passed(self) -> "Seconds":
        now = Seconds.now()
        return Seconds(now.wall - self.wall, now.cpu - self.cpu)

    def told(self) -> dict[str, str]:
        return {"fit": f"{self.wall:.1f}", "CPU": f"{self.cpu:.1f}"}


def interpolate(values: np.ndarray) -> np.ndarray:
    """The line between the nearest entries of a window; level at its ends, and zero for none."""
    filled = np.zeros_like(values)
    for place in np.ndindex(len(values), values.shape[2]):
        column = values[place[0], :, place[1]]
        known = np.flatnonzero(~np.isnan(column))
        if len(known):
            line = np.interp(np.arange(len(column)), known, column[known])
            filled[place[0], :, place[1]] = line
    return filled


def error(guess: np.ndarray, part: Part) -> float:
    """The MAE on what is withheld."""
    return float(np.abs(guess - part.values)[part.withheld].mean())


def published(name: str, pattern: str) -> tuple[str, float]:
    """The best of the benchmark's models, and its MAE."""
    with open(FOLDER / "published" / "tsibench_published.tsv", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    found = [
        (row["model"], float(row["MAE"]))
        for row in rows
        if (row["dataset"], row["pattern"]) == (NAMES[name], pattern)
    ]
    return min(found, key=lambda one: one[1], default=("none", math.nan))
