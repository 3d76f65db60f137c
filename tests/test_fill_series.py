"""`caesura fill series` and `caesura train series`, on nets that have learnt nearly nothing."""

import json

import jax
import numpy as np
import pandas as pd
import pytest

from command_line import ask, mistake, run

pytestmark = pytest.mark.usefixtures("few_rounds")

FIELDS = ["steps=2", "hidden=4", "head_hidden=4", "batch=2", "length=8", "validate_every=2"]
FIELDS += ["valid_steps=20", "least_observed=1"]
TINY = [word for field in FIELDS for word in ("--set", field)]
FULL = ["--adapt", "full", *TINY]


def table() -> pd.DataFrame:
    draw = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=60, freq="D").delete([30, 31]).strftime("%Y-%m-%d")
    level = np.cumsum(draw.normal(size=58)).round(2) + 20
    rain = draw.exponential(size=58).round(1)
    values = pd.DataFrame({"day": days, "level": level, "rain": rain, "note": "n"})
    values.loc[[3, 4, 5, 20], "level"] = np.nan
    values.loc[[10, 57], "rain"] = np.nan
    return values


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    jax.devices()  # from now on there is one device, as in the other tests, whatever `train` asks
    place = tmp_path_factory.mktemp("series")
    table().to_csv(place / "in.csv", index=False)
    told = ask(
        *("train", "series", place / "in.csv", "-o", place / "a.model", "--json"),
        *(*TINY, "--set", "bounds={rain=[0.0, inf]}"),
    )
    assert json.loads(told)["nets"]["bidirectional"]["recipe"] == "series"
    return place


def fill(folder, *words):
    return ask("fill", "series", folder / "in.csv", "--model", folder / "a.model", *words)


def test_a_table_is_filled_and_all_else_in_it_stays(folder):
    before = (folder / "in.csv").read_text()
    assert fill(folder, "-o", folder / "out.csv") == f"{folder / 'out.csv'}\n"
    assert (folder / "in.csv").read_text() == before
    given, answer = pd.read_csv(folder / "in.csv"), pd.read_csv(folder / "out.csv")
    assert not answer.isna().any(axis=None)
    assert answer[given.notna()].equals(given[given.notna()])
    old, new = (path.read_text().splitlines() for path in (folder / "in.csv", folder / "out.csv"))
    assert [a == b for a, b in zip(old, new, strict=True)].count(False) == 6


@pytest.mark.slow
def test_quantiles_samples_and_pictures_are_written_on_request(folder):
    told = fill(
        *(folder, "-o", folder / "all.parquet", "--quantiles", "0.1,0.9", "--samples", 19),
        *("--samples-to", folder / "draws.csv", "--pictures", folder / "pictures", "--json"),
    )
    answer = json.loads(told)
    names = ["all.parquet", "draws.csv", "pictures/level.png", "pictures/rain.png"]
    assert answer["files"] == [str(folder / name) for name in names]
    assert answer["filled"] == {"level": 4, "rain": 2}
    assert (answer["time"], answer["freq"], answer["rows"]) == ("day", "D", 58)
    filled = pd.read_parquet(folder / "all.parquet")
    assert filled.columns.tolist() == [
        *("day", "level", "rain", "note", "level_q0.1", "level_q0.9", "rain_q0.1", "rain_q0.9"),
    ]
    gaps = table()["level"].isna()
    assert (filled["level_q0.1"] < filled["level"])[gaps].all()
    assert (filled["level_q0.9"] > filled["level"])[gaps].all()
    assert (filled["level_q0.1"] == filled["level"])[~gaps].all()
    assert filled["rain_q0.1"].min() >= 0
    draws = pd.read_csv(folder / "draws.csv")
    assert draws.groupby("sample").size().tolist() == [58] * 19
    middle = draws.groupby(draws.index % 58)["level"].median()
    np.testing.assert_allclose(middle, filled["level"], rtol=1e-5)
    for name in names[2:]:
        assert (folder / name).read_bytes()[:4] == b"\x89PNG"


def test_absent_rows_are_added_on_request(folder):
    fill(folder, "-o", folder / "more.csv", "--add-rows", "--pictures", folder / "more")
    answer = pd.read_csv(folder / "more.csv", parse_dates=["day"])
    assert len(answer) == 60
    assert not answer[["level", "rain"]].isna().any(axis=None)
    assert answer["day"].diff().nunique() == 1


@pytest.mark.slow
def test_a_model_is_trained_on_the_table_itself(folder):
    result = run(
        *("fill", "series", folder / "in.csv", "-o", folder / "own.csv", "--columns", "level"),
        *("--time", "day", "--covariates", "flow", *FULL),
    )
    assert result.exit_code == 2
    assert "There is no column called 'flow'" in result.stderr
    (folder / "flow.csv").write_text(
        table().assign(flow=range(58), broken="", mixed=[*"ab", *["1"] * 56]).to_csv(index=False)
    )
    result = run(
        *("fill", "series", folder / "flow.csv", "-o", folder / "own.csv", "--bounds", "rain=0:"),
        *("--covariates", "flow", *FULL),
    )
    assert result.exit_code == 0, result.output
    answer = pd.read_csv(folder / "own.csv")
    assert not answer.drop(columns="broken").isna().any(axis=None)
    assert answer["broken"].isna().all()
    assert "'broken' holds no number at all: it is left as it is." in result.stderr
    assert "'mixed' mixes numbers with words such as 'a'" in result.stderr
    assert "update 2/2" in result.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-o", "out.txt"], "'out.txt' must end in .csv or .parquet"),
        (["-o", "in.csv"], "is also an input"),
        (["-o", "out.csv", "--quantiles", "low"], "written as 0.05,0.5,0.95, not as 'low'"),
        (["-o", "out.csv", "--bounds", "0-9"], "Bounds are written as 0:"),
        (["-o", "out.csv", "--bounds", "0:", "--bounds", "a=1:"], "for all columns at once"),
        (["-o", "out.csv", "--columns", "levle"], "did you mean 'level'?"),
        (["-o", "out.csv", "--set", "seed=3"], "'seed' cannot be given with --set"),
        (["-o", "out.csv", "--model", "in.csv"], "'in.csv'"),
        (["-o", "out.csv", "--model", "a.model", "--freq", "h"], "'freq' is chosen in training"),
        (["-o", "out.csv", "--model", "a.model", "--recipe", "series"], "'recipe' is chosen in"),
        (["-o", "out.csv", "--model", "a.model", "--quantiles", "0.001"], "at least 999 samples"),
        (["-o", "out.csv", "--time", "note", *FULL], "'note' holds something that is not a time"),
    ],
)
def test_mistakes_get_one_sentence(folder, monkeypatch, words, sentence):
    monkeypatch.chdir(folder)
    assert sentence in mistake("fill", "series", "in.csv", *words)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is not a table"),
        ("a\n", "has no rows"),
        ("word\nx\nx\n", "no column to fill"),
        ("a,a\n1,2\n", "two columns called 'a'"),
        ("a\n1\ninf\n3\n", "'a' is infinite in row 1"),
    ],
)
def test_tables_that_cannot_be_filled_get_one_sentence(tmp_path, content, sentence):
    (tmp_path / "in.csv").write_text(content)
    words = ("fill", "series", tmp_path / "in.csv", "-o", tmp_path / "out.csv")
    assert sentence in mistake(*words)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("a\n0\n1\n\n0\n", "'a' has 3 observed levels, too few to learn from"),
        ("a\n1.5\n", "has 1 observed numbers, too few to learn from: at least 100"),
    ],
)
def test_tables_that_are_too_small_to_train_on_get_one_sentence(tmp_path, content, sentence):
    (tmp_path / "in.csv").write_text(content)
    words = ("fill", "series", tmp_path / "in.csv", "-o", tmp_path / "out.csv")
    assert sentence in mistake(*words, "--adapt", "full")
    assert not (tmp_path / "out.csv").exists()


def test_a_table_is_filled_at_once(tmp_path):
    (tmp_path / "in.csv").write_text(
        "a,b\n" + "".join(f"{n},{2 * n}.50\n" for n in range(30)) + "30,\n"
    )
    words = ("fill", "series", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--json")
    told = json.loads(ask(*words, "--quantiles", "0.05,0.95"))
    assert told["filled"] == {"a": 0, "b": 1}
    out = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert out["b"].tolist()[:2] == ["0.50", "2.50"]
    assert 50 < float(out["b"].iloc[-1]) < 66
    assert float(out["b_q0.05"].iloc[-1]) < float(out["b_q0.95"].iloc[-1])


def test_training_needs_to_be_asked_for(tmp_path):
    (tmp_path / "in.csv").write_text("a\n1\n\n3\n")
    words = ("fill", "series", tmp_path / "in.csv", "-o", tmp_path / "out.csv")
    assert "it needs --adapt full" in mistake(*words, "--set", "steps=2")
    assert "--adapt is none, quick or full" in mistake(*words, "--adapt", "later")
    assert "--budget is for --adapt quick" in mistake(*words, "--budget", "3s")
    assert "written as 30s or 2min" in mistake(*words, "--adapt", "quick", "--budget", "soon")


@pytest.mark.slow
def test_a_table_is_filled_by_a_model_that_was_tuned_on_it(tmp_path):
    table().to_csv(tmp_path / "in.csv", index=False)
    words = ("fill", "series", tmp_path / "in.csv", "-o", tmp_path / "out.csv")
    done = run(*words, "--adapt", "quick", "--budget", "1s")
    assert done.exit_code == 0
    assert "held-out numbers" in done.stderr
    assert not pd.read_csv(tmp_path / "out.csv").isna().any(axis=None)


@pytest.mark.parametrize(
    ("times", "sentence"),
    [
        (["2024-01-02", "2024-01-01"], "row 1 (2024-01-01 00:00:00) goes back"),
        (["2024-01-01", "2024-01-01"], "has the time of the row before"),
    ],
)
def test_times_that_do_not_advance_get_one_sentence(tmp_path, times, sentence):
    (tmp_path / "in.csv").write_text(f"t,a\n{times[0]},1\n{times[1]},2\n")
    words = ("fill", "series", tmp_path / "in.csv", "-o", tmp_path / "out.csv", *FULL)
    assert sentence in mistake(*words)
