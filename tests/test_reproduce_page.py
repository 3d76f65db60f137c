"""The page of `caesura reproduce`: from the table of results, the numbers that stand there."""

import html
import os
import re
import shutil
from pathlib import Path

import pytest

from caesura.reproduce import paper
from caesura.reproduce.page import render
from caesura.reproduce.pictures import draw_pictures
from caesura.reproduce.results import Results
from tiny_paper import making, rows_of, run

ROOT = Path(__file__).parent.parent
made = pytest.fixture(scope="module")(making)


def tables_of(page):
    """The tables of a page, each as its rows of cells."""
    found = re.findall(r"(?:^\|.*\|\n?)+", page, re.MULTILINE)
    return [[[c.strip() for c in line.split("|")[1:-1]] for line in t.splitlines()] for t in found]


@pytest.mark.slow
def test_the_page_comes_from_the_table_of_results_alone(made, tmp_path):
    folder, told = made
    shutil.copy(folder / "out/reproduce.csv", tmp_path)
    assert run("pages", "--out", tmp_path).exit_code == 0
    for name in ("reproduce.md", "pictures/figure2-modern.png", "pictures/figure3.png"):
        assert (tmp_path / name).stat().st_size > 1000
    assert told["page"] == str(folder / "out/reproduce.md")
    assert (tmp_path / "reproduce.md").read_bytes() == Path(told["page"]).read_bytes()
    linked = re.findall(r"\]\((.*?)\)", (tmp_path / "reproduce.md").read_text())
    assert "pictures/figure3.png" in linked
    assert all((tmp_path / link).exists() for link in linked)


@pytest.mark.slow
@pytest.mark.parametrize(("item", "number"), [("table1", 0), ("table2", 1)])
def test_the_numbers_on_the_page_are_those_of_the_table(made, item, number):
    folder, _ = made
    header, _, *lines = tables_of((folder / "out/reproduce.md").read_text())[number]
    assert header[2:] == list(paper.DATASETS.values())
    rows = {
        (row["dataset"], row["strategy"], row["recipe"]): row
        for row in rows_of(folder / "out/reproduce.csv")
        if row["item"] == item
    }
    shown, title = set(), ""
    for line in lines:
        title = line[0] or title
        row = next(row for row in paper.TABLES[item] if row.title == title)
        source = {f"ours, {text}": source for source, text in paper.SOURCES.items()}.get(line[1])
        for name, cell, theirs in zip(paper.DATASETS, line[2:], row.values, strict=True):
            bare = cell.replace("*", "").replace("†", "").split("±")
            if source is None:
                assert cell == "–" if theirs is None else float(bare[0]) == theirs
                continue
            place = (name, row.strategy, row.recipes[source])
            if place not in rows:
                assert cell == "–"
                continue
            shown.add(place)
            # All of these nets were trained for less than their recipes say.
            assert ("†" in cell) == (row.strategy != "onegram")
            assert float(bare[0]) == pytest.approx(float(rows[place]["value"]), abs=0.006)
            assert float(bare[1]) == pytest.approx(float(rows[place]["standard_error"]), abs=0.006)
    assert shown == set(rows)


@pytest.mark.slow
def test_the_best_of_each_kind_is_bold_in_each_column(made):
    _, _, *lines = tables_of((made[0] / "out/reproduce.md").read_text())[0]
    theirs = [[cell for line in lines if line[1] == "paper" for cell in [line[c]]] for c in (2, 5)]
    assert [cell for cell in theirs[0] if "*" in cell] == ["**4.37**"]
    assert [cell for cell in theirs[1] if "*" in cell] == ["**34.7**"]
    modern = [line[2].replace("†", "") for line in lines if line[1] == "ours, modern recipes"]
    bold = [cell for cell in modern if "*" in cell]
    assert len(bold) == 1
    assert float(bold[0].strip("*").split()[0]) == min(
        float(c.strip("*").split()[0]) for c in modern
    )


@pytest.mark.slow
def test_what_was_shortened_is_said(made):
    page = (made[0] / "out/reproduce.md").read_text()
    section = page[page.index("## What was shortened") : page.index("## How it was made")]
    assert "`paper-nade` on Wikipedia: 4 updates (recipe: 100000)" in section
    assert "Bayesian MCMC, Wikipedia, modern recipes: 5 gaps (paper: 1000)" in section
    assert "Table 1, NADE, Wikipedia" not in section  # all gaps were taken
    assert "Table 1, GSN, Wikipedia, modern recipes: 4 chains (paper: 100)" in section


@pytest.mark.slow
def test_an_excerpt_shows_its_text_as_it_is(made):
    page = (made[0] / "out/reproduce.md").read_text()
    rows = [row for row in rows_of(made[0] / "out/reproduce.csv") if row["item"] == "table3"]
    shown = [html.unescape(cell) for table in tables_of(page) for line in table for cell in line]
    for row in rows:
        filled = row["filled"].replace(" ", "\xa0")
        text = f"{row['before']}<ins>{filled}</ins>{row['after']}".replace("\n", "↵")
        assert text.strip() in shown


def test_without_results_there_is_nothing_but_the_paper():
    page = render([], {})
    ours = [line for table in tables_of(page) for line in table if line[1].startswith("ours,")]
    assert len(ours) == 17 + 8
    assert {cell for line in ours for cell in line[2:]} == {"–"}
    assert "No result can be compared" in page


def test_every_deviation_in_the_code_is_on_the_page():
    page = " ".join(render([], {}).split())
    count = 0
    for path in sorted((ROOT / "src").rglob("*.py")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if "DEVIATION" in line:
                found = re.fullmatch(r" *# DEVIATION: (.*)", line)
                assert found, f"{path}: a deviation is one line of comment"
                name = path.relative_to(ROOT / "src/caesura").as_posix()
                assert f"`{name}`: {found[1]}" in page, f"{path}: {found[1]}"
                count += 1
    assert count


def test_the_page_in_the_docs_is_that_of_its_table():
    results = Results(ROOT / "docs/reproduce.csv").rows
    assert results
    pictures = draw_pictures(results)
    assert (ROOT / "docs/reproduce.md").read_text(encoding="utf-8") == render(results, pictures)
    assert {path.stem for path in (ROOT / "docs/pictures").glob("figure*.png")} == set(pictures)


def test_the_numbers_of_the_paper_are_those_of_its_source():
    """Where CAESURA_PAPER is its LaTeX file."""
    source = os.environ.get("CAESURA_PAPER")
    if source is None:
        pytest.skip("CAESURA_PAPER does not say where the paper is")
    tex = Path(source).read_text(encoding="utf-8")
    for item, label in (("table1", "tab:bps"), ("table2", "tab:nll_train")):
        table = tex[: tex.index(f"\\label{{{label}}}")].rpartition("\\begin{tabular*}")[2]
        rows = []
        for line in table.splitlines():
            _, *cells = line.replace("\\\\", "").split("&")
            numbers = [re.search(r"\d+(\.\d+)?", cell) for cell in cells]
            if any(numbers):
                rows.append(tuple(n and float(n[0]) for n in numbers))
        assert rows == [row.values for row in paper.TABLES[item]]
