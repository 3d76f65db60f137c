"""Fills and fillers as HTML for notebooks: readings, shading by confidence, a roll, a chart.

Everything from the user is escaped. Colours are transparent or the page's own, so that they can be
read on a light ground and on a dark one. Nothing is loaded and no script runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from caesura.plots.series import Filled
from caesura.sequence import Span, runs

MOST_CHARACTERS = 2000  # of a text; of a longer one, what is near its gaps
NEAR = 80  # characters on either side of a gap
MOST_GAPS, MOST_READINGS, MOST_COLUMNS = 8, 5, 4
AROUND = 48  # steps of a roll on either side of its gaps
MOST_STEPS = 600  # of a chart, around its longest gap
WIDTH, HEIGHT = 640.0, 150.0  # of a picture, in pixels
GREY = "128,128,128"
LOWEST_KEY = 21  # the MIDI number of a piano's first key
BLUE, ORANGE = "0,114,178", "213,94,0"  # Okabe and Ito's, as red, green and blue
MONO = "font-family:ui-monospace,monospace;white-space:pre-wrap;line-height:1.7"
Readings = Iterable[tuple[Any, float]]  # what could stand in a gap, with its probability


def page(title: str, *parts: str) -> str:
    """Return parts below a title, in one element."""
    head = f'<div style="font-weight:600;margin-bottom:.4em">{escape(title)}</div>'
    return f'<div style="max-width:50em">{head}{"".join(parts)}</div>'


def text_html(
    text: str, steps: Int[np.ndarray, " places"], confidence: Float[np.ndarray, " places"]
) -> str:
    """Return a text with its new characters shaded: the surer, the stronger."""
    sure = dict(zip(steps.tolist(), confidence.tolist(), strict=True))
    shown = np.full(len(text), len(text) <= MOST_CHARACTERS)
    for step in sorted(sure)[: MOST_CHARACTERS // 8]:
        shown[max(0, step - NEAR) : step + NEAR + 1] = True
    if not shown.any():
        shown[:MOST_CHARACTERS] = True
    parts = []
    for start, stop in runs(shown):
        parts.append("… " if start else "")
        for chance, places in groupby(range(start, stop), key=sure.get):
            piece = escape("".join(text[place] for place in places))
            parts.append(piece if chance is None else _shaded(piece, chance))
        parts.append(" …" if stop < len(text) else "")
    told = _note("The stronger the colour, the surer the model is.") if sure else ""
    return f'<div style="{MONO}">{"".join(parts)}</div>{told}'


def readings_html(gaps: Sequence[Readings]) -> str:
    """Return the likeliest readings of each gap, with their probabilities."""
    rows = []
    for number, readings in enumerate(gaps[:MOST_GAPS], 1):
        cells = "".join(
            f'<td style="text-align:left">{_shaded(escape(str(part)), chance)} '
            f"{_percent(chance)}</td>"
            for part, chance in list(readings)[:MOST_READINGS]
        )
        rows.append(f'<tr><th style="text-align:left">gap {number}</th>{cells}</tr>')
    if len(gaps) > MOST_GAPS:
        rows.append(f"<tr><th></th><td>and {len(gaps) - MOST_GAPS} more</td></tr>")
    return f"<table>{''.join(rows)}</table>" if rows else ""


def roll_html(
    values: Shaped[np.ndarray, "T D"],
    places: Int[np.ndarray, "places 2"],
    confidence: Float[np.ndarray, " places"],
) -> str:
    """Return a piano roll around the gaps: old notes grey, new ones the surer the stronger."""
    steps = places[:, 0] if len(places) else np.arange(len(values))
    first, stop = max(0, int(steps.min()) - AROUND), min(len(values), int(steps.max()) + 1 + AROUND)
    sure = np.full(values.shape, np.nan)
    sure[tuple(places.T)] = confidence
    on = values == 1
    keys = np.flatnonzero(on[first:stop].any(axis=0))
    low, high = (int(keys[0]) - 1, int(keys[-1]) + 1) if len(keys) else (0, values.shape[1] - 1)
    wide, tall = WIDTH / (stop - first), HEIGHT / (high - low + 1)
    shapes = []
    for start, end in runs(~np.isnan(sure).all(axis=1)):
        shapes.append(_rect((start - first) * wide, 0.0, (end - start) * wide, HEIGHT, GREY, 0.12))
    for key in keys.tolist():
        top = (high - key) * tall
        for step in range(first, stop):
            if on[step, key]:
                chance = sure[step, key]
                colour = (GREY, 0.8) if np.isnan(chance) else (ORANGE, 0.25 + 0.75 * chance)
                shapes.append(_rect((step - first) * wide, top, wide * 0.94, tall * 0.85, *colour))
    title = f"Steps {first} to {stop - 1}, keys {low + LOWEST_KEY} to {high + LOWEST_KEY}"
    return _picture(title, shapes) + _note(title + "; new notes are orange.")


def chart_html(columns: Sequence[Filled], interval: str) -> str:
    """Return a chart of each column: observed values, and what fills its gaps in its interval."""
    charts = [_chart(column) for column in columns[:MOST_COLUMNS]]
    if len(columns) > MOST_COLUMNS:
        charts.append(_note(f"and {len(columns) - MOST_COLUMNS} more columns"))
    note = f"Blue: observed. Orange: the median of the fills, and their {interval}."
    return "".join(charts) + (_note(note) if charts else "")


def table_html(rows: Mapping[str, str]) -> str:
    """Return a table of names and values."""
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows.items()
    )
    return f"<table>{cells}</table>"


def _chart(column: Filled) -> str:
    longest = max(runs(column.missing), key=lambda gap: gap.stop - gap.start, default=Span(0, 0))
    steps = len(column.missing)
    first = int(np.clip(sum(longest) // 2 - MOST_STEPS // 2, 0, max(0, steps - MOST_STEPS)))
    missing, median, low, high = (a[first : first + MOST_STEPS] for a in column[2:])
    known = np.concatenate([a[np.isfinite(a)] for a in (median, low, high)])
    if not len(known):
        return ""
    least, most = float(known.min()), float(known.max())
    x = np.linspace(4, WIDTH - 4, len(median))
    near = missing | np.append(missing[1:], False) | np.insert(missing[:-1], 0, False)

    def y(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        return HEIGHT - 6 - (values - least) / ((most - least) or 1.0) * (HEIGHT - 12)

    shapes = []
    for start, stop in runs(near):
        part = slice(start, stop)
        around = [*zip(x[part], y(low[part]), strict=True)]
        around += [*zip(x[part], y(high[part]), strict=True)][::-1]
        shapes.append(f'<polygon points="{_points(around)}" fill="rgba({ORANGE},.3)"/>')
        line = _points(zip(x[part], y(median[part]), strict=True))
        shapes.append(f'<polyline points="{line}" fill="none" stroke="rgb({ORANGE})"/>')
    for at, value in zip(x[~missing], y(median[~missing]), strict=True):
        if np.isfinite(value):
            shapes.append(f'<circle cx="{at:.1f}" cy="{value:.1f}" r="1.5" fill="rgb({BLUE})"/>')
    title = f"{column.name}: {least:.4g} to {most:.4g}, rows {first} to {first + len(median) - 1}"
    return _note(title) + _picture(title, shapes)


def _points(pairs: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in pairs if np.isfinite(b))


def _picture(title: str, shapes: list[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" width="{WIDTH:g}" role="img" '
        f'style="max-width:100%;height:auto;border:1px solid rgba(128,128,128,.4)">'
        f"<title>{escape(title)}</title>{''.join(shapes)}</svg>"
    )


def _rect(x: float, y: float, width: float, height: float, colour: str, alpha: float) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} fill="rgba({colour},{alpha:.2f})"/>'


def _shaded(piece: str, chance: float) -> str:
    style = f"background:rgba({BLUE},{0.1 + 0.5 * chance:.2f});border-radius:2px"
    return f'<span style="{style}" title="{chance:.1%}">{piece}</span>'


def _percent(chance: float) -> str:
    if chance < 0.01:
        return "&lt;1 %"
    return "&gt;99 %" if 0.99 < chance < 1 else f"{100 * chance:.0f} %"


def _note(text: str) -> str:
    return f'<div style="opacity:.75;font-size:90%">{escape(text)}</div>'
