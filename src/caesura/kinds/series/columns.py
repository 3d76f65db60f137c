"""The columns of a series: which are filled, within which bounds, and how they are standardised."""

import warnings
from collections.abc import Mapping
from collections.abc import Sequence as List
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from caesura.errors import CaesuraError, CaesuraWarning, lookup, one_line
from caesura.kinds.series import table as tables
from caesura.kinds.series.levels import FEW, MOST, Level, find_levels


@dataclass(frozen=True)
class Column:
    """One column of a series.

    Parameters
    ----------
    name
        Its name in a table.
    place
        Its number in an array, which has no names.
    location, scale
        The mean and standard deviation of what was observed. A scale of zero means that the column
        never varied: it is filled as it was.
    levels
        The levels of a category; none if the column holds numbers.
    lowest, highest
        The bounds of numbers that are filled; None for no bound.
    fills
        Whether it can be filled. If not, it only informs: it is a covariate.
    """

    name: str
    place: int
    location: float = 0.0
    scale: float = 1.0
    levels: tuple[Level, ...] = ()
    lowest: float | None = None
    highest: float | None = None
    fills: bool = True

    @property
    def size(self) -> int:
        """How many components of a frame it has; a category has one less than levels."""
        return max(1, len(self.levels) - 1)

    def fits(self, width: int) -> bool:
        """Return whether the fields make sense together, for arrays of `width` columns."""
        low, high = self.lowest, self.highest
        return (
            0 <= self.place < width
            and bool(np.isfinite([self.location, self.scale]).all())
            and self.scale >= 0
            and len(set(self.levels)) == len(self.levels) in (0, *range(2, MOST + 1))
            and (low is None or high is None or low < high)
            and (low is high is None or (self.fills and not self.levels))
        )


class Choice(NamedTuple):
    """What the user asks of the columns, as `Series.learn` takes it."""

    columns: Any
    covariates: Any
    categorical: Any
    bounds: Any
    least: int


def learn_columns(loaded: List[Any], choice: Choice, time: str) -> tuple[Column, ...]:
    """Return the columns that are filled, numbers before categories, then the covariates."""
    known = tables.column_names(loaded[0])
    informing = chosen_names(choice.covariates, known, "covariates")
    named = chosen_names(choice.categorical, known, "categorical columns")
    filled = _columns_to_fill(loaded, known, choice, named, [*informing, time])
    names = [*filled.numbers, *filled.levels, *informing]
    for name in named:
        if name not in names:
            raise CaesuraError(f"The categorical column '{name}' is neither filled nor informs.")
    levels = filled.levels | _levels_that_inform(loaded, known, informing, named)
    limits = _limits_of(choice.bounds, filled.numbers)
    columns = []
    places = {name: place for place, name in enumerate(known)}
    for name in names:
        place = places[name]
        location, scale = _standard(loaded, place, name, choice.least, name in levels)
        low, high = limits.get(name, (None, None))
        fills = name not in informing
        columns.append(Column(name, place, location, scale, levels.get(name, ()), low, high, fills))
    return tuple(columns)


def chosen_names(asked: Any, known: list[str], what: str) -> list[str]:
    """Return the names of columns, from names, numbers or None."""
    if asked is None:
        return []
    if isinstance(asked, str | int):
        asked = [asked]
    names, columns = [], dict.fromkeys(known)
    for one in asked:
        if isinstance(one, int | np.integer) and not 0 <= one < len(known):
            raise CaesuraError(f"There is no column {one}: they are 0 to {len(known) - 1}.")
        name = known[one] if isinstance(one, int | np.integer) else str(one)
        lookup(columns, name, "column")
        names.append(name)
    if len(set(names)) < len(names):
        raise CaesuraError(f"A column stands twice among the {what}.")
    return names


class _Filled(NamedTuple):
    """The columns to fill: names, and the levels of those that are categories."""

    numbers: list[str]
    levels: dict[str, tuple[Level, ...]]


def _columns_to_fill(
    loaded: List[Any], known: list[str], choice: Choice, categorical: list[str], others: list[str]
) -> _Filled:
    """Those that are asked for, or all of numbers and of few levels with something observed.

    A column of words or categories that nobody asked for is left as it is, if it has but one level,
    more than a few, or too few known cells.
    """
    asked = choice.columns
    chosen = known if asked is None else chosen_names(asked, known, "columns")
    found = _Filled([], {})
    places = {name: place for place, name in enumerate(known)}
    for name in chosen:
        if name in others:
            if asked is not None:
                raise CaesuraError(f"The column '{name}' cannot inform and be filled as well.")
            continue
        parts = [tables.column(one, places[name]) for one in loaded]
        numbers = [tables.numbers(part) for part in parts]
        if name in categorical or (asked is not None and any(part is None for part in numbers)):
            found.levels[name] = _levels_of(parts, name)
            continue
        if any(part is None for part in numbers):
            words = [word for part in parts if (word := tables.mixes(part)) is not None]
            if words:
                _warn(
                    f"The column '{name}' mixes numbers with words such as '{words[0]}': "
                    "it is left as it is."
                )
                continue
            levels = find_levels(parts)
            if 2 <= len(levels) <= FEW and _observed_cells(parts) >= choice.least:
                found.levels[name] = levels
            continue
        observed = np.concatenate([part for part in numbers if part is not None])
        observed = observed[~np.isnan(observed)]
        if not observed.size:
            _warn(f"The column '{name}' holds no number at all: it is left as it is.")
            continue
        if set(np.unique(observed)) == {0.0, 1.0}:
            found.levels[name] = (0, 1)
        else:
            found.numbers.append(name)
    if not found.numbers and not found.levels:
        raise CaesuraError("The table has no column of numbers to fill, and none of few levels.")
    return found


def _levels_that_inform(
    loaded: List[Any], known: list[str], informing: list[str], categorical: list[str]
) -> dict[str, tuple[Level, ...]]:
    """Of the covariates that are not of numbers, or named as categories."""
    found = {}
    places = {name: place for place, name in enumerate(known)}
    for name in informing:
        parts = [tables.column(one, places[name]) for one in loaded]
        if name in categorical or any(tables.numbers(part) is None for part in parts):
            found[name] = _levels_of(parts, name)
    return found


def _levels_of(parts: List[Any], name: str) -> tuple[Level, ...]:
    """The levels of a column that is a category, or one sentence that says why it is none."""
    levels = find_levels(parts)
    if not 2 <= len(levels) <= MOST:
        raise CaesuraError(
            f"The column '{name}' is not of numbers, nor a category of 2 to {MOST} levels."
        )
    return levels


def _observed_cells(parts: List[Any]) -> int:
    """How many cells hold something."""
    return sum(int(np.sum(~tables.missing(part))) for part in parts)


def finite_numbers(table: Any, place: int, name: str) -> Float64[np.ndarray, " T"]:
    """Return the numbers of a column, none of which may be infinite."""
    column = tables.column(table, place)
    numbers = tables.numbers(column)
    if numbers is None:
        raise CaesuraError(f"The column '{name}' is not of numbers.")
    if (infinite := np.isinf(numbers)).any():
        raise CaesuraError(
            f"The column '{name}' is infinite in row {int(np.argmax(infinite))}: "
            "a number that is not known is NaN."
        )
    return numbers


def _standard(
    loaded: List[Any], place: int, name: str, least: int, is_category: bool
) -> tuple[float, float]:
    """The location and the scale of a column; the switches of a category stay 0 and 1."""
    if is_category:
        count, what = _observed_cells([tables.column(one, place) for one in loaded]), "levels"
    else:
        numbers = np.concatenate([finite_numbers(one, place, name) for one in loaded])
        observed = numbers[~np.isnan(numbers)]
        count, what = len(observed), "numbers"
    if count < least:
        raise CaesuraError(
            f"The column '{name}' has {count} observed {what}, too few to learn from: "
            f"at least {least} are needed (least_observed)."
        )
    return (0.0, 1.0) if is_category else _mean_and_deviation(name, observed)


def _mean_and_deviation(name: str, observed: Float64[np.ndarray, " n"]) -> tuple[float, float]:
    """The deviation is zero if nothing varies."""
    if observed.min() == observed.max():
        return float(observed[0]), 0.0  # a mean of equal numbers can be rounded to another one
    with np.errstate(over="ignore", invalid="ignore"):
        location, scale = float(np.mean(observed)), float(np.std(observed))
    if not np.isfinite([location, scale]).all() or scale == 0:
        raise CaesuraError(
            f"The numbers of the column '{name}' are too large or too small to be standardised."
        )
    return location, scale


def _limits_of(bounds: Any, filling: list[str]) -> dict[str, tuple[float | None, float | None]]:
    """The bounds of each column of numbers that is filled."""
    by_name = bounds if isinstance(bounds, Mapping) else dict.fromkeys(filling, bounds)
    known = dict.fromkeys(filling)
    for name in by_name:
        lookup(known, str(name), "column to fill")
    return {name: _limit(by_name.get(name)) for name in filling}


def _limit(pair: Any) -> tuple[float | None, float | None]:
    try:
        low, high = (None, None) if pair is None else pair
        low, high = (None if b is None or np.isinf(float(b)) else float(b) for b in (low, high))
        if any(b is not None and np.isnan(b) for b in (low, high)):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise CaesuraError(f"Bounds are the least and the most, or None, not {pair!r}.") from None
    if low is not None and high is not None and not low < high:
        raise CaesuraError(f"The least of a column must be below its most, but {low} is not.")
    return low, high


def check_bounds(
    column: Float64[np.ndarray, " T"], name: str, low: float | None, high: float | None
) -> None:
    """Raise an error if an observed number is outside the bounds."""
    outside = np.zeros(len(column), bool)
    if low is not None:
        outside |= column < low
    if high is not None:
        outside |= column > high
    if outside.any():
        row = int(np.argmax(outside))
        raise CaesuraError(
            f"The column '{name}' has {column[row]:g} in row {row}, which is outside its bounds."
        )


def check_covariate(column: Float64[np.ndarray, " T"], name: str) -> None:
    """Raise an error if a covariate is missing somewhere: nothing would fill it."""
    if (holes := np.isnan(column)).any():
        raise CaesuraError(
            f"The covariate '{name}' is missing in row {int(np.argmax(holes))}: "
            "what only informs must be complete."
        )


def _warn(sentence: str) -> None:
    warnings.warn(one_line(sentence), CaesuraWarning, stacklevel=3)
