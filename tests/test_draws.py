"""Long series are cut into stretches that lose nothing and see what is around them."""

import numpy as np
import pytest

from caesura.draws import AROUND, STRETCH, cut
from caesura.sequence import Sequence


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
