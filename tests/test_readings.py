"""How probable the readings of gaps are that random fills have: against enumeration."""

from collections import defaultdict

import numpy as np
import pytest

from caesura.filler import Fill, Filler, Request
from caesura.filler.assemble import from_draws
from caesura.filler.opening import open_request
from caesura.filler.passes import Filled
from enumerated import make_problem
from markov_pair import ALPHABET, markov_filler, posterior

TEXT = "cab___cdab___cda"
GAPS = [posterior("b", "c", 3), posterior("b", "c", 3)]  # independent, given what is between them
FAR = "cab__c" + "dabcabdc" * 70 + "b__da"


@pytest.fixture(scope="module")
def markov() -> Filler:
    return markov_filler("nade")


def answer(filler, text, words, log_probs, *, stretches=(slice(None),), best=None) -> Fill:
    """The fill of a text from some draws: the words of each, gap by gap. `best` is one of them."""
    opened = open_request(filler, Request(text))
    where = np.argwhere(opened.sequence.missing)
    letters = ["".join(row) for row in words]
    drawn = np.array([[ALPHABET.index(char) for char in row] for row in letters], np.int32)
    parts, scores = [], np.asarray(log_probs, np.float64)
    for here, own in zip(stretches, np.atleast_2d(scores), strict=True):
        first = int(np.argmax(own)) if best is None else best
        values, score = drawn[:, here], float(own[first])
        sure = np.ones(values.shape[1])
        parts.append(Filled(where[here], values, own, 0 * own, values[first], score, 0.0, sure))
    return from_draws(filler.kind, opened, parts)


def draw(rng, count: int) -> tuple[list[list[str]], np.ndarray]:
    """Random fills of the gaps of the chain, with their true log-probabilities."""
    chosen = [rng.choice(list(gap), count, p=list(gap.values())) for gap in GAPS]
    words = [list(row) for row in zip(*chosen, strict=True)]
    chances = [[gap[word] for gap, word in zip(GAPS, row, strict=True)] for row in words]
    return words, np.log(chances).sum(axis=1)


def test_what_readings_cover_is_what_their_true_probabilities_sum_to(markov):
    """On average over many sets of draws; far below 1, though every draw has one of them."""
    rng = np.random.default_rng(0)
    stated, true, sums, first = [], [], [], []
    for _ in range(100):
        words, scores = draw(rng, 32)
        gap = answer(markov, TEXT, words, scores).gaps[0]
        stated.append(gap.covered)
        true.append(sum(GAPS[0][one.part] for one in gap.candidates))
        sums.append(sum(one.probability for one in gap.candidates))
        first.append(gap.candidates[0].probability - GAPS[0][gap.candidates[0].part])
        chances = [one.probability for one in gap.candidates]
        assert chances == sorted(chances, reverse=True)
        assert len({one.part for one in gap.candidates}) == len(gap.candidates)
    np.testing.assert_allclose(sums, stated)
    assert np.mean(true) < 0.85
    error = np.std(np.subtract(stated, true)) / 10
    assert error < 0.02
    assert abs(np.mean(stated) - np.mean(true)) < 4 * error
    assert abs(np.mean(first)) < 0.04


def test_with_many_draws_readings_have_their_probabilities(markov):
    words, scores = draw(np.random.default_rng(1), 4000)
    for gap, truth in zip(answer(markov, TEXT, words, scores).gaps, GAPS, strict=True):
        for one in gap.candidates:
            assert one.probability == pytest.approx(truth[one.part], abs=0.015)


def test_when_everything_was_drawn_readings_are_sums(markov):
    """Of two nets that disagree, so that the gaps are not independent."""
    joint = make_problem("cab__c_ba").by_parts()
    words, scores = [list(parts) for parts in joint], np.log(list(joint.values()))
    alone: list[dict[str, float]] = [defaultdict(float), defaultdict(float)]
    for parts, chance in joint.items():
        for gap, part in enumerate(parts):
            alone[gap][part] += chance
    for gap, truth in zip(answer(markov, "cab__c_ba", words, scores).gaps, alone, strict=True):
        assert {one.part: one.probability for one in gap.candidates} == pytest.approx(truth)
        assert gap.covered == pytest.approx(1)


def test_improbable_fills_do_not_become_probable_by_being_drawn(markov):
    words = [["abc", "abd"], ["bca", "bcd"], ["cab", "cbd"]]
    fill = answer(markov, TEXT, words, [-9.0, -10.0, -11.0])
    for gap in fill.gaps:
        np.testing.assert_allclose(
            [one.probability for one in gap.candidates], np.exp([-9.0, -10.0, -11.0])
        )
        assert gap.covered < 1e-3


def test_gaps_in_different_stretches_have_their_own_probabilities(markov):
    """Stretches are independent, and what is drawn in one is known of it."""
    fill = markov.fill(FAR, draws=64)
    assert len(fill.gaps) == 2
    for gap, truth in zip(fill.gaps, [posterior("b", "c", 2), posterior("b", "d", 2)], strict=True):
        assert len(gap.candidates) > 4
        for one in gap.candidates:
            assert one.probability == pytest.approx(truth[one.part], rel=1e-3)


def test_a_gap_across_two_stretches_has_the_product_of_its_parts(markov):
    words = [["abc"], ["abd"], ["bca"]]
    scores = np.log([[0.5, 0.5, 0.1], [0.2, 0.3, 0.4]])
    fill = answer(markov, "cab___cda", words, scores, stretches=[slice(0, 2), slice(2, 3)])
    found = {one.part: one.probability for one in fill.gaps[0].candidates}
    wanted = {"abc": 0.5 * 0.2, "abd": 0.5 * 0.3, "bca": 0.1 * 0.4}
    assert found == pytest.approx(wanted | {"aba": 0.5 * 0.4})  # the best, which no draw has
    assert fill.best == "cababacda"


def test_the_best_stands_first_though_a_draw_of_lower_rank_has_its_values(markov):
    """The rank among all draws is another than that in a stretch, by the rule of some kinds."""
    words = [["abc"], ["abd"], ["bca"], ["abd"]]
    scores = [-1.0, -2.0, -3.0, -2.0]
    for best, word in enumerate(row[0] for row in words):
        fill = answer(markov, "cab___cda", words, scores, best=best)
        assert fill.best == fill.candidates[0].sequence == f"cab{word}cda"
        assert float(fill.log_prob) == fill.candidates[0].log_prob == scores[best]
        others = [one.parts[0] for one in fill.candidates[1:]]
        assert others == [one for one in ("abc", "abd", "bca") if one != word]
