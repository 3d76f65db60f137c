"""Long sequences are cut into stretches that lose nothing and see what is around them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from caesura.filler import Request
from caesura.filler.stretches import cut
from caesura.nets.frames import Binary, Categorical, Continuous
from caesura.sequence import UNKNOWN, Sequence
from model_files import make_filler
from small_fillers import text_filler

LONGEST, AROUND = 128, 64
FRAME = Continuous(3)


def series(missing: np.ndarray) -> Sequence:
    values = np.arange(missing.size, dtype=np.float32).reshape(missing.shape)
    return Sequence(np.where(missing, np.float32(0), values), missing)


@pytest.mark.parametrize("share", [0.001, 0.1, 0.9, 1.0])
@pytest.mark.parametrize("length", [1, LONGEST, LONGEST + 1, 1000])
def test_every_missing_value_is_in_one_stretch(share, length):
    missing = np.random.default_rng(0).random((length, 3)) < share
    missing[-1, 0] = True
    given = series(missing)
    found = np.zeros(missing.shape, int)
    for stretch in cut(given, FRAME, LONGEST, AROUND):
        start, stop = stretch.steps
        assert missing[start].any()
        assert missing[stop - 1].any()
        assert stop - start <= LONGEST
        inside = slice(start - stretch.first, stop - stretch.first)
        np.testing.assert_array_equal(stretch.seen.missing[inside], missing[start:stop])
        np.testing.assert_array_equal(stretch.seen.values[inside], given.values[start:stop])
        assert stretch.seen.missing.sum() == missing[start:stop].sum()
        found[start:stop] += stretch.seen.missing[inside]
    np.testing.assert_array_equal(found, missing)


def test_what_is_missing_around_a_stretch_is_unknown_there_and_the_rest_is_seen():
    missing = np.ones((1000, 3), bool)
    missing[:, 1] = False
    given = series(missing)
    stretch = cut(given, FRAME, LONGEST, AROUND)[2]
    start, stop = stretch.steps
    seen = slice(start - AROUND, stop + AROUND)
    np.testing.assert_array_equal(stretch.seen.values[:, 1], given.values[seen, 1])
    around = np.ones(len(stretch.seen), bool)
    around[AROUND : AROUND + LONGEST] = False
    np.testing.assert_array_equal(np.isnan(stretch.seen.values[:, 0]), around)


@pytest.mark.parametrize("frame", [Categorical(5), Binary(1)])
def test_discrete_values_have_a_number_for_the_unknown(frame):
    missing = np.ones((300, 1), bool)
    given = Sequence(np.zeros((300, 1), np.int32), missing)
    stretch = cut(given, frame, LONGEST, AROUND)[1]
    assert stretch.seen.values[0, 0] == UNKNOWN
    assert frame.unknown(stretch.seen.values)[0, 0]


def test_no_gap_is_cut_that_could_be_spared():
    missing = np.zeros((1000, 1), bool)
    for start in range(3, 960, 40):
        missing[start : start + 37] = True
    stretches = cut(series(missing), Continuous(1), LONGEST, AROUND)
    assert len(stretches) > 5
    for stretch in stretches:
        assert not missing[stretch.steps.stop : stretch.steps.stop + 1].any()


def test_far_gaps_are_apart_and_near_ones_together():
    missing = np.zeros((1000, 1), bool)
    missing[[10, 20, 500, 990]] = True
    found = [stretch.steps for stretch in cut(series(missing), Continuous(1), LONGEST, AROUND)]
    assert found == [(10, 21), (500, 501), (990, 991)]


def score_alone(filler, item, values, missing, steps) -> float:
    """Of the missing values of some steps, given what is observed near them."""
    around = filler.kind.around
    near = slice(max(0, steps.start - around), steps.stop + around)
    inside = np.zeros(len(values), bool)
    inside[steps.start : steps.stop] = True
    asked = missing & inside[:, None]
    seen = np.where(missing & ~asked, np.nan, values)[near]
    table = filler.kind.open(np.zeros(seen.shape)).write(seen, np.ones(seen.shape, bool))
    return filler.log_prob(table, missing=asked[near], strategy="bothways")


@pytest.mark.slow
def test_a_score_is_that_of_its_stretches_each_given_what_is_observed():
    filler = make_filler("mixture")
    draw = np.random.default_rng(0)
    length = 5 * filler.kind.stretch
    missing = draw.random((length, 3)) < 0.3
    missing[64:256] = True  # a gap that must be cut
    values = draw.normal(size=(length, 3)).astype(np.float32)
    table = filler.kind.open(np.zeros(values.shape)).write(values, np.ones(values.shape, bool))
    item = filler.kind.open(table)
    given = Sequence(item.complete.values, missing)
    stretches = cut(given, Continuous(3), filler.kind.stretch, filler.kind.around)
    assert len(stretches) >= 5
    wanted = sum(score_alone(filler, item, given.values, missing, s.steps) for s in stretches)
    found = filler.log_prob(item, missing=missing, strategy="bothways")
    assert found == pytest.approx(wanted, rel=1e-4)
    assert found.standard_error == 0


@pytest.mark.slow
def test_a_long_text_is_filled_gap_by_gap_as_if_each_were_alone():
    filler = text_filler()
    line = "the quick brown fox jumps over the lazy dog "
    text = (line * 60)[:2400]
    gaps = [100, 1200, 2300]
    damaged = list(text)
    for start in gaps:
        damaged[start : start + 3] = "___"
    fill = filler.fill("".join(damaged), strategy="nade")
    kept = [c for place, c in enumerate(fill.best) if not any(g <= place < g + 3 for g in gaps)]
    assert kept == [c for c in damaged if c != "_"]
    alone = 0.0
    for start in gaps:
        near = slice(max(0, start - filler.kind.around), start + 3 + filler.kind.around)
        inside = slice(start - near.start, start + 3 - near.start)
        alone += filler.log_prob(fill.best[near], missing=inside, strategy="nade")
    assert fill.log_prob == pytest.approx(alone, abs=1e-3)


# A real process, since the number of devices is fixed once JAX has run.
PROGRAM = """
import sys, jax
jax.config.update("jax_num_cpu_devices", int(sys.argv[1]))
jax.config.update("jax_disable_most_optimizations", True)
import numpy as np
from model_files import make_filler
draw = np.random.default_rng(0)
table = draw.normal(size=(200, 3))
table[draw.random(table.shape) < 0.3] = np.nan
fill = make_filler("mixture").fill(table, draws=40, strategy="bothways")
np.save(sys.argv[2], fill.drawn)
"""


@pytest.mark.slow
def test_draws_are_the_same_on_any_number_of_devices(tmp_path):
    found = []
    for devices in (1, 2):
        place = str(tmp_path / f"{devices}.npy")
        program = [sys.executable, "-c", PROGRAM, str(devices), place]
        subprocess.run(program, check=True, cwd=Path(__file__).parent)
        found.append(np.load(place))
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-4)
    assert len(np.unique(found[0][:, 0])) == 40  # the parts are not the same


@pytest.mark.slow
def test_the_number_of_draws_does_not_change_the_first_of_them():
    filler, text = text_filler(), "the q____ fox"
    few = filler.fill_many([Request(text, samples=8, draws=8, strategy="nade")])[0]
    many = filler.fill_many([Request(text, samples=8, draws=40, strategy="nade")])[0]
    assert few.samples == many.samples
