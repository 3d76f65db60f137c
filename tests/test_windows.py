"""Windows of long tables: every missing number is filled once, by a window that sees around it."""

import numpy as np
import pytest

import caesura
from caesura.filler.windows import windows


def filled(lacking: np.ndarray) -> np.ndarray:
    """Return how many windows fill each place of a table."""
    times = np.zeros(lacking.shape, int)
    for rows, here in windows(lacking):
        assert 0 <= rows.start < rows.stop <= len(lacking)
        assert rows.stop - rows.start == min(len(lacking), 512)
        times[slice(*rows)] += here
    return times


@pytest.mark.parametrize("rows", [1, 5, 512, 513, 700, 896, 897, 2000])
def test_windows_fill_every_row_once_and_see_as_much_as_they_can(rows):
    lacking = np.ones((rows, 1), bool)
    assert (filled(lacking) == 1).all()
    for seen, here in windows(lacking):
        inside = np.flatnonzero(here)
        assert inside[0] >= 64 or seen.start == 0
        assert seen.stop - seen.start - inside[-1] > 64 or seen.stop == rows


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_every_missing_number_is_filled_once(share):
    rng = np.random.default_rng(0)
    lacking = rng.random((3000, 4)) < share
    for column in range(4):
        start = int(rng.integers(2000))
        lacking[start : start + int(rng.integers(65, 600)), column] = True
    np.testing.assert_array_equal(filled(lacking), lacking)


@pytest.mark.parametrize("start", [0, 300, 447, 700, 1700])
def test_a_long_gap_is_in_the_middle_of_one_window(start):
    lacking = np.zeros((2000, 2), bool)
    lacking[start : start + 300, 1] = True
    ((rows, _),) = windows(lacking)
    before, after = start - rows.start, rows.stop - start - 300
    assert min(before, after) >= 64 or rows.start == 0 or rows.stop == 2000
    np.testing.assert_array_equal(filled(lacking), lacking)


def test_columns_that_fail_at_about_the_same_time_share_a_window():
    lacking = np.zeros((2000, 3), bool)
    lacking[400:600, 0] = lacking[405:590, 1] = True
    ((_, here),) = windows(lacking)
    assert here.any(axis=0).tolist() == [True, True, False]


def test_a_long_gap_is_filled_as_well_wherever_it_is():
    season = np.sin(np.arange(1600) * 2 * np.pi / 24)
    table = np.stack([season + 0.1 * np.random.default_rng(n).normal(size=1600) for n in (0, 1)], 1)
    errors = []
    for start in (150, 380):  # 448 is where the first window ends
        hidden = table.copy()
        hidden[start : start + 120] = np.nan
        best = caesura.load("series").fill(hidden).best[start : start + 120]
        errors.append(np.abs(best - season[start : start + 120, None]).mean())
    assert errors[1] < 1.5 * errors[0]
