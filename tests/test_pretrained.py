"""Models that come with the library: found by name, kept apart from files, filled with at once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from typer.testing import CliRunner

import caesura
from caesura import pretrained
from caesura.cli import app
from caesura.errors import CaesuraError
from caesura.filler import Filler
from caesura.hardware import keep_compiled, remove_oldest
from caesura.kinds import Music, Text
from caesura.nets.frames import Binary, Categorical
from caesura.nets.rnn import bidirectional, constant, unidirectional
from model_files import write_sums
from songs import ode_to_joy

ALPHABET = "abcdefghijklmnopqrstuvwxyz "
PATH = {"PYTHONPATH": os.pathsep.join(sys.path)}  # for other processes
MOST_BYTES = {
    "text": 16 << 20,
    "text-large": 32_000_000,
    "music": 16 << 20,
    "papyri": 20_000_000,
    "series": 12_000_000,
}


def save_text(path, hidden=4, alphabet=ALPHABET):
    frame = Categorical(len(alphabet))
    net = bidirectional(jax.random.key(0), frame, head="softmax", hidden=hidden)
    other = unidirectional(jax.random.key(1), frame, head="softmax", hidden=hidden)
    flat = constant(frame, jnp.full((1, len(alphabet)), -jnp.log(len(alphabet))))
    nets = {"bidirectional": net, "forward": other, "onegram": flat}
    Filler(Text(alphabet), nets, "nade").save(path)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An installation whose models are small, and a place to work in."""
    models, work = tmp_path / "models", tmp_path / "work"
    models.mkdir()
    work.mkdir()
    save_text(models / "text.safetensors")
    net = bidirectional(jax.random.key(0), Binary(88), head="bernoulli", hidden=4)
    other = unidirectional(jax.random.key(1), Binary(88), head="bernoulli", hidden=4)
    nets = {"bidirectional": net, "forward": other}
    Filler(Music(), nets, "nade").save(models / "music.safetensors")
    write_sums(models)
    monkeypatch.setattr(pretrained, "DIRECTORY", models)
    monkeypatch.setattr(pretrained, "STRATEGIES", {"text": "nade", "music": "nade"})
    monkeypatch.chdir(work)
    return work


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def ask(*words):
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def mistake(*words):
    result = run(*words)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    return line


def test_weights_that_are_not_those_that_were_installed_are_refused(folder):
    save_text(pretrained.DIRECTORY / "text.safetensors", hidden=5)  # a sound file, but another one
    with pytest.raises(CaesuraError, match="'text' is not the one that came with caesura"):
        caesura.load("text")
    assert "install caesura again" in mistake("fill", "text", "ab_d")
    caesura.load(pretrained.DIRECTORY / "text.safetensors")  # as a file like any other
    caesura.load("music")


def test_the_list_of_hashes_is_that_of_the_files():
    sums = (pretrained.DIRECTORY / "SHA256SUMS").read_text().splitlines()
    assert [line.split()[1] for line in sums] == sorted(
        f"{n}.safetensors" for n in pretrained.NAMES
    )
    for name in pretrained.NAMES:
        pretrained.check_weights(name)


def test_a_name_is_the_model_whatever_lies_in_the_folder(folder):
    save_text(folder / "text", alphabet="xyz")
    assert caesura.load("text").kind.alphabet == ALPHABET
    assert caesura.load("./text").kind.alphabet == "xyz"
    assert caesura.load(Path("text")).kind.alphabet == "xyz"
    (folder / "music").mkdir()
    assert isinstance(caesura.load("music").kind, Music)


def test_a_word_that_is_no_name_is_a_file_if_there_is_one(folder):
    save_text(folder / "books", alphabet="xyz")
    assert caesura.load("books").kind.alphabet == "xyz"
    with pytest.raises(
        CaesuraError,
        match=r"^There is no file 'txet', .* are 'text', 'text-large', .* 'papyri' and 'series'\.$",
    ):
        caesura.load("txet")
    with pytest.raises(CaesuraError, match=r"^There is no file or directory 'no/where'\.$"):
        caesura.load("no/where")


def test_an_installation_without_the_weights_says_so(folder, monkeypatch):
    monkeypatch.setattr(pretrained, "DIRECTORY", folder)
    with pytest.raises(CaesuraError, match="'music' is not part of this installation"):
        caesura.load("music")
    assert "`caesura train text DATA -o MODEL`" in mistake("fill", "text", "a_")


@pytest.mark.slow
def test_commands_take_names_and_know_the_model_of_their_kind(folder):
    filled = ask("fill", "text", "the qu___ brown fox")
    assert filled == ask("fill", "text", "the qu___ brown fox", "--model", "text")
    assert filled.startswith("the qu")
    ode_to_joy().save(folder / "song.mid")
    ask("fill", "music", "song.mid", "--gap", 2, "-o", "out.mid", "--samples", 1)
    assert (folder / "out.mid").exists()
    assert str(pretrained.DIRECTORY / "text.safetensors") in ask("info", "text")
    (folder / "some.txt").write_text("the quick brown fox jumps over the lazy dog")
    words = ("evaluate", "text", "some.txt", "--strategy", "onegram", "--limit", 2)
    assert json.loads(ask(*words, "--json"))["model"] == "text"
    assert "is for music, not for text" in mistake("fill", "text", "a_", "--model", "music")


def test_an_output_called_like_a_model_is_not_the_model(folder):
    (folder / "text").write_text("mine")
    ask("fill", "text", "the qu_ck", "-o", "text")
    assert (folder / "text").read_text().startswith("the qu")


@pytest.mark.parametrize("name", pretrained.NAMES)
def test_what_comes_with_the_library_has_its_nets_and_its_card(name):
    file = pretrained.find_model(name)
    assert file.stat().st_size <= MOST_BYTES[name]
    assert file.with_suffix(".md").is_file()
    more = {"series": set(), "music": {"onegram"}}.get(name, {"forward", "onegram"})
    assert set(caesura.load(name).nets) == {"bidirectional"} | more


@pytest.mark.slow
def test_the_large_model_of_text_knows_words():
    filler = caesura.load("text-large")
    fill = filler.fill("The Battle of Hast____ was fought between the Nor____ and the English.")
    assert [gap.candidates[0].part for gap in fill.gaps] == ["ings", "mans"]
    assert min(gap.candidates[0].probability for gap in fill.gaps) > 0.9


@pytest.mark.slow
def test_the_model_of_papyri_knows_formulae():
    filler = caesura.load("papyri")
    fill = filler.fill("Τραιανοῦ Ἁδριανοῦ [.....]τοῦ ὁμολογῶ ἔχειν [....] σοῦ")
    assert fill.best == "Τραιανοῦ Ἁδριανοῦ [σεβασ]τοῦ ὁμολογῶ ἔχειν [παρα] σοῦ"
    assert fill.gaps[0].candidates[0].probability > 0.9


FILL = """
import sys
from caesura import pretrained
from pathlib import Path
pretrained.DIRECTORY = Path(sys.argv.pop(1))
pretrained.STRATEGIES = {"text": "nade"}
import jax
compiled = []
jax.monitoring.register_event_listener(
    lambda event, **_: compiled.append(event.rsplit("/")[-1]))
from caesura.cli import app
try:
    app(prog_name="caesura")
finally:
    print(compiled.count("cache_hits"), compiled.count("cache_misses"), file=sys.stderr)
"""


def fill_elsewhere(cache):
    """What a new process answers, with how many programs it found and how many it kept."""
    words = [sys.executable, "-c", FILL, str(pretrained.DIRECTORY), "fill", "text", "the qu_ck"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JAX_COMPILATION")}
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        env=environment
        | PATH
        | {"XDG_CACHE_HOME": str(cache), "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"},
    )
    assert done.returncode == 0, done.stderr
    (counts,) = done.stderr.splitlines()
    return done.stdout, *map(int, counts.split())


@pytest.mark.slow
def test_a_second_command_compiles_nothing(folder, tmp_path):
    first, found, kept = fill_elsewhere(tmp_path / "cache")
    assert (found, kept > 3) == (0, True)
    second, found_again, kept_again = fill_elsewhere(tmp_path / "cache")
    assert (second, found_again, kept_again) == (first, kept, 0)


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_breaks_nothing(folder, tmp_path):
    (tmp_path / "cache").write_text("a file, where a folder is wanted")
    _, found, kept = fill_elsewhere(tmp_path / "cache")
    assert (found, kept) == (0, 0)


def test_importing_changes_nothing_of_jax():
    code = (
        "import jax; before = dict(jax.config.values); import caesura.training.train; "
        "assert before == dict(jax.config.values)"
    )
    subprocess.run([sys.executable, "-c", code], env=os.environ | PATH, check=True)


def test_what_the_user_told_jax_is_left_alone(tmp_path):
    before = jax.config.jax_compilation_cache_dir
    try:
        jax.config.update("jax_compilation_cache_dir", str(tmp_path))
        keep_compiled()
        assert jax.config.jax_compilation_cache_dir == str(tmp_path)
    finally:
        jax.config.update("jax_compilation_cache_dir", before)


def test_the_oldest_programs_make_room(tmp_path):
    (tmp_path / "machine").mkdir()
    for age, name in enumerate(["new", "old", "oldest"]):
        file = tmp_path / "machine" / f"{name}-cache"
        file.write_bytes(b"12345")
        os.utime(file, (1000 - age, 1000 - age))
    remove_oldest(tmp_path, 15)
    assert len(list(tmp_path.rglob("*-cache"))) == 3
    remove_oldest(tmp_path, 11)
    assert {file.name for file in tmp_path.rglob("*-cache")} == {"new-cache", "old-cache"}
    remove_oldest(tmp_path / "nowhere", 0)
