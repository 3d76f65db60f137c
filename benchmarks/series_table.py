"""The table of docs/series.md: means over seeds of what `benchmarks/series.py --csv` has written.

python benchmarks/series_table.py docs/series.csv
"""

import csv
import sys
from itertools import groupby
from pathlib import Path
from statistics import mean, stdev

HEADINGS = "set", "removed", "seeds", "median", "mean", "one pass", "CRPS"
HEADINGS += "in 50 / 80 / 95 %", "line", "best published"
SETS = {"ett": "ETTh1", "italy": "Italy", "beijing": "Beijing", "physionet": "PhysioNet"}
PATTERNS = {
    "point01": "10 % points",
    "point05": "50 % points",
    "block05": "50 % blocks",
    "subseq05": "50 % subsequences",
}


def main() -> None:
    rows = list(csv.DictReader(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()))
    ways = list(PATTERNS), list(SETS)
    rows.sort(key=lambda row: (ways[0].index(row["pattern"]), ways[1].index(row["set"])))
    numbers = len(HEADINGS) - 3  # all but the names, which are the first two and the last
    print(f"| {' | '.join(HEADINGS)} |\n|{'---|' * 2}{'---:|' * numbers}---|")
    for (name, pattern), seeds in groupby(rows, lambda row: (row["set"], row["pattern"])):
        cells = [SETS[name], PATTERNS[pattern], *summary(list(seeds))]
        print(f"| {' | '.join(cells)} |")


def summary(rows: list[dict[str, str]]) -> list[str]:
    """Of the seeds of one task."""

    def of(column: str) -> list[float]:
        return [float(row[column]) for row in rows]

    model, published = rows[0]["published"].split()
    covered = " / ".join(f"{100 * mean(of(column)):.0f}" for column in ("50", "80", "95"))
    return [
        str(len(rows)),
        f"**{mean(of('median')):.4f}** ± {stdev(of('median')):.4f}",
        *(f"{mean(of(column)):.4f}" for column in ("mean", "at once", "CRPS")),
        covered,
        f"{mean(of('linear')):.3f}",
        f"{published} ({model})",
    ]


if __name__ == "__main__":
    main()
