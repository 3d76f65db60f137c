"""Weekly carbon dioxide at Mauna Loa, with the weeks that were never measured filled."""

from typing import Any, NamedTuple

import numpy as np
from statsmodels.datasets import co2

from caesura.kinds.music.roll import runs
from caesura.plots import Filled
from caesura.sklearn import SeriesImputer

COLUMN = "co2"
LEVELS = (0.05, 0.5, 0.95)
SHOWN = 520  # weeks: the ten years in which most of the gaps lie
UPDATES = 400
SMALL = {"hidden": 32, "head_hidden": 32, "batch": 16}  # one column has little to learn


class Weeks(NamedTuple):
    """The series with its gaps filled, and what was seen of it."""

    filled: Filled
    longest: tuple[str, int]  # the first day of the longest gap, and its weeks

    @property
    def first_years(self) -> Filled:
        """What is shown."""
        return Filled(self.filled.name, *(column[:SHOWN] for column in self.filled[1:]))

    @property
    def missing(self) -> int:
        return int(self.filled.missing.sum())

    @property
    def width(self) -> float:
        """Of the interval of 90 %, at most."""
        return float(np.max(self.filled.high - self.filled.low))


def fill_weeks(updates: int) -> Weeks:
    """Train on what was measured, and fill the rest."""
    table = read_weeks()
    settings = SMALL | {"steps": updates, "validate_every": max(1, updates // 4)}
    imputer = SeriesImputer(settings=settings, random_state=0).fit(table)
    low, median, high = (one[COLUMN].to_numpy() for one in imputer.quantile(table, LEVELS))
    missing = table[COLUMN].isna().to_numpy()
    moments = table.index.to_numpy()
    first, stop = max(runs(missing), key=lambda gap: gap[1] - gap[0])
    longest = str(moments[first].astype("datetime64[D]")), stop - first
    return Weeks(Filled("CO₂ (ppm)", moments, missing, median, low, high), longest)


def read_weeks() -> Any:
    """The public-domain measurements of the Scripps Institution, as statsmodels ships them."""
    return co2.load_pandas().data
