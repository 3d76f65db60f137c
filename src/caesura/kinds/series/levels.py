"""Columns of levels: truth values, categories, a few words, and numbers that are 0 or 1."""

from collections.abc import Sequence as List
from typing import Any

import numpy as np
from jaxtyping import Float64

from caesura.errors import CaesuraError
from caesura.kinds.series import table as tables

Level = bool | int | float | str

FEW = 20  # levels: a column of words or categories that has more is learnt only if named
MOST = 100
LARGEST = 2**31  # of numbers that a model file may hold


def find_levels(parts: List[Any]) -> tuple[Level, ...]:
    """Return what the parts of a column hold, in the order of its categories or sorted.

    Nothing if that is not levels, or one only; truth values have both levels.
    """
    found: dict[Any, None] = {}
    try:
        for part in parts:
            found |= dict.fromkeys(_different(part))
    except TypeError:  # lists, say
        return ()
    levels = list(found)
    if not all(map(_is_level, levels)):
        return ()
    if levels and all(isinstance(level, bool) for level in levels):
        return (False, True)
    if not hasattr(parts[0].dtype, "categories"):
        levels.sort(key=lambda level: (isinstance(level, str), level))
    return tuple(levels) if len(levels) > 1 else ()


def level_numbers(column: Any, levels: tuple[Level, ...], name: str) -> Float64[np.ndarray, " T"]:
    """Return the number of the level in each row; NaN where it is missing."""
    numbers = {level: float(number) for number, level in enumerate(levels)}
    values, known = column.tolist(), ~tables.missing(column)
    try:
        found = np.array([numbers.get(value, np.nan) for value in values])
    except TypeError:
        raise CaesuraError(f"The column '{name}' holds something that is not a level.") from None
    if (strange := known & np.isnan(found)).any():
        row = int(np.argmax(strange))
        raise CaesuraError(
            f"The column '{name}' has '{values[row]}' in row {row}, "
            f"which is not one of the {len(levels)} levels that the model knows."
        )
    return np.where(known, found, np.nan)


def switches_of(numbers: Float64[np.ndarray, " T"], count: int) -> Float64[np.ndarray, "T _"]:
    """Return a switch for each of `count` levels but the first."""
    on = (numbers[:, None] == np.arange(1, count)).astype(np.float64)
    return np.where(np.isnan(numbers)[:, None], np.nan, on)


def shares_of(switches: Float64[np.ndarray, "n m"]) -> Float64[np.ndarray, "n m+1"]:
    """Return how often each level occurs, from how often each switch is on."""
    first = 1 - switches.sum(axis=1, keepdims=True)
    return np.concatenate([first, switches], axis=1)


def _different(part: Any) -> list[Any]:
    known = part[~tables.missing(part)]
    if isinstance(part, np.ndarray):
        return list(np.unique(known).tolist())
    if hasattr(part.dtype, "categories"):
        met = set(known.tolist())
        return [level for level in part.dtype.categories.tolist() if level in met]
    values = known.unique().tolist()
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _is_level(value: Any) -> bool:
    if isinstance(value, str):
        return True
    # NaN is not below any number, and a whole number of any size can be compared.
    return type(value) in (bool, int, float) and abs(value) < LARGEST
