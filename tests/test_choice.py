"""The order in which fills of music are offered."""

import numpy as np
import pytest

from caesura.kinds import Music, Text
from caesura.kinds.music.choice import agreement, by_agreement


def test_music_prefers_the_fill_that_agrees_with_the_others_to_the_likeliest():
    drawn = np.zeros((5, 20), int)
    for row, notes in enumerate([[], [1, 2, 3], [1, 2, 4], [1, 2, 3, 4], [9, 10]]):
        drawn[row, notes] = 1
    scores = np.array([-1.0, -5.0, -4.0, -6.0, -3.0])  # silence is the likeliest
    order = Music().rank(drawn, scores)
    assert order[0] == 3
    assert sorted(order) == list(range(5))
    assert Text("ab").rank(drawn, scores).tolist() == [0, 4, 2, 1, 3]


def test_agreement_is_the_mean_f_score_with_all_draws():
    drawn = np.random.default_rng(0).integers(0, 2, (6, 9))
    drawn[5] = 0
    wanted = np.zeros((6, 6))
    for i, one in enumerate(drawn):
        for j, other in enumerate(drawn):
            right = np.sum(one & other)
            if not right:
                wanted[i, j] = one.sum() == other.sum() == 0
                continue
            precision, recall = right / one.sum(), right / other.sum()
            wanted[i, j] = 2 * precision * recall / (precision + recall)
    assert np.allclose(agreement(drawn), wanted.mean(axis=1))


def test_a_fill_with_an_unusual_number_of_notes_is_not_the_best():
    """Though one that has all the notes of the others agrees with each of them."""
    drawn = np.zeros((6, 20), int)
    for row, notes in enumerate([[1, 2], [2, 3], [3, 4], [4, 1], [1, 2, 3, 4], [5, 6]]):
        drawn[row, notes] = 1
    assert agreement(drawn).argmax() == 4
    order = Music().rank(drawn, -np.arange(6.0))
    assert order[0] == 0
    assert 4 in order[4:]


def test_of_fills_that_agree_equally_well_the_likelier_is_first():
    drawn = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]])
    assert Music().rank(drawn, np.array([-3.0, -1.0, -2.0, -4.0])).tolist() == [1, 2, 0, 3]
    nothing = np.zeros((3, 0), int)
    assert Music().rank(nothing, np.array([-2.0, -1.0, -3.0])).tolist() == [1, 0, 2]


def test_struck_keys_count_as_sounding_and_as_struck():
    drawn = np.random.default_rng(0).choice(3, (6, 40))

    def notes(fill):
        return {(p, what) for p, v in enumerate(fill) for what in ("sounds", "struck")[:v]}

    def f1(a, b):
        return 2 * len(notes(a) & notes(b)) / (len(notes(a)) + len(notes(b)))

    expected = [np.mean([f1(a, b) for b in drawn]) for a in drawn]
    assert agreement(drawn) == pytest.approx(expected)
    alike = np.array([[2, 1, 2, 1], [2, 1, 1, 1], [2, 1, 1, 1]])  # they sound alike
    assert by_agreement(alike, np.array([0.0, -1, -2]))[0] == 1
