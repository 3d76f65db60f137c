"""Small tables, and the kind that has learnt them."""

import numpy as np
import pandas as pd

from caesura.kinds import Series

NAN = np.nan


def frame(**columns) -> pd.DataFrame:
    return pd.DataFrame(columns)


def hours(count: int, start: str = "2024-03-01", **columns) -> pd.DataFrame:
    return pd.DataFrame(columns, index=pd.date_range(start, periods=count, freq="h"))


def learn(items, **fields) -> Series:
    return Series.learn(items, **{"least_observed": 1} | fields)


def names(kind: Series) -> list[str]:
    return [column.name for column in kind.columns]


def filled(kind: Series, data, standardised: float):
    item = kind.open(data)
    values = np.where(item.missing, np.float32(standardised), item.sequence.values)
    return item.write(values, item.missing)
