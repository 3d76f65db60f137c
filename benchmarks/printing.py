"""Tables of results as Markdown on stdout, notes on stderr, and CSV files."""

import csv
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np


def numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of '1,5' or '3-12'; none of 'none'."""
    if text == "none":
        return ()
    ends = (part.partition("-") for part in text.split(","))
    return tuple(n for a, _, b in ends for n in range(int(a), int(b or a) + 1))


def share(hits: list[bool]) -> str:
    """Return how many in a hundred, with its standard error."""
    mean = float(np.mean(hits))
    return f"{100 * mean:.1f} ± {100 * (mean * (1 - mean) / len(hits)) ** 0.5:.1f}"


def head(*columns: str) -> None:
    line(*columns)
    line(*["---"] * len(columns))


def line(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def write_lines(path: Path, names: Iterable[str], lines: Iterable[Iterable[Any]]) -> None:
    with path.open("w", newline="", encoding="utf8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(lines)
