"""The page of results and its pictures, made from the table of results alone."""

import re
from collections.abc import Collection
from datetime import timedelta
from importlib import resources
from pathlib import Path
from string import Template
from typing import NamedTuple

from caesura.errors import FileMissingError
from caesura.files import make_folder, write_text
from caesura.plots import save_picture
from caesura.reproduce import paper
from caesura.reproduce.markdown import NONE, table
from caesura.reproduce.pictures import draw_pictures
from caesura.reproduce.results import MODELS, NAME, Result, Results
from caesura.reproduce.tables import as_printed, compare, excerpts, find, with_error

PAGE = "reproduce.md"
PICTURES = "pictures"


def write_pages(folder: Path) -> Path:
    """Write the page and its pictures beside the table of results; return the page's path."""
    if not (folder / NAME).is_file():
        raise FileMissingError(f"There are no results in '{folder}': it has no file '{NAME}'.")
    results = Results(folder / NAME).rows
    pictures = draw_pictures(results)
    make_folder(folder / PICTURES)
    for name, figure in pictures.items():
        save_picture(figure, folder / PICTURES / f"{name}.png")
    write_text(folder / PAGE, render(results, pictures))
    return folder / PAGE


def render(results: list[Result], pictures: Collection[str]) -> str:
    """Return the page in Markdown; `pictures` are the names of those that it can show."""
    text = (resources.files("caesura.reproduce") / "page.md").read_text("utf-8")
    return Template(text).substitute(
        summary=_summary(results),
        table1=compare(results, "table1"),
        table2=compare(results, "table2"),
        table3="\n\n".join(excerpts(results, source) for source in ("paper", "modern")),
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


def _picture(name: str, title: str, pictures: Collection[str]) -> str:
    shown = f"![{title}]({PICTURES}/{name}.png)" if name in pictures else NONE
    return f"{title}:\n\n{shown}"


class Comparison(NamedTuple):
    """A number of the paper, and ours."""

    item: str
    row: paper.Row
    dataset: str
    theirs: float
    ours: Result


def _comparisons(results: list[Result], source: str) -> list[Comparison]:
    """Return all comparisons but those of the one-gram, which the paper does not explain."""
    return [
        Comparison(item, row, dataset, theirs, ours)
        for item, table in paper.TABLES.items()
        for row in table
        for dataset, theirs in zip(paper.DATASETS, row.values, strict=True)
        if row is not paper.ONEGRAM
        and theirs is not None
        and (ours := find(results, item, row, source, dataset)) is not None
    ]


def _summary(results: list[Result]) -> str:
    counts = []
    for source, title in paper.SOURCES.items():
        music = [c for c in _comparisons(results, source) if c.dataset != "wiki96"]
        better = sum(c.ours.nats < c.theirs for c in music)
        if music:
            counts.append(f"- with {title} in {better} of {len(music)} places")
    if not counts:
        return "No result can be compared with the paper yet."
    head = "On the four music sets, our numbers in Tables 1 and 2 (without the one-gram) are better"
    return "\n".join([f"{head} than the paper's:", "", *counts])


def _worse(results: list[Result]) -> str:
    """Return a list of the numbers of the paper that are better than all of ours."""
    found: dict[tuple[str, str, str], list[Comparison]] = {}
    for source in paper.SOURCES:
        for c in _comparisons(results, source):
            found.setdefault((c.item, c.row.title, c.dataset), []).append(c)
    lines = []
    for (item, title, dataset), same in found.items():
        best = min(same, key=lambda c: c.ours.nats)
        if best.ours.nats > best.theirs:
            where = " on another text" if dataset == "wiki96" else ""
            lines.append(
                f"- {_title(item)}, {title}, {paper.DATASETS[dataset]}: {with_error(best.ours)} "
                f"with `{best.ours.recipe}`; paper: {as_printed(best.theirs)}{where}"
            )
    return "\n".join(lines) or "None of our results is worse."


def _onegram(results: list[Result]) -> str:
    rows = []
    for (name, title), theirs in zip(paper.DATASETS.items(), paper.ONEGRAM.values, strict=True):
        found = [find(results, "table1", paper.ONEGRAM, source, name) for source in paper.SOURCES]
        ours = next((r for r in found if r), None)
        factor = f"{theirs / ours.nats:.2f}" if ours and theirs else NONE
        rows.append([title, as_printed(theirs or 0.0), with_error(ours) if ours else NONE, factor])
    return table(["", "paper", "ours", "factor"], rows)


def _shortened(results: list[Result]) -> str:
    lines = [
        f"- `{r.recipe}` on {paper.DATASETS[r.dataset]}: {r.planned_updates} updates (recipe: "
        f"{r.recipe_updates})"
        for r in results
        if r.item == MODELS and r.planned_updates < r.recipe_updates
    ]
    for row in paper.TABLE1:
        for source in row.recipes:
            for name in paper.DATASETS:
                r = find(results, "table1", row, source, name)
                if r is None:
                    continue
                place = f"Table 1, {row.title}, {paper.DATASETS[name]}, {paper.SOURCES[source]}"
                wanted = paper.gaps(name, row.strategy)
                if "limit=" in r.settings and (wanted is None or (r.gaps or 0) < wanted):
                    lines.append(f"- {place}: {r.gaps} gaps (paper: {wanted or 'all'})")
                chains = re.search(r"chains=(\d+)", r.settings)
                if chains and int(chains[1]) < paper.CHAINS:
                    lines.append(f"- {place}: {chains[1]} chains (paper: {paper.CHAINS})")
    return "\n".join(lines) or "Nothing."


def _trainings(results: list[Result]) -> str:
    rows = [
        [
            paper.DATASETS[r.dataset],
            f"`{r.recipe}`",
            r.settings,
            f"`{r.fingerprint[:8]}`",
            r.hardware,
            str(r.seed),
            f"{r.updates} of {r.planned_updates}",
            f"{r.nats:.4f}",
            f"{r.seconds:.0f}",
        ]
        for r in results
        if r.item == MODELS
    ]
    header = ["set", "recipe", "fields", "fingerprint", "hardware", "seed"]
    return table([*header, "updates", "validation NLL", "seconds"], rows, left=5)


def _settings(results: list[Result]) -> str:
    """Return a table of settings, with one row for all results that share them."""
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
    return table(["for", "strategy", "settings", "gaps"], rows, left=4)


def _cost(results: list[Result]) -> str:
    if not results:
        return "There are no results yet."
    trained = sum(r.seconds for r in results if r.item == MODELS)
    measured = sum(r.seconds for r in results if r.item != MODELS)
    where = " and ".join(sorted({r.hardware for r in results}))
    return (
        f"{len(results)} results took {_clock(trained)} of training and {_clock(measured)} of "
        f"measuring (hours:minutes:seconds) on {where}."
    )


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def _title(item: str) -> str:
    return f"{item[:-1].title()} {item[-1]}"
