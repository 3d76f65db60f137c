"""Sequences, gaps, and the sentences that wrong ones get."""

import jax
import numpy as np
import pytest

from caesura.errors import CaesuraError
from caesura.nets.frames import Binary, Categorical
from caesura.nets.heads import make_head
from caesura.sequence import UNKNOWN, Gap, Sequence, Span


def sequence(missing: str) -> Sequence:
    steps = np.array([mark == "_" for mark in missing])
    return Sequence(np.zeros((len(steps), 2)), np.repeat(steps[:, None], 2, axis=1))


@pytest.mark.parametrize(
    ("missing", "gaps"),
    [
        ("....", []),
        ("____", [Span(0, 4)]),
        ("_.__", [Span(0, 1), Span(2, 4)]),
        ("._.", [Span(1, 2)]),
    ],
)
def test_gaps_are_runs_of_missing_steps(missing, gaps):
    assert sequence(missing).gaps == gaps


def test_a_partly_missing_frame_is_a_missing_step():
    missing = np.array([[False, False], [True, False], [False, False]])
    assert Sequence(np.zeros((3, 2)), missing).gaps == [Span(1, 2)]


@pytest.mark.parametrize(
    ("values", "missing", "sentence"),
    [
        (np.zeros((0, 1)), np.zeros((0, 1), bool), "empty"),
        (np.zeros((3, 1)), np.zeros((2, 1), bool), r"shape \[2, 1\].*\[3, 1\]"),
        (np.zeros(3), np.zeros(3, bool), r"\[steps, components\], not \[3\]"),
        (np.zeros((3, 1)), np.zeros((3, 1), int), "True and False, not values of type int"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_wrong_sequence_gets_one_sentence(values, missing, sentence):
    with pytest.raises(CaesuraError, match=sentence):
        Sequence.__post_init__(_raw(values, missing))


def _raw(values: np.ndarray, missing: np.ndarray) -> Sequence:
    """A sequence past the shape checks of the test run, which a user's process does not have."""
    raw = object.__new__(Sequence)
    object.__setattr__(raw, "values", values)
    object.__setattr__(raw, "missing", missing)
    return raw


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([[0.0], [np.nan]], "step 1 is NaN"),
        ([[0.0], [3.0]], "3.0 at step 1 is not among the model's 3 values"),
        ([[-2], [0]], "-2 at step 0"),
        ([[0.5], [0]], "0.5 at step 0"),
        ([["a"], ["b"]], "must be numbers"),
        ([[0, 1], [1, 0]], "1 components, not 2"),
    ],
)
def test_values_outside_the_alphabet_are_refused(values, sentence):
    values = np.array(values)
    with pytest.raises(CaesuraError, match=sentence):
        Categorical(3).check(values, np.zeros(values.shape, bool))


def test_a_symbol_may_be_unknown_and_a_switch_may_not():
    values, nothing = np.array([[1], [UNKNOWN]]), np.zeros((2, 1), bool)
    assert Categorical(3).check(values, nothing).tolist() == [[1], [UNKNOWN]]
    with pytest.raises(CaesuraError, match="-1 at step 1"):
        Binary(1).check(values, nothing)


def test_what_is_missing_may_be_anything():
    values, missing = np.array([[1.0], [np.nan], [99.0]]), np.array([[False], [True], [True]])
    assert Categorical(3).check(values, missing).tolist() == [[1], [0], [0]]


def test_a_head_refuses_frames_that_are_not_its_own():
    with pytest.raises(CaesuraError, match="'softmax' is for categorical frames, not for binary"):
        make_head("softmax", jax.random.key(0), Binary(3), (4,))


def test_a_gap_of_unknown_length_has_a_weight_for_each_length():
    gap = Gap(np.int64(3), 0, 2).check(3)
    assert gap == (3, 0, 2, None)
    assert type(gap.at) is int
    assert list(gap.lengths) == [0, 1, 2]
    assert gap.weights.tolist() == [1 / 3] * 3
    assert Gap(0, 1, 2, prior=[3, 1]).check(0).prior == (3.0, 1.0)
    assert Gap(0, 1, 2, prior=(3, 1)).weights.tolist() == [0.75, 0.25]


@pytest.mark.parametrize(
    ("gap", "sentence"),
    [
        (Gap(-1, 1, 2), "'at' must be at least 0"),
        (Gap(6, 1, 2), "'at' must be at most 5"),
        (Gap("3", 1, 2), "'at' must be a whole number"),
        (Gap(3, -1, 2), "'shortest' must be at least 0"),
        (Gap(3, 0, 0), "'longest' must be at least 1"),
        (Gap(3, 1, 65), "'longest' must be at most 64"),
        (Gap(3, 3, 2), "longest length of a gap, 2, is less than its shortest, 3"),
        (Gap(3, 1, 2, (1,)), r"1 to 2 steps must have 2 weights, but this one has the shape \[1\]"),
        (Gap(3, 1, 2, (1, -1)), "must be 0 or more"),
        (Gap(3, 1, 2, (0, 0)), "their sum must be positive"),
        (Gap(3, 1, 2, (1, np.nan)), "must be 0 or more"),
        (Gap(3, 1, 2, (1, np.inf)), "must be 0 or more"),
        (Gap(3, 1, 2, "ab"), "a number for each of its lengths"),
        (Gap(3, 1, 2, {1: 2}), "a number for each of its lengths"),
    ],
)
def test_a_wrong_gap_gets_one_sentence(gap, sentence):
    with pytest.raises(CaesuraError, match=sentence):
        gap.check(5)
