"""The times of a table's rows: their even grid, rows that are absent from it, and the calendar."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from caesura.errors import CaesuraError, CaesuraWarning, lookup
from caesura.kinds.series.table import numbers

DAY = np.timedelta64(86_400, "s")
PERIODS = {"hour": DAY, "weekday": 7 * DAY, "yearday": 365 * DAY}
# What no fixed number of seconds makes: business days, local days, months, quarters and years.
CALENDAR_FREQUENCIES = ("B", "D", "MS", "ME", "QS", "QE", "YS", "YE")
SPARSEST = 10  # steps of the grid to a row: beyond, the frequency is not that of the table


class Grid(NamedTuple):
    """Evenly spaced steps, and which of them each row of the table is."""

    steps: int
    rows: Int[np.ndarray, " rows"]
    index: Any = None  # the pandas index of all steps, where the rows have times


def seconds_of(budget: Any) -> float:
    """Return a time in seconds; words are as pandas reads them: 30s, 2min, 1h."""
    import pandas as pd

    try:
        seconds = pd.Timedelta(budget if isinstance(budget, str) else f"{budget}s").total_seconds()
    except (TypeError, ValueError):
        seconds = 0.0
    if not 0 < seconds < float("inf"):  # also if it is no number
        raise CaesuraError(f"A budget of time is written as 30s or 2min, not as '{budget}'.")
    return seconds


def times_of(table: Any, column: str) -> Any:
    """Return the times of a pandas table, from its index or a column; None if it has none."""
    import pandas as pd

    if column:
        lookup(dict.fromkeys(table.columns), column, "column")
        if numbers(table[column]) is not None:
            raise CaesuraError(f"The column '{column}' holds numbers, but times are needed.")
        if (index := _parse(table[column])) is None:
            raise CaesuraError(f"The column '{column}' holds something that is not a time.")
    elif isinstance(table.index, pd.PeriodIndex):
        raise CaesuraError("The index holds periods: convert them with `.to_timestamp()`.")
    elif isinstance(table.index, pd.DatetimeIndex):
        index = table.index
    else:
        return None
    if index.hasnans:
        raise CaesuraError(f"Row {int(np.argmax(index.isna()))} has no time.")
    if (late := np.diff(index.asi8) <= 0).any():
        row = int(np.argmax(late)) + 1
        what = "has the time of the row before" if index[row] == index[row - 1] else "goes back"
        raise CaesuraError(
            f"Times must increase from row to row, but row {row} ({index[row]}) {what}: "
            "sort the table, and keep one row for each time."
        )
    return index


def find_time_column(table: Any) -> str:
    """Return the first column if it holds times and the index does not, and '' otherwise."""
    column = table.iloc[:, 0]
    if times_of(table, "") is not None or column.dtype.kind == "b" or numbers(column) is not None:
        return ""
    return "" if _parse(column) is None else str(table.columns[0])


def even_grid(index: Any, frequency: str) -> Grid:
    """Return all steps from the first time to the last; without a frequency, each row is one."""
    import pandas as pd

    if not frequency:
        return Grid(len(index), np.arange(len(index)), index)
    # Counted first, since a wrong frequency can ask for more steps than there is memory for.
    steps = (index[-1] - index[0]) / _shortest(check_frequency(frequency))
    if steps > SPARSEST * len(index) + 1000:
        raise CaesuraError(
            f"The {len(index)} rows from {index[0]} to {index[-1]} are too few for the frequency "
            f"'{frequency}': specify the right one, or fill the parts one by one."
        )
    grid = pd.date_range(index[0], index[-1], freq=frequency)
    rows = grid.get_indexer(index)
    if (rows < 0).any():
        odd = index[int(np.argmax(rows < 0))]
        raise CaesuraError(f"The time {odd} is not on the grid of the frequency '{frequency}'.")
    return Grid(len(grid), rows, grid)


def local_times(index: Any) -> Shaped[np.ndarray, " T"]:
    """Return the times of a pandas index, by the clock of its time zone."""
    return np.asarray(index.tz_localize(None))


def check_frequency(frequency: Any) -> str:
    """Return a frequency as pandas writes it, such as 'h', '15min' or 'MS'."""
    from pandas.tseries.frequencies import to_offset

    try:
        with warnings.catch_warnings(action="ignore"):  # of old spellings, such as 'w' for 'W'
            name = str(to_offset(frequency).freqstr)
        if _shortest(name) / DAY > 0:
            return name
    except (ValueError, AttributeError, TypeError, OverflowError):
        pass
    raise CaesuraError(
        f"A frequency must be written as in pandas, such as 'h', '15min' or 'MS', "
        f"not {frequency!r}."
    )


def choose_frequency(index: Any, asked: Any) -> str:
    """Return the frequency asked for, or one whose grid has all times; '' if none is found."""
    if asked is not None and index is None:
        raise CaesuraError("A frequency can only be given if the rows have times.")
    if asked is not None:
        return check_frequency(asked)
    if index is None or len(index) < 3:
        return ""
    import pandas as pd
    from pandas.tseries.frequencies import to_offset

    if (regular := pd.DatetimeIndex(index, freq="infer").freq) is not None:
        return str(regular.freqstr)
    steps, counts = np.unique(np.diff(index.asi8), return_counts=True)
    usual = pd.Timedelta(int(steps[counts.argmax()]), unit=index.unit)
    for frequency in CALENDAR_FREQUENCIES if usual >= pd.Timedelta(days=1) else ():
        # Each is tried only where it is about the usual step, or a short grid would be long.
        near = 0.5 < usual / _shortest(frequency) < 1.2
        if near and index.isin(pd.date_range(index[0], index[-1], freq=frequency)).all():
            return frequency
    if np.all(steps % steps[counts.argmax()] == 0):
        return str(to_offset(usual).freqstr)
    sentence = "The times are not evenly spaced: rows are taken as steps of equal length"
    warnings.warn(f"{sentence}, unless a frequency is specified (freq).", CaesuraWarning, 2)
    return ""


def choose_calendar(index: Any, asked: Any) -> tuple[str, ...]:
    """Return the parts of the calendar that can inform, or those asked for.

    A period shorter than a step is constant, and one longer than half of the time was seen once.
    """
    if asked != "auto":
        if asked and index is None:
            raise CaesuraError("The calendar can only be used if the rows have times.")
        return tuple(asked or ())
    if index is None or len(index) < 2:
        return ()
    moments = local_times(index)
    step, span = np.median(np.diff(moments)), moments[-1] - moments[0]
    return tuple(name for name, period in PERIODS.items() if 2 * step <= period <= span / 2)


def calendar_features(
    moments: Shaped[np.ndarray, " T"], names: tuple[str, ...]
) -> Float[np.ndarray, "T F"]:
    """Return where in its periods each moment is: a sine and a cosine for each period."""
    moments = moments.astype("datetime64[s]")
    waves = [wave(2 * np.pi * _phase(moments, n)) for n in names for wave in (np.sin, np.cos)]
    return np.stack(waves, axis=1) if waves else np.zeros((len(moments), 0))


def _phase(moments: Shaped[np.ndarray, " T"], name: str) -> Float[np.ndarray, " T"]:
    """From 0 at midnight, on Monday or at New Year to 1 at the next."""
    if name == "yearday":
        year = moments.astype("datetime64[Y]")
        start, end = (y.astype("datetime64[s]") for y in (year, year + 1))
        return (moments - start) / (end - start)
    monday = np.datetime64("1970-01-05", "s")
    return ((moments - monday) % PERIODS[name]) / PERIODS[name]


def _shortest(frequency: str) -> Any:
    """The shortest time between two steps."""
    import pandas as pd

    some = pd.date_range("2001-01-01", periods=14, freq=frequency)  # a year has twelve months
    return (some[1:] - some[:-1]).min()


def _parse(column: Any) -> Any:
    """The times of a column, or None."""
    import pandas as pd

    with warnings.catch_warnings(action="ignore"):  # of words in many forms, which are no times
        try:
            return pd.DatetimeIndex(pd.to_datetime(column))
        except (ValueError, TypeError):
            return None
