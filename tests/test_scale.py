"""Many rows, filled by one process: what is answered, what is reported, and what is done again."""

import shutil
from io import StringIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from caesura.errors import CaesuraError
from caesura.kinds import Composition, Song
from caesura.kinds.music.roll import KEYS
from caesura.kinds.text import files as text_files
from caesura.scale import Run, Summary, fill_locally
from caesura.scale import run as run_module
from caesura.scale.rows import files_as_rows
from caesura.training.train import train
from small_fillers import music_filler, text_filler
from songs import ode_to_joy

TEXTS = {
    "short": "the qu__k fox",
    "also short": "a la__ dog s p",
    "long": "the quick br__n fox jumps over " * 3,
    "long gap": "the ____________ fox",
    "whole": "nothing is missing",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("scale") / "text.model"
    text_filler().save(path)
    return path


def rows(texts) -> list[pa.Table]:
    return [pa.table({"id": list(texts), "data": list(texts.values())})]


def answers(folder) -> pd.DataFrame:
    return pd.read_parquet(folder / "fills").set_index("id").sort_index()


def alone(filler, run, texts):
    """What a filler answers for each text by itself."""
    return {
        name: filler.fill(text, draws=run.draws, strategy=run.strategy, seed=run.seed_of(name))
        for name, text in texts.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [None, "oneway"])
def test_every_row_gets_what_it_would_get_alone(model, tmp_path, strategy):
    run = Run(model, draws=3, strategy=strategy, seed=5)
    assert fill_locally(rows(TEXTS), run, tmp_path) == Summary(filled=len(TEXTS))
    told = answers(tmp_path)
    for name, fill in alone(text_filler(), run, TEXTS).items():
        row = told.loc[name]
        assert row.fill == fill.best
        assert row.seed == fill.seed
        assert row.log_prob == pytest.approx(float(fill.log_prob), abs=1e-4)
        assert row.confidence == pytest.approx(fill.confidence, abs=1e-5)
    assert told.reason.isna().all()
    assert len(set(told.seed)) == len(TEXTS)
    assert not (tmp_path / "files").exists()  # no files were given


def test_the_model_is_loaded_once(model, tmp_path, monkeypatch):
    loaded = []
    load = Run.load
    monkeypatch.setattr(Run, "load", lambda run: loaded.append(run) or load(run))
    fill_locally(rows({"a": "th_"}), Run(model), tmp_path, batch=1)
    assert len(loaded) == 1


@pytest.mark.slow
def test_rows_that_cannot_be_filled_say_why_and_lose_nobody(model, tmp_path):
    texts = TEXTS | {"empty": "", "none": None}
    summary = fill_locally(rows(texts), Run(model), tmp_path)
    assert summary == Summary(filled=len(TEXTS), failed=2)
    told = answers(tmp_path)
    assert told.loc["empty"].reason == "The text is empty."
    assert told.loc["none"].reason == "The row holds no text to fill."
    assert told.loc[["empty", "none"], "fill"].isna().all()
    assert told.loc[list(TEXTS), "reason"].isna().all()


@pytest.mark.slow
def test_what_is_filled_is_skipped_and_what_is_not_is_tried_again(model, tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / f"{name}.txt").write_text(text)
    (folder / "broken.txt").write_bytes(b"\xff_")
    first = fill_locally([files_as_rows("text", folder)], Run(model), out, batch=2)
    assert first == Summary(filled=len(TEXTS), failed=1)
    assert "not UTF-8" in answers(out).loc["broken.txt"].reason
    before = {file: file.read_bytes() for file in (out / "fills").glob("part-*")}
    (folder / "broken.txt").write_text("mended n_w")
    (folder / "new.txt").write_text("new_")
    second = fill_locally([files_as_rows("text", folder)], Run(model), out, batch=2)
    assert second == Summary(filled=2, skipped=len(TEXTS))
    told = answers(out)
    assert told.index.is_unique
    assert told.reason.isna().all()
    assert sorted(told.index) == sorted(file.name for file in folder.iterdir())
    assert all(file.read_bytes() == content for file, content in before.items())
    written = {file.name: file.read_text() for file in (out / "files").iterdir()}
    assert written == told.fill.to_dict()


def test_no_file_is_written_outside_the_directory(model, tmp_path):
    (tmp_path / "a.txt").write_text("th_")
    table = pa.table({"id": ["../a.txt"], "path": [str(tmp_path / "a.txt")]})
    assert fill_locally([table], Run(model), tmp_path / "out") == Summary(failed=1)
    assert "not a path inside" in answers(tmp_path / "out").reason.iloc[0]
    assert (tmp_path / "a.txt").read_text() == "th_"


@pytest.mark.slow
def test_other_options_are_not_mixed_into_a_directory(model, tmp_path):
    fill_locally(rows(TEXTS), Run(model), tmp_path)
    for other in (Run(model, seed=1), Run(model, draws=2), Run("text")):
        with pytest.raises(CaesuraError, match="choose another directory"):
            fill_locally(rows(TEXTS), other, tmp_path)
    # How many are filled at a time decides no answer.
    assert fill_locally(rows(TEXTS), Run(model), tmp_path, batch=2).filled == 0


@pytest.mark.slow
def test_songs_come_back_as_midi_files(tmp_path):
    music_filler().save(tmp_path / "music.model")
    ode_to_joy().save(tmp_path / "song.mid")
    content = (tmp_path / "song.mid").read_bytes()
    table = pa.table({"id": ["song", "noise"], "data": [content, b"noise"]})
    composition = Composition(gaps=((3, 5),), unit="steps", keep=("top",))
    run = Run(tmp_path / "music.model", draws=2, arrangement=composition)
    assert fill_locally([table], run, tmp_path / "out") == Summary(filled=1, failed=1)
    told = answers(tmp_path / "out")
    filler = music_filler()
    item = composition.arrange(filler.kind.open(Song.from_bytes(content)))
    fill = filler.fill(item, draws=2, seed=run.seed_of("song"))
    assert told.loc["song"].fill == fill.best.to_bytes() != content
    assert "not a MIDI file" in told.loc["noise"].reason


def test_a_column_may_say_what_is_missing(tmp_path):
    music_filler().save(tmp_path / "music.model")
    roll = np.zeros((20, KEYS), np.int8)
    np.save(tmp_path / "roll.npy", roll)
    table = pa.table({"id": [7], "path": [str(tmp_path / "roll.npy")], "missing": [[3, 4]]})
    run = Run(tmp_path / "music.model")
    assert fill_locally([table], run, tmp_path / "out").filled == 1
    fill = music_filler().fill(roll, missing=[3, 4], seed=run.seed_of("7"))
    assert np.array_equal(np.load(tmp_path / "out" / "files" / "7.npy"), fill.best)
    assert len(answers(tmp_path / "out").loc["7"].confidence) == 2 * KEYS
    both = Run(tmp_path / "music.model", arrangement=Composition(gaps=((1, 2),)))
    assert fill_locally([table], both, tmp_path / "other") == Summary(failed=1)
    assert "only one of them may" in answers(tmp_path / "other").reason.iloc[0]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A folder with two tables, and a model of series that has learnt nearly nothing."""
    place = tmp_path_factory.mktemp("tables")
    draw = np.random.default_rng(0)
    (place / "in").mkdir()
    for name in ("a.csv", "b.csv"):
        days = pd.date_range("2024-01-01", periods=60, freq="D").delete([30]).strftime("%Y-%m-%d")
        table = pd.DataFrame({"day": days, "level": draw.normal(20, 3, size=59).round(2)})
        table.loc[[3, 4, 50], "level"] = np.nan
        table.to_csv(place / "in" / name, index=False)
    small = {"steps": 2, "hidden": 4, "head_hidden": 4, "batch": 2, "length": 8}
    filler = train(
        [place / "in"], kind="series", validate_every=2, valid_steps=20, least_observed=1, **small
    )
    filler.save(place / "series.model")
    return place, filler


@pytest.mark.slow
def test_tables_get_their_medians_with_densities(tables, tmp_path):
    place, filler = tables
    shutil.copytree(place / "in", tmp_path / "in")
    (tmp_path / "in" / "c.csv").write_text("day,other\n2024-01-01,1\n")
    run = Run(place / "series.model", draws=9)
    out = tmp_path / "out"
    summary = fill_locally([files_as_rows("series", tmp_path / "in")], run, out)
    assert summary == Summary(filled=2, failed=1)
    told = answers(out)
    assert "'level'" in told.loc["c.csv"].reason
    for name in ("a.csv", "b.csv"):
        given, row = pd.read_csv(place / "in" / name), told.loc[name]
        fill = filler.fill(place / "in" / name, draws=9, seed=run.seed_of(name))
        assert row.fill == fill.item.content(fill.best) == (out / "files" / name).read_text()
        filled = pd.read_csv(StringIO(row.fill))
        known = given.level.notna()
        assert (filled.level[known] == given.level[known]).all()
        # The row that is absent is missing as well: three cells and one.
        assert len(row.confidence) == 4
        assert row.log_prob == pytest.approx(float(fill.log_prob), abs=1e-3)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"id": ["a"], "text": ["b_"]}, "need the columns 'id' and 'data'"),
        ({"data": ["b_"]}, "need the columns 'id' and 'data'"),
        ({"id": [None], "data": ["b_"]}, "A row has no id."),
    ],
)
def test_what_are_no_rows(model, tmp_path, table, sentence):
    with pytest.raises(CaesuraError, match=sentence):
        fill_locally([pa.table(table)], Run(model), tmp_path)


def test_mistakes_are_known_before_the_directory_is_made(model, tmp_path):
    for run in (Run(model, draws=0), Run(model, strategy="nad")):
        with pytest.raises(CaesuraError):
            fill_locally(rows(TEXTS), run, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_file_is_opened_once_and_the_model_is_loaded_once(model, tmp_path, monkeypatch):
    folder, opened, loaded = tmp_path / "in", [], []
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / f"{name}.txt").write_text(text)
    read, load = text_files.read_parts, run_module.load
    monkeypatch.setattr(
        text_files, "read_parts", lambda p, **how: [opened.append(p), read(p, **how)][1]
    )
    monkeypatch.setattr(run_module, "load", lambda m: [loaded.append(m), load(m)][1])
    fill_locally([files_as_rows("text", folder)], Run(model, draws=32), tmp_path / "out")
    assert sorted(opened) == sorted(folder.iterdir())
    assert loaded == [model]
