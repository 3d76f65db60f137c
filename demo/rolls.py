"""Piano rolls as SVG: time runs to the right, and higher keys stand higher."""

from collections.abc import Iterable, Iterator

import numpy as np

from caesura.kinds.music.roll import LOWEST_KEY
from demo.bars import Note, Refilled
from demo.tune import STEPS_PER_BAR

STEP, KEY = 10, 5  # the width of a step and the height of a key
AROUND = 2 * STEPS_PER_BAR  # what is drawn on both sides of the gap
FAINT = 0.02  # what is less probable could not be seen


def draw_roll(refilled: Refilled, name: str) -> str:
    """The bars around the gap of one of the songs, what is new there shaded by how sure it is.

    Where nothing is left in the gap, everything that the model expects there is shaded.
    """
    start, stop = refilled.gap.start - AROUND, refilled.gap.stop + AROUND
    keys = [n.key for song in refilled.songs for n in _cut(refilled.notes(song), start, stop)]
    top = max(keys) + 3  # room for the numbers of the bars
    width, height = (stop - start) * STEP, (top - min(keys) + 1) * KEY

    def box(kind: str, note: Note, more: str) -> str:
        return (
            f"<rect class='{kind}' x='{(note.first - start) * STEP}' y='{(top - note.key) * KEY}' "
            f"width='{(note.stop - note.first) * STEP - 1}' height='{KEY - 1}' {more}/>"
        )

    parts = [
        f"<svg class='{name}' viewBox='0 0 {width} {height}' role='img' aria-label='piano roll'>",
        f"<rect class='gap' x='{AROUND * STEP}' width='{width - 2 * AROUND * STEP}' "
        f"height='{height}'/>",
    ]
    for bar in range(start, stop, STEPS_PER_BAR):
        x = (bar - start) * STEP
        parts.append(f"<line class='bar' x1='{x}' x2='{x}' y2='{height}'/>")
        parts.append(f"<text x='{x + 3}' y='8'>{bar // STEPS_PER_BAR + 1}</text>")
    for note in _cut(refilled.notes(name), start, stop):
        parts.append(box("note", note, f"data-key='{note.key}'"))
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
