"""The figures of the paper, drawn from our results."""

from typing import TYPE_CHECKING, Any

import numpy as np

from caesura.plots import Curve, draw_curves, draw_positions, make_panels
from caesura.reproduce import paper
from caesura.reproduce.results import Result
from caesura.reproduce.tables import find_all

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT, LEGEND = 3.4, 3.2, 1.4  # inches: of a panel, and of the legend


def draw_pictures(results: list[Result]) -> "dict[str, Figure]":
    """Return by name the figures for which there are results."""
    figures = {}
    for source in paper.SOURCES:
        if panels := positions(results, source):
            figures[f"figure2-{source}"] = _figure2(panels)
    if differences := {s: d for s in paper.SOURCES if (d := gibbs_differences(results, s))}:
        figures["figure3"] = _figure3(differences)
    return figures


def positions(results: list[Result], source: str) -> dict[str, dict[str, Curve]]:
    """Return the curves of Figure 2: by data set and strategy, the NLL by position in the gap."""
    panels: dict[str, dict[str, Curve]] = {}
    for name, title in paper.DATASETS.items():
        for row in paper.TABLE1:
            if points := _points(results, "figure2", row, source, name):
                panels.setdefault(title, {})[row.title] = Curve(*np.array(points).T)
    return panels


def gibbs_differences(results: list[Result], source: str) -> dict[str, Curve]:
    """Return the curves of Figure 3: by data set, GSN minus NADE over the number of Gibbs steps."""
    curves = {}
    for name, title in paper.DATASETS.items():
        gsn = _points(results, "figure3", paper.GSN, source, name)
        nade = _points(results, "figure3", paper.NADE, source, name)
        if gsn and nade:
            steps, nll, _ = np.array(gsn).T
            curves[title] = Curve(steps, nll - nade[0][1])
    return curves


def _points(results: list[Result], *place: Any) -> list[tuple[int, float, float]]:
    """Return (x, value, standard error) from left to right."""
    found = find_all(results, *place)
    return sorted((r.x or 0, r.nats, r.standard_error or 0.0) for r in found)


def _figure2(curves: dict[str, dict[str, Curve]]) -> "Figure":
    # A single panel is as wide as two, so that all figures have the same size on the page.
    figure, panels = make_panels(LEGEND + WIDTH * max(2, len(curves)), HEIGHT, len(curves))
    for axes, (title, some) in zip(panels, curves.items(), strict=True):
        draw_positions(axes, _all([row.title for row in paper.TABLE1[:-1]], some))
        axes.set_title(title, fontsize=10)
    _legend(figure, panels)
    return figure


def _figure3(curves: dict[str, dict[str, Curve]]) -> "Figure":
    from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter

    figure, panels = make_panels(LEGEND + WIDTH * len(curves), HEIGHT, len(curves))
    for axes, (source, some) in zip(panels, curves.items(), strict=True):
        axes.axhline(0.0, color="0.5", linewidth=0.8)
        draw_curves(axes, _all(list(paper.DATASETS.values()), some))
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("Gibbs steps")
        axes.set_ylabel("GSN − NADE (nats per gap)")
        axes.set_title(paper.SOURCES[source], fontsize=10)
    _legend(figure, panels)
    return figure


def _all(names: list[str], curves: dict[str, Curve]) -> dict[str, Curve]:
    """Return a curve for every name, some of them empty, so that a name keeps its colour."""
    empty = Curve(np.zeros(0), np.zeros(0))
    return {name: curves.get(name, empty) for name in names}


def _legend(figure: "Figure", panels: list[Any]) -> None:
    """Add one legend for all panels, with the curves that at least one of them shows."""
    alike = zip(*(axes.lines for axes in panels), strict=True)
    drawn = {line.get_label(): line for same in alike for line in same if len(line.get_xdata())}
    named = {name: line for name, line in drawn.items() if not name.startswith("_")}
    figure.legend(named.values(), named.keys(), frameon=False, loc="outside right upper")
