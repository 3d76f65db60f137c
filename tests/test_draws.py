"""Long series are cut into stretches that lose nothing and see what is around them."""

import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from caesura.filler.draws import AROUND, STRETCH, cut, score_series
from caesura.sequence import Sequence
from model_files import make_filler


def series(missing: np.ndarray) -> Sequence:
    values = np.arange(missing.size, dtype=np.float32).reshape(missing.shape)
    return Sequence(np.where(missing, np.float32(0), values), missing)


@pytest.mark.parametrize("share", [0.001, 0.1, 0.9, 1.0])
@pytest.mark.parametrize("length", [1, STRETCH, STRETCH + 1, 1000])
def test_every_missing_value_is_in_one_stretch(share, length):
    missing = np.random.default_rng(0).random((length, 3)) < share
    missing[-1, 0] = True
    given = series(missing)
    found = np.zeros(missing.shape, int)
    for stretch in cut(5, given):
        assert stretch.series == 5
        steps = stretch.steps
        size = steps.stop - steps.start
        assert size <= STRETCH
        inside = slice(stretch.offset, stretch.offset + size)
        np.testing.assert_array_equal(stretch.seen.missing[inside], missing[steps])
        np.testing.assert_array_equal(stretch.seen.values[inside], given.values[steps])
        assert stretch.seen.missing.sum() == missing[steps].sum()
        found[steps] += stretch.seen.missing[inside]
    np.testing.assert_array_equal(found, missing)


def test_what_is_missing_around_a_stretch_is_unknown_there_and_the_rest_is_seen():
    missing = np.ones((1000, 2), bool)
    missing[:, 1] = False
    given = series(missing)
    stretch = cut(0, given)[2]
    first, last = stretch.steps.start - AROUND, stretch.steps.stop + AROUND
    assert len(stretch.seen) == last - first
    np.testing.assert_array_equal(stretch.seen.values[:, 1], given.values[first:last, 1])
    around = np.ones(len(stretch.seen), bool)
    around[stretch.offset : stretch.offset + STRETCH] = False
    np.testing.assert_array_equal(np.isnan(stretch.seen.values[:, 0]), around)


def test_no_gap_is_cut_that_could_be_spared():
    missing = np.zeros((1000, 1), bool)
    starts = np.arange(3, 960, 40)
    for start in starts:
        missing[start : start + 37] = True
    borders = {s.steps.stop for s in cut(0, series(missing)) if s.steps.stop < 1000}
    assert borders
    for border in borders:
        assert not (missing[border - 1, 0] and missing[border, 0])


def test_nothing_is_drawn_where_nothing_is_missing():
    missing = np.zeros((1000, 1), bool)
    missing[500] = True
    (stretch,) = cut(0, series(missing))
    assert stretch.steps.start <= 500 < stretch.steps.stop
    assert len(stretch.seen) <= STRETCH + 2 * AROUND


def score_alone(filler, series: Sequence, steps: slice) -> float:
    """Of the missing values of some steps, given what is observed within AROUND of them."""
    near = slice(max(0, steps.start - AROUND), steps.stop + AROUND)
    inside = np.zeros(len(series), bool)
    inside[steps] = True
    asked = series.missing & inside[:, None]
    values = np.where(series.missing & ~asked, np.nan, series.values)
    method = filler.method("bothways")
    window = method.window(Sequence(values[near].astype(np.float32), asked[near]))
    score = method.strategy.log_prob(jax.random.key(0), method.net, window, window.values[:, None])
    return float(score.log_prob[0, 0]) - filler.kind.log_scale(asked)


def test_a_score_is_that_of_its_stretches_each_given_what_is_observed():
    filler = make_filler("mixture")
    draw = np.random.default_rng(0)
    length = 5 * STRETCH
    missing = draw.random((length, 3)) < 0.3
    missing[STRETCH // 2 : 2 * STRETCH] = True  # a gap that must be cut
    given = Sequence(draw.normal(size=(length, 3)).astype(np.float32), missing)
    stretches = cut(0, given)
    assert len(stretches) >= 5  # which a batch is filled up for
    wanted = sum(score_alone(filler, given, stretch.steps) for stretch in stretches)
    found = score_series(filler, given, strategy="bothways")
    assert found == pytest.approx(wanted, rel=1e-5)
    assert found.standard_error == 0


def test_a_short_series_is_scored_in_one_piece():
    filler = make_filler("mixture")
    values = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    missing = np.zeros(values.shape, bool)
    missing[5:9, 0] = missing[20, 1:] = True
    table = filler.kind.write(np.full(values.shape, np.nan), np.ones(values.shape, bool), values)
    read = Sequence(filler.kind.read_complete(table).values, missing)
    whole = filler.log_prob(table, missing=missing, strategy="bothways")
    assert score_series(filler, read, strategy="bothways") == pytest.approx(whole, rel=1e-5)


# A real process, since the number of devices is fixed once JAX has run.
PROGRAM = """
import sys, jax
jax.config.update("jax_num_cpu_devices", int(sys.argv[1]))
import numpy as np
from caesura.filler.draws import draw_series
from caesura.sequence import Sequence
from model_files import make_filler
draw = np.random.default_rng(0)
missing = draw.random((400, 3)) < 0.3
series = Sequence(draw.normal(size=missing.shape).astype(np.float32), missing)
filler = make_filler("mixture")
drawn = draw_series(filler, [series], 700, strategy="bothways")
np.save(sys.argv[2], np.concatenate([one.values for one in drawn], axis=1))
"""


def test_draws_are_the_same_on_any_number_of_devices(tmp_path):
    found = []
    for devices in (1, 3):
        place = str(tmp_path / f"{devices}.npy")
        program = [sys.executable, "-c", PROGRAM, str(devices), place]
        subprocess.run(program, check=True, cwd=Path(__file__).parent)
        found.append(np.load(place))
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-4)
    assert len(np.unique(found[0][:, 0])) > 350  # the parts are not the same
