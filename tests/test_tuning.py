"""The pretrained model for tables, tuned on a table within a time."""

import time

import equinox as eqx
import jax
import numpy as np
import pytest

import caesura
from caesura.errors import CaesuraError
from caesura.filler import TableFiller
from caesura.filler.rehearsal import parts_of
from caesura.kinds.series.times import seconds_of
from caesura.nets.frames import Continuous
from caesura.nets.rnn import bidirectional
from caesura.sklearn import SeriesImputer
from caesura.training import tuning
from caesura.training.loop import Stopped
from caesura.training.tuning import tune


def days(rows: int = 200) -> np.ndarray:
    rng = np.random.default_rng(0)
    hour = np.arange(rows)[:, None]
    table = np.sin(2 * np.pi * hour / 24 + np.arange(3)) + 0.1 * rng.normal(size=(rows, 3))
    table[rng.random(table.shape) < 0.1] = np.nan
    return table


def untrained(table: np.ndarray) -> TableFiller:
    """A small net whose head is random: tuning must make it better."""
    pretrained = caesura.load("series")
    frame = pretrained.nets["bidirectional"].frame
    assert isinstance(frame, Continuous)
    net = bidirectional(
        jax.random.key(0), frame, head="weighing", hidden=8, cell="gru", layers=1, head_hidden=8
    )
    leaves, structure = jax.tree.flatten(net.head)
    keys = jax.random.split(jax.random.key(1), len(leaves))
    noisy = [a + 0.5 * jax.random.normal(k, a.shape) for a, k in zip(leaves, keys, strict=True)]
    net = eqx.tree_at(lambda one: one.head, net, jax.tree.unflatten(structure, noisy))
    made = TableFiller(pretrained.kind, {"bidirectional": net}, "bothways", pretrained.training)
    return made.fitted([table])


@pytest.mark.slow
def test_tuning_makes_a_net_better_in_the_time_that_is_given(monkeypatch):
    table = days()
    filler = untrained(table)
    tune(filler, [table], 0.1)  # so that everything is compiled
    monkeypatch.setattr(tuning, "RATE", 0.01)
    told = []
    began = time.monotonic()
    found = tune(filler, [table], 6.0, report=lambda name, progress: told.append(progress))
    assert time.monotonic() - began < 12.0  # some more if the machine is busy
    assert found.updates > 10
    assert found.after < 0.95 * found.before
    mean = np.average(
        [one.error for one in found.filler.learnt.checked],
        weights=[one.hidden for one in found.filler.learnt.checked],
    )
    assert mean == pytest.approx(found.after, rel=1e-3)
    validated = [progress.validation for progress in told if progress.validation is not None]
    assert min(validated) == pytest.approx(found.after)
    assert told[-1].step == told[-1].steps == found.updates


@pytest.mark.slow
def test_a_net_that_gets_worse_is_not_kept(monkeypatch):
    table = days()
    filler = caesura.load("series").fitted([table])
    monkeypatch.setattr(tuning, "RATE", 10.0)
    found = tune(filler, [table], 0.5)
    assert found.updates >= 1
    assert found.after == found.before
    assert found.filler.nets["bidirectional"] is filler.nets["bidirectional"]
    with pytest.raises(Stopped):
        tune(filler, [table], 5.0, stop=lambda: True)


def test_what_is_held_out_is_not_learnt_from(monkeypatch):
    table = days()
    filler = untrained(table)
    seen = {}

    def pool(rng, net, tables, *_):
        seen["known"] = tables[0]

    monkeypatch.setattr(tuning, "_pool", pool)
    assert tune(filler, [table], 1.0).updates == 0
    values = filler.kind.open(table).complete.values
    (part,) = parts_of([values], 3)
    assert part.hidden.sum() > 40
    assert np.isnan(seen["known"][part.hidden]).all()
    assert not np.isnan(seen["known"][~part.hidden & ~np.isnan(values)]).any()


def test_lanes_to_learn_from_have_the_truth_where_it_is_hidden():
    table = days().astype(np.float32)
    filler = untrained(table)
    values = filler.kind.open(table).complete.values
    hidden = np.zeros(table.shape, bool)
    hidden[50:54, 1] = ~np.isnan(values[50:54, 1])
    (piece,) = tuning._pieces(values, hidden, 3, filler.learnt.prior, 128)
    assert piece.frames.shape[0] == 128
    assert np.flatnonzero(piece.targets).tolist() == np.flatnonzero(hidden[:, 1]).tolist()
    assert piece.hidden[piece.targets].all()
    # The residual is relative to the base, which is not kept: differences of columns are.
    (other,) = tuning._pieces(
        values + np.float32(0.5) * hidden, hidden, 3, filler.learnt.prior, 128
    )
    moved = (other.frames - piece.frames)[piece.targets]
    assert moved[:, 0] == pytest.approx(np.full(len(moved), moved[0, 0]), rel=1e-4)
    assert moved[0, 0] > 0.3
    assert not moved[:, 1:].any()


@pytest.mark.parametrize(("budget", "seconds"), [("30s", 30), ("2min", 120), (1.5, 1.5)])
def test_a_budget_is_a_time(budget, seconds):
    assert seconds_of(budget) == seconds


@pytest.mark.parametrize("budget", ["soon", "-3s", 0, float("nan"), float("inf"), None])
def test_other_budgets_are_refused(budget):
    with pytest.raises(CaesuraError, match="written as 30s or 2min"):
        SeriesImputer(adapt="quick", budget=budget).fit(days())


@pytest.mark.slow
def test_an_imputer_that_was_tuned_says_how_good_it_is():
    imputer = SeriesImputer(adapt="quick", budget="1s", random_state=0).fit(days())
    fields = ["column", "hidden", "error", "pretrained_error", "line_error", "inside"]
    assert imputer.report_.columns.tolist() == fields
    report = imputer.report_
    own, pretrained = (
        np.average(report[name], weights=report["hidden"]) for name in ("error", "pretrained_error")
    )
    assert own <= pretrained + 1e-9
    assert not np.isnan(imputer.transform(days())).any()
