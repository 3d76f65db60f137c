"""The commands that measure and inform: evaluate, info, data and reproduce."""

import json
import os
import sys

import pytest

import caesura
from caesura.cli.info import sparkline
from caesura.reproduce.plan import MOST_BYTES
from command_line import ask, copies, empty_data_folder, mistake, run, trained_once

made = pytest.fixture(trained_once)
folder = pytest.fixture(copies)
no_sets = pytest.fixture(empty_data_folder)


@pytest.mark.slow
def test_evaluate_compares_strategies(folder):
    words = ("evaluate", folder / "text.model", folder / "text.txt", "--gap", 3)
    words = (*words, "--strategy", "oneway,onegram", "--limit", 8)
    told = json.loads(ask(*words, "--picture", folder / "positions.png", "--json"))
    assert [result["strategy"] for result in told["results"]] == ["oneway", "onegram"]
    assert [result["gaps"] for result in told["results"]] == [8, 8]
    assert (folder / "positions.png").read_bytes().startswith(b"\x89PNG")
    result = run(*words)
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["strategy", "NLL", "±", "SE", "gaps", "left", "out"]
    assert lines[1].split()[:2] == ["oneway", f"{told['results'][0]['nll']:.3f}"]
    assert lines[4].split() == ["position", "oneway", "onegram"]
    assert lines[9].split()[:6] == ["strategy", "position", "top", "1", "top", "5"]
    assert len(lines) == 5 + 3 + 2 + 2 * 3
    for (_, *stated), wanted in zip(
        (line.split()[1:] for line in lines[10:13]),
        zip(*told["results"][0]["calibration"]["by_position"].values(), strict=True),
        strict=True,
    ):
        assert stated == [f"{rate:.3f}" for rate in wanted]
    assert result.stderr.splitlines()[-1] == "onegram: gaps 8/8"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["text.model"], "Missing argument 'DATA'"),
        (["none", "text.txt"], "none"),
        (["text.model", "none"], "public set called 'none'"),
        (["text.model", "text.txt", "--gap", "0"], "'gap' must be at least 1"),
        (["text.model", "text.txt", "--gap", "9999"], "No sequence is long enough"),
        (["text.model", "text.txt", "--limit", "0"], "'limit' must be at least 1"),
        (["text.model", "text.txt", "--strategy", "nade,nade"], "twice"),
        (["music.model", "song.mid", "--strategy", "bayes"], "with the recipe 'rnn'"),
        (["text.model", "text.txt", "--picture", "p.bmp"], "format for pictures"),
        (["text.model", "text.txt", "--picture", "no/p.png"], "There is no directory 'no'"),
        (["text.model", "jsb_chorales"], "is music, not text"),
    ],
)
def test_mistakes_in_measuring(folder, no_sets, monkeypatch, words, sentence):
    monkeypatch.chdir(folder)
    assert sentence in mistake("evaluate", *words)


def test_without_matplotlib_one_sentence_says_so(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    words = (folder / "text.model", folder / "text.txt", "--picture", folder / "p.png")
    assert "pip install 'caesura[plot]'" in mistake("evaluate", *words)


def test_info_shows_where_a_model_comes_from(folder):
    shown = ask("info", folder / "text.model")
    told = json.loads(ask("info", folder / "text.model", "--json"))
    for name, net in told["nets"].items():
        assert name in shown
        assert str(net["parameters"]) in shown
    assert told["sha256"] in shown
    assert told["training"]["data"]["fingerprint"][:16] in shown
    assert "validation NLL of the forward net, updates 2 to 4" in shown
    assert "There is no file" in mistake("info", folder / "none")


def test_info_names_the_strategy_that_a_loaded_model_has():
    assert json.loads(ask("info", "text", "--json"))["strategy"] == caesura.load("text").strategy


def test_sparkline():
    assert sparkline([3.0, 2.0, None, 1.0]) == "█▅ ▁"
    assert sparkline([1.0]) == "▁"
    assert len(sparkline([float(i) for i in range(1000)])) == 48


def test_sets_are_listed_and_verified(tmp_path, no_sets):
    shown = ask("data", "list")
    assert "jsb_chorales" in shown
    told = json.loads(ask("data", "list", "--data", tmp_path, "--json"))
    assert told["folder"] == str(tmp_path)
    assert {row["name"] for row in told["sets"]} == set(caesura.datasets.DATASETS)
    assert run("data", "verify").exit_code == 0
    missing = run("data", "verify", "wiki96", "--json")
    assert missing.exit_code == 1
    assert set(json.loads(missing.stdout)["sets"]["wiki96"].values()) == {"missing"}
    (tmp_path / "music").mkdir()
    (tmp_path / "music" / "jsb_chorales.npz").write_bytes(b"something else")
    altered = run("data", "verify", "--data", tmp_path)
    assert altered.exit_code == 1
    assert altered.stdout.splitlines()[1].split() == [
        *("jsb_chorales", "music/jsb_chorales.npz", "altered")
    ]


def test_sets_are_fetched(tmp_path, monkeypatch):
    monkeypatch.setattr(caesura.datasets, "fetch", lambda name, folder, progress: name == "sotu")
    words = ("data", "fetch", "sotu", "wiki96", "--data", tmp_path)
    result = run(*words, "--json")
    assert json.loads(result.stdout)["fetched"] == {"sotu": True, "wiki96": False}
    assert result.stderr.splitlines() == ["sotu: fetched", "wiki96: already here"]
    assert "did you mean 'sotu'?" in mistake("data", "fetch", "wiki96", "sotuu")


def test_a_plan_is_a_small_file(tmp_path):
    words = ("reproduce", "table1", "--out", tmp_path / "out", "--plan")
    if os.path.exists("/dev/full"):  # which can be read without end
        assert "it is not a file" in mistake(*words, "/dev/full")
    (tmp_path / "plan.toml").write_bytes(b"#" * (MOST_BYTES + 1))
    assert f"holds more than {MOST_BYTES} bytes" in mistake(*words, tmp_path / "plan.toml")
    assert "There is no file" in mistake(*words, tmp_path / "none.toml")
