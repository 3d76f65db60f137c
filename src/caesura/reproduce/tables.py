"""The tables of the paper, with our results added."""

import math
from typing import Any, NamedTuple

from caesura.reproduce import paper
from caesura.reproduce.markdown import NONE, literal, table
from caesura.reproduce.results import Result


class Number(NamedTuple):
    """A value in a table, and its text."""

    value: float
    text: str


def compare(results: list[Result], item: str) -> str:
    """Return Table 1 or 2 of the paper, with our numbers below each of its rows."""
    rows: list[tuple[str, str, list[Number | None]]] = []
    for row in paper.TABLES[item]:
        theirs = [None if v is None else Number(v, as_printed(v)) for v in row.values]
        rows.append((row.title, "paper", theirs))
        for source in row.recipes:
            found = [find(results, item, row, source, name) for name in paper.DATASETS]
            ours = [None if r is None else Number(r.nats, with_error(r)) for r in found]
            rows.append(("", f"ours, {paper.SOURCES[source]}", ours))

    def cell(whose: str, column: int, number: Number | None) -> str:
        if number is None:
            return NONE
        same = (line[column] for _, name, line in rows if name == whose)
        best = min(other.value for other in same if other is not None)
        return f"**{number.text}**" if number.value == best else number.text

    lines = [
        [title, whose, *(cell(whose, column, number) for column, number in enumerate(line))]
        for title, whose, line in rows
    ]
    return table(["", "", *paper.DATASETS.values()], lines, left=2)


def excerpts(results: list[Result], source: str) -> str:
    """Return Table 3: the truth, and what NADE and GSN drew."""
    drawn: dict[int, dict[str, Result]] = {}
    for row in (paper.NADE, paper.GSN):
        for r in results:
            if (r.item, r.strategy, r.recipe) == ("table3", row.strategy, row.recipes[source]):
                drawn.setdefault(r.x or 0, {})[row.title] = r
    lines = []
    for _, by in sorted(drawn.items()):
        some = next(iter(by.values()))
        fills = [_excerpt(by[n], by[n].filled) if n in by else NONE for n in ("NADE", "GSN")]
        lines.append([_excerpt(some, some.truth), *fills])
    return f"With {paper.SOURCES[source]}:\n\n{table(['truth', 'NADE', 'GSN'], lines, left=3)}"


def _excerpt(result: Result, inside: str) -> str:
    gap = literal(inside).replace(" ", "&nbsp;")  # otherwise a blank at the edge has no underline
    return f"{literal(result.before)}<ins>{gap}</ins>{literal(result.after)}"


def find_all(
    results: list[Result], item: str, row: paper.Row, source: str, dataset: str
) -> list[Result]:
    """Return our results for a row of the paper: one for a table, several for a figure."""
    place = (item, dataset, row.strategy, row.recipes.get(source))
    return [r for r in results if (r.item, r.dataset, r.strategy, r.recipe) == place]


def find(results: list[Result], *place: Any) -> Result | None:
    """Return the first of the results that `find_all` returns."""
    return next(iter(find_all(results, *place)), None)


def with_error(result: Result) -> str:
    """Return the value and its error; small ones have one more digit, † is a shortened training."""
    digits = 2 if result.nats >= 10 else 3
    error = result.standard_error
    known = error is not None and math.isfinite(error)
    shortened = result.planned_updates < result.recipe_updates and result.strategy != "onegram"
    return (
        f"{result.nats:.{digits}f}"
        + (f" ± {error:.{digits}f}" if known else "")
        + (" †" if shortened else "")
    )


def as_printed(value: float) -> str:
    """Return a number of the paper with as many digits as it is printed with."""
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"
