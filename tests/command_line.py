"""Commands run in this process, and a directory with data and models to run them on."""

import functools
import os
import shutil
import sys

import jax
from typer.testing import CliRunner

from caesura.cli import app
from songs import ode_to_joy

TEXT = "the quick brown fox jumps over the lazy dog; " * 20
PATH = {"PYTHONPATH": os.pathsep.join(sys.path)}  # for other processes
TINY = ["hidden=8", "cell=tanh", "batch=2", "length=16", "validate_every=2", "valid_steps=100"]


def run(*words, stdin=None):
    return CliRunner().invoke(app, [str(word) for word in words], input=stdin)


def ask(*words, stdin=None):
    """Return the answer of a command that succeeds."""
    result = run(*words, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


def mistake(*words):
    """Return the one sentence of a command that fails."""
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("Error: ")
    assert lines[0][-1] in ".?"
    return lines[0].removeprefix("Error: ")


def settings(*more):
    return [word for setting in (*TINY, *more) for word in ("--set", setting)]


@functools.cache
def trained(folder):
    """Return the directory, now with data and models, and the answers of the two trainings."""
    jax.devices()  # from now on there is one device, as in the other tests, whatever `train` asks
    folder.mkdir()
    (folder / "text.txt").write_text(TEXT)
    ode_to_joy().save(folder / "song.mid")
    told = {
        "text": run(
            *("train", "text", folder / "text.txt", "-o", folder / "text.model", "--json"),
            *("--recipe", "nade,rnn", *settings("steps=4", "valid_steps=50", "strategy=nade")),
        ),
        "music": run(
            *("train", "music", folder / "song.mid", "-o", folder / "music.model"),
            *("--resume", *settings("steps=2", "shift=0", "strategy=onegram")),
        ),
    }
    for result in told.values():
        assert result.exit_code == 0, result.output
    return folder, told


def trained_once(tmp_path_factory):
    """Return what was trained, once for all test files: it takes a while."""
    return trained(tmp_path_factory.getbasetemp() / "trained")


def copies(made, tmp_path):
    """Return a directory of copies that a test may change."""
    for name in ("text.txt", "song.mid", "text.model", "music.model"):
        shutil.copy(made[0] / name, tmp_path / name)
    return tmp_path


def empty_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CAESURA_DATA", str(tmp_path / "sets"))
