"""What is hidden of a table to learn how good a model is on it, and what is made of that."""

import numpy as np
import pytest

import caesura
from caesura.filler.columns import lanes_of, log_prob
from caesura.filler.rehearsal import (
    SHARES,
    Rehearsal,
    Rehearsed,
    gaps_of,
    hide,
    parts_of,
    report,
    spreads,
    steady_share,
)
from caesura.filler.tables import TableFiller
from caesura.nets.bins import find_bin
from caesura.sequence import runs


def hidden_of(missing: np.ndarray, times: int = 200) -> np.ndarray:
    rng = np.random.default_rng(0)
    gaps = gaps_of([missing], missing.shape[1])
    return np.stack([hide(rng, missing, gaps) for _ in range(times)])


def lengths(hidden: np.ndarray) -> list[int]:
    edges = np.flatnonzero(np.diff(hidden, prepend=False, append=False))
    return (edges[1::2] - edges[::2]).tolist()


def test_what_is_hidden_looks_like_the_gaps():
    missing = np.zeros((300, 3), bool)
    missing[100:120, 0] = True  # one long gap
    missing[::9, 1] = True  # single numbers
    missing[200:210] = True  # an outage of all columns
    hidden = hidden_of(missing)
    assert not (hidden & missing).any()
    shares = hidden.sum(axis=(0, 1)) / (~missing).sum(axis=0) / len(hidden)
    assert np.all((shares > 0.08) & (shares < 0.25))
    long = [n for one in hidden for n in lengths(one[:, 0])]
    assert set(long) & {20}
    assert np.mean(np.array(long) >= 10) > 0.5
    outages = hidden.all(axis=2).sum(axis=1)
    assert np.mean(outages >= 5) > 0.5  # what fails together is hidden together


def test_a_column_without_gaps_has_single_numbers_hidden():
    missing = np.zeros((200, 2), bool)
    missing[50:90, 1] = True
    hidden = hidden_of(missing)
    assert np.mean([n for one in hidden for n in lengths(one[:, 0])]) < 2
    assert hidden[:, :, 0].mean() == pytest.approx(0.15, abs=0.03)


def test_enough_stays_observed():
    rng = np.random.default_rng(1)
    missing = rng.random((12, 5)) < 0.6
    missing[:, 4] = True
    missing[3, 4] = False
    for hidden in hidden_of(missing):
        left = (~missing & ~hidden).sum(axis=0)
        assert np.all(left >= np.minimum(1, (~missing).sum(axis=0)))


def rehearsed(scale: np.ndarray, columns: np.ndarray, seed: int = 0) -> Rehearsed:
    """Normal numbers, and the intervals of a model that takes their deviation for 1."""
    truth = scale * np.random.default_rng(seed).normal(size=len(columns))
    zero = np.zeros(len(columns))
    return Rehearsed(columns, zero + 1, truth, zero - 1.645, zero, zero + 1.645, zero)


def test_intervals_are_stretched_as_much_as_the_errors_ask_for():
    columns = np.repeat([0, 1, 2], [2000, 2000, 4])
    found = spreads(rehearsed(np.where(columns == 1, 3.0, 1.0), columns), 3)
    # 92 % of normal numbers are within 1.751 deviations.
    assert found[0] == pytest.approx(1.751 / 1.645, rel=0.05)
    assert found[1] == pytest.approx(3 * 1.751 / 1.645, rel=0.05)
    assert found[0] < found[2] < found[1]  # few numbers lean on the others
    few = spreads(rehearsed(np.full(3, 9.0), np.zeros(3, int)), 1)
    assert 1 < few[0] < 3
    assert spreads(rehearsed(np.ones(0), np.zeros(0, int)), 2).tolist() == [1, 1]


def test_a_long_gap_counts_as_five_numbers():
    table = np.cumsum(np.random.default_rng(3).normal(size=(2000, 1)), axis=0)
    table[100:300] = np.nan
    parts = parts_of([table], 1)
    gaps = runs(parts[0].hidden[:, 0])
    assert max(gap.stop - gap.start for gap in gaps) >= 200
    filler = caesura.load("series")
    learnt = filler.fitted([table]).learnt
    found = Rehearsal(parts, 1, learnt.fitted._replace(model=None)).fill(
        filler.nets["bidirectional"]
    )
    count = sum(min(5, gap.stop - gap.start) for gap in gaps)
    assert found.weight.sum() == pytest.approx(count)
    once, often = (
        float(np.log(spreads(found._replace(weight=found.weight * n), 1)[0])) for n in (1, 40)
    )
    few, many = count, 40 * count
    assert once / often == pytest.approx(few / (few + 20) / (many / (many + 20)))


def test_a_report_is_of_numbers_that_did_not_stretch_it():
    columns = np.zeros(20, int)
    (one,) = report(rehearsed(np.repeat([0.01, 9.0], 10), columns), ["x"])
    assert one.inside < 0.9  # the quiet half says nothing of the loud one
    (one,) = report(rehearsed(np.full(2000, 3.0), np.zeros(2000, int)), ["x"])
    assert one.inside == pytest.approx(0.92, abs=0.03)
    assert one.error == pytest.approx(3 * (2 / np.pi) ** 0.5, rel=0.05)


def test_a_long_table_is_looked_at_in_the_middle_and_wide_ones_less():
    (part,) = parts_of([np.zeros((5000, 3))], 3)
    assert (part.first, part.table.shape) == (1988, (1024, 3))
    (part,) = parts_of([np.zeros((5000, 256))], 256)
    assert part.table.shape == (128, 256)
    assert sum(len(p.table) for p in parts_of([np.zeros((100, 3))] * 30, 3)) == 1100


def test_more_of_a_table_with_long_gaps_is_looked_at():
    table = np.zeros((5000, 3))
    table[100:165, 1] = np.nan
    (part,) = parts_of([table], 3)
    assert (part.first, part.table.shape) == (452, (4096, 3))
    assert min(lengths(part.hidden[:, 1])) >= 65
    assert max(lengths(part.hidden[:, 0])) < 10  # single numbers, some side by side


def test_of_very_many_gaps_some_are_copied():
    missing = np.zeros((20_000, 1), bool)
    missing[::4] = missing[1::8] = True
    (gaps,) = gaps_of([missing], 1)
    assert len(gaps) == 1000
    assert {gap.length for gap in gaps} == {1, 2}


@pytest.fixture(scope="module")
def stretched() -> TableFiller:
    """A filler that was told to stretch its distributions."""
    table = np.cumsum(np.random.default_rng(0).normal(size=(60, 1)), axis=0)
    fitted = caesura.load("series").fitted([table])
    assert fitted.learnt is not None
    spread = np.full(len(fitted.learnt.fitted.spread), 2.5)
    learnt = fitted.learnt._replace(fitted=fitted.learnt.fitted._replace(spread=spread))
    return TableFiller(fitted.kind, fitted.nets, fitted.strategy, fitted.training, learnt=learnt)


@pytest.mark.slow
def test_a_stretched_distribution_is_one_for_densities_quantiles_and_draws(stretched):
    table = np.cumsum(np.random.default_rng(3).normal(size=(40, 1)), axis=0)
    place = np.zeros(table.shape, bool)
    place[20] = True
    holed = np.where(place, np.nan, table)
    fill = stretched.fill(holed, samples=400, seed=1)
    column, learnt = stretched.kind.columns[0], stretched.learnt
    values = stretched.kind.open(holed).complete.values
    middle = (fill.best[20, 0] - column.location) / column.scale
    points = middle + np.linspace(-6, 6, 1201)
    tables = np.repeat(values[None].astype(float), len(points), axis=0)
    tables[:, 20, 0] = points
    lanes = lanes_of(values, place, learnt.fitted)
    nats = log_prob(stretched.nets["bidirectional"], lanes, tables)
    below = np.cumsum(np.exp(nats)) * (points[1] - points[0])
    assert below[-1] == pytest.approx(1, abs=0.02)
    table[20, 0] = column.location + column.scale * points[600]
    given = stretched.log_prob(table, missing=place)  # in the units of the table
    assert given == pytest.approx(nats[600] - np.log(column.scale), abs=1e-3)
    drawn = np.array([one[20, 0] for one in fill.samples])
    mass = np.exp(stretched.marginals(holed).log_probs[0])
    for level in (0.05, 0.3, 0.5, 0.7, 0.95):
        number = fill.quantile(level)[20, 0]
        standard = (number - column.location) / column.scale
        assert np.interp(standard, points, below) == pytest.approx(level, abs=0.02)
        assert np.mean(drawn < number) == pytest.approx(level, abs=0.08)
        its_bin = int(find_bin(np.array([standard]))[0])
        assert mass[:its_bin].sum() - 0.02 < level < mass[: its_bin + 1].sum() + 0.02


def test_stretching_leaves_the_medians(stretched):
    table = np.cumsum(np.random.default_rng(4).normal(size=(60, 1)), axis=0)
    table[20:25] = np.nan
    narrow_ones = stretched.learnt.fitted._replace(spread=np.ones(1))
    learnt = stretched.learnt._replace(fitted=narrow_ones)
    plain = TableFiller(
        stretched.kind, stretched.nets, stretched.strategy, stretched.training, learnt=learnt
    )
    wide, narrow = stretched.fill(table), plain.fill(table)
    np.testing.assert_allclose(wide.best[20:25], narrow.best[20:25], atol=1e-3)
    widths = [np.subtract(*fill.quantile([0.95, 0.05]))[20:25] for fill in (wide, narrow)]
    np.testing.assert_allclose(widths[0], 2.5 * widths[1], rtol=1e-3)


def test_a_share_is_a_half_unless_another_one_is_surely_better():
    rng = np.random.default_rng(0)
    noise = 1 + 0.1 * rng.normal(size=(len(SHARES), 400))
    worse = np.array([0.3, 0.2, 0.1, 0.0, 0.1])[:, None]  # the best share is three quarters
    assert steady_share(noise + worse) == 0.75
    assert steady_share(noise + 0.001 * worse) == 0.5
    assert steady_share(np.ones((len(SHARES), 1))) == 0.5
    never = np.array([0.0, 0.3, 0.3, 0.3, 0.3])[:, None]
    assert steady_share(noise + never) == 0.0
