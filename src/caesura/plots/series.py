"""A picture of one column of a table: what was observed, what fills its gaps, and how surely."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped

from caesura.plots.plot import COLOURS, make_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_STEPS = 2000  # in a picture, around the longest gap


class Filled(NamedTuple):
    """A column with its gaps filled, and the interval there."""

    name: str
    x: Shaped[np.ndarray, " T"]  # times, or numbers of rows
    missing: Bool[np.ndarray, " T"]
    median: Float[np.ndarray, " T"]  # observed values where they are known
    low: Float[np.ndarray, " T"]
    high: Float[np.ndarray, " T"]


def plot_filled(column: Filled, interval: str) -> "Figure":
    """Observed points, and in the gaps a line within its interval."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    some = _around_longest_gap(column.missing)
    x, missing, median, low, high = (a[some] for a in column[1:])
    figure, (axes,) = make_panels(9.0, 3.0, 1)
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
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _around_longest_gap(missing: Bool[np.ndarray, " T"]) -> slice:
    if len(missing) <= MOST_STEPS:
        return slice(0, len(missing))
    edges = np.flatnonzero(np.diff(missing, prepend=False, append=False)).reshape(-1, 2)
    longest = edges[np.argmax(edges[:, 1] - edges[:, 0])] if len(edges) else (0, 0)
    first = int(np.clip(sum(longest) // 2 - MOST_STEPS // 2, 0, len(missing) - MOST_STEPS))
    return slice(first, first + MOST_STEPS)
