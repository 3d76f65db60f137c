"""Piano rolls as SVG: time runs to the right, and higher keys stand higher."""

from collections.abc import Iterable, Iterator

import numpy as np

from caesura.kinds.music.roll import LOWEST_KEY
from demo.bars import Note, Refilled

BAR, KEY = 60, 5  # the width of a bar and the height of a key
FAINT = 0.02  # what is less probable could not be seen


def draw_roll(refilled: Refilled, name: str) -> str:
    """The bars around the gap of one of the songs, what is new there shaded by how sure it is.

    Where nothing is left in the gap, everything that the model expects there is shaded.
    """
    start, stop = refilled.shown.start, refilled.shown.stop
    gap, step, in_bar = refilled.gap, BAR // refilled.steps_per_bar, refilled.steps_per_bar
    keys = [n.key for song in refilled.songs for n in _cut(refilled.notes(song), start, stop)]
    top = max(keys) + 3  # room for the numbers of the bars
    width, height = (stop - start) * step, (top - min(keys) + 1) * KEY

    def box(kind: str, note: Note, more: str = "") -> str:
        return (
            f"<rect class='{kind}' x='{(note.first - start) * step}' y='{(top - note.key) * KEY}' "
            f"width='{(note.stop - note.first) * step - 1}' height='{KEY - 1}' {more}/>"
        )

    parts = [
        f"<svg class='{name}' viewBox='0 0 {width} {height}' role='img' aria-label='piano roll'>",
        f"<rect class='gap' x='{(gap.start - start) * step}' "
        f"width='{(gap.stop - gap.start) * step}' height='{height}'/>",
    ]
    for bar in range(start, stop, in_bar):
        x = (bar - start) * step
        parts.append(f"<line class='bar' x1='{x}' x2='{x}' y2='{height}'/>")
        parts.append(f"<text x='{x + 3}' y='8'>{bar // in_bar + 1}</text>")
    for note in _cut(refilled.notes(name), start, stop):
        parts.append(box("note", note))
    for cell in _shaded(refilled, name):
        sure = refilled.expected[cell.first, cell.key - LOWEST_KEY]
        parts.append(box("shade", cell, f"style='--p:{sure:.4f}'"))
    parts.append(f"<line class='playhead' y2='{height}'/>\n</svg>")
    return "\n".join(parts)


def _shaded(refilled: Refilled, name: str) -> Iterator[Note]:
    """What is shaded, in notes of one step."""
    if name == "erased":
        for step, key in np.argwhere(refilled.expected > FAINT).tolist():
            yield Note(LOWEST_KEY + key, step, step + 1)
    elif name != "original":
        for note in _cut(refilled.notes(name), refilled.gap.start, refilled.gap.stop):
            yield from (Note(note.key, step, step + 1) for step in range(note.first, note.stop))


def _cut(notes: Iterable[Note], start: int, stop: int) -> list[Note]:
    """What sounds between two steps."""
    cut = (n._replace(first=max(n.first, start), stop=min(n.stop, stop)) for n in notes)
    return [note for note in cut if note.first < note.stop]
