"""Pictures, with matplotlib, which is imported when the first one is drawn."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from caesura.errors import CaesuraError, lookup
from caesura.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = {".png": "png", ".svg": "svg", ".pdf": "pdf"}
# Told apart in print and by the colour-blind (Okabe and Ito), and each by its marker as well.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
MARKERS = "os^DPv"
LINE = 64  # characters in a line of text
MOST_LINES = 40
NAMED = {"\n": "↵", "\t": "→"}
AROUND = 48  # steps that are shown on both sides of the gaps
LOWEST_KEY = 21  # the MIDI number of a piano's first key
NAMED_KEYS = {0: "C", 4: "E", 8: "G♯"}  # by their place in an octave: enough to find the others


def check_picture(path: str | os.PathLike[str]) -> None:
    """One sentence if no picture could be written there for want of matplotlib or a format."""
    _figure_class()
    lookup(FORMATS, Path(path).suffix.lower(), "format for pictures")


def save_picture(figure: "Figure", path: str | os.PathLike[str]) -> None:
    """Write the picture in the format that the path's ending names: all of it, or nothing."""
    kind = lookup(FORMATS, Path(path).suffix.lower(), "format for pictures")
    with replacing(path) as part:
        figure.savefig(part, format=kind, dpi=200)


class Curve(NamedTuple):
    """Points from left to right, with their standard errors where they are known."""

    x: Shaped[np.ndarray, " n"]
    y: Float[np.ndarray, " n"]
    error: Float[np.ndarray, " n"] | None = None


def plot_positions(curves: Mapping[str, Float[np.ndarray, " g"]]) -> "Figure":
    """The NLL of each step of a gap by itself, a curve for each strategy."""
    figure, (axes,) = make_panels(5.0, 3.4, 1)
    draw_positions(axes, {n: Curve(np.arange(1, len(y) + 1), y) for n, y in curves.items()})
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def draw_positions(axes: Any, curves: Mapping[str, Curve]) -> None:
    """Curves of the NLL over the positions in a gap."""
    draw_curves(axes, curves)
    label_positions(axes, "NLL (nats a step)")


def label_positions(axes: Any, what: str) -> None:
    """Say that something is shown over the positions in a gap."""
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel("position in the gap")
    axes.set_ylabel(what)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def draw_curves(axes: Any, curves: Mapping[str, Curve]) -> None:
    """Each in its own colour and with its own marker, in their order."""
    for number, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        marker = MARKERS[number % len(MARKERS)] if len(curve.x) <= 30 else None
        axes.plot(curve.x, curve.y, label=name, color=colour, marker=marker)
        if curve.error is not None:
            around = (curve.y - curve.error, curve.y + curve.error)
            axes.fill_between(curve.x, *around, color=colour, alpha=0.2, linewidth=0)
    axes.grid(axis="y", color="0.9")


def plot_text(
    text: str, steps: Int[np.ndarray, " places"], confidence: Float[np.ndarray, " places"]
) -> "Figure":
    """The lines of a text that have new characters, each on a ground as dark as it is sure."""
    lines = sorted({step // LINE for step in steps.tolist()} or {0})[:MOST_LINES]
    figure, (axes,) = make_panels(7.0, 0.5 + 0.26 * len(lines), 1)
    sure = dict(zip(steps.tolist(), confidence.tolist(), strict=True))
    ground = np.full((len(lines), LINE), np.nan)
    for row, line in enumerate(lines):
        for column, character in enumerate(text[line * LINE : (line + 1) * LINE]):
            step = line * LINE + column
            ground[row, column] = sure.get(step, np.nan)
            axes.text(
                column,
                row,
                NAMED.get(character, character),
                family="monospace",
                fontsize=9,
                ha="center",
                va="center",
                color="black" if step in sure else "0.45",
                parse_math=False,
            )
    image = axes.imshow(ground, cmap=_colours("Blues", 0.1, 0.6), vmin=0, vmax=1, aspect="auto")
    axes.set_yticks(range(len(lines)), [str(line * LINE) for line in lines])
    axes.set_xticks([])
    axes.set_xlim(-1.5, LINE - 0.5)
    axes.tick_params(length=0, labelsize=8)
    axes.spines[:].set_visible(False)
    _confidence_bar(figure, image, axes)
    return figure


def plot_roll(
    values: Shaped[np.ndarray, "T D"],
    places: Int[np.ndarray, "places 2"],
    confidence: Float[np.ndarray, " places"],
) -> "Figure":
    """The keys of a piano around the gaps: notes that were there, and new ones by how sure."""
    from matplotlib.ticker import MaxNLocator

    steps = places[:, 0] if len(places) else np.arange(len(values))
    first, stop = max(0, int(steps.min()) - AROUND), min(len(values), int(steps.max()) + 1 + AROUND)
    sure = np.full(values.shape, np.nan)
    sure[tuple(places.T)] = confidence
    on, sure = values[first:stop].T == 1, sure[first:stop].T
    keys = np.flatnonzero(on.any(axis=1))
    low, high = (int(keys[0]), int(keys[-1])) if len(keys) else (0, len(on) - 1)
    edges = (first - 0.5, stop - 0.5, LOWEST_KEY - 0.5, LOWEST_KEY + len(on) - 0.5)
    figure, (axes,) = make_panels(7.0, 3.4, 1)

    def draw(image: Float[np.ndarray, "D W"], colours: Any) -> Any:
        drawn = {"origin": "lower", "aspect": "auto", "interpolation": "nearest"}
        return axes.imshow(image, cmap=colours, vmin=0, vmax=1, extent=edges, **drawn)

    draw(np.where(np.isnan(sure), np.nan, 0.06), "Greys")  # where the gaps are
    draw(np.where(on & np.isnan(sure), 0.65, np.nan), "Greys")
    image = draw(np.where(on, sure, np.nan), _colours("Oranges", 0.3, 1.0))
    named = [key for key in range(LOWEST_KEY, LOWEST_KEY + len(on)) if key % 12 in NAMED_KEYS]
    axes.set_yticks(named, [f"{NAMED_KEYS[key % 12]}{key // 12 - 1}" for key in named], fontsize=8)
    axes.set_ylim(LOWEST_KEY + low - 2.5, LOWEST_KEY + high + 2.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("step")
    axes.set_ylabel("key")
    _confidence_bar(figure, image, axes)
    return figure


def _colours(name: str, least: float, most: float) -> Any:
    """A part of one of matplotlib's colour maps: neither too pale for paper nor too dark."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps[name](np.linspace(least, most, 256)))


def _confidence_bar(figure: "Figure", image: Any, axes: Any) -> None:
    bar = figure.colorbar(image, ax=axes, ticks=[0, 1], fraction=0.05, pad=0.01)
    bar.set_label("confidence", labelpad=-6)
    bar.outline.set_visible(False)


def make_panels(width: float, height: float, count: int) -> "tuple[Figure, list[Any]]":
    """A figure of its own, without pyplot, and axes side by side: no window, nothing to close."""
    figure = _figure_class()(figsize=(width, height), layout="constrained")
    panels = [figure.add_subplot(1, count, number + 1) for number in range(count)]
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def _figure_class() -> "type[Figure]":
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise CaesuraError(
            "Pictures need matplotlib: `pip install 'caesura[plot]'` installs it."
        ) from None
    return Figure
