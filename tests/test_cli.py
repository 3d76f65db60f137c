"""Filling on the command line: what it answers and where, its exit codes, what it never touches."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

import caesura
from caesura.cli import fill_text
from caesura.cli.filling import ENDINGS
from caesura.cli.output import percent
from caesura.cli.parsing import parse_span
from caesura.cli.readings import note_guesses
from caesura.errors import CaesuraError, CaesuraWarning
from caesura.filler.candidates import GapFill, Reading
from caesura.kinds import KINDS, Song, Text
from caesura.sequence import Span
from command_line import TEXT, ask, copies, mistake, run, trained_once
from markov_pair import markov_filler

made = pytest.fixture(trained_once)
folder = pytest.fixture(copies)


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


def test_readings_and_details_are_shown_when_asked_for(folder):
    model = ("--model", folder / "text.model", "--seed", 1)
    words = ("fill", "text", "the qu_ck br_wn", *model, "--samples", 4)
    lines = ask(*words, "--all", "--details").splitlines()
    told = json.loads(ask(*words, "--json"))
    assert told["best"] == lines[0]
    assert len(told["samples"]) == len(told["log_probs"]) == 4
    for number, gap in enumerate(told["gaps"], start=1):
        part = told["best"][gap["start"] : gap["stop"]]  # not always the gap's most probable one
        chances = {one["part"]: one["probability"] for one in gap["candidates"]}
        (line,) = [line for line in lines if line.startswith(f"{number}. ")]
        assert f"[{part}]" in line
        assert line.endswith(f"  {percent(chances[part])}")
    header = next(n for n, line in enumerate(lines) if "nats" in line)
    nats = [float(line.split()[-1]) for line in lines[header + 1 : -1]]
    assert [one["log_prob"] for one in told["candidates"]] == pytest.approx(nats, abs=1e-3)
    assert lines[-1].startswith(f"{len(nats)} distinct fill")
    assert "found by 'nade'" in lines[-1]
    assert "either --top or --all" in mistake(*words, "--all", "--top", 3)
    assert "samples" in json.loads(ask("fill", "text", "qu_ck", *model, "--json"))


@pytest.fixture(scope="module")
def markov(tmp_path_factory):
    path = tmp_path_factory.mktemp("markov") / "markov.model"
    markov_filler("search").save(path)
    return path


@pytest.mark.slow
def test_what_a_search_found_is_shown_in_words(markov):
    """The chain of four letters has known probabilities: the length is certain to be 1 or 2."""
    words = ("fill", "text", "abca{1-2}bcab_ca", "--model", markov)
    result = run(*words, "--seconds", 5, "--top", 2, "--details")
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines()[-1] in ENDINGS.values()
    told = json.loads(ask(*words, "--json"))
    assert (told["samples"], told["ended"]) == ([], "finished")
    lines = result.stdout.splitlines()
    assert lines[0] == told["best"]
    first, second = (n for n, line in enumerate(lines) if re.match(r"\d\. ", line))
    assert len(lines[first + 1].split("·")) == 2
    assert lines[first + 1].startswith("   or “")
    lengths = told["gaps"][0]["lengths"]
    wanted = ", ".join(f"{length} ({percent(chance)})" for length, chance in lengths.items())
    assert lines[first + 2] == f"   likeliest lengths: {wanted}"
    assert "lengths" not in lines[second + 2]
    assert "distinct fills were found by 'search'" in lines[-1]
    samples = json.loads(ask(*words, "--json", "--samples", 3))["samples"]
    assert len(samples) == 3
    assert ask(*words) == f"{told['best']}\n"


def test_a_terminal_shows_readings(markov, monkeypatch):
    monkeypatch.setattr(fill_text, "in_terminal", lambda: True)
    lines = ask("fill", "text", "abca_bca", "--model", markov).splitlines()
    assert re.fullmatch(r"abca\[[a-d]\]bca  \d+ %", lines[2])
    assert lines[3].startswith("   or “")


def test_a_guess_is_called_so(capsys):
    gap = GapFill(Span(0, 1), [Reading("a", 0.04)], 0.04, {1: 1.0})
    sure = replace(gap, covered=0.9)
    for gaps, sentence in [
        ([gap], "This is little more than a guess: the readings that were found for it have less"),
        ([sure, gap], "Gap 2 is little more than a guess"),
        ([gap, sure, gap], "Gaps 1 and 3 are little more than a guess"),
        ([sure], ""),
    ]:
        note_guesses(SimpleNamespace(gaps=gaps))
        assert capsys.readouterr().err.startswith(sentence)


def test_probabilities_in_words():
    shown = [percent(p) for p in (0.0, 0.0099, 0.01, 0.826, 0.999, 1.0)]
    assert shown == ["less than 1 %", "less than 1 %", "1 %", "83 %", "more than 99 %", "100 %"]


def test_a_text_without_gaps_comes_back_with_a_note(folder):
    result = run("fill", "text", "the fox", "--model", folder / "text.model")
    assert (result.exit_code, result.stdout) == (0, "the fox\n")
    assert "Nothing is missing" in result.stderr


@pytest.mark.parametrize(
    ("typed", "more"),
    [("letter.txt", ()), ("my_letter.txt", ()), ("no/letter", ()), ("letter.txt", ("--gap", "1"))],
)
def test_a_path_without_a_file_is_not_taken_for_a_text(folder, typed, more):
    words = ("fill", "text", typed, "--model", folder / "text.model", *more)
    assert f"There is no file '{typed}'; a text to fill has '_'" in mistake(*words)


def test_a_text_may_look_a_little_like_a_path(folder):
    for text in ("and/or th_s", "a note in my_note.txt"):
        filled = ask("fill", "text", text, "--model", folder / "text.model", "--samples", 1)
        assert len(filled) == len(text) + 1


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
    lines = ask(*words, "-o", folder / "out.mid", "--details").splitlines()
    assert lines[0].split() == ["file", "new", "notes", "nats"]
    assert lines[1].split()[0] == str(folder / "out.mid")
    assert float(lines[1].split()[2]) == pytest.approx(told["log_prob"], abs=1e-3)
    steps = {step for step, _ in told["places"]}
    assert steps == {*range(16, 32), *range(48, 56)}  # four beats a bar, two steps a beat
    kind = caesura.load(folder / "music.model").kind
    old, new = (kind.open(folder / name).sequence.values for name in ("song.mid", "out.mid"))
    kept = [step for step in range(len(old)) if step not in steps]
    assert np.array_equal(old[kept], new[kept])
    assert Song.load(folder / "out.mid").end == Song.load(folder / "song.mid").end


def test_a_filled_song_is_written_as_sound(folder):
    words = ("fill", "music", folder / "song.mid", "--gap", "3", "--model", folder / "music.model")
    files = ask(*words, "-o", folder / "out.wav", "--all", "--samples", 2).split()
    assert files[0] == str(folder / "out.wav")
    ask(*words, "-o", folder / "out.mid", "--samples", 2)
    with pytest.warns(CaesuraWarning, match="drums"):
        Song.load(folder / "out.mid").save(folder / "same.wav")
    assert (folder / "out.wav").read_bytes() == (folder / "same.wav").read_bytes()
    assert all(Path(file).read_bytes()[:4] == b"RIFF" for file in files)
    assert not [path for path in folder.iterdir() if path.name.endswith(".part")]


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
        (
            ["text", "a_", "--model", "text.model", "--strategy", "beam"],
            "choose one of bayes, both",
        ),
        (
            ["text", "a_", "--model", "text.model", "--samples", "0"],
            "Invalid value for '--samples'",
        ),
        (["text", "a_", "--model", "text.model", "--gap", "2:3"], "after the last of 2 characters"),
        (["text", "a_", "--model", "text.model", "--gap", "3:2"], "is empty"),
        (["text", "a_", "--model", "text.model", "--gap", "one"], "written as 8 or as 8:12"),
        (["text", "a_", "--model", "text.model", "--gap-char", "ab"], "one character"),
        (["text", "a_", "--model", "text.model", "-o", "no/where"], "There is no directory 'no'"),
        (["text", "a_", "--modle", "text.model"], "No such option: --modle"),
        (["txt", "a_"], "did you mean 'text'?"),
        (["music", "song.mid", "--model", "music.model", "--gap", "1"], "with -o"),
        (["music", "song.mid", "--model", "music.model", "-o", "x.mid"], "with --gap 8:12"),
        (["music", "song.mid", "--model", "text.model", "-o", "x.mid"], "is for text"),
        (["music", "song.mid", "--model", "music.model", "-o", "x.mid", "--gap", "8:10"], "8 bars"),
        (["music", "song.mid", "--model", "music.model", "-o", "x.midi", "--gap", "0"], "8 bars"),
        (
            ["music", "song.mid", "--model", "music.model", "-o", "x.mp3", "--gap", "1"],
            "'x.mp3' must end in .mid or .midi or .wav",
        ),
        (
            ["music", "s.npy", "--model", "music.model", "-o", "x.mid", "--gap", "1"],
            "'x.mid' must end in .npy",
        ),
        (
            ["music", "song.mid", "--model", "music.model", "-o", "x.mid", "--id-column", "a"],
            "--id-column can only be used with --engine",
        ),
        (["music", "text.txt", "--model", "music.model", "-o", "x", "--gap", "1"], "not a MIDI"),
        (["music", "none.mid", "--model", "music.model", "-o", "x", "--gap", "1"], "none.mid"),
        (["music", "song.mid", "--model", "music.model", "-o", "song.mid", "--gap", "1"], "choose"),
        (
            ["music", "s.npy", "--model", "music.model", "-o", "x.npy", "--gap", "1:3"],
            "count its steps with --unit steps",
        ),
        (
            [
                "music",
                "s.npy",
                "--model",
                "music.model",
                "-o",
                "x.npy",
                "--gap",
                "9",
                "--unit",
                "steps",
            ],
            "its steps are 0 to 3",
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


@dataclass(frozen=True)
class Words(Text):
    """Text under another name."""

    name: ClassVar[str] = "words"


@pytest.mark.slow
def test_a_kind_that_is_registered_has_a_command(folder, monkeypatch):
    monkeypatch.setitem(KINDS, "words", Words)
    assert "words" in ask("fill", "--help")
    assert "--engine" in ask("fill", "words", "--help")
    text = caesura.load(folder / "text.model")
    replace(text, kind=Words(text.kind.alphabet)).save(folder / "words.model")
    (folder / "a.txt").write_text("the qu___ brown\n")
    words = ("fill", "words", folder / "a.txt", "--model", folder / "words.model", "--seed", 2)
    best = text.fill("the qu___ brown\n", seed=2).best
    assert ask(*words) == best
    assert ask(*words, "-o", folder / "out.txt") == f"{folder / 'out.txt'}\n"
    assert (folder / "out.txt").read_text() == best
    told = json.loads(ask(*words, "--gap", "0:2", "--samples", 3, "--json"))
    assert [step for step, _ in told["places"]] == [0, 1, 6, 7, 8]
    assert len(told["samples"]) == 3
    assert "is also an input" in mistake(*words, "-o", folder / "a.txt")
    assert "must end in .txt" in mistake(*words, "-o", folder / "out.csv")
    assert "after the last of 16 steps" in mistake(*words, "--gap", "99")
    model = ("--model", folder / "text.model")
    assert "is for text, not for words" in mistake("fill", "words", folder / "a.txt", *model)
    (folder / "in").mkdir()
    (folder / "in" / "a.txt").write_text("the qu___ brown\n")
    words = ("fill", "words", folder / "in", "--model", folder / "words.model", "-o", folder / "o")
    assert ask(*words, "--engine", "local") == f"{folder / 'o' / 'fills'}\n"
    assert "--gap cannot be used with --engine" in mistake(*words, "--engine", "local", "--gap", 1)


@pytest.mark.parametrize(("text", "span"), [("8", (8, 9)), ("8:12", (8, 12)), (" 0 : 2 ", (0, 2))])
def test_spans(text, span):
    assert parse_span(text) == span


@pytest.mark.parametrize("text", ["", ":", "8:", ":8", "8-12", "-1", "8:8", "1:2:3", "٣"])
def test_what_is_no_span(text):
    with pytest.raises(CaesuraError, match=r"^[A-Z].*\.$"):
        parse_span(text)
