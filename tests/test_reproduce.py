"""`caesura reproduce`: a tiny plan from one end to the other, stopped, resumed and mistaken."""

import os
import shutil
import signal
from contextlib import nullcontext
from importlib import import_module

import numpy as np
import pytest

import caesura
from caesura.datasets import texts
from caesura.reproduce import paper
from caesura.reproduce.results import Results
from tiny_paper import PLAN, ask, copying, making, of, rows_of, run

pytestmark = pytest.mark.slow  # what most tests here look at takes a minute to make
command = import_module("caesura.cli.reproduce")  # the package has a function of that name
made = pytest.fixture(scope="module")(making)
copy = pytest.fixture(copying)


# The work.


def test_everything_in_the_plan_is_measured_once(made):
    folder, told = made
    rows = rows_of(folder / "out/reproduce.csv")
    count = {item: sum(row["item"] == item for row in rows) for item in ("models", *paper.ITEMS)}
    assert count == {
        "models": 4,
        "table1": 2 + 3 + 2 + 1 + 1,
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
        names = row["fingerprint"].split("+")
        assert len(names) == (2 if row["strategy"] == "sir" else 1)
        updates = str(4 * len(names))
        assert (row["seed"], row["updates"], row["planned_updates"]) == ("3", updates, updates)
        assert int(row["recipe_updates"]) >= 3000 * len(names)
        assert float(row["seconds"]) >= 0
        assert "CPU" in row["hardware"]
        for name in names:
            assert (folder / f"out/models/{name}.model").exists()
    assert not list((folder / "out/checkpoints").iterdir())


def value(folder, *place):
    """A result and its model."""
    columns = ("item", "dataset", "strategy", "recipe")
    rows = rows_of(folder / "out/reproduce.csv")
    (row,) = (row for row in rows if tuple(row[c] for c in columns) == place)
    return float(row["value"]), caesura.load(folder / f"out/models/{row['fingerprint']}.model")


def test_nets_that_serve_together_are_those_of_their_own_rows(made):
    rows = rows_of(made[0] / "out/reproduce.csv")
    names = {
        row["recipe"]: row["fingerprint"]
        for row in rows
        if (row["item"], row["dataset"]) == ("models", "wiki96")
    }
    (row,) = (row for row in rows if row["strategy"] == "sir")
    assert row["recipe"] == "nade+rnn"
    assert row["fingerprint"] == f"{names['nade']}+{names['rnn']}"


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
    assert (told["trained"], told["computed"], told["found"]) == (0, 1, 12)
    assert "page" not in told
    assert value(copy, "table1", "wiki96", "gsn", "nade")[0] == before
    assert len(rows_of(copy / "out/reproduce.csv")) == count + 1


def test_figure_3_takes_what_table_1_has_and_measuring_gives_the_same(copy):
    def at_six_steps():
        results = Results(copy / "out/reproduce.csv")
        (row,) = (r for r in results if (r.item, r.strategy, r.x) == ("figure3", "gsn", 6))
        return row

    plan = copy / "plan.toml"
    plan.write_text(plan.read_text().replace("limits = { wiki96 = 20 }\ngibbs", "gibbs"))
    told = ask(copy, "figure3")
    assert (told["trained"], told["computed"], told["found"]) == (0, 1, 2)  # three Gibbs steps
    taken = at_six_steps()
    assert (taken.value, taken.seconds) == (value(copy, "table1", "wiki96", "gsn", "nade")[0], 0)
    for item in ("table1", "figure3"):
        without_row(copy, item, "wiki96", "gsn", "nade")
    told = ask(copy, "figure3")
    assert (told["trained"], told["computed"], told["found"]) == (0, 2, 1)
    assert at_six_steps().value == pytest.approx(taken.value, rel=1e-6)


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
    (row,) = [
        row
        for row in rows_of(copy / "out/reproduce.csv")
        if (row["item"], row["dataset"]) == ("models", "piano_midi")
    ]
    assert "CPU cores" in row["hardware"]  # which the model file remembers


def test_a_signal_stops_it_and_the_same_command_goes_on(made, copy, monkeypatch):
    shutil.rmtree(copy / "out")
    sent = []

    def interrupt(*told):
        """Once: the second signal would end the process."""
        if not sent:
            sent.append(told)
            os.kill(os.getpid(), signal.SIGTERM)

    def stopped(*words):
        result = run(*words, *at(copy))
        assert result.exit_code == 128 + signal.SIGTERM
        assert "Stopped; to continue: caesura" in result.stderr
        sent.clear()

    monkeypatch.setattr(command, "showing", lambda: nullcontext(interrupt))
    stopped("models", "--dataset", "piano_midi")
    assert list((copy / "out/checkpoints").rglob("*.checkpoint"))
    assert not (copy / "out/reproduce.csv").exists()
    monkeypatch.undo()
    told = ask(copy, "models", "--dataset", "piano_midi")
    assert (told["trained"], told["computed"]) == (1, 0)
    monkeypatch.setattr(command, "counting", lambda name: nullcontext(interrupt))
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
    assert "differs from that of the public" in mistake("models", "--dataset", "wiki96", *at(copy))


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
        (lambda text: text.replace("wiki96", "sotu"), "is for nothing in the paper"),
        (lambda text: text + text.splitlines()[1] + "\n", "repeats another row"),
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
        ("margin = 4", "", "lacks the field 'margin'"),
        ("margin = 4", "margin =", "is not valid TOML"),
        ("chains = 3", "chians = 3", "is not well-formed"),
        ("hidden = 4", "hiden = 4", "did you mean 'hidden'?"),
        ('"oneway", "bayes"', '"oneway", "gsn"', "no place for 'gsn' with the recipe"),
        ('"wiki96", "piano_midi"', '"wiki96", "sotu"', "There is no data set of the paper"),
        ("limits = { wiki96 = 2 }", "", "'table3' needs data sets of text, with a limit for each"),
        ('recipe = "rnn"', 'recipe = "nade"', "no place for 'oneway'"),
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
    assert "There is no file" in mistake("all", "--out", tmp_path, "--plan", tmp_path / "none.toml")
    twice = PLAN + PLAN[PLAN.rindex("[[training]]") :]
    (copy / "plan.toml").write_text(twice)
    assert "trains the recipe 'paper-nade' on 'wiki96' twice" in mistake("all", *at(copy))
