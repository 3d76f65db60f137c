"""The command line: what it answers, where, with which exit code, and what it never touches."""

import inspect
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from typer.testing import CliRunner

import caesura
from caesura.cli import app
from caesura.cli.docs import commands, render
from caesura.cli.info import sparkline
from caesura.cli.interruption import Interruption
from caesura.cli.spans import parse_span
from caesura.errors import CaesuraError
from caesura.kinds import Song
from songs import ode_to_joy

ROOT = Path(__file__).parent.parent
TEXT = "the quick brown fox jumps over the lazy dog; " * 20
PATH = {"PYTHONPATH": os.pathsep.join(sys.path)}  # for other processes
TINY = ["hidden=8", "cell=tanh", "batch=2", "length=16", "validate_every=2", "valid_steps=100"]


def run(*words, stdin=None):
    return CliRunner().invoke(app, [str(word) for word in words], input=stdin)


def ask(*words, stdin=None):
    """The answer of a command that goes well."""
    result = run(*words, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


def mistake(*words):
    """The one sentence that a command complains with."""
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


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with data and what two trainings answered."""
    jax.devices()  # from now on there is one device, as in the other tests, whatever `train` asks
    folder = tmp_path_factory.mktemp("cli")
    (folder / "text.txt").write_text(TEXT)
    ode_to_joy().save(folder / "song.mid")
    told = {
        "text": run(
            *("train", "text", folder / "text.txt", "-o", folder / "text.model", "--json"),
            *("--recipe", "nade,rnn", *settings("steps=4", "valid_steps=50")),
        ),
        "music": run(
            *("train", "music", folder / "song.mid", "-o", folder / "music.model"),
            *("--resume", *settings("steps=2", "transpose=0", "strategy=onegram")),
        ),
    }
    for result in told.values():
        assert result.exit_code == 0, result.output
    return folder, told


@pytest.fixture
def folder(made, tmp_path):
    """Copies that a test may do with as it likes."""
    for name in ("text.txt", "song.mid", "text.model", "music.model"):
        shutil.copy(made[0] / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def no_sets(tmp_path, monkeypatch):
    monkeypatch.setenv("CAESURA_DATA", str(tmp_path / "sets"))


# Training


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
    assert stderr.splitlines()[-1] == f"Stopped; to go on: caesura train --resume {typed}"


def test_ctrl_c_stops_a_training_that_can_be_resumed(folder):
    words = [sys.executable, "-m", "caesura.cli", *training(folder)]
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
    assert "once more, and it ends at once" in capsys.readouterr().err


def test_resuming_nothing_starts_from_the_beginning_and_says_so(made):
    assert "the training starts from the beginning" in made[1]["music"].stderr.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["text", "text.txt"], "Missing option '--output' / '-o'"),
        (["words", "text.txt", "-o", "m"], "There is no kind called 'words'"),
        (["text", "nowhere.txt", "-o", "m"], "There is no file or folder 'nowhere.txt'"),
        (["text", "wiki69", "-o", "m"], "did you mean 'wiki96'?"),
        (["text", "wiki96:tset", "-o", "m"], "There is no split called 'tset'"),
        (["text", "jsb_chorales", "-o", "m"], "The set 'jsb_chorales' is music, not text"),
        (["text", "sotu", "-o", "m"], "`caesura data fetch sotu` puts it there"),
        (["text", "text.txt", "-o", "."], "is a folder"),
        (["text", "text.txt", "-o", "no/where"], "There is no folder 'no'"),
        (["text", "text.txt", "-o", "text.txt"], "choose another file"),
        (["text", "text.txt", "-o", "m", "--recipe", "naed"], "did you mean 'nade'?"),
        (["text", "text.txt", "-o", "m", "--set", "hiden=3"], "did you mean 'hidden'?"),
        (["text", "text.txt", "-o", "m", "--set", "hidden"], "name=value"),
        (["text", "text.txt", "-o", "m", "--set", "seed=3"], "its own option"),
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
def test_a_folder_that_cannot_be_written_into_is_known_at_once(folder):
    (folder / "closed").mkdir(mode=0o500)
    words = ("train", "text", folder / "text.txt", "-o", folder / "closed" / "m")
    assert "cannot be written into" in mistake(*words)


# Filling


def test_a_filled_text_is_all_that_a_pipe_gets(folder):
    filled = ask("fill", "text", "the qu___ brown", "--model", folder / "text.model")
    assert len(filled) == len("the qu___ brown\n")
    assert filled.startswith("the qu")
    assert filled.endswith(" brown\n")
    assert "_" not in filled


def test_text_comes_from_stdin_or_a_file_as_well(folder):
    words = ("--model", folder / "text.model", "--seed", 3)
    typed = ask("fill", "text", "the qu___ brown\n", *words)
    assert ask("fill", "text", "-", *words, stdin="the qu___ brown\n") == typed
    (folder / "damaged").write_text("the qu___ brown\n")
    assert ask("fill", "text", folder / "damaged", *words) == typed
    by_place = ask("fill", "text", "the quick brown\n", *words, "--gap", "6:9")
    assert by_place == typed
    other_mark = ask("fill", "text", "the qu??? brown\n", *words, "--gap-char", "?")
    assert other_mark == typed


def test_all_fills_are_shown_when_asked_for(folder):
    words = ("fill", "text", "the qu___ br_wn", "--model", folder / "text.model", "--samples", 4)
    lines = ask(*words, "--all").splitlines()
    assert lines[1].split() == ["fill", "probability", "nats", "±", "nats"]
    nats = [float(line.split()[-2]) for line in lines[2:]]
    assert nats == sorted(nats, reverse=True)
    told = json.loads(ask(*words, "--json"))
    assert told["best"] == lines[0]
    assert len(told["samples"]) == len(told["log_probs"]) == 4
    assert max(told["log_probs"]) == pytest.approx(nats[0], abs=1e-3)


def test_a_text_without_gaps_comes_back_with_a_note(folder):
    result = run("fill", "text", "the fox", "--model", folder / "text.model")
    assert (result.exit_code, result.stdout) == (0, "the fox\n")
    assert "Nothing is missing" in result.stderr


def test_a_filled_text_goes_to_a_file_but_never_to_what_was_read(folder):
    words = ("fill", "text", folder / "text.txt", "--model", folder / "text.model", "--gap", "5:8")
    assert ask(*words, "-o", folder / "out.txt") == ""
    out = (folder / "out.txt").read_text()
    assert (len(out), out[:5], out[8:]) == (len(TEXT), TEXT[:5], TEXT[8:])
    (folder / "link").symlink_to(folder / "text.txt")
    model = (folder / "text.model").read_bytes()
    for output in ("text.txt", "link", "text.model"):
        assert "choose another file" in mistake(*words, "-o", folder / output)
    assert (folder / "text.txt").read_text() == TEXT
    assert (folder / "text.model").read_bytes() == model


def test_bars_of_a_song_are_filled_and_the_rest_stays(folder):
    words = ("fill", "music", folder / "song.mid", "--gap", "3:5", "--gap", "7")
    words = (*words, "--model", folder / "music.model", "--samples", 2)
    assert ask(*words, "-o", folder / "out.mid").split() == [str(folder / "out.mid")]
    told = json.loads(ask(*words, "-o", folder / "again.mid", "--all", "--json"))
    assert told["files"] == [str(folder / "again.mid"), str(folder / "again-2.mid")]
    assert (folder / "again.mid").read_bytes() == (folder / "out.mid").read_bytes()
    assert (folder / "again-2.mid").read_bytes() != (folder / "out.mid").read_bytes()
    steps = {step for step, _ in told["places"]}
    assert steps == {*range(16, 32), *range(48, 56)}  # four beats a bar, two steps a beat
    kind = caesura.load(folder / "music.model").kind
    old, new = (kind.read(folder / name).values for name in ("song.mid", "out.mid"))
    kept = [step for step in range(len(old)) if step not in steps]
    assert np.array_equal(old[kept], new[kept])
    assert Song.load(folder / "out.mid").end == Song.load(folder / "song.mid").end


def test_a_roll_is_filled_at_its_nans_and_at_steps(folder):
    roll = np.zeros((20, 88), np.float32)
    roll[3:5] = np.nan
    np.save(folder / "roll.npy", roll)
    words = ("fill", "music", folder / "roll.npy", "--model", folder / "music.model")
    words = (*words, "--samples", 1, "--unit", "steps")
    ask(*words, "-o", folder / "out.npy")
    assert not np.isnan(np.load(folder / "out.npy")).any()
    told = json.loads(ask(*words, "--gap", "9:11", "--json"))
    assert {step for step, _ in told["places"]} == {3, 4, 9, 10}
    assert np.shape(told["best"]) == (20, 88)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["text"], "Missing argument 'TEXT'"),
        (["text", "a_", "--model", "nowhere"], "nowhere"),
        (["text", "a_", "--model", "text.txt"], "not in the safetensors format"),
        (["text", "a_", "--model", "music.model"], "is for music, not for text"),
        (["text", "a_", "--model", "text.model", "--strategy", "nad"], "did you mean 'nade'?"),
        (["text", "a_", "--model", "text.model", "--samples", "0"], "at least 1"),
        (["text", "a_", "--model", "text.model", "--gap", "2:3"], "2 characters"),
        (["text", "a_", "--model", "text.model", "--gap", "3:2"], "holds nothing"),
        (["text", "a_", "--model", "text.model", "--gap", "one"], "written as 8 or as 8:12"),
        (["text", "a_", "--model", "text.model", "--gap-char", "ab"], "one character"),
        (["text", "a_", "--model", "text.model", "-o", "no/where"], "There is no folder 'no'"),
        (["text", "a_", "--modle", "text.model"], "No such option: --modle"),
        (["txt", "a_"], "did you mean 'text'?"),
        (["music", "song.mid", "--model", "music.model", "--gap", "1"], "give it with -o"),
        (["music", "song.mid", "--model", "music.model", "-o", "x"], "as in --gap 8:12"),
        (["music", "song.mid", "--model", "text.model", "-o", "x"], "is for text"),
        (["music", "song.mid", "--model", "music.model", "-o", "x", "--gap", "8:10"], "1 to 8"),
        (["music", "song.mid", "--model", "music.model", "-o", "x", "--gap", "0"], "1 to 8"),
        (["music", "text.txt", "--model", "music.model", "-o", "x", "--gap", "1"], "not a MIDI"),
        (["music", "none.mid", "--model", "music.model", "-o", "x", "--gap", "1"], "none.mid"),
        (["music", "song.mid", "--model", "music.model", "-o", "song.mid", "--gap", "1"], "choose"),
        (
            ["music", "s.npy", "--model", "music.model", "-o", "x", "--gap", "1:3"],
            "give its steps with --unit steps",
        ),
        (
            [
                "music",
                "s.npy",
                "--model",
                "music.model",
                "-o",
                "x",
                "--gap",
                "9",
                "--unit",
                "steps",
            ],
            "4 steps",
        ),
        (["music", "s.npy", "--model", "music.model", "--unit", "beats"], "'beats'"),
    ],
)
def test_mistakes_in_filling(folder, monkeypatch, words, sentence):
    monkeypatch.chdir(folder)
    np.save("s.npy", np.zeros((4, 88)))
    song = Path("song.mid").read_bytes()
    assert sentence in mistake("fill", *words)
    assert Path("song.mid").read_bytes() == song


@pytest.mark.parametrize(("text", "span"), [("8", (8, 9)), ("8:12", (8, 12)), (" 0 : 2 ", (0, 2))])
def test_spans(text, span):
    assert parse_span(text) == span


@pytest.mark.parametrize("text", ["", ":", "8:", ":8", "8-12", "-1", "8:8", "1:2:3", "٣"])
def test_what_is_no_span(text):
    with pytest.raises(CaesuraError, match=r"^[A-Z].*\.$"):
        parse_span(text)


# Measuring


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
    assert len(lines) == 5 + 3
    assert result.stderr.splitlines()[-1] == "onegram: 8/8 gaps"


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
        (["music.model", "song.mid", "--strategy", "bayes"], "the recipe 'rnn' trains one"),
        (["text.model", "text.txt", "--picture", "p.bmp"], "format for pictures"),
        (["text.model", "text.txt", "--picture", "no/p.png"], "There is no folder 'no'"),
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


# The rest


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
    assert result.stderr.splitlines() == ["sotu: fetched", "wiki96: here already"]
    assert "did you mean 'sotu'?" in mistake("data", "fetch", "wiki96", "sotuu")


def test_without_words_there_is_help():
    for words in ((), ("fill",), ("data",), ("--help",), ("train", "--help")):
        assert "Usage: caesura" in ask(*words)
    assert ask("--version") == f"caesura {caesura.__version__}\n"
    assert "did you mean 'train'?" in mistake("trian")


def test_help_does_not_wait_for_jax():
    code = "import sys, caesura.cli; print({'jax', 'numpy', 'scipy'} & set(sys.modules))"
    words = [sys.executable, "-c", code]
    assert (
        subprocess.run(words, env=os.environ | PATH, capture_output=True, text=True).stdout
        == "set()\n"
    )


def test_every_command_and_option_says_what_it_is_for():
    for path, command in commands():
        assert command.help, path
        for param in command.params:
            assert getattr(param, "help", None), f"{path}: {param.name}"
            assert inspect.cleandoc(param.help)[-1] in ".)", f"{path}: {param.name}"


def test_the_page_of_the_command_line_is_fresh():
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert page == render(), "docs/cli.md is stale: `make docs` makes it anew"
