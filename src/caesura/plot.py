"""Pictures, with matplotlib, which is imported when the first one is drawn."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from caesura.errors import CaesuraError, lookup
from caesura.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = {".png": "png", ".svg": "svg", ".pdf": "pdf"}
# Told apart in print and by the colour-blind (Okabe and Ito), and each by its marker as well.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
MARKERS = "os^Dv"


def check_picture(path: str | os.PathLike[str]) -> None:
    """One sentence if no picture could be written there for want of matplotlib or a format."""
    _figure_class()
    lookup(FORMATS, Path(path).suffix.lower(), "format for pictures")


def save_picture(figure: "Figure", path: str | os.PathLike[str]) -> None:
    """Write the picture in the format that the path's ending names: all of it, or nothing."""
    kind = lookup(FORMATS, Path(path).suffix.lower(), "format for pictures")
    with replacing(path) as part:
        figure.savefig(part, format=kind, dpi=200)


def plot_positions(curves: Mapping[str, Float[np.ndarray, " g"]]) -> "Figure":
    """The NLL of each step of a gap by itself, a curve for each strategy."""
    from matplotlib.ticker import MaxNLocator

    figure, axes = _figure(5.0, 3.4)
    for number, (name, nll) in enumerate(curves.items()):
        axes.plot(
            np.arange(1, len(nll) + 1),
            nll,
            label=name,
            color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)] if len(nll) <= 30 else None,
        )
    axes.set_xlabel("position in the gap")
    axes.set_ylabel("NLL (nats a step)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.grid(axis="y", color="0.9")
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _figure(width: float, height: float) -> "tuple[Figure, Any]":
    """A figure of its own, without pyplot: no window, and nothing to close."""
    figure = _figure_class()(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _figure_class() -> "type[Figure]":
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise CaesuraError(
            "Pictures need matplotlib: `pip install 'caesura[plot]'` installs it."
        ) from None
    return Figure
