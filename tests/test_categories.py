"""Columns of levels beside numbers: learnt, filled and written, from tables to files."""

import json
from functools import partial
from io import StringIO

import jax
import numpy as np
import pandas as pd
import pytest

import caesura
from caesura.errors import CaesuraError
from caesura.sklearn import SeriesImputer
from caesura.training.train import train
from caesura.web import tables as web_tables
from caesura.web.schemas import TableFillQuestion
from command_line import ask, mistake
from small_tables import NAN

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_rounds")]

TINY = {"steps": 2, "hidden": 4, "head_hidden": 4, "batch": 2, "length": 8}
TINY |= {"validate_every": 2, "valid_steps": 20}


# What is learnt and filled, by nets that have learnt nearly nothing.


def table(rows: int = 80) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    weather = np.array(["fog", "rain", "sun"], object)[draw.integers(0, 3, rows)]
    made = pd.DataFrame(
        {
            "flag": draw.random(rows) < 0.5,
            "level": draw.normal(size=rows) + 10,
            "weather": pd.Categorical(weather),
            "on": draw.integers(0, 2, rows).astype(float),
        }
    )
    made["flag"] = made["flag"].astype("boolean")
    for number, name in enumerate(made):
        made.loc[3 + number : 6 + number, name] = None
    return made


@pytest.fixture(scope="module")
def imputer():
    made = SeriesImputer(adapt="full", settings=TINY, samples=21, least_observed=1, random_state=0)
    return made.fit(table())


@pytest.mark.slow
def test_the_imputer_fills_levels_with_those_that_are_drawn_most_often(imputer):
    given, answer = table(), imputer.transform(table())
    assert not answer.isna().any(axis=None)
    assert answer.dtypes.tolist() == given.dtypes.tolist()
    assert answer[given.notna()].equals(given[given.notna()])
    draws, shares = imputer.sample(given, 21), imputer.probabilities(given)
    assert shares.keys() == {"flag", "weather", "on"}
    for name, share in shares.items():
        pd.testing.assert_index_equal(share.index, given.index)
        np.testing.assert_allclose(share.sum(axis=1), 1, atol=1e-6)
        for level in share:
            counted = np.mean([one[name] == level for one in draws], axis=0)
            np.testing.assert_allclose(share[level], counted, atol=1e-6)
        assert (answer[name] == share.idxmax(axis=1)).all()
    low, high = imputer.quantile(given, [0.1, 0.9])
    assert (low["level"] < high["level"])[given["level"].isna()].all()
    pd.testing.assert_frame_equal(low.drop(columns="level"), answer.drop(columns="level"))


@pytest.mark.slow
def test_log_prob_counts_the_nats_of_levels(imputer):
    complete = imputer.transform(table())
    missing = np.zeros(complete.shape, bool)
    missing[20, 2] = missing[40, 0] = True
    total = 0.0
    for weather in ("fog", "rain", "sun"):
        for flag in (False, True):
            one = complete.copy()
            one.loc[20, "weather"], one.loc[40, "flag"] = weather, flag
            total += np.exp(imputer.log_prob(one, missing))
    assert total == pytest.approx(1, abs=1e-4)


@pytest.mark.slow
def test_the_best_is_the_median_with_the_likeliest_levels_and_its_score_is_log_probs(imputer):
    given, filler = table(), imputer.filler_
    found = filler.fill(given, draws=9, seed=1)
    wanted = found.quantile(0.5)
    pd.testing.assert_frame_equal(found.best, wanted)
    marginals = filler.marginals(given)
    chosen = filler.method(None).net.frame.index(filler.kind.open(wanted).complete.values)
    at_places = chosen[tuple(marginals.places.T)]
    each = np.exp(marginals.log_probs)[np.arange(len(at_places)), at_places]
    np.testing.assert_allclose(found.confidence, each, rtol=1e-4)
    missing = given.isna().to_numpy()
    assert found.log_prob == pytest.approx(imputer.log_prob(wanted, missing), rel=1e-4)


@pytest.mark.slow
def test_half_a_category_has_no_probability(imputer):
    complete = imputer.transform(table())
    half = np.zeros((80, 5), bool)  # the level, the flag, the two switches of weather, and on
    half[20, 3] = True
    for verb in (imputer.filler_.log_prob, imputer.filler_.fill):
        with pytest.raises(CaesuraError, match="at step 20 are not one"):
            verb(complete, missing=half)


def test_a_saved_model_knows_its_levels(imputer, tmp_path):
    imputer.filler_.save(tmp_path / "a.model")
    again = caesura.load(tmp_path / "a.model")
    assert again.kind == imputer.filler_.kind
    one, two = (f.fill(table(), seed=3).best for f in (imputer.filler_, again))
    pd.testing.assert_frame_equal(one, two)


@pytest.mark.slow
def test_several_series_give_several_answers():
    given = np.stack([table()[["level", "on"]].to_numpy(float)] * 2)
    made = SeriesImputer(
        adapt="full", settings=TINY, samples=9, least_observed=1, random_state=0
    ).fit(given)
    answer, shares = made.transform(given), made.probabilities(given)
    assert set(answer[:, :, 1].ravel()) == {0, 1}
    assert [one["x1"].shape for one in shares] == [(80, 2)] * 2


# From the command line.


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    jax.devices()  # from now on there is one device, as in the other tests, whatever `train` asks
    place = tmp_path_factory.mktemp("categories") / "in.csv"
    given = table().astype({"weather": object, "flag": object})
    given["flag"] = given["flag"].map({True: "TRUE", False: "FALSE"})
    given.assign(code=[7, 8] * 40, note=[f"n{n}" for n in range(80)]).to_csv(place, index=False)
    return place


def fill(source, *words):
    small = [word for name, value in TINY.items() for word in ("--set", f"{name}={value}")]
    return ask(
        *("fill", "series", source, *small, "--adapt", "full", "--set", "least_observed=1", *words)
    )


@pytest.mark.slow
def test_a_file_is_filled_with_words_as_it_writes_them(source, tmp_path):
    told = fill(
        *(source, "-o", tmp_path / "out.csv", "--categorical", "code", "--quantiles", "0.1,0.9"),
        *("--samples", 19, "--samples-to", tmp_path / "draws.csv"),
        *("--pictures", tmp_path / "pictures", "--json"),
    )
    answer = json.loads(told)
    assert answer["filled"] == {"level": 4, "flag": 4, "weather": 4, "on": 4, "code": 0}
    assert [file.name for file in (tmp_path / "pictures").iterdir()] == ["level.png"]
    given, answer = (
        pd.read_csv(file, dtype=str, na_filter=False) for file in (source, tmp_path / "out.csv")
    )
    beside = ["level_q0.1", "level_q0.9", "flag=False", "flag=True"]
    beside += ["weather=fog", "weather=rain", "weather=sun", "on=0", "on=1", "code=7", "code=8"]
    assert answer.columns.tolist() == [*given.columns, *beside]
    assert set(answer["flag"]) == {"TRUE", "FALSE"}
    assert set(answer["weather"]) == {"fog", "rain", "sun"}
    assert set(map(float, answer["on"])) == {0, 1}
    known = given != ""
    assert answer[given.columns][known].equals(given[known])
    draws = pd.read_csv(tmp_path / "draws.csv")
    assert draws.groupby("sample").size().tolist() == [80] * 19
    assert set(draws["weather"]) == {"fog", "rain", "sun"}


def test_what_is_said_in_training_is_not_said_again(source, tmp_path):
    words = ("fill", "series", source, "-o", tmp_path / "o.csv", "--categorical", "colour")
    assert "There is no column called 'colour'" in mistake(*words)
    sentence = mistake(*words, "--model", source)
    assert "'categorical' is chosen in training" in sentence


@pytest.mark.slow
def test_the_page_gets_the_words_in_its_file_and_curves_of_numbers_alone(monkeypatch):
    monkeypatch.setattr(web_tables, "train", partial(train, hidden=4, head_hidden=4))
    text = table(140).to_csv(index=False)
    asked = web_tables.read_fill({}, TableFillQuestion(sequence=text, adapt="full"))
    told = web_tables.fill_table(asked, 2, lambda state: None, lambda: False)
    assert {column.name for column in told.columns} == {"level", "on"}
    answer = pd.read_csv(StringIO(told.sequence))
    assert not answer.isna().any(axis=None)
    assert set(answer["weather"]) == {"fog", "rain", "sun"}


# A process whose posterior is known.

STAY, APART = 0.9, 1.5  # of the state from one step to the next; of the numbers that it gives


def states(steps: int, seed: int) -> np.ndarray:
    """A state that seldom changes, and a number around it."""
    draw = np.random.default_rng(seed)
    state = np.cumsum(draw.random(steps) > STAY) % 2
    return np.stack([state * APART + draw.normal(size=steps), state], axis=1)


def posterior(series: np.ndarray, t: int, seen: bool) -> float:
    """That the state at t is 1, given those beside it, and its own number if that is seen."""
    weights = []
    for state in (0, 1):
        beside = [STAY if series[i, 1] == state else 1 - STAY for i in (t - 1, t + 1)]
        number = np.exp(-((series[t, 0] - state * APART) ** 2) / 2) if seen else 1.0
        weights.append(np.prod(beside) * number)
    return weights[1] / sum(weights)


@pytest.mark.slow
def test_states_are_learnt_to_near_their_true_posterior():
    settings = {"hidden": 16, "head_hidden": 24, "steps": 500, "length": 24, "dropout": 0.0}
    settings |= {"validate_every": 250, "learning_rate": 0.01}
    made = SeriesImputer(adapt="full", settings=settings, random_state=0).fit(states(20_000, 0))
    test = states(400, 1)
    for seen in (True, False):
        divergence = []
        for t in range(10, 390, 10):
            given = test.copy()
            missing = np.zeros(test.shape, bool)
            missing[t, 1] = True
            if not seen:
                given[t, 0] = NAN
            given[t, 1] = 1
            q, p = np.exp(made.log_prob(given, missing)), posterior(test, t, seen)
            divergence.append(p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q)))
        assert np.mean(divergence) < 0.02  # nats; by the share of ones alone, it would be 0.5
