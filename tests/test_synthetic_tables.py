"""The synthetic tables that the model `series` is trained on."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
import synthetic_tables


def courses(family: str, count: int = 60, rows: int = 300) -> list[np.ndarray]:
    make = getattr(synthetic_tables, family)
    return [make(np.random.default_rng(seed), rows, 24.0) for seed in range(count)]


def test_every_family_has_a_weight_and_gives_numbers():
    assert len(synthetic_tables.FAMILIES) == len(synthetic_tables.WEIGHTS)
    assert sum(synthetic_tables.WEIGHTS) == pytest.approx(1)
    for family in synthetic_tables.FAMILIES:
        for seed in range(5):
            course = family(np.random.default_rng(seed), 200, 24.0)
            assert course.shape == (200,)
            assert np.isfinite(course).all()


def test_states_last_and_are_few():
    found = courses("_states")
    idle = [course for course in found if len(np.unique(course)) <= 4]
    assert len(idle) > len(found) / 3  # the others have a course of their own while they are on
    for course in idle:
        changes = np.count_nonzero(np.diff(course))
        assert changes < len(course) / 2
    assert np.mean([np.count_nonzero(np.diff(course)) for course in idle]) < 60
    assert any(0 < np.mean(course == 0) < 1 for course in found)


def test_a_state_lasts_as_long_as_its_mean():
    state = synthetic_tables._chain(np.random.default_rng(0), 200_000, [10.0, 40.0])
    assert set(np.unique(state)) == {0, 1}
    starts = np.flatnonzero(np.diff(state)) + 1
    lengths = np.diff(starts)
    of_zero = lengths[state[starts[:-1]] == 0]
    # 1 + floor of an exponential number of mean 10: 1 / (1 − exp(−1/10))
    assert of_zero.mean() == pytest.approx(1 / (1 - np.exp(-0.1)), rel=0.05)


def test_angles_wrap():
    found = courses("_angle")
    assert all(course.min() >= 0 and course.max() < 1 for course in found)
    jumps = [np.abs(np.diff(course)).max() for course in found]
    assert np.mean(np.array(jumps) > 0.8) > 0.5  # most of them pass north
    turned = [np.abs((np.diff(course) + 0.5) % 1 - 0.5) for course in found]
    assert np.median([np.median(steps) for steps in turned]) < 0.1  # yet they turn slowly


def test_a_table_is_that_of_its_seed():
    table = synthetic_tables.make_table(3, 128, 8)
    assert np.array_equal(table, synthetic_tables.make_table(3, 128, 8))
    assert not np.array_equal(table, synthetic_tables.make_table(4, 128, 8))
    deviations = table.std(axis=0)
    assert np.all((np.abs(deviations - 1) < 1e-9) | (deviations == 0))
