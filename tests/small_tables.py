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


def filled(kind: Series, data, standardised: float):
    sequence = kind.open(data).sequence
    values = np.where(sequence.missing, np.float32(standardised), sequence.values)
    return kind.open(data).write(values, sequence.missing)
