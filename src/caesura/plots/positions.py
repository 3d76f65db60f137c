"""Curves over the positions in a gap, one for each strategy."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Shaped

from caesura.plots.figure import COLOURS, add_legend, make_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS = "os^DPv"
MOST_MARKED = 30  # points; a longer curve has no markers


class Curve(NamedTuple):
    """Points from left to right, with their standard errors if they are known."""

    x: Shaped[np.ndarray, " n"]
    y: Float[np.ndarray, " n"]
    error: Float[np.ndarray, " n"] | None = None


def plot_positions(nll: Mapping[str, Float[np.ndarray, " g"]]) -> "Figure":
    """Draw the NLL of each step of a gap by itself.

    Parameters
    ----------
    nll : mapping of arrays [g]
        A curve for each name, which is usually that of a strategy.

    Returns
    -------
    Figure
        One panel with all curves.
    """
    figure, (axes,) = make_panels(5.0, 3.4)
    draw_positions(axes, over_positions(nll))
    add_legend(axes)
    return figure


def over_positions(curves: Mapping[str, Float[np.ndarray, " g"]]) -> dict[str, Curve]:
    """Return curves over the positions 1 to g."""
    return {name: Curve(np.arange(1, len(y) + 1), y) for name, y in curves.items()}


def draw_positions(axes: Any, curves: Mapping[str, Curve]) -> None:
    """Draw curves of the NLL over the positions in a gap."""
    draw_curves(axes, curves)
    label_positions(axes, "NLL (nats per step)")


def label_positions(axes: Any, label: str) -> None:
    """Label the axes of something drawn over the positions in a gap."""
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel("position in the gap")
    axes.set_ylabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def draw_curves(axes: Any, curves: Mapping[str, Curve]) -> None:
    """Draw each curve in its own colour and with its own marker, in their order."""
    for number, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        marker = MARKERS[number % len(MARKERS)] if len(curve.x) <= MOST_MARKED else None
        axes.plot(curve.x, curve.y, label=name, color=colour, marker=marker)
        if curve.error is not None:
            around = (curve.y - curve.error, curve.y + curve.error)
            axes.fill_between(curve.x, *around, color=colour, alpha=0.2, linewidth=0)
    axes.grid(axis="y", color="0.9")
