"""The pretrained model for tables: on tables that it has never seen, in every form."""

import numpy as np
import pandas as pd
import pytest

import caesura
from caesura.errors import CaesuraError, CaesuraWarning
from caesura.filler.rehearsal import Checked
from caesura.filler.tables import TableFiller
from caesura.nets.bins import quantile
from caesura.sklearn import SeriesImputer


@pytest.fixture(scope="module")
def filler() -> TableFiller:
    found = caesura.load("series")
    assert isinstance(found, TableFiller)
    return found


def days(rows: int = 600, seed: int = 0) -> pd.DataFrame:
    """Hours of two related sensors, and a category."""
    rng = np.random.default_rng(seed)
    hour = np.arange(rows)
    heat = 15 + 5 * np.sin(2 * np.pi * hour / 24) + np.cumsum(rng.normal(0, 0.1, rows))
    return pd.DataFrame(
        {
            "heat": heat + rng.normal(0, 0.2, rows),
            "damp": 80 - 2 * heat + rng.normal(0, 1.0, rows),
            "sky": np.where(np.sin(2 * np.pi * hour / 24) > 0, "light", "dark"),
        },
        index=pd.date_range("2025-03-01", periods=rows, freq="h"),
    )


def holes(table: pd.DataFrame, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    missing = rng.random(table.shape) < 0.05
    missing[100:112, 0] = missing[300:330, 1] = True
    return missing


def test_it_beats_the_line_and_its_intervals_hold(filler):
    table = days()
    missing = holes(table)
    fill = filler.fill(table.mask(missing))
    numbers, where = table[["heat", "damp"]], missing[:, :2]
    line = numbers.mask(where).interpolate(limit_direction="both")
    ours = (fill.best[["heat", "damp"]] - numbers).abs().to_numpy()[where].mean()
    assert ours < 0.8 * (line - numbers).abs().to_numpy()[where].mean()
    low, high = (t[["heat", "damp"]].to_numpy() for t in fill.quantile([0.05, 0.95]))
    inside = ((numbers.to_numpy() >= low) & (numbers.to_numpy() <= high))[where]
    assert inside.mean() > 0.8
    assert (high - low)[where].mean() < 0.4 * (numbers.max() - numbers.min()).mean()
    assert (fill.best["sky"] == table["sky"])[missing[:, 2]].mean() > 0.9
    shares = fill.probabilities()["sky"]
    assert shares.sum(axis=1).to_numpy() == pytest.approx(np.ones(len(table)))


def test_what_is_observed_stays_bit_for_bit(filler):
    table = days()
    missing = holes(table)
    best = filler.fill(table.mask(missing)).best
    assert best.index.equals(table.index)
    for name, where in zip(table, missing.T, strict=True):
        assert best[name][~where].equals(table[name][~where])
    assert not best.isna().to_numpy().any()


def test_long_tables_are_filled_window_by_window(filler):
    """A change at one end of a long table does not move fills at the other, but for what is learnt
    of all rows."""
    table = days(3000)[["heat", "damp"]]
    missing = holes(table)
    best = filler.fill(table.mask(missing)).best.to_numpy()
    assert not np.isnan(best).any()
    line = table.mask(missing).interpolate().to_numpy()
    truth = table.to_numpy()
    assert np.abs(best - truth)[missing].mean() < np.abs(line - truth)[missing].mean()


def test_a_few_rows_lean_on_those_that_were_fitted(filler):
    table = days(1000)[["heat", "damp"]]
    fitted = filler.fitted([table.iloc[:900]])
    short = table.iloc[950:962].copy()
    short.iloc[4:8, 1] = np.nan
    known = fitted.fill(short).best.iloc[4:8, 1]
    alone = filler.fill(short).best.iloc[4:8, 1]
    truth = table.iloc[954:958, 1]
    assert (known - truth).abs().mean() < (alone - truth).abs().mean() + 1.0
    assert (known - truth).abs().mean() < 3.0


@pytest.mark.slow
def test_random_fills_have_the_quantiles_and_cohere(filler):
    rng = np.random.default_rng(0)
    table = np.cumsum(rng.normal(size=120))[:, None]
    damaged = table.copy()
    damaged[50:60] = np.nan
    fill = filler.fill(damaged, samples=200, seed=3)
    drawn = np.stack(fill.samples)[:, 50:60, 0]
    low, high = (t[50:60, 0] for t in fill.quantile([0.1, 0.9]))
    inside = ((drawn > low) & (drawn < high)).mean(axis=0)
    assert np.all(np.abs(inside - 0.8) < 0.2)  # two distributions that were trained to agree
    steps = np.abs(np.diff(drawn, axis=1)).mean()
    apart = np.abs(drawn[:, None] - drawn[None]).mean()
    assert steps < 0.8 * apart  # numbers that follow each other are closer than those of two fills
    assert np.isfinite(fill.log_probs).all()
    again = filler.fill(damaged, samples=200, seed=3)
    assert np.array_equal(np.stack(again.samples), np.stack(fill.samples))


@pytest.mark.slow
def test_log_prob_is_in_the_units_of_the_table(filler):
    table = days(200)[["heat", "damp"]].reset_index(drop=True)
    places = np.zeros(table.shape, bool)
    places[50:53, 0] = True
    nats = filler.log_prob(table, missing=places)
    assert np.isfinite(nats)
    assert nats.standard_error == 0
    larger = table.assign(heat=10 * table["heat"])
    assert filler.log_prob(larger, missing=places) == pytest.approx(nats - 3 * np.log(10), abs=0.02)
    wrong = table.copy()
    wrong.iloc[51, 0] += 20
    assert filler.log_prob(wrong, missing=places) < nats - 5


def test_marginals_are_those_of_the_quantiles(filler):
    table = days(200)[["heat"]].reset_index(drop=True)
    table.iloc[50:53, 0] = np.nan
    found = filler.marginals(table)
    fill = filler.fill(table)
    assert found.places.tolist() == [[50, 0], [51, 0], [52, 0]]
    column = fill.kind.columns[0]
    for level in (0.1, 0.5, 0.9):
        numbers = (fill.quantile(level).iloc[50:53, 0] - column.location) / column.scale
        np.testing.assert_allclose(quantile(found.log_probs, level), numbers, atol=0.05)


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (pd.DataFrame({"word": ["a", "b"] * 3 + [None]}), None),
        (np.full((5, 2), np.nan), "no column to fill"),
    ],
)
def test_strange_tables(filler, table, why):
    if why is None:
        assert not filler.fill(table).best.isna().any().any()
    else:
        with pytest.warns(CaesuraWarning), pytest.raises(CaesuraError, match=why):
            filler.fill(table)


def test_constant_columns_and_single_values(filler):
    table = pd.DataFrame({"same": [3.0, None, 3.0, 3.0], "one": [None, 2.0, None, None]})
    best = filler.fill(table).best
    assert best["same"].tolist() == [3.0] * 4
    assert best["one"].tolist() == [2.0] * 4


def test_nothing_missing_comes_back(filler):
    table = days(30)[["heat"]]
    assert filler.fill(table).best.equals(table)


def test_bounds_hold(filler):
    table = days(200)[["heat"]]
    table.iloc[20:40] = np.nan
    least, most = table["heat"].min(), table["heat"].max()
    fill = filler.fitted([table], bounds=(least, most)).fill(table)
    assert fill.quantile(0.99)["heat"].max() == most
    assert fill.quantile(0.01)["heat"].min() >= least


def test_other_strategies_and_options_are_refused(filler):
    table = days(30)[["heat"]]
    with pytest.raises(CaesuraError, match="only the strategy 'bothways', not 'nade'"):
        filler.fill(table, strategy="nade")
    with pytest.raises(CaesuraError, match="no time limit"):
        filler.fill(table, seconds=1)
    with pytest.raises(CaesuraError, match="zero_shot"):
        filler.evaluate([table])


# The estimator


@pytest.mark.slow
def test_an_imputer_fills_at_once():
    table = days()
    missing = holes(table)
    imputer = SeriesImputer().fit(table.mask(missing))
    full = imputer.transform(table.mask(missing))
    assert not full.isna().to_numpy().any()
    low, high = imputer.quantile(table.mask(missing), [0.05, 0.95])
    assert (low["heat"] <= high["heat"]).all()
    alone = np.where(missing[:, :1], np.nan, table[["heat"]]).reshape(25, 24, 1)
    several = SeriesImputer().fit_transform(alone)
    assert several.shape == (25, 24, 1)
    assert not np.isnan(several).any()


def test_an_imputer_says_what_needs_training():
    table = days(30)[["heat"]]
    with pytest.raises(CaesuraError, match="'settings' is for training: it needs adapt='full'"):
        SeriesImputer(settings={"steps": 2}).fit(table)
    with pytest.raises(CaesuraError, match="way to adapt"):
        SeriesImputer(adapt="slowly").fit(table)


def test_an_imputer_reports_how_good_it_is():
    table = days()
    imputer = SeriesImputer(random_state=0).fit(table.mask(holes(table)))
    report = imputer.report_.set_index("column")
    assert report.index.tolist() == ["heat", "damp"]
    assert (report["error"] < report["line_error"]).all()
    assert report["inside"].between(0.8, 1.0).all()
    assert report["hidden"].between(50, 130).all()


def test_what_is_hidden_for_the_report_is_not_seen():
    """A number that is hidden may be anything: the others are filled as before."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(300, 1))
    (found,) = caesura.load("series").fitted([noise]).learnt.checked
    assert found.error > 0.6  # nobody can know white noise
    assert 25 < found.hidden < 65


def test_an_imputer_says_where_a_line_is_better(monkeypatch):
    worse = Checked("heat", 50, 0.4, 0.3, 0.9)
    monkeypatch.setattr("caesura.filler.tables.report", lambda *_: [worse])
    with pytest.warns(CaesuraWarning, match="A line between neighbours fills 'heat' better"):
        SeriesImputer().fit(days(60)[["heat"]])


def test_a_model_file_comes_back_and_a_fitted_one_is_not_saved(filler, tmp_path):
    filler.save(tmp_path / "a.model")
    table = days(60)[["heat"]].assign(heat=lambda t: t["heat"].where(t.index.hour != 5))
    again = caesura.load(tmp_path / "a.model")
    assert isinstance(again, TableFiller)
    assert again.fill(table).best.equals(filler.fill(table).best)
    with pytest.raises(CaesuraError, match="is not saved"):
        filler.fitted([table]).save(tmp_path / "b.model")
    assert not (tmp_path / "b.model").exists()
