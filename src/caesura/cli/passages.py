"""Passages of a corpus that are like the readings of a gap: what `--parallels` adds to a fill."""

from typing import TYPE_CHECKING, Any

from caesura.errors import CaesuraError

if TYPE_CHECKING:
    from caesura.filler import Fill
    from caesura.parallels import Parallel, Parallels

COUNT = 3  # passages of each reading


def passages_of(index: "Parallels", fill: "Fill", number: int, part: str) -> "list[Parallel]":
    """Return the parallels of a reading; none if too little is known around it."""
    try:
        return index.of_gap(fill, number, part, COUNT)
    except CaesuraError:
        return []


def passages_as_json(index: "Parallels", fill: "Fill", top: int | None) -> list[Any]:
    """Return, for each gap, the parallels of its readings: of the chosen one, `top` others, and
    those that were asked for.
    """
    found, chosen_parts = [], fill.candidates[0].parts
    for number, (gap, chosen) in enumerate(zip(fill.gaps, chosen_parts, strict=True)):
        best = [one.part for one in gap.candidates][: None if top is None else top + 1]
        parts = dict.fromkeys([chosen, *best, *(one.part for one in gap.asked)])
        found.append(
            [
                {
                    "part": part,
                    "passages": [p._asdict() for p in passages_of(index, fill, number, part)],
                }
                for part in parts
            ]
        )
    return found
