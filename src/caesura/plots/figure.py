"""What all pictures share: figures, colours and the files that they are saved to."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from caesura.errors import extra, lookup
from caesura.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = {".png": "png", ".svg": "svg", ".pdf": "pdf"}
# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")


def check_picture(path: str | os.PathLike[str]) -> None:
    """Check that matplotlib is installed and that the suffix of the path names a picture format.

    Raises
    ------
    ExtraMissingError
        If matplotlib is not installed.
    CaesuraError
        If the suffix is not .png, .svg or .pdf.
    """
    _figure_class()
    lookup(FORMATS, Path(path).suffix.lower(), "format for pictures")


def save_picture(figure: "Figure", path: str | os.PathLike[str]) -> None:
    """Write the whole picture, or nothing, in the format that the suffix of the path names.

    Raises
    ------
    CaesuraError
        If the suffix is not .png, .svg or .pdf, or if the file cannot be written.
    """
    kind = lookup(FORMATS, Path(path).suffix.lower(), "format for pictures")
    with replacing(path) as part:
        figure.savefig(part, format=kind, dpi=200)


def make_panels(
    width: float, height: float, columns: int = 1, rows: int = 1
) -> "tuple[Figure, list[Any]]":
    """Return a new figure and its axes, row by row.

    The figure is made without pyplot: it opens no window and need not be closed.

    Parameters
    ----------
    width, height : float
        The size of the figure, in inches.
    columns, rows : int
        How many panels stand side by side, and below each other.
    """
    figure = _figure_class()(figsize=(width, height), layout="constrained")
    panels = [figure.add_subplot(rows, columns, n + 1) for n in range(rows * columns)]
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def colour_map(name: str, least: float, most: float) -> Any:
    """Return a part of one of matplotlib's colour maps, neither too pale nor too dark for print."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps[name](np.linspace(least, most, 256)))


def add_confidence_bar(figure: "Figure", image: Any, axes: Any) -> None:
    """Add a colour bar from 0 to 1 that is labelled as the confidence."""
    bar = figure.colorbar(image, ax=axes, ticks=[0, 1], fraction=0.05, pad=0.01)
    bar.set_label("confidence", labelpad=-6)
    bar.outline.set_visible(False)


def add_legend(axes: Any) -> None:
    """Add a legend to the right of the axes."""
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _figure_class() -> "type[Figure]":
    with extra("plot", "Pictures need matplotlib"):
        from matplotlib.figure import Figure
    return Figure
