"""The columns of a series: which are filled, within which bounds, and how they are standardised."""

import warnings
from collections.abc import Mapping
from collections.abc import Sequence as List
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64

from caesura.errors import CaesuraError, CaesuraWarning, lookup, one_line
from caesura.kinds.series import table as tables
from caesura.kinds.series.levels import FEW, MOST, Level, find_levels, level_numbers

OFTEN = 5  # rows, and other numbers of the column, from which on a number may be a code
FAR = 2.0  # times the distance between the quartiles of the others


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

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest number, infinite for no bound."""
        low = -np.inf if self.lowest is None else self.lowest
        return low, np.inf if self.highest is None else self.highest

    def fits(self, width: int) -> bool:
        """Return whether the fields make sense together, for arrays of `width` columns."""
        low, high = self.bounds
        return (
            0 <= self.place < width
            and bool(np.isfinite([self.location, self.scale]).all())
            and self.scale >= 0
            and len(set(self.levels)) == len(self.levels) in (0, *range(2, MOST + 1))
            and low < high
            and (self.lowest is self.highest is None or (self.fills and not self.levels))
        )

    def read(self, cells: Any) -> Float64[np.ndarray, " T"]:
        """Return the numbers of a table's cells, or of their levels; NaN where one is missing."""
        if self.levels:
            found = level_numbers(cells, self.levels, self.name)
        else:
            found = finite_numbers(cells, self.name)
        low, high = self.bounds
        if (outside := (found < low) | (found > high)).any():
            row = int(np.argmax(outside))
            raise CaesuraError(
                f"The column '{self.name}' has {found[row]:g} in row {row}, "
                "which is outside its bounds."
            )
        if not self.fills and (holes := np.isnan(found)).any():  # nothing would fill them
            raise CaesuraError(
                f"The covariate '{self.name}' is missing in row {int(np.argmax(holes))}: "
                "a covariate must be complete."
            )
        return found


def learn_columns(
    loaded: List[Any], time: str, columns: Any, covariates: Any, named: Any, bounds: Any, least: int
) -> tuple[Column, ...]:
    """Return the columns that are filled, numbers before categories, then the covariates."""
    known = tables.column_names(loaded[0])
    places = {name: place for place, name in enumerate(known)}
    cells = [tables.columns(one) for one in loaded]
    parts = {name: [one[places[name]] for one in cells] for name in known}
    informing = _chosen(covariates, known, "covariates")
    named = _chosen(named, known, "categorical columns")
    levels: dict[str, tuple[Level, ...]] = {}  # none for numbers
    for name in known if columns is None else _chosen(columns, known, "columns"):
        if name not in (*informing, time):
            found = _levels_to_fill(name, parts[name], name in named, columns is not None, least)
            if found is not None:
                levels[name] = found
        elif columns is not None:
            raise CaesuraError(f"The column '{name}' cannot be a covariate and be filled as well.")
    if not levels:
        raise CaesuraError(
            "The table has no column to fill: neither numbers nor a category of few levels."
        )
    names = [*sorted(levels, key=lambda name: bool(levels[name])), *informing]
    for name in named:
        if name not in names:
            raise CaesuraError(
                f"The categorical column '{name}' is neither filled nor a covariate."
            )
    limits = _limits_of(bounds, [name for name in levels if not levels[name]])
    for name in informing:
        words = any(tables.numbers(part) is None for part in parts[name])
        levels[name] = _levels_of(parts[name], name) if words or name in named else ()
    learnt = []
    for name in names:
        location, scale = _standard(name, parts[name], least, bool(levels[name]))
        low, high = limits.get(name, (None, None))
        about = (name, places[name], location, scale, levels[name], low, high)
        learnt.append(Column(*about, fills=name not in informing))
    return tuple(learnt)


def _chosen(asked: Any, known: list[str], what: str) -> list[str]:
    """Return the names of columns, from names, numbers or None."""
    if asked is None:
        return []
    names, columns = [], dict.fromkeys(known)
    for one in [asked] if isinstance(asked, str | int) else asked:
        if isinstance(one, int | np.integer) and not 0 <= one < len(known):
            raise CaesuraError(
                f"There is no column {one}: columns are numbered from 0 to {len(known) - 1}."
            )
        names.append(known[one] if isinstance(one, int | np.integer) else str(one))
        lookup(columns, names[-1], "column")
    if len(set(names)) < len(names):
        raise CaesuraError(f"A column is listed twice among the {what}.")
    return names


def _levels_to_fill(
    name: str, parts: List[Any], is_named: bool, is_asked: bool, least: int
) -> tuple[Level, ...] | None:
    """Return the levels of a column, none if it holds numbers; None if it is left as it is.

    A column of words or categories that nobody asked for is left as it is, if it has but one level,
    more than a few, or too few known cells.
    """
    numbers = [found for part in parts if (found := tables.numbers(part)) is not None]
    words = len(numbers) < len(parts)
    if is_named or (is_asked and words):
        return _levels_of(parts, name)
    if words:
        mixed = [word for part in parts if (word := tables.mixes(part)) is not None]
        if mixed:
            _warn(f"The column '{name}' mixes numbers with words such as '{mixed[0]}'")
            return None
        levels = find_levels(parts)
        return levels if 2 <= len(levels) <= FEW and _count_known(parts) >= least else None
    different = np.unique(np.concatenate(numbers))
    different = different[~np.isnan(different)]
    if not different.size:
        _warn(f"The column '{name}' holds no number at all")
        return None
    return (0, 1) if different.tolist() == [0, 1] else ()


def _warn(why: str) -> None:
    warnings.warn(one_line(f"{why}: it is left as it is."), CaesuraWarning, stacklevel=4)


def _levels_of(parts: List[Any], name: str) -> tuple[Level, ...]:
    """Return the levels of a column that must be a category."""
    levels = find_levels(parts)
    if not 2 <= len(levels) <= MOST:
        raise CaesuraError(
            f"The column '{name}' holds neither numbers nor a category of 2 to {MOST} levels."
        )
    return levels


def _count_known(parts: List[Any]) -> int:
    return sum(int(np.sum(~tables.missing(part))) for part in parts)


def finite_numbers(column: Any, name: str) -> Float64[np.ndarray, " T"]:
    """Return the numbers of a column, none of which may be infinite."""
    numbers = tables.numbers(column)
    if numbers is None:
        raise CaesuraError(f"The column '{name}' does not hold numbers.")
    if (infinite := np.isinf(numbers)).any():
        raise CaesuraError(
            f"The column '{name}' is infinite in row {int(np.argmax(infinite))}: "
            "use NaN for a number that is not known."
        )
    return numbers


def _standard(name: str, parts: List[Any], least: int, is_category: bool) -> tuple[float, float]:
    """Return a column's mean and deviation, which is zero if nothing varies.

    The switches of a category stay 0 and 1.
    """
    if is_category:
        count, what = _count_known(parts), "levels"
    else:
        observed = np.concatenate([finite_numbers(part, name) for part in parts])
        observed = observed[~np.isnan(observed)]
        count, what = len(observed), "numbers"
    if count < least:
        raise CaesuraError(
            f"The column '{name}' has {count} observed {what}, too few to learn from: "
            f"at least {least} are needed (least_observed)."
        )
    if is_category:
        return 0.0, 1.0
    if observed.min() == observed.max():
        return float(observed[0]), 0.0  # a mean of equal numbers can be rounded to another one
    with np.errstate(over="ignore", invalid="ignore"):
        location, scale = float(np.mean(observed)), float(np.std(observed))
    if not np.isfinite([location, scale]).all() or scale == 0:
        raise CaesuraError(
            f"The numbers of the column '{name}' are too large or too small to be standardised."
        )
    _warn_of_code(name, observed)
    return location, scale


def _warn_of_code(name: str, observed: Float64[np.ndarray, " n"]) -> None:
    """Warn of a number that may be a code for what is missing, such as -999.

    Such a number is whole, frequent, and far below or above all others. Zero is not: a machine may
    be off.
    """
    values, counts = np.unique(observed, return_counts=True)
    if len(values) <= OFTEN:
        return
    for code, count, next_to_it in (
        (values[0], counts[0], values[1]),
        (values[-1], counts[-1], values[-2]),
    ):
        low, high = np.quantile(observed[observed != code], [0.25, 0.75])
        is_far = abs(code - next_to_it) > FAR * (high - low) > 0
        if count >= OFTEN and is_far and code and code == np.round(code):
            warnings.warn(
                one_line(
                    f"The column '{name}' has {code:g} in {count} rows, far from all its other "
                    "numbers: if this is a code for what is missing, replace it by NaN."
                ),
                CaesuraWarning,
                stacklevel=5,
            )


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
        raise CaesuraError(
            f"Bounds must be a lower and an upper number, or None, not {pair!r}."
        ) from None
    if low is not None and high is not None and not low < high:
        raise CaesuraError(
            f"The lower bound of a column must be below its upper bound, but {low} is not."
        )
    return low, high
