"""`caesura train`: what it answers, how it stops and goes on, and what it refuses."""

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest

import caesura
from caesura.cli.interruption import Interruption
from command_line import (
    PATH,
    TEXT,
    ask,
    copies,
    empty_data_folder,
    mistake,
    run,
    settings,
    trained_once,
)

made = pytest.fixture(trained_once)
folder = pytest.fixture(copies)
no_sets = pytest.fixture(empty_data_folder)


def test_train_writes_a_model_and_says_how_good_it_is(made):
    folder, told = made
    summary = json.loads(told["text"].stdout)
    assert set(summary["nets"]) == {"bidirectional", "forward"}
    assert summary["nets"]["forward"]["recipe"] == "rnn"
    assert summary["nets"]["forward"]["validation_nll"] > 0
    assert summary["file"] == str(folder / "text.model")
    assert summary["bytes"] == (folder / "text.model").stat().st_size
    assert "nats a step on validation, best at update 2" in told["music"].stdout
    assert set(caesura.load(folder / "text.model").nets) == {"bidirectional", "forward", "onegram"}
    assert not list(folder.glob("*.checkpoints"))


def test_progress_is_one_line_for_a_validation_on_stderr(made):
    lines = made[1]["text"].stderr.splitlines()
    assert len(lines) == 2 * 2
    assert lines[0].startswith("bidirectional  update 2/4  loss ")
    assert "validation " in lines[0]
    assert lines[-1].startswith("forward  update 4/4")


def test_a_net_for_tables_is_pooled_with_a_gaussian_model(tmp_path, few_rounds):
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.normal(size=(400, 2)), axis=0)
    walk[rng.random(walk.shape) < 0.1] = np.nan
    pd.DataFrame(walk, columns=["a", "b"]).to_csv(tmp_path / "walk.csv", index=False)
    words = ["train", "series", tmp_path / "walk.csv", "-o", tmp_path / "walk.model"]
    pool = json.loads(ask(*words, *settings("steps=2"), "--pool", "1min", "--json"))["pool"]
    model = caesura.load(tmp_path / "walk.model")
    assert model.training["pool"] == pool
    assert (model.pool is not None) == (pool["share"] > 0)
    assert (pool["rounds"], pool["seconds"]) == (3, 60)
    assert "written as 30s or 2min" in mistake(*words, "--pool", "soon")


def training(folder):
    steps = settings("steps=6")
    return ["train", "text", str(folder / "text.txt"), "-o", str(folder / "new.model"), *steps]


def stop_once_begun(folder, stop):
    """Call `stop` when the training has written its first checkpoint, which is before it works."""
    until = time.monotonic() + 120
    while not list(folder.glob("new.model.checkpoints/*/*.checkpoint")):
        assert time.monotonic() < until
        time.sleep(0.02)
    stop()


def check_stopped(folder, stderr):
    """A checkpoint, no model, and the very command to go on."""
    assert not (folder / "new.model").exists()
    checkpoints = folder.glob("new.model.checkpoints/bidirectional/*.checkpoint")
    assert max(int(path.stem) for path in checkpoints) in range(1, 6)
    typed = shlex.join(training(folder)[1:])
    assert stderr.splitlines()[-1] == f"Stopped; to continue: caesura train --resume {typed}"


@pytest.mark.slow
def test_ctrl_c_stops_a_training_that_can_be_resumed(folder):
    words = [sys.executable, "-m", "caesura", *training(folder)]
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | PATH | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"},
    )
    try:
        stop_once_begun(folder, lambda: process.send_signal(signal.SIGINT))
        stdout, stderr = process.communicate(timeout=120)
    finally:
        process.kill()
    assert (process.returncode, stdout) == (130, "")
    assert "Stopping as soon as a checkpoint is saved" in stderr
    check_stopped(folder, stderr)
    again = json.loads(ask(*training(folder), "--resume", "--json"))
    assert again["nets"]["bidirectional"]["best_step"] > 0
    assert not (folder / "new.model.checkpoints").exists()
    caesura.load(folder / "new.model")


def test_kill_stops_a_training_too(folder, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["caesura", *training(folder)])
    before = signal.getsignal(signal.SIGTERM)
    stop = threading.Thread(
        target=stop_once_begun, args=(folder, lambda: os.kill(os.getpid(), signal.SIGTERM))
    )
    stop.start()
    result = run(*training(folder))
    stop.join()
    assert result.exit_code == 143, result.output
    assert signal.getsignal(signal.SIGTERM) == before
    assert "earlier run left checkpoints" in mistake(*training(folder))
    check_stopped(folder, result.stderr)


def test_the_second_signal_is_left_to_the_system(capsys):
    before = signal.getsignal(signal.SIGINT)
    with Interruption() as interruption:
        assert not interruption.asked()
        os.kill(os.getpid(), signal.SIGINT)
        assert interruption.asked()
        assert interruption.signal == signal.SIGINT
        assert signal.getsignal(signal.SIGINT) == signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) == before
    assert "a second signal ends it at once" in capsys.readouterr().err


def test_resuming_nothing_starts_from_the_beginning_and_says_so(made):
    assert "the training starts from the beginning" in made[1]["music"].stderr.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["text", "text.txt"], "Missing option '--output' / '-o'"),
        (["words", "text.txt", "-o", "m"], "There is no kind called 'words'"),
        (["text", "nowhere.txt", "-o", "m"], "There is no file or directory 'nowhere.txt'"),
        (["text", "wiki69", "-o", "m"], "did you mean 'wiki96'?"),
        (["text", "wiki96:tset", "-o", "m"], "There is no split called 'tset'"),
        (["text", "jsb_chorales", "-o", "m"], "The set 'jsb_chorales' is music, not text"),
        (["text", "sotu", "-o", "m"], "get it with `caesura data fetch sotu`"),
        (["text", "text.txt", "-o", "."], "is a directory"),
        (["text", "text.txt", "-o", "no/where"], "There is no directory 'no'"),
        (["text", "text.txt", "-o", "text.txt"], "choose another file"),
        (["text", "text.txt", "-o", "m", "--recipe", "naed"], "did you mean 'nade'?"),
        (["text", "text.txt", "-o", "m", "--set", "hiden=3"], "did you mean 'hidden'?"),
        (["text", "text.txt", "-o", "m", "--set", "hidden"], "name=value"),
        (["text", "text.txt", "-o", "m", "--set", "seed=3"], "cannot be given with --set"),
        (["text", "text.txt", "-o", "m", "--seed", "-1"], "'seed' must be at least 0"),
        (["text", "text.txt", "-o", "m", "--seed", "one"], "Invalid value for '--seed'"),
        (["text", "text.txt", "-o", "m", "--valid", "none"], "public set called 'none'"),
    ],
)
def test_mistakes_in_training(folder, no_sets, monkeypatch, words, sentence):
    monkeypatch.chdir(folder)
    assert sentence in mistake("train", *words)
    assert (folder / "text.txt").read_text() == TEXT
    assert not (folder / "m").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written_into_is_known_at_once(folder):
    (folder / "closed").mkdir(mode=0o500)
    words = ("train", "text", folder / "text.txt", "-o", folder / "closed" / "m")
    assert "is not writable" in mistake(*words)
