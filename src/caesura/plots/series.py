"""Filled columns of a table: what was observed, what fills the gaps, and an interval around it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped

from caesura.errors import CaesuraError
from caesura.plots.figure import COLOURS, add_legend, make_panels
from caesura.sequence import Span, runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_STEPS = 2000  # in a panel, around the longest gap
MOST_COLUMNS = 8


class Filled(NamedTuple):
    """A column with its gaps filled, and an interval around each value there."""

    name: str
    x: Shaped[np.ndarray, " T"]  # times, or numbers of rows
    missing: Bool[np.ndarray, " T"]
    median: Float[np.ndarray, " T"]  # the observed value where there is one
    low: Float[np.ndarray, " T"]
    high: Float[np.ndarray, " T"]


def plot_filled(columns: Sequence[Filled], interval: str) -> "Figure":
    """Draw columns below each other: observed points, and a line within its interval in the gaps.

    Parameters
    ----------
    columns : sequence of Filled
        The columns; only the first 8 are drawn. A column of more than 2000 steps is drawn around
        its longest gap.
    interval : str
        The label of the interval, such as "90 % interval".

    Returns
    -------
    Figure
        One panel per column.

    Raises
    ------
    CaesuraError
        If there is no column.
    """
    if not columns:
        raise CaesuraError("There is nothing to draw: no column of numbers has a gap.")
    shown = columns[:MOST_COLUMNS]
    figure, panels = make_panels(9.0, 3.0 if len(shown) == 1 else 2.2 * len(shown), 1, len(shown))
    for axes, column in zip(panels, shown, strict=True):
        _draw(axes, column, interval)
    add_legend(panels[0])
    return figure


def _draw(axes: Any, column: Filled, interval: str) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    some = _around_longest_gap(column.missing)
    x, missing, median, low, high = (a[some] for a in column[1:])
    observed, fill = COLOURS[:2]
    dots = min(3.0, 60 / len(x) ** 0.5)
    axes.plot(x, np.where(missing, np.nan, median), ".", color=observed, ms=dots, label="observed")
    # A gap is drawn from its last observed neighbour to the next, or a single step would vanish.
    near = missing | np.append(missing[1:], False) | np.insert(missing[:-1], 0, False)
    axes.plot(x, np.where(near, median, np.nan), color=fill, lw=1.0, label="median")
    axes.fill_between(x, low, high, where=near, color=fill, alpha=0.3, linewidth=0, label=interval)
    if x.dtype.kind == "M":
        locator = AutoDateLocator()
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.set_ylabel(column.name)


def _around_longest_gap(missing: Bool[np.ndarray, " T"]) -> slice:
    if len(missing) <= MOST_STEPS:
        return slice(0, len(missing))
    longest = max(runs(missing), key=lambda gap: gap.stop - gap.start, default=Span(0, 0))
    first = int(np.clip(sum(longest) // 2 - MOST_STEPS // 2, 0, len(missing) - MOST_STEPS))
    return slice(first, first + MOST_STEPS)
