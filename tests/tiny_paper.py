"""A tiny paper: small sets in the place of the public ones, and a plan that trains toys on them."""

import csv
import functools
import hashlib
import io
import json
import shutil

import jax
import numpy as np
import pytest
from typer.testing import CliRunner

from caesura.cli import app
from caesura.datasets import rolls, texts
from caesura.datasets.registry import DATASETS, Dataset, StoredFile

PLAN = """
seed = 3
gap = 3
margin = 4

[options]
gsn = { steps = 6, chains = 4 }
bayes = { steps = 6, chains = 3, lookahead = 3 }
oneway = { samples = 4 }
sir = { particles = 3, replicas = 2, lookahead = 3 }

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

[[pair]]
recipes = ["nade", "rnn"]
datasets = ["wiki96"]
serves = ["sir"]

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


@functools.cache
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


@functools.cache
def run_everything(folder):
    """What the command says of it all; one worker runs all test files that ask for this."""
    return ask(folder, "all")


def making(tmp_path_factory):
    """For a fixture: a folder in which everything was run once, and what was said."""
    jax.devices()  # from now on there is one device, whatever the command asks for
    folder = tmp_path_factory.getbasetemp() / "tiny-paper"
    folder.mkdir(exist_ok=True)
    (folder / "plan.toml").write_text(PLAN)
    with pytest.MonkeyPatch.context() as patch:
        for name, dataset in toy_sets(folder / "data").items():
            patch.setitem(DATASETS, name, dataset)
        yield folder, run_everything(folder)


def copying(made, tmp_path):
    """For a fixture: a copy that a test may do with as it likes."""
    shutil.copytree(made[0], tmp_path / "copy")
    return tmp_path / "copy"
