"""Many rows, filled by one process: what is answered, what is reported, and what is done again."""

import shutil
from io import StringIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from caesura.filler.imputation import fill_quantiles

from caesura.errors import CaesuraError
from caesura.kinds import Composition, Song
from caesura.kinds.music.roll import KEYS
from caesura.scale import Filling, Summary, fill_locally
from caesura.scale import answers as answers_module
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


def alone(filler, filling, texts):
    """What a filler says of each text by itself."""
    return {
        name: filler.fill(
            text,
            samples=filling.samples,
            strategy=filling.strategy,
            seed=filling.seed_of(name),
        )
        for name, text in texts.items()
    }


@pytest.mark.parametrize("strategy", [None, pytest.param("oneway", marks=pytest.mark.slow)])
def test_every_row_gets_what_it_would_get_alone(model, tmp_path, strategy):
    filling = Filling(model, samples=3, strategy=strategy, seed=5, together=4)
    assert fill_locally(rows(TEXTS), filling, tmp_path) == Summary(filled=len(TEXTS))
    told = answers(tmp_path)
    for name, fill in alone(text_filler(), filling, TEXTS).items():
        row = told.loc[name]
        assert row.fill == fill.best
        assert row.seed == fill.seed
        assert row.log_prob == pytest.approx(fill.log_probs.max(), abs=1e-4)
        assert row.confidence == pytest.approx(fill.confidence, abs=1e-5)
    assert told.reason.isna().all()
    assert len(set(told.seed)) == len(TEXTS)


def test_one_at_a_time_even_rounding_is_the_same(model, tmp_path):
    filling = Filling(model, samples=3, together=1)
    fill_locally(rows(TEXTS), filling, tmp_path)
    told = answers(tmp_path)
    for name, fill in alone(text_filler(), filling, TEXTS).items():
        assert told.loc[name].log_prob == fill.log_probs.max()
        assert told.loc[name].confidence.tolist() == fill.confidence.tolist()


@pytest.mark.slow
def test_like_rows_share_a_pass_and_a_large_pass_is_split(model, tmp_path, monkeypatch):
    passes = []
    whole = answers_module._fill

    def fill(filler, filling, asked, size):
        passes.append((len(asked), size))
        return whole(filler, filling, asked, size)

    monkeypatch.setattr(answers_module, "_fill", fill)
    fill_locally(rows(TEXTS), Filling(model, together=4), tmp_path / "a")
    assert sorted(passes) == [(1, 1), (1, 1), (1, 4), (2, 4)]
    passes.clear()
    monkeypatch.setattr(answers_module, "STATES", 16)  # of two texts with windows of eight steps
    fill_locally(rows(dict.fromkeys("abc", "the qu__k fox")), Filling(model), tmp_path / "b")
    assert passes == [(2, 2), (1, 2)]


def test_rows_that_cannot_be_filled_say_why_and_lose_nobody(model, tmp_path):
    texts = TEXTS | {"empty": "", "none": None}
    summary = fill_locally(rows(texts), Filling(model), tmp_path)
    assert summary == Summary(filled=len(TEXTS), failed=2)
    told = answers(tmp_path)
    assert told.loc["empty"].reason == "The text is empty."
    assert told.loc["none"].reason == "The row holds no text."
    assert told.loc[["empty", "none"], "fill"].isna().all()
    assert told.loc[list(TEXTS), "reason"].isna().all()


def test_where_a_pass_fails_its_rows_are_tried_alone(model, tmp_path, monkeypatch):
    whole = answers_module._fill

    def fill(filler, filling, asked, size):
        if any("lazy" in one.data for one in asked):
            raise RuntimeError("out of memory")
        return whole(filler, filling, asked, size)

    monkeypatch.setattr(answers_module, "_fill", fill)
    texts = {"good": "the qu__k fox", "bad": "a lazy dog s__"}
    assert fill_locally(rows(texts), Filling(model), tmp_path) == Summary(filled=1, failed=1)
    assert answers(tmp_path).loc["bad"].reason == "RuntimeError: out of memory"


def test_what_is_filled_is_skipped_and_what_is_not_is_tried_again(model, tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / f"{name}.txt").write_text(text)
    (folder / "broken.txt").write_bytes(b"\xff_")
    filling = Filling(model)
    first = fill_locally([files_as_rows("text", folder)], filling, out, batch=2)
    assert first == Summary(filled=len(TEXTS), failed=1)
    assert "not UTF-8" in answers(out).loc["broken.txt"].reason
    before = {file: file.read_bytes() for file in (out / "fills").glob("part-*")}
    (folder / "broken.txt").write_text("mended n_w")
    (folder / "new.txt").write_text("new_")
    second = fill_locally([files_as_rows("text", folder)], filling, out, batch=2)
    assert second == Summary(filled=2, skipped=len(TEXTS))
    told = answers(out)
    assert told.index.is_unique
    assert told.reason.isna().all()
    assert sorted(told.index) == sorted(file.name for file in folder.iterdir())
    assert all(file.read_bytes() == content for file, content in before.items())


def test_other_options_are_not_mixed_into_a_folder(model, tmp_path):
    fill_locally(rows(TEXTS), Filling(model), tmp_path)
    for other in (Filling(model, seed=1), Filling(model, samples=2), Filling("text")):
        with pytest.raises(CaesuraError, match="choose another folder"):
            fill_locally(rows(TEXTS), other, tmp_path)
    # How many go together decides no answer.
    assert fill_locally(rows(TEXTS), Filling(model, together=2), tmp_path).filled == 0


@pytest.mark.slow
def test_songs_come_back_as_midi_files(tmp_path):
    music_filler().save(tmp_path / "music.model")
    ode_to_joy().save(tmp_path / "song.mid")
    content = (tmp_path / "song.mid").read_bytes()
    table = pa.table({"id": ["song", "noise"], "data": [content, b"noise"]})
    composition = Composition(gaps=((3, 5),), unit="steps", keep=("top",))
    filling = Filling(tmp_path / "music.model", samples=2, composition=composition)
    assert fill_locally([table], filling, tmp_path / "out") == Summary(filled=1, failed=1)
    told = answers(tmp_path / "out")
    filler = music_filler()
    asked = composition.arrange(filler.kind, Song.from_bytes(content))
    fill = filler.fill(asked.music, missing=asked.missing, samples=2, seed=filling.seed_of("song"))
    assert told.loc["song"].fill == fill.best.to_bytes() != content
    assert "not a MIDI file" in told.loc["noise"].reason


def test_a_column_may_say_what_is_missing(tmp_path):
    music_filler().save(tmp_path / "music.model")
    roll = np.zeros((20, KEYS), np.int8)
    np.save(tmp_path / "roll.npy", roll)
    table = pa.table({"id": [7], "path": [str(tmp_path / "roll.npy")], "missing": [[3, 4]]})
    filling = Filling(tmp_path / "music.model")
    assert fill_locally([table], filling, tmp_path / "out").filled == 1
    fill = music_filler().fill(roll, missing=[3, 4], seed=filling.seed_of("7"))
    told = answers(tmp_path / "out").loc["7"]
    (tmp_path / "back.npy").write_bytes(told.fill)
    assert np.array_equal(np.load(tmp_path / "back.npy"), fill.best)
    assert len(told.confidence) == 2 * KEYS
    both = Filling(tmp_path / "music.model", composition=Composition(gaps=((1, 2),)))
    assert fill_locally([table], both, tmp_path / "other") == Summary(failed=1)
    assert "one must do" in answers(tmp_path / "other").reason.iloc[0]


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
    filling = Filling(place / "series.model", samples=9)
    out = tmp_path / "out"
    summary = fill_locally([files_as_rows("series", tmp_path / "in")], filling, out)
    assert summary == Summary(filled=2, failed=1)
    told = answers(out)
    assert "'level'" in told.loc["c.csv"].reason
    for name in ("a.csv", "b.csv"):
        given, row = pd.read_csv(place / "in" / name), told.loc[name]
        seed = filling.seed_of(name)
        [[median]] = fill_quantiles(filler, [given], [0.5], 9, seed=seed)
        filled = pd.read_csv(StringIO(row.fill))
        assert np.allclose(filled.level, median.level, rtol=1e-8)
        known = given.level.notna()
        assert (filled.level[known] == given.level[known]).all()
        # The row that is absent is missing as well: three cells and one.
        assert len(row.confidence) == 4
        every = filler.marginals(given, seed=seed)
        for confidence, log_probs in zip(row.confidence, every.log_probs, strict=True):
            assert np.isclose(np.exp(log_probs), confidence).any()
        assert np.isfinite(row.log_prob)


@pytest.mark.slow
def test_the_density_of_medians_is_that_of_a_complete_table(tables):
    """Without absent rows, the public `log_prob` can be asked."""
    from caesura.filler.medians import fill_median

    place, filler = tables
    given = pd.read_csv(place / "in" / "a.csv").iloc[:25]
    median = fill_median(filler, given, 9, seed=3)
    missing = filler.read(given).missing
    wanted = filler.log_prob(median.table, missing=missing, seed=3)
    assert float(median.log_prob) == pytest.approx(float(wanted), abs=1e-3)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"id": ["a"], "text": ["b_"]}, "have the columns 'id' and 'data'"),
        ({"data": ["b_"]}, "have the columns 'id' and 'data'"),
        ({"id": [None], "data": ["b_"]}, "A row has no id."),
    ],
)
def test_what_are_no_rows(model, tmp_path, table, sentence):
    with pytest.raises(CaesuraError, match=sentence):
        fill_locally([pa.table(table)], Filling(model), tmp_path)


def test_mistakes_are_known_before_the_folder_is_made(model, tmp_path):
    for filling in (Filling(model, samples=0), Filling(model, strategy="nad")):
        with pytest.raises(CaesuraError):
            fill_locally(rows(TEXTS), filling, tmp_path / "out")
    assert not (tmp_path / "out").exists()
