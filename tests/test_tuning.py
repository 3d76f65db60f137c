"""The pretrained model for tables, tuned on a table within a time."""

import time
from functools import partial

import numpy as np
import pandas as pd
import pytest

import caesura
from caesura.errors import CaesuraError
from caesura.filler.columns import lanes_of, log_prob, quantiles
from caesura.filler.rehearsal import LEVELS, Rehearsal, parts_of
from caesura.filler.tables import TableFiller
from caesura.kinds.series.factors import Factors
from caesura.kinds.series.times import seconds_of
from caesura.sklearn import SeriesImputer
from caesura.training import tuning
from caesura.training.factors import rounds
from caesura.training.loop import Stopped
from caesura.training.tuning import Tuned, runs_of, tune


def sums(rows: int = 300, columns: int = 6) -> np.ndarray:
    """Columns of noise, each the sum of two others a step before: windows tell all of it."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(rows + 1, columns))
    noise[1:, 3:] = noise[:-1, :3] + noise[:-1, [1, 2, 0]]
    table = noise[1:] + 0.05 * rng.normal(size=(rows, columns))
    table[rng.random(table.shape) < 0.1] = np.nan
    return table


@pytest.fixture(scope="module")
def tuned() -> Tuned:
    table = sums()
    told: list[float | None] = []
    filler = caesura.load("series").fitted([table])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "ROUNDS", 15)  # so that a busy machine finds the same
        found = tune(filler, [table], 600.0, report=lambda name, one: told.append(one.validation))
    assert found.updates == 15
    assert 2 <= len(told) <= tuning.CHECKS + 2
    return found


def test_tuning_ends_in_time():
    table = sums()
    filler = caesura.load("series").fitted([table])
    began = time.monotonic()
    tune(filler, [table], 2.0)
    assert time.monotonic() - began < 8.0  # some more if the machine is busy


def test_tuning_makes_a_filler_better(tuned):
    assert tuned.after < 0.85 * tuned.before
    fitted = tuned.filler.learnt.fitted
    assert fitted.model is not None
    assert fitted.shares[3:].min() > 0


def test_a_rehearsal_asks_what_a_fill_would(tuned):
    """It keeps what the net sees, and asks only for what it compares."""
    filler, (part,) = tuned.filler, parts_of([sums()], 6)
    fitted, net = filler.learnt.fitted, filler.nets["bidirectional"]
    alone = fitted._replace(model=None, shares=None)
    found = Rehearsal([part], 6, alone).with_model(fitted.model).fill(net, fitted.shares)
    answer = quantiles(net, lanes_of(part.known, part.hidden, fitted), np.array(LEVELS))
    values = {tuple(at): of for at, of in zip(answer.places.tolist(), answer.values.T, strict=True)}
    hidden = np.argwhere(part.hidden)
    assert len(found.truth) == len(hidden)
    direct = np.array([values[row, column] for row, column in hidden.tolist()])
    rows = np.lexsort((part.table[part.hidden], hidden[:, 1]))
    own = np.lexsort((found.truth, found.column))
    said = np.stack([found.low, found.median, found.high], axis=1)
    np.testing.assert_allclose(said[own], direct[rows], atol=1e-6)


def test_a_model_that_does_not_help_is_not_kept(monkeypatch):
    table = sums()
    filler = caesura.load("series").fitted([table])

    def bad(*given):
        noise = np.random.default_rng(0).normal
        for model in rounds(*given):
            one = np.eye(model.own.shape[-1], dtype=np.float32)
            loadings = noise(size=model.loadings.shape).astype(np.float32)
            yield model._replace(loadings=loadings, own=0 * model.own + 0.01 * one)

    monkeypatch.setattr(tuning.factors, "rounds", bad)
    monkeypatch.setattr(tuning.covariance, "fitting_rows", lambda *_: 0)
    found = tune(filler, [table], 0.1)
    assert found.after == pytest.approx(found.before, rel=1e-9)  # another order of the same sum
    assert found.filler.learnt.fitted.model is None
    with pytest.raises(Stopped):
        tune(filler, [table], 5.0, stop=lambda: True)


def test_a_table_of_two_numbers_has_nothing_to_learn_from():
    table = np.array([[1.0], [np.nan], [2.0]])
    filler = caesura.load("series").fitted([table])
    assert not np.isnan(tune(filler, [table], 0.1).filler.fill(table).best).any()


def test_what_is_held_out_is_not_learnt_from(monkeypatch):
    table = sums()
    filler = caesura.load("series").fitted([table])
    learnt_from = []

    def spy(rounds, runs, rows, seed):
        learnt_from.append(runs[0])
        return rounds(runs, rows, seed)

    for module in (tuning.factors, tuning.covariance):
        monkeypatch.setattr(module, "rounds", partial(spy, module.rounds))
    tune(filler, [table], 0.1)
    values = filler.kind.open(table).complete.values
    (part,) = parts_of([values], 6)
    assert part.hidden.sum() > 100
    assert len(learnt_from) == 4
    for known in learnt_from:
        assert np.isnan(known[part.hidden]).all()
        assert not np.isnan(known[~part.hidden & ~np.isnan(values)]).any()


def test_tables_that_follow_each_other_in_time_are_one():
    hours = pd.date_range("2024-01-01", periods=30, freq="h")
    frame = pd.DataFrame({"x": np.arange(30.0)}, index=hours)
    tables = [frame[:10], frame[10:20], frame[25:]]
    kind = caesura.load("series").fitted(tables).kind
    items = [kind.open(one) for one in tables]
    runs = runs_of(items, [item.complete.values for item in items])
    assert [len(run) for run in runs] == [20, 5]
    kind = caesura.load("series").fitted([frame.to_numpy()] * 2).kind
    items = [kind.open(frame.to_numpy())] * 2
    assert [len(run) for run in runs_of(items, [one.complete.values for one in items])] == [30, 30]


@pytest.mark.slow
def test_a_pool_is_one_distribution_for_densities_quantiles_and_draws(tuned):
    half = tuned.filler.learnt.fitted
    half = half._replace(shares=np.where(half.shares > 0, 0.5, 0.0))
    learnt = tuned.filler.learnt._replace(fitted=half)
    model = tuned.filler
    filler = TableFiller(model.kind, model.nets, model.strategy, model.training, learnt=learnt)
    table = sums()[100:160]
    place = np.zeros(table.shape, bool)
    place[30, 4] = True
    assert np.isnan(table[:, 4]).any()  # the column has other gaps, too
    holed = np.where(place, np.nan, table)
    fill = filler.fill(holed, samples=400, seed=1)
    column = filler.kind.columns[4]
    values = filler.kind.open(holed).complete.values
    middle = (fill.best[30, 4] - column.location) / column.scale
    points = middle + np.linspace(-6, 6, 2401)
    tables = np.repeat(values[None].astype(float), len(points), axis=0)
    tables[:, 30, 4] = points
    nats = log_prob(filler.nets["bidirectional"], lanes_of(values, place, half), tables)
    below = np.cumsum(np.exp(nats)) * (points[1] - points[0])
    assert below[-1] == pytest.approx(1, abs=0.02)
    drawn = np.array([one[30, 4] for one in fill.samples])
    for level in (0.1, 0.3, 0.5, 0.7, 0.9):
        number = fill.quantile(level)[30, 4]
        standard = (number - column.location) / column.scale
        assert np.interp(standard, points, below) == pytest.approx(level, abs=0.03)
        assert np.mean(drawn < number) == pytest.approx(level, abs=0.08)


@pytest.mark.parametrize(("budget", "seconds"), [("30s", 30), ("2min", 120), (1.5, 1.5)])
def test_a_budget_is_a_time(budget, seconds):
    assert seconds_of(budget) == seconds


@pytest.mark.parametrize("budget", ["soon", "-3s", 0, float("nan"), float("inf"), None])
def test_other_budgets_are_refused(budget):
    with pytest.raises(CaesuraError, match="written as 30s or 2min"):
        SeriesImputer(adapt="quick", budget=budget).fit(sums())


def test_an_imputer_that_was_tuned_says_how_good_it_is():
    imputer = SeriesImputer(adapt="quick", budget="1s", random_state=0).fit(sums())
    fields = ["column", "hidden", "error", "pretrained_error", "line_error", "inside"]
    assert imputer.report_.columns.tolist() == fields
    report = imputer.report_
    own, pretrained = (
        np.average(report[name], weights=report["hidden"]) for name in ("error", "pretrained_error")
    )
    assert own <= pretrained + 1e-9
    assert not np.isnan(imputer.transform(sums())).any()


def test_the_race_is_not_decided_by_the_first_rounds(monkeypatch):
    """Ranks are ahead after four rounds, and numbers from the sixth on."""

    def counted(*_):
        for number in range(1, 100):
            size = np.full((1, 1, 1), number, float)
            yield Factors(size, size)

    def error(model, *_):
        by_rank = len(model.curves[0].knots) > 2
        return 0.19 if by_rank else 1 / float(model.gaussian.own[0, 0, 0])

    monkeypatch.setattr(tuning, "ROUNDS", 64)
    monkeypatch.setattr(tuning.factors, "rounds", counted)
    monkeypatch.setattr(tuning.covariance, "fitting_rows", lambda *_: 0)
    monkeypatch.setattr(tuning, "error_of", error)
    table = np.random.default_rng(0).normal(size=(300, 1))
    model, updates = tuning.fit_model([table], [], 1, 8, time.monotonic() + 600)
    assert updates == 64
    assert len(model.curves[0].knots) == 2
    assert model.gaussian.own[0, 0, 0] == 64
