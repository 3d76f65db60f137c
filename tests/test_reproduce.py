"""The paper again in little: every table and figure, resumed, and the page of the results."""

import csv
import hashlib
import html
import io
import json
import os
import re
import shutil
import signal
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

import jax
import numpy as np
import pytest
from typer.testing import CliRunner

import caesura
from caesura.cli import app
from caesura.cli.gap_counter import GapCounter
from caesura.datasets import rolls, texts
from caesura.datasets.registry import DATASETS, Dataset, StoredFile
from caesura.reproduce import paper
from caesura.reproduce.page import render
from caesura.reproduce.pictures import draw_pictures
from caesura.reproduce.plan import read_plan
from caesura.reproduce.results import Results

# What most tests here look at takes a minute to make: one worker makes it, and runs them all.
pytestmark = pytest.mark.xdist_group("reproduce")
command = import_module("caesura.cli.reproduce")  # the package has a function of that name
ROOT = Path(__file__).parent.parent
PLAN = """
seed = 3
gap = 3
margin = 4

[options]
gsn = { steps = 6, chains = 4 }
bayes = { steps = 6, chains = 3, lookahead = 3 }
oneway = { samples = 4 }

[table1]
datasets = ["wiki96", "piano_midi"]
limits = { bayes = 5 }

[table2]
datasets = ["wiki96", "piano_midi"]

[table3]
datasets = ["wiki96"]
limits = { wiki96 = 2 }

[figure2]
datasets = ["wiki96"]
limits = { wiki96 = 20, bayes = 5 }

[figure3]
datasets = ["wiki96"]
limits = { wiki96 = 20 }
gibbs_steps = [3, 6]

[[training]]
recipe = "nade"
datasets = ["piano_midi"]
serves = ["nade", "onegram"]
fields = { SMALL }

[[training]]
recipe = "nade"
datasets = ["wiki96"]
serves = ["nade", "gsn", "onegram"]
fields = { SMALL, alphabet = "paper" }

[[training]]
recipe = "rnn"
datasets = ["wiki96"]
serves = ["oneway", "bayes"]
fields = { SMALL, alphabet = "paper" }

[[training]]
recipe = "paper-nade"
datasets = ["wiki96"]
serves = ["onegram"]
items = ["table1", "table2"]
fields = { SMALL }
""".replace(
    "SMALL",
    "cell = 'tanh', hidden = 4, layers = 1, batch = 2, length = 12, steps = 4, validate_every = 2, "
    "valid_steps = 40, burn_in = 0, learning_rate = 0.01",
)


def toy_sets(folder):
    """Small sets in the form of the public ones, written to a folder, for the registry."""
    sets = {}
    holding = {}
    (folder / "text").mkdir(parents=True)
    for number, split in enumerate(("train", "valid", "test")):
        # One test text and pieces of one length: few shapes, few compilations.
        words = "the quick\nbrown fox | jumps over <the> lazy_dog"
        content = texts.write([words[number:]])
        path = f"text/toy.{split}.txt.xz"
        (folder / path).write_bytes(content)
        holding[split] = StoredFile(path, hashlib.sha256(content).hexdigest(), "bytes")
    sets["wiki96"] = Dataset("text", "a toy", "CC0", None, holding)
    draw = np.random.default_rng(0)
    arrays = {}
    for split in ("train", "valid", "test"):
        arrays[f"{split}_len"] = np.array([20, 20])
        arrays[f"{split}_cnt"] = np.ones(40, int)
        arrays[f"{split}_pitch"] = draw.integers(60, 64, 40)
    file = io.BytesIO()
    np.savez(file, **arrays)
    (folder / "toy.npz").write_bytes(file.getvalue())
    stored = StoredFile("toy.npz", rolls.digest(file.getvalue()), "content")
    sets["piano_midi"] = Dataset("music", "a toy", "CC0", None, dict.fromkeys(holding, stored))
    return sets


def run(*words):
    return CliRunner().invoke(app, ["reproduce", *map(str, words)])


def ask(folder, *words):
    """What a run that goes well answers."""
    result = run(*words, "--out", folder / "out", *of(folder), "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def of(folder):
    return "--plan", folder / "plan.toml", "--data", folder / "data"


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder in which everything was run once, and what was said."""
    jax.devices()  # from now on there is one device, whatever the command asks for
    folder = tmp_path_factory.mktemp("reproduce")
    (folder / "plan.toml").write_text(PLAN)
    with pytest.MonkeyPatch.context() as patch:
        for name, dataset in toy_sets(folder / "data").items():
            patch.setitem(DATASETS, name, dataset)
        yield folder, ask(folder, "all")


@pytest.fixture
def copy(made, tmp_path):
    """A copy that a test may do with as it likes."""
    shutil.copytree(made[0], tmp_path / "copy")
    return tmp_path / "copy"


# The work.


def test_everything_in_the_plan_is_measured_once(made):
    folder, told = made
    rows = rows_of(folder / "out/reproduce.csv")
    count = {item: sum(row["item"] == item for row in rows) for item in ("models", *paper.ITEMS)}
    assert count == {
        "models": 4,
        "table1": 2 + 3 + 2 + 1,
        "table2": 4,
        "table3": 2 * 2,
        "figure2": 3 * 4,
        "figure3": 1 + 2,
    }
    assert (told["trained"], told["computed"], told["found"]) == (4, len(rows) - 4, 0)
    trained = [(row["dataset"], row["recipe"]) for row in rows if row["item"] == "models"]
    assert trained == [
        ("piano_midi", "nade"),
        ("wiki96", "nade"),
        ("wiki96", "rnn"),
        ("wiki96", "paper-nade"),
    ]
    assert {row["gaps"] for row in rows if row["strategy"] == "bayes"} == {"5"}
    for row in rows:
        assert (row["seed"], row["updates"], row["planned_updates"]) == ("3", "4", "4")
        assert int(row["recipe_updates"]) >= 3000
        assert float(row["seconds"]) >= 0
        assert "CPU" in row["hardware"]
        assert (folder / f"out/models/{row['fingerprint']}.model").exists()
    assert not list((folder / "out/checkpoints").iterdir())


def value(folder, *place):
    """A result and its model."""
    columns = ("item", "dataset", "strategy", "recipe")
    rows = rows_of(folder / "out/reproduce.csv")
    (row,) = (row for row in rows if tuple(row[c] for c in columns) == place)
    return float(row["value"]), caesura.load(folder / f"out/models/{row['fingerprint']}.model")


@pytest.mark.parametrize(("strategy", "recipe"), [("oneway", "rnn"), ("nade", "nade")])
def test_table_1_is_the_mean_over_all_gaps(made, strategy, recipe):
    """By another way: gap by gap, through the public face."""
    folder, _ = made
    found, filler = value(folder, "table1", "wiki96", strategy, recipe)
    nll = [
        -filler.log_prob(text, missing=slice(t, t + 3), strategy=strategy)
        for text in caesura.datasets.load("wiki96", "test", folder / "data")
        for t in range(4, len(text) - 4 - 3 + 1)
    ]
    assert found == pytest.approx(np.mean(nll), rel=1e-4)


def test_table_2_is_the_chain_rule_for_a_forward_net(made):
    folder, _ = made
    found, filler = value(folder, "table2", "wiki96", "", "rnn")
    items = caesura.datasets.load("wiki96", "test", folder / "data")
    nll = [-filler.log_prob(text, missing=slice(None), strategy="oneway") for text in items]
    assert found == pytest.approx(sum(nll) / sum(map(len, items)), rel=1e-4)


def test_table_3_fills_the_same_gaps_of_the_test_texts(made):
    folder, _ = made
    rows = [row for row in rows_of(folder / "out/reproduce.csv") if row["item"] == "table3"]
    items = caesura.datasets.load("wiki96", "test", folder / "data")
    for row in rows:
        assert any(row["before"] + row["truth"] + row["after"] in text for text in items)
        assert len(row["filled"]) == len(row["truth"]) == 3
    places = {s: [r["before"] for r in rows if r["strategy"] == s] for s in ("nade", "gsn")}
    assert places["nade"] == places["gsn"]


def test_a_second_run_needs_neither_data_nor_models(copy):
    shutil.rmtree(copy / "data")
    shutil.rmtree(copy / "out/models")
    before = (copy / "out/reproduce.csv").read_bytes()
    told = ask(copy, "all")
    assert (told["trained"], told["computed"]) == (0, 0)
    assert (copy / "out/reproduce.csv").read_bytes() == before


def without_row(folder, *place):
    """Take a result away, and give its old value."""
    results = Results(folder / "out/reproduce.csv")
    gone = [r for r in results.rows if (r.item, r.dataset, r.strategy, r.recipe) == place]
    left = [r for r in results.rows if r not in gone]
    text = (folder / "out/reproduce.csv").read_text().splitlines(keepends=True)[0]
    (folder / "out/reproduce.csv").write_text(text)
    rest = Results(folder / "out/reproduce.csv")
    for row in left:
        rest.add([row])
    return gone[0].value


def test_only_what_is_missing_is_computed_and_comes_out_the_same(copy):
    before = without_row(copy, "table1", "wiki96", "gsn", "nade")
    count = len(rows_of(copy / "out/reproduce.csv"))
    told = ask(copy, "table1", "table2")
    assert (told["trained"], told["computed"], told["found"]) == (0, 1, 11)
    assert "page" not in told
    assert value(copy, "table1", "wiki96", "gsn", "nade")[0] == before
    assert len(rows_of(copy / "out/reproduce.csv")) == count + 1


def test_other_settings_replace_a_result_and_other_fields_train_anew(copy):
    count = len(rows_of(copy / "out/reproduce.csv"))
    plan = copy / "plan.toml"
    plan.write_text(plan.read_text().replace("limits = { bayes = 5 }", "limits = { bayes = 6 }"))
    told = ask(copy, "table1", "--dataset", "wiki96", "--recipe", "rnn")
    assert (told["trained"], told["computed"], told["found"]) == (0, 1, 1)
    assert len(rows_of(copy / "out/reproduce.csv")) == count
    plan.write_text(plan.read_text().replace("hidden = 4", "hidden = 3", 1))
    told = ask(copy, "table2", "--dataset", "piano_midi")
    assert (told["trained"], told["computed"]) == (1, 1)
    rows = rows_of(copy / "out/reproduce.csv")
    piano = [row for row in rows if row["dataset"] == "piano_midi"]
    assert [row["item"] for row in piano] == ["models", "table2"]  # and nothing of the old net
    assert len(rows) == count - 2


def test_a_training_without_its_row_is_not_made_again(copy):
    """As after a power cut between the two."""
    before = without_row(copy, "models", "piano_midi", "", "nade")
    told = ask(copy, "models", "--dataset", "piano_midi")
    assert (told["trained"], told["computed"]) == (0, 0)
    assert value(copy, "models", "piano_midi", "", "nade")[0] == before


def test_a_signal_stops_it_and_the_same_command_goes_on(made, copy, monkeypatch):
    shutil.rmtree(copy / "out")
    sent = []

    def interrupt(*told):
        """Once: the second signal would end the process."""
        if not sent:
            sent.append(told)
            os.kill(os.getpid(), signal.SIGTERM)

    class Scoring(GapCounter):
        def count(self, done, gaps):
            interrupt()

    def stopped(*words):
        result = run(*words, *at(copy))
        assert result.exit_code == 128 + signal.SIGTERM
        assert "Stopped; to go on: caesura" in result.stderr
        sent.clear()

    monkeypatch.setattr(command, "showing", lambda: nullcontext(interrupt))
    stopped("models", "--dataset", "piano_midi")
    assert list((copy / "out/checkpoints").rglob("*.checkpoint"))
    assert not (copy / "out/reproduce.csv").exists()
    monkeypatch.undo()
    told = ask(copy, "models", "--dataset", "piano_midi")
    assert (told["trained"], told["computed"]) == (1, 0)
    monkeypatch.setattr(command, "GapCounter", Scoring)
    stopped("table1", "--dataset", "piano_midi")
    assert [row["item"] for row in rows_of(copy / "out/reproduce.csv")] == ["models"]
    monkeypatch.undo()
    told = ask(copy, "table1", "--dataset", "piano_midi")
    assert (told["trained"], told["computed"]) == (0, 2)
    for place in (("table1", "piano_midi", "nade", "nade"), ("models", "piano_midi", "", "nade")):
        assert value(copy, *place)[0] == value(made[0], *place)[0]


def test_a_set_that_is_not_the_public_one_is_refused(copy):
    shutil.rmtree(copy / "out")
    path = copy / "data/text/toy.train.txt.xz"
    path.write_bytes(texts.write(["something else"]))
    assert "is not the public one" in mistake("models", "--dataset", "wiki96", *at(copy))


# Mistakes.


def at(folder):
    return "--out", folder / "out", *of(folder)


def mistake(*words):
    """The one sentence that a run complains with."""
    result = run(*words)
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1
    assert lines[0][-1] in ".?"
    return lines[0]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda text: "name,value\nx,1\n", "its columns are not item, dataset"),
        (lambda text: "", "its columns are not item, dataset"),
        (lambda text: text + "table1,wiki96\n", "does not fit its columns"),
        (lambda text: text.replace(",3,", ",three,"), "does not fit its columns"),
        (lambda text: text.replace("wiki96", "sotu"), "is of nothing that the paper has"),
        (lambda text: text + text.splitlines()[1] + "\n", "is there twice"),
        (lambda text: text + '"', "is not a table of results: unexpected end of data"),
    ],
)
def test_a_foreign_or_damaged_table_gets_one_sentence(copy, change, sentence):
    table = copy / "out/reproduce.csv"
    changed = change(table.read_text())
    table.write_text(changed)
    assert sentence in mistake("pages", *at(copy))
    assert sentence in mistake("table1", *at(copy))
    assert table.read_text() == changed


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("seed = 3", "seed = -3", "'seed' must be at least 0"),
        ("gap = 3", "gaps = 3", "There is no field of a plan called 'gaps'"),
        ("margin = 4", "", "says nothing of 'margin'"),
        ("margin = 4", "margin =", "is not proper TOML"),
        ("chains = 3", "chians = 3", "is not in the form of one"),
        ("hidden = 4", "hiden = 4", "did you mean 'hidden'?"),
        ('"oneway", "bayes"', '"oneway", "gsn"', "no place on the page for 'gsn' by the recipe"),
        ('"wiki96", "piano_midi"', '"wiki96", "sotu"', "There is no data set of the paper"),
        ("limits = { wiki96 = 2 }", "", "'table3' is for sets of text, with a limit for each"),
        ('recipe = "rnn"', 'recipe = "nade"', "no place on the page for 'oneway'"),
        ("limits = { bayes = 5 }", "limits = { bays = 5 }", "did you mean 'bayes'?"),
    ],
)
def test_mistakes_in_a_plan_get_one_sentence(made, tmp_path, old, new, sentence):
    assert old in PLAN
    (tmp_path / "plan.toml").write_text(PLAN.replace(old, new))
    assert sentence in mistake("table1", *at(tmp_path))


def test_other_mistakes_get_one_sentence(made, copy, tmp_path):
    assert "There is no item called 'table4'" in mistake("table4", *at(copy))
    assert "There is no data set in the plan called 'musedata'" in mistake(
        "all", "--dataset", "musedata", *at(copy)
    )
    assert "There is no recipe in the plan called 'paper'" in mistake(
        "all", "--recipe", "paper", *at(copy)
    )
    assert "There are no results in" in mistake("pages", "--out", tmp_path)
    assert "Cannot read" in mistake("all", "--out", tmp_path, "--plan", tmp_path / "none.toml")
    twice = PLAN + PLAN[PLAN.rindex("[[training]]") :]
    (copy / "plan.toml").write_text(twice)
    assert "trains the recipe 'paper-nade' on 'wiki96' twice" in mistake("all", *at(copy))


# The plan of the package.


def test_the_default_plan_fills_every_place_of_the_tables():
    plan = read_plan()
    served = {(t.dataset, t.recipe): t for t in plan.trainings}
    for item, table in paper.TABLES.items():
        assert set(plan.items[item].datasets) == set(paper.DATASETS)
        for row in table:
            for recipe in row.recipes.values():
                for name, number in zip(paper.DATASETS, row.values, strict=True):
                    if number is not None:
                        training = served[name, recipe]
                        assert item in training.items
                        assert row.strategy in ("", *training.serves)
    order = [t.recipe.startswith("paper-") for t in plan.trainings]
    assert order == sorted(order)


def test_the_default_plan_follows_the_protocol_of_the_paper():
    plan = read_plan()
    assert (plan.gap, plan.margin) == (5, 10)
    for name in ("gsn", "bayes"):
        assert (plan.strategies[name].steps, plan.strategies[name].chains) == (100, 100)
    for row in paper.TABLE1:
        for name in paper.DATASETS:
            wanted = paper.gaps(name, row.strategy)
            if row.strategy != "bayes" or name == "wiki96":
                assert plan.items["table1"].limit(name, row.strategy) == wanted


# The page.


def tables_of(page):
    """The tables of a page, each as its rows of cells."""
    found = re.findall(r"(?:^\|.*\|\n?)+", page, re.MULTILINE)
    return [[[c.strip() for c in line.split("|")[1:-1]] for line in t.splitlines()] for t in found]


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


def test_what_was_shortened_is_said(made):
    page = (made[0] / "out/reproduce.md").read_text()
    section = page[page.index("## What was shortened") : page.index("## How it was made")]
    assert "`paper-nade` on Wikipedia: 4 updates, where the recipe has 100000" in section
    assert "Bayesian MCMC, Wikipedia, modern recipes: 5 gaps, where the paper takes 1000" in section
    assert "GSN, Wikipedia" not in section  # all gaps were taken


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
    assert len(ours) == 11 + 6
    assert {cell for line in ours for cell in line[2:]} == {"–"}
    assert "Nothing that could be compared" in page


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
    table = ROOT / "docs/reproduce.csv"
    if not table.exists():
        pytest.skip("there are no results yet")
    results = Results(table).rows
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
