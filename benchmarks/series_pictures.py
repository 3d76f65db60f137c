"""The pictures of docs/series.md: fills of public tables with their intervals of 90 %.

    pip install statsmodels
    python benchmarks/series_pictures.py

Gaps are made in tables that come with statsmodels, so that the truth is known: it is the thin
black line.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm

import caesura

FOLDER = Path(__file__).parent.parent / "docs/pictures"


def tables() -> dict[str, tuple[pd.DataFrame, list[tuple[str, int, int]]]]:
    """Return tables, and the gaps that are made in them: a column, the first row and the end."""
    data = sm.datasets
    macro = data.macrodata.load_pandas().data
    macro.index = pd.date_range("1959-01-01", periods=len(macro), freq="QS")
    macro = macro.drop(columns=["year", "quarter"])
    years = data.elnino.load_pandas().data.set_index("YEAR")
    months = pd.date_range("1950-01-01", periods=years.size, freq="MS")
    nino = pd.DataFrame({"sea, °C": years.to_numpy(float).ravel()}, index=months)
    spots = data.sunspots.load_pandas().data
    sun = pd.DataFrame(
        {"sunspots": spots["SUNACTIVITY"].to_numpy(float)}, spots["YEAR"].astype(int)
    )
    return {
        "macro": (macro, [("unemp", 40, 60), ("unemp", 120, 150), ("tbilrate", 80, 105)]),
        "nino": (nino.iloc[-300:], [("sea, °C", 60, 75), ("sea, °C", 180, 215)]),
        "sun": (sun.iloc[150:], [("sunspots", 25, 33), ("sunspots", 90, 110)]),
    }


def main() -> None:
    for name, (truth, gaps) in tables().items():
        frame = truth.astype(float)
        for column, first, end in gaps:
            frame.loc[frame.index[first:end], column] = np.nan
        frame.index = frame.index if name != "sun" else range(len(frame))
        figure = caesura.load("series").fill(frame).plot()
        shown = dict.fromkeys(column for column, *_ in gaps)
        for axes, column in zip(figure.axes, [c for c in frame if c in shown], strict=True):
            axes.plot(frame.index, truth[column].to_numpy(), color="black", lw=0.5)
        figure.savefig(FOLDER / f"series-{name}.png", dpi=90, bbox_inches="tight")


if __name__ == "__main__":
    main()
