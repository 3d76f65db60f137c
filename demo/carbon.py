"""Weekly carbon dioxide at Mauna Loa, with the weeks that were never measured filled."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import caesura
from caesura.plots.series import Filled
from caesura.sequence import runs
from caesura.sklearn import SeriesImputer

# The public-domain measurements of the Scripps Institution, 1958 to 1969.
FILE = Path(caesura.__file__).parent / "web/static/mauna-loa-co2.csv"
TIME, COLUMN = "week", "co2_ppm"
LEVELS = (0.05, 0.5, 0.95)


class Weeks(NamedTuple):
    """The series with its gaps filled, and its longest gap."""

    filled: Filled
    longest: tuple[str, int]  # the first day of the gap, and its number of weeks

    @property
    def missing(self) -> int:
        return int(self.filled.missing.sum())

    @property
    def width(self) -> float:
        """The largest width of the 90 % interval."""
        return float(np.max(self.filled.high - self.filled.low))


def fill_weeks() -> Weeks:
    """Fill what was not measured by the pretrained model."""
    table = pd.read_csv(FILE, index_col=TIME, parse_dates=True)
    imputer = SeriesImputer().fit(table)
    low, median, high = (one[COLUMN].to_numpy() for one in imputer.quantile(table, LEVELS))
    missing = table[COLUMN].isna().to_numpy()
    moments = table.index.to_numpy()
    first, stop = max(runs(missing), key=lambda gap: gap.stop - gap.start)
    longest = str(moments[first].astype("datetime64[D]")), stop - first
    return Weeks(Filled("CO₂ (ppm)", moments, missing, median, low, high), longest)
