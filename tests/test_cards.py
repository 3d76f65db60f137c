"""The cards of the models: made of the file's own record and of measurements on the same gaps."""

import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

import caesura
from caesura import datasets, pretrained
from caesura.errors import CaesuraError
from caesura.modelfile import read_info
from caesura.scoring.gaps import score_gaps
from caesura.training.recipe import choose, parse_setting
from model_files import write_sums

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
import cards

pytestmark = pytest.mark.slow  # each test trains a model and measures it
TEXT = "the quick brown fox jumps over the lazy dog and then it rests; " * 4
TINY = {"hidden": 4, "layers": 1, "cell": "tanh", "batch": 2, "length": 16, "validate_every": 2}
TINY |= {"steps": 2, "valid_steps": 50}


@pytest.fixture
def made(tmp_path, monkeypatch):
    filler = caesura.train([TEXT] * 2, kind="text", recipe="nade,rnn", seed=3, **TINY)
    filler.save(tmp_path / "text.safetensors", dtype="bfloat16")
    card = cards.CARDS["text"]._replace(gaps={"search": 3, "nade": 5, "onegram": 9})
    write_sums(tmp_path)
    monkeypatch.setattr(pretrained, "DIRECTORY", tmp_path)
    monkeypatch.setattr(cards, "RESULTS", tmp_path / "results")
    monkeypatch.setitem(cards.CARDS, "text", card)
    monkeypatch.setattr(datasets, "load", lambda name, split, limit=None: [TEXT[7:90], TEXT[30:80]])
    return tmp_path


def test_a_card_holds_what_was_measured_and_how_the_model_was_made(made):
    cards.measure("text", 1.0)
    cards.write("text")
    card = (made / "text.md").read_text()
    filler = caesura.load("text")
    sequences = filler.read(datasets.load("wiki96", "test"))
    for name, limit in (("search", 3), ("nade", 5), ("onegram", 9)):
        method = filler.method(name)
        result = score_gaps(method.net, method.strategy, sequences, limit=limit)
        assert f"| `{name}` | {result.nll:.3f} | {result.standard_error:.3f} | {limit} |" in card
    assert "CC BY-SA 3.0" in card
    assert json.loads((made / "results" / "text.json").read_text())["sha256"] in card


def check_command(command, info, file, *nets):
    records = [info["training"]["nets"][net] for net in nets]
    words = shlex.split(command)
    assert words[:6] == ["caesura", "train", "text", "wiki96", "-o", file]
    assert words[6:8] == ["--recipe", ",".join(record["recipe"] for record in records)]
    assert words[-2:] == ["--seed", "3"]
    assert set(words[8:-2:2]) == {"--set"}
    overrides = dict(parse_setting(word) for word in words[9:-2:2])
    for record in records:
        again = choose(record["recipe"], "text", ("alphabet",), overrides).recipe
        assert json.loads(json.dumps(asdict(again))) == record["fields"]


def test_the_commands_on_a_card_are_those_that_make_the_model(made):
    info = read_info(made / "text.safetensors")
    train, make = cards.commands("text", info, cards.CARDS["text"])
    check_command(train, info, "nade-rnn.model", "bidirectional", "forward")
    assert make == "python benchmarks/cards.py make text nade-rnn.model"


def test_nets_that_were_trained_one_by_one_make_one_model(made):
    for recipe, hidden in (("nade", 5), ("rnn", 3)):
        fields = TINY | {"hidden": hidden}
        caesura.train([TEXT] * 2, kind="text", recipe=recipe, seed=3, **fields).save(
            made / f"{recipe}.model"
        )
    cards.make("text", [made / "nade.model", made / "rnn.model"])
    info = read_info(made / "text.safetensors")
    of_nade, of_rnn, make = cards.commands("text", info, cards.CARDS["text"])
    check_command(of_nade, info, "nade.model", "bidirectional")
    check_command(of_rnn, info, "rnn.model", "forward")
    assert make == "python benchmarks/cards.py make text nade.model rnn.model"
    write_sums(made)
    assert caesura.load("text").fill("the qu__k", strategy="sir").best.startswith("the qu")
    caesura.train([TEXT], kind="text", recipe="rnn", seed=3, **TINY).save(made / "rnn.model")
    with pytest.raises(CaesuraError, match="other data"):
        cards.make("text", [made / "nade.model", made / "rnn.model"])


def test_results_of_another_model_or_of_a_part_of_the_gaps_make_no_card(made):
    cards.measure("text", 0.5)
    with pytest.raises(CaesuraError, match="not those of all of this model"):
        cards.write("text")
    cards.measure("text", 1.0)
    caesura.train([TEXT] * 2, kind="text", recipe="nade,rnn", seed=4, **TINY).save(
        made / "text.safetensors"
    )
    with pytest.raises(CaesuraError, match="not those of all of this model"):
        cards.write("text")
