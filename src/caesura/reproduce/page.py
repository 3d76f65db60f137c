"""The page of results, and its pictures: made from the table of results and nothing else."""

import math
from collections.abc import Collection
from datetime import timedelta
from importlib import resources
from pathlib import Path
from string import Template
from typing import NamedTuple

from caesura.errors import CaesuraError
from caesura.files import make_folder, write_text
from caesura.plot import save_picture
from caesura.reproduce import paper
from caesura.reproduce.pictures import draw_pictures
from caesura.reproduce.results import MODELS, NAME, Result, Results

PAGE = "reproduce.md"
PICTURES = "pictures"
NONE = "–"
MARKUP = frozenset("\\`*_{}[]<>&#|$~!")


def write_pages(folder: Path) -> Path:
    """Write the page and its pictures beside the table of results in a folder."""
    if not (folder / NAME).is_file():
        raise CaesuraError(f"There are no results in '{folder}': it holds no '{NAME}'.")
    results = Results(folder / NAME).rows
    pictures = draw_pictures(results)
    make_folder(folder / PICTURES)
    for name, figure in pictures.items():
        save_picture(figure, folder / PICTURES / f"{name}.png")
    write_text(folder / PAGE, render(results, pictures))
    return folder / PAGE


def render(results: list[Result], pictures: Collection[str]) -> str:
    """The page as Markdown; `pictures` are the names of those that lie beside it."""
    text = (resources.files("caesura.reproduce") / "page.md").read_text("utf-8")
    return Template(text).substitute(
        summary=_summary(results),
        table1=_numbers("table1", results),
        table2=_numbers("table2", results),
        table3="\n\n".join(_excerpts(results, source) for source in paper.SOURCES),
        figure2="\n\n".join(
            _picture(f"figure2-{source}", f"Figure 2 with {title}", pictures)
            for source, title in paper.SOURCES.items()
        ),
        figure3=_picture("figure3", "Figure 3", pictures),
        worse=_worse(results),
        onegram=_onegram(results),
        shortened=_shortened(results),
        cost=_cost(results),
        trainings=_trainings(results),
        settings=_settings(results),
    )


class Number(NamedTuple):
    """A value in a table, and how it is printed."""

    value: float
    text: str


def _numbers(item: str, results: list[Result]) -> str:
    """A table of the paper, and ours in the lines below each of its rows."""
    lines: dict[tuple[str, str], list[Number | None]] = {}
    for row in paper.TABLES[item]:
        lines[row.title, "paper"] = [
            None if v is None else Number(v, _as_printed(v)) for v in row.values
        ]
        for source in row.recipes:
            found = [_find(results, item, row, source, name) for name in paper.DATASETS]
            lines[row.title, f"ours, {paper.SOURCES[source]}"] = [
                None if r is None else _ours(r) for r in found
            ]
    best: dict[tuple[str, int], float] = {}
    for (_, whose), line in lines.items():
        for column, number in enumerate(line):
            if number:
                so_far = best.get((whose, column), math.inf)
                best[whose, column] = min(so_far, number.value)
    rows, last = [], ""
    for (title, whose), line in lines.items():
        texts = [
            NONE if not n else f"**{n.text}**" if n.value == best[whose, c] else n.text
            for c, n in enumerate(line)
        ]
        rows.append(["" if title == last else title, whose, *texts])
        last = title
    return _markdown(["", "", *paper.DATASETS.values()], rows, left=2)


def _ours(result: Result) -> Number:
    shortened = result.planned_updates < result.recipe_updates and result.strategy != "onegram"
    mark = " †" if shortened else ""
    return Number(_value(result), _nats(result) + mark)


def _find(
    results: list[Result], item: str, row: paper.Row, source: str, dataset: str
) -> Result | None:
    place = (item, dataset, row.strategy, row.recipes.get(source))
    same = (r for r in results if (r.item, r.dataset, r.strategy, r.recipe) == place)
    return next(same, None)


def _excerpts(results: list[Result], source: str) -> str:
    """The truth, and beside it what NADE and GSN drew."""
    drawn: dict[int, dict[str, Result]] = {}
    for row in paper.TABLE1:
        if row.title not in ("NADE", "GSN"):
            continue
        for r in results:
            if (r.item, r.strategy, r.recipe) == ("table3", row.strategy, row.recipes[source]):
                drawn.setdefault(r.x or 0, {})[row.title] = r
    rows = []
    for _, of in sorted(drawn.items()):
        any_of = next(iter(of.values()))
        fills = [_excerpt(of[t], of[t].filled) if t in of else NONE for t in ("NADE", "GSN")]
        rows.append([_excerpt(any_of, any_of.truth), *fills])
    return f"With {paper.SOURCES[source]}:\n\n{_markdown(['truth', 'NADE', 'GSN'], rows, left=3)}"


def _excerpt(result: Result, inside: str) -> str:
    gap = _literal(inside).replace(" ", "&nbsp;")
    return f"{_literal(result.before)}<ins>{gap}</ins>{_literal(result.after)}"


def _picture(name: str, title: str, pictures: Collection[str]) -> str:
    shown = f"![{title}]({PICTURES}/{name}.png)" if name in pictures else NONE
    return f"{title}:\n\n{shown}"


class Comparison(NamedTuple):
    """A number of the paper that one of ours stands beside."""

    item: str
    row: paper.Row
    dataset: str
    theirs: float
    ours: Result


def _comparisons(results: list[Result], source: str) -> list[Comparison]:
    """All but the one-gram, whose row is the paper's own riddle."""
    return [
        Comparison(item, row, dataset, theirs, ours)
        for item, table in paper.TABLES.items()
        for row in table
        for dataset, theirs in zip(paper.DATASETS, row.values, strict=True)
        if row.strategy != "onegram"
        and theirs is not None
        and (ours := _find(results, item, row, source, dataset)) is not None
    ]


def _summary(results: list[Result]) -> str:
    counts = []
    for source, title in paper.SOURCES.items():
        music = [c for c in _comparisons(results, source) if c.dataset != "wiki96"]
        better = sum(_value(c.ours) < c.theirs for c in music)
        if music:
            counts.append(f"in {better} of {len(music)} places with {title}")
    if not counts:
        return "Nothing that could be compared with the paper is measured yet."
    return (
        "On the four music sets, our numbers in Tables 1 and 2, the one-gram apart, are better "
        f"than the paper's {' and '.join(counts)}."
    )


def _worse(results: list[Result]) -> str:
    """The numbers of the paper that neither of ours meets."""
    found: dict[tuple[str, str, str], list[Comparison]] = {}
    for source in paper.SOURCES:
        for c in _comparisons(results, source):
            found.setdefault((c.item, c.row.title, c.dataset), []).append(c)
    lines = []
    for (item, title, dataset), same in found.items():
        best = min(same, key=lambda c: _value(c.ours))
        if _value(best.ours) > best.theirs:
            where = " on another text" if dataset == "wiki96" else ""
            lines.append(
                f"- {_title(item)}, {title}, {paper.DATASETS[dataset]}: {_ours(best.ours).text} by "
                f"`{best.ours.recipe}`, the paper {_as_printed(best.theirs)}{where}"
            )
    return "\n".join(lines) or "Nowhere that was measured."


def _onegram(results: list[Result]) -> str:
    row = next(row for row in paper.TABLE1 if row.strategy == "onegram")
    rows = []
    for (name, title), theirs in zip(paper.DATASETS.items(), row.values, strict=True):
        found = [_find(results, "table1", row, source, name) for source in row.recipes]
        ours = next((r for r in found if r), None)
        factor = f"{theirs / _value(ours):.2f}" if ours and theirs else NONE
        rows.append([title, _as_printed(theirs or 0.0), _nats(ours) if ours else NONE, factor])
    return _markdown(["", "paper", "ours", "factor"], rows)


def _shortened(results: list[Result]) -> str:
    lines = [
        f"- `{r.recipe}` on {paper.DATASETS[r.dataset]}: {r.planned_updates} updates, where the "
        f"recipe has {r.recipe_updates}"
        for r in results
        if r.item == MODELS and r.planned_updates < r.recipe_updates
    ]
    for row in paper.TABLE1:
        for source in row.recipes:
            for name in paper.DATASETS:
                r = _find(results, "table1", row, source, name)
                wanted = paper.gaps(name, row.strategy)
                if r and "limit=" in r.settings and (wanted is None or (r.gaps or 0) < wanted):
                    lines.append(
                        f"- Table 1, {row.title}, {paper.DATASETS[name]}, {paper.SOURCES[source]}: "
                        f"{r.gaps} gaps, where the paper takes {wanted or 'all'}"
                    )
    return "\n".join(lines) or "Nothing."


def _trainings(results: list[Result]) -> str:
    rows = [
        [
            paper.DATASETS[r.dataset],
            f"`{r.recipe}`",
            r.settings,
            f"{r.updates} of {r.planned_updates}",
            f"{_value(r):.4f}",
            f"{r.seconds:.0f}",
            r.hardware,
            str(r.seed),
            f"`{r.fingerprint}`",
        ]
        for r in results
        if r.item == MODELS
    ]
    header = ["set", "recipe", "fields", "updates", "validation NLL", "seconds", "hardware"]
    return _markdown([*header, "seed", "fingerprint"], rows, left=3)


def _settings(results: list[Result]) -> str:
    """What was measured alike is one row."""
    alike: dict[tuple[str, str, str], dict[str, int]] = {}
    for item in paper.ITEMS:
        for r in results:
            if r.item == item:
                sets = alike.setdefault((item, r.strategy, r.settings), {})
                sets[r.dataset] = max(sets.get(r.dataset, 0), r.gaps or 0)
    rows = [
        [
            _title(item),
            strategy or "single steps",
            settings or "all steps",
            ", ".join(f"{paper.DATASETS[name]} {gaps}" for name, gaps in sets.items()),
        ]
        for (item, strategy, settings), sets in alike.items()
    ]
    return _markdown(["for", "strategy", "settings", "gaps"], rows, left=4)


def _cost(results: list[Result]) -> str:
    if not results:
        return "Nothing is measured yet."
    trained = sum(r.seconds for r in results if r.item == MODELS)
    measured = sum(r.seconds for r in results if r.item != MODELS)
    where = " and ".join(sorted({r.hardware for r in results}))
    return (
        f"On {where}: {_clock(trained)} of training and {_clock(measured)} of measuring (hours, "
        f"minutes, seconds), for {len(results)} results."
    )


def _markdown(header: list[str], rows: list[list[str]], left: int = 1) -> str:
    """A table whose first `left` columns hold words and the others numbers."""
    if not rows:
        return NONE
    ruler = ["---" if column < left else "---:" for column in range(len(header))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, ruler, *rows))


def _value(result: Result) -> float:
    return math.nan if result.value is None else result.value


def _nats(result: Result) -> str:
    """The value and its error, with a digit more where it is small."""
    digits = 2 if _value(result) >= 10 else 3
    error = result.standard_error
    known = error is not None and math.isfinite(error)
    return f"{_value(result):.{digits}f}" + (f" ± {error:.{digits}f}" if known else "")


def _as_printed(value: float) -> str:
    """A number of the paper with as many digits as there."""
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def _title(item: str) -> str:
    return f"{item[:-1].title()} {item[-1]}"


def _literal(text: str) -> str:
    """A text as it is, in a cell of a table."""
    plain = "".join(f"&#{ord(c)};" if c in MARKUP else c for c in text)
    return plain.replace("\n", "↵")
