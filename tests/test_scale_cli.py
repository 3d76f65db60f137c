"""`caesura fill … --engine`: directories and Parquet files in, a directory of answers out."""

import json
import sys

import pandas as pd
import pytest

from caesura.kinds import Song
from caesura.scale import Run
from command_line import ask, mistake, run
from small_fillers import music_filler, text_filler
from songs import ode_to_joy

TEXTS = {"a.txt": "the qu__k fox", "b.txt": "a la__ dog s p", "deep/c.txt": "ov__ it"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "texts" / "deep").mkdir(parents=True)
    for name, text in TEXTS.items():
        (tmp_path / "texts" / name).write_text(text)
    text_filler().save(tmp_path / "text.model")
    return tmp_path


def words(folder, source, *more, kind="text", out="out"):
    model = folder / f"{kind}.model"
    place = ("fill", kind, folder / source, "--model", model, "-o", folder / out)
    return (*place, "--engine", "local", "--samples", 2, *more)


def answers(folder) -> pd.DataFrame:
    return pd.read_parquet(folder / "fills").set_index("id").sort_index()


@pytest.mark.slow
def test_a_folder_of_texts_is_filled_and_then_skipped(folder):
    (folder / "texts" / "empty.txt").touch()
    result = run(*words(folder, "texts"))
    assert (result.exit_code, result.stdout) == (0, f"{folder / 'out' / 'fills'}\n")
    assert "1 could not be filled" in result.stderr
    told = answers(folder / "out")
    assert "is empty" in told.loc["empty.txt"].reason
    run_of_all = Run(folder / "text.model", draws=2)
    for name, text in TEXTS.items():
        # The command for one text, with the seed that the answer names, says the same.
        single = ("fill", "text", text, "--model", folder / "text.model", "--samples", 2)
        assert ask(*single, "--seed", told.loc[name].seed) == told.loc[name].fill + "\n"
        assert told.loc[name].seed == run_of_all.seed_of(name)
        assert (folder / "out" / "files" / name).read_text() == told.loc[name].fill
    again = json.loads(ask(*words(folder, "texts", "--json")))
    assert again == {"folder": str(folder / "out"), "filled": 0, "failed": 1, "skipped": 3}


def test_rows_of_parquet_files_are_filled(folder):
    table = pd.DataFrame({"key": [3, 4], "body": ["the qu##k fox", "ov## it"], "more": [0, 0]})
    (folder / "rows").mkdir()
    table.to_parquet(folder / "rows" / "one.parquet")
    more = ("--id-column", "key", "--data-column", "body", "--gap-char", "#")
    ask(*words(folder, "rows", *more))
    ask(*words(folder, "rows/one.parquet", *more, out="other"))
    told = answers(folder / "out")
    assert told.index.tolist() == ["3", "4"]
    assert "#" not in "".join(told.fill)
    assert told.fill.equals(answers(folder / "other").fill)


@pytest.mark.slow
def test_songs_get_new_notes(folder):
    music_filler().save(folder / "music.model")
    (folder / "songs").mkdir()
    ode_to_joy().save(folder / "songs" / "ode.mid")
    (folder / "songs" / "noise.mid").write_bytes(b"noise")
    gap = ("--gap", "3:5", "--unit", "steps", "--keep", "top")
    told = json.loads(ask(*words(folder, "songs", *gap, "--json", kind="music")))
    assert (told["filled"], told["failed"]) == (1, 1)
    row = answers(folder / "out").loc["ode.mid"]
    song = Song.from_bytes(row.fill)
    single = ("fill", "music", folder / "songs" / "ode.mid", *gap, "--samples", 2)
    single = (*single, "--model", folder / "music.model", "-o", folder / "one.mid")
    ask(*single, "--seed", row.seed)
    assert song == Song.load(folder / "one.mid")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["text", "texts", "--engine", "local"], "specify it with -o"),
        (["text", "none", "--engine", "local", "-o", "out"], "no file or directory 'none'"),
        (["text", "texts", "--engine", "local", "-o", "texts/out"], "choose another"),
        (["text", "texts", "--engine", "local", "-o", "out", "--gap", "1"], "--gap cannot be used"),
        (["text", "texts", "--engine", "local", "-o", "out", "--all"], "--all cannot be used"),
        (["text", "texts", "--id-column", "a"], "--id-column can only be used with --engine"),
        (["text", "texts", "--workers", "2"], "--workers can only be used with --engine"),
        (["text", "texts", "--engine", "local", "-o", "out", "--workers", "0"], "'--workers'"),
        (["text", "a.model", "--engine", "local", "-o", "out"], "cannot be read"),
        (["text", "rows.parquet", "--engine", "local", "-o", "out"], "no column called 'data'"),
        (["text", "texts", "--engine", "spark", "-o", "out"], "'spark'"),
        (["music", "texts", "--engine", "local", "-o", "out", "--gap", "1"], "*.mid"),
        (["series", "texts", "--engine", "local", "-o", "out"], "train one with"),
        (
            ["series", "texts", "--engine", "local", "-o", "out", "--model", "a.model"],
            "is for text",
        ),
    ],
)
def test_mistakes(folder, monkeypatch, given, sentence):
    monkeypatch.chdir(folder)
    text_filler().save("a.model")
    pd.DataFrame({"id": ["a"], "date": ["b"]}).to_parquet("rows.parquet")
    assert sentence in mistake("fill", *given)


@pytest.mark.parametrize(
    "option",
    [
        *("--columns", "--categorical", "--covariates", "--bounds", "--freq", "--recipe", "--set"),
        *("--quantiles", "--samples-to", "--pictures"),
    ],
)
def test_options_of_one_table_are_refused_for_many(folder, option):
    given = ("fill", "series", folder / "texts", "-o", folder / "out", "--engine", "local")
    sentence = mistake(*given, "--model", folder / "a.model", option, "0:")
    assert sentence.startswith(f"The option {option} cannot be used with --engine")


def test_without_ray_one_sentence_says_so(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray.data", None)
    given = ("fill", "text", folder / "texts", "-o", folder / "out", "--engine", "ray")
    assert "pip install 'caesura[ray]'" in mistake(*given)
