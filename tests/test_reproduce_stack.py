"""`caesura reproduce` trains nets of one shape together, within a time limit, as if alone."""

import json

import jax
import pytest

from caesura.datasets.registry import DATASETS
from caesura.reproduce.left import Left
from tiny_paper import rows_of, run, toy_sets

SMALL = """hidden = 4, points = 24, length = 12, steps = 4, validate_every = 2, valid_steps = 40,
learning_rate = [0.01, 0.1]""".replace("\n", " ")
PLAN = f"""
seed = 3
gap = 3
margin = 4

[table2]
datasets = ["piano_midi"]

[[training]]
recipe = "paper-brnn"
datasets = ["piano_midi"]
serves = ["gsn"]
fields = {{ {SMALL} }}

[[training]]
recipe = "paper-nade"
datasets = ["piano_midi"]
serves = ["nade"]
fields = {{ {SMALL} }}

[[training]]
recipe = "paper-nade-masked"
datasets = ["piano_midi"]
serves = ["nade"]
fields = {{ {SMALL} }}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    jax.devices()  # from now on there is one device, whatever the command asks for
    for name, dataset in toy_sets(tmp_path / "data").items():
        monkeypatch.setitem(DATASETS, name, dataset)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def ask(folder, out, *words):
    places = ("--out", folder / out, "--plan", folder / "plan.toml", "--data", folder / "data")
    result = run(*words, *places, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout), result.stderr


def values(folder, out):
    rows = rows_of(folder / out / "reproduce.csv")
    return {(row["item"], row["recipe"]): float(row["value"]) for row in rows}


@pytest.mark.slow
def test_a_stack_within_a_time_limit_gives_what_nets_trained_alone_give(folder):
    told, notes = ask(folder, "stacked", "table2", "--minutes", "0.00001")
    assert told["stopped"]
    assert (told["trained"], told["computed"]) == (0, 0)
    assert "paper-brnn on piano_midi, paper-nade on piano_midi, paper-nade-masked on" in notes
    assert "Stopped; to continue: caesura" in notes
    left = told["left"]
    assert (left["trainings"], left["results"]) == (3, 3)
    assert left["updates"] in (3 * 2, 3 * 3)  # one update was made, or the two of the first call
    (state,) = (folder / "stacked/checkpoints").rglob("*.checkpoint")
    weights = 3 * (2 + 1) * (2 * 4 * (89 + 4 + 1) + 88 * (8 + 1)) * 4  # of two rates, and the best
    assert weights < state.stat().st_size < weights + 10_000
    told, notes = ask(folder, "stacked", "table2")
    assert (told["trained"], told["computed"], told["stopped"]) == (3, 3, False)
    assert "6 nets update" in notes.replace("  ", " ")
    assert "Nothing is left." in notes
    assert not list((folder / "stacked/checkpoints").iterdir())
    told, notes = ask(folder, "alone", "table2", "--nets", "2")
    assert told["trained"] == 3
    assert "training: paper-nade on piano_midi\n" in notes
    assert values(folder, "stacked") == pytest.approx(values(folder, "alone"), rel=1e-4)


@pytest.mark.slow
def test_a_net_whose_results_are_known_is_not_trained_with_others(folder):
    ask(folder, "out", "table2", "--recipe", "paper-nade")
    for model in (folder / "out/models").iterdir():
        model.unlink()
    told, notes = ask(folder, "out", "table2")
    assert (told["trained"], told["computed"], told["found"]) == (2, 2, 1)
    assert "paper-brnn on piano_midi, paper-nade-masked on piano_midi\n" in notes


def test_what_is_left_is_said_in_a_sentence():
    assert str(Left(0, 0, 0, 0.0, 0)) == "Nothing is left."
    start = "Left: 2 trainings (300 updates), 5 results; "
    assert str(Left(2, 300, 5, 4.2, 0)) == start + "about 4 minutes."
    assert str(Left(2, 300, 5, 4.2, 1)) == start + "about 4 minutes for all but 1 of them."
    untimed = "nothing like them was timed on this hardware yet."
    assert str(Left(2, 300, 5, 0.0, 7)) == start + untimed


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (("--minutes", "0"), "'minutes' is a number above 0"),
        (("--minutes", "nan"), "'minutes' is a number above 0"),
        (("--nets", "0"), "'nets' must be at least 1"),
    ],
)
def test_wrong_limits_get_one_sentence(folder, option, sentence):
    result = run("table2", "--out", folder / "out", *option)
    assert result.exit_code == 2
    assert sentence in result.stderr
