"""What a fill says of each gap, of its length, and of all gaps together: against enumeration."""

import time
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest

import caesura
from caesura.errors import CaesuraError
from caesura.filler import Fill, Request
from enumerated import Search, make_problem, random_filler
from markov_pair import chain_prob, markov_filler, over_lengths, posterior, ranked
from sentences import checked

# So many fills has a gap of one to four of four symbols.
EVERYTHING = Search(width=340, draws=4, negligible=0.0, echo=False)
NARROW = Search(width=24, draws=32, echo=False)


@pytest.fixture(scope="module")
def markov():
    return markov_filler("search")


@pytest.fixture(scope="module")
def random():
    return random_filler()


def readings(gap) -> dict[str, float]:
    return {one.part: one.probability for one in gap.candidates}


def assert_ranked(gap):
    """Distinct readings, most probable first, which sum to what they are said to cover."""
    chances = [one.probability for one in gap.candidates]
    assert chances == sorted(chances, reverse=True)
    assert len(readings(gap)) == len(gap.candidates)
    assert sum(chances) == pytest.approx(gap.covered, abs=1e-4)
    assert 0 < gap.covered <= 1
    assert sum(gap.lengths.values()) == pytest.approx(1, abs=1e-5)
    assert list(gap.lengths.values()) == sorted(gap.lengths.values(), reverse=True)


def assert_readings(gap, wanted: dict[str, float], atol: float = 1e-4):
    """The readings that are given have their true probabilities, and there are no better ones."""
    assert_ranked(gap)
    found = readings(gap)
    for part, chance in found.items():
        assert chance == pytest.approx(wanted[part], abs=atol), part
    best = list(ranked(wanted).values())[: len(found)]
    np.testing.assert_allclose(sorted(found.values(), reverse=True), best, atol=atol)


# Gaps of a known length


def test_a_gap_of_a_chain_has_its_posterior(markov):
    fill = markov.fill("cab___cda", strategy=EVERYTHING)
    (gap,) = fill.gaps
    assert gap.span == (3, 6)
    assert gap.lengths == {3: 1.0}
    truth = posterior("b", "cda", 3)
    assert_readings(gap, truth)
    assert len(gap.candidates) >= 10
    assert fill.best == "cab" + gap.candidates[0].part + "cda"
    assert float(fill.log_prob) == pytest.approx(np.log(max(truth.values())), abs=1e-3)


def test_gaps_that_are_close_are_averaged_over(random):
    """Two nets that disagree: there the gaps are not independent given what is between them."""
    problem = make_problem("cab__c_ba")
    fill = random.fill("cab__c_ba", strategy=EVERYTHING)
    joint = problem.by_parts()
    alone: list[dict[str, float]] = [defaultdict(float), defaultdict(float)]
    for parts, chance in joint.items():
        for gap, part in enumerate(parts):
            alone[gap][part] += chance
    for gap, truth in zip(fill.gaps, alone, strict=True):
        assert_readings(gap, truth)
    independent = {(a, b): p * q for a, p in alone[0].items() for b, q in alone[1].items()}
    assert max(abs(np.log(joint[k] / independent[k])) for k in joint) > 0.02  # it could be told
    assert_joint(fill)
    for one in fill.candidates[:10]:
        assert one.log_prob == pytest.approx(np.log(joint[one.parts]), abs=1e-3)
    best = list(ranked(joint).values())[:10]
    np.testing.assert_allclose(np.exp([one.log_prob for one in fill.candidates[:10]]), best, 1e-3)


@pytest.mark.slow
def test_a_narrow_beam_still_averages_over_the_other_gaps(random):
    """What the beam does not hold is estimated: about right on average, and seldom far off."""
    text, count = "cab__c__a_ba", 96
    truth: dict[str, float] = defaultdict(float)
    for parts, chance in make_problem(text).by_parts().items():
        truth[parts[0]] += chance
    requests = [Request(text, seed=seed, strategy=NARROW) for seed in range(count)]
    found = [readings(fill.gaps[0]) for fill in random.fill_many(requests)]
    for part in list(ranked(truth))[:3]:
        chances = np.array([one.get(part, 0.0) for one in found])
        assert chances.mean() == pytest.approx(truth[part], rel=0.2), part
        assert chances.std() < 0.1, part


def assert_joint(fill: Fill):
    """Distinct completions, most probable first."""
    log_probs = [one.log_prob for one in fill.candidates]
    assert log_probs == sorted(log_probs, reverse=True)
    assert len({one.sequence for one in fill.candidates}) == len(fill.candidates)
    assert fill.best == fill.candidates[0].sequence
    assert float(fill.log_prob) == pytest.approx(log_probs[0], abs=1e-6)


FAR = "cab__" + "acbbcaabcbcabacbabccabcab" + "___bca"  # 25 observed steps between the gaps


def test_gaps_that_are_far_are_each_like_a_single_gap(random):
    fill = random.fill(FAR, strategy=EVERYTHING)
    first, second = fill.gaps
    assert (first.span, second.span) == ((3, 5), (30, 33))
    left, right = (gap.candidates[0].part for gap in fill.gaps)
    assert fill.best == FAR.replace("___", right).replace("__", left)
    for gap, text in [(first, FAR.replace("___", right)), (second, FAR[:3] + left + FAR[5:])]:
        alone = random.fill(text, strategy=EVERYTHING)
        assert_ranked(gap)
        found, wanted = readings(gap), readings(alone.gaps[0])
        assert found.keys() == wanted.keys()
        for part, chance in found.items():
            assert chance == pytest.approx(wanted[part], abs=2e-3)
    assert_joint(fill)


def test_gaps_that_see_each_other_are_searched_from_left_to_right(random, monkeypatch):
    """Others are searched side by side; those in each other's look-ahead twice."""
    passes = []
    search = Search.search
    monkeypatch.setattr(
        Search, "search", lambda self, *a: passes.append(self.width) or search(self, *a)
    )
    between = "abc" * 100
    random.fill(f"ab_{between}_cb", strategy=NARROW)
    assert passes == [NARROW.width]
    passes.clear()
    random.fill(f"ab_{between[:60]}_cb", strategy=NARROW)
    assert passes == [NARROW.width] * 2  # one gap after the other
    passes.clear()
    random.fill("ab_cabca{1-2}bcab", strategy=NARROW)
    assert passes == [NARROW.width] * 3  # the first one again, with the fill of the second


def test_far_gaps_of_a_chain_are_independent(markov):
    text = "ab__c" + "abcabdcabcabcabdcabcabcac" + "b___da"
    fill = markov.fill(text, strategy=EVERYTHING)
    truths = [posterior("b", "c", 2), posterior("b", "d", 3)]
    for gap, truth in zip(fill.gaps, truths, strict=True):
        assert_readings(gap, truth)
    best = sum(np.log(max(truth.values())) for truth in truths)
    assert float(fill.log_prob) == pytest.approx(best, abs=2e-3)
    for one in fill.candidates[:10]:
        wanted = sum(np.log(truth[part]) for truth, part in zip(truths, one.parts, strict=True))
        assert one.log_prob == pytest.approx(wanted, abs=2e-3)
    assert_joint(fill)


def test_samples_are_as_frequent_as_they_are_probable(random):
    count = 2000
    fill = random.fill("cab__bca", samples=count, strategy=EVERYTHING)
    found = Counter(sample[3:5] for sample in fill.samples)
    for part, chance in readings(fill.gaps[0]).items():
        assert abs(found[part] / count - chance) < 5 * (chance * (1 - chance) / count) ** 0.5
    truth = {one.sequence: one.log_prob for one in fill.candidates}
    for sample, log_prob in zip(fill.samples, fill.log_probs.tolist(), strict=True):
        assert log_prob == pytest.approx(truth[sample], abs=1e-5)


# Gaps of an unknown length


def test_the_length_has_its_posterior(markov):
    fill = markov.fill("ab{1-4}cd", strategy=EVERYTHING)
    lengths, fills = over_lengths("b", "cd", dict.fromkeys((1, 2, 3, 4), 1.0))
    (gap,) = fill.gaps
    assert gap.lengths == pytest.approx(lengths, abs=1e-4)
    assert_readings(gap, fills)
    assert gap.span == (2, 2 + len(gap.candidates[0].part))
    assert fill.best == "ab" + gap.candidates[0].part + "cd"
    assert max(lengths.values()) > 1.2 * min(lengths.values())  # the prior could be told


def test_the_prior_of_the_length_can_be_given(markov):
    weights = (1.0, 5.0, 0.0, 2.0)
    asked = caesura.Gap(2, 1, 4, weights)
    fill = markov.fill("abcd", missing=asked, strategy=EVERYTHING)
    lengths, fills = over_lengths("b", "cd", dict(zip((1, 2, 3, 4), weights, strict=True)))
    (gap,) = fill.gaps
    found = {length: gap.lengths.get(length, 0.0) for length in lengths}
    assert found == pytest.approx(lengths, abs=1e-4)
    assert_readings(gap, fills)


def test_lengths_are_weighed_by_both_nets(random):
    """Given the length, the fills have the distribution of both nets, too."""
    problems = {n: make_problem("cab" + "_" * n + "bca") for n in (1, 2, 3)}
    lengths = ranked({n: one.evidence for n, one in problems.items()})
    (gap,) = random.fill("cab{1-3}bca", strategy=EVERYTHING).gaps
    assert gap.lengths == pytest.approx(lengths, abs=1e-4)
    fills = {
        parts[0]: lengths[n] * chance
        for n, problem in problems.items()
        for parts, chance in problem.by_parts().items()
    }
    assert_readings(gap, fills)


def test_lengths_of_a_calibrated_model_are_less_sure(random):
    evidence = {n: make_problem("cab" + "_" * n + "bca").evidence for n in (1, 2, 3)}
    lengths = ranked({n: one**0.5 for n, one in evidence.items()})
    (gap,) = random.fill("cab{1-3}bca", strategy=replace(EVERYTHING, length_power=0.5)).gaps
    assert gap.lengths == pytest.approx(lengths, abs=1e-4)


def test_a_model_has_options_that_were_fitted_to_it(markov, tmp_path):
    fitted = {"strategy_options": {"search": {"length_power": 0.5}}}
    replace(markov, training=markov.training | fitted).save(tmp_path / "a.model")
    model = caesura.load(tmp_path / "a.model")
    assert model.method().strategy == model.method("search").strategy == Search(length_power=0.5)
    assert model.method(Search()).strategy.length_power == 1


@pytest.mark.parametrize("wrong", [{"search": {"power": 1}}, {"search": 3}, [2]])
def test_options_that_a_strategy_does_not_know(markov, wrong):
    model = replace(markov, training={"strategy_options": wrong})
    with pytest.raises(CaesuraError) as error:
        model.fill("ab_cd")
    assert "options for the strategy 'search'" in checked(error.value)


def test_perhaps_nothing_is_missing(markov):
    """A length of zero is a length like any other."""
    fill = markov.fill("ab{0-2}cd", strategy=EVERYTHING)
    lengths, fills = over_lengths("b", "cd", dict.fromkeys((0, 1, 2), 1.0))
    assert fill.gaps[0].lengths == pytest.approx(lengths, abs=1e-4)
    assert_readings(fill.gaps[0], fills)
    nothing = markov.fill("abcd", missing=caesura.Gap(2, 0, 1, (1.0, 0.0)), strategy=EVERYTHING)
    assert nothing.best == "abcd"
    assert nothing.gaps[0].candidates == [("", pytest.approx(1.0, abs=1e-5))]


def test_two_gaps_of_unknown_length(markov):
    """The text between them is observed, so in a chain they are independent."""
    fill = markov.fill("ab{1-2}cad{2-3}bc", strategy=EVERYTHING)
    cases = [("b", "cad", (1, 2)), ("d", "bc", (2, 3))]
    for gap, (before, after, allowed) in zip(fill.gaps, cases, strict=True):
        lengths, fills = over_lengths(before, after, dict.fromkeys(allowed, 1.0))
        assert gap.lengths == pytest.approx(lengths, abs=2e-3)
        assert_readings(gap, fills, atol=2e-3)


def test_a_gap_of_unknown_length_beside_a_known_one(markov):
    fill = markov.fill("ab_cad{1-3}bc", strategy=EVERYTHING)
    known, unknown = fill.gaps
    assert known.lengths == {1: 1.0}
    assert_readings(known, posterior("b", "c", 1), atol=2e-3)
    lengths, fills = over_lengths("d", "bc", dict.fromkeys((1, 2, 3), 1.0))
    assert unknown.lengths == pytest.approx(lengths, abs=2e-3)
    assert_readings(unknown, fills, atol=2e-3)
    assert chain_prob("d", unknown.candidates[0].part + "bc") > 0


def test_other_strategies_say_that_they_need_the_length(markov):
    with pytest.raises(CaesuraError) as error:
        markov.fill("ab{1-4}cd", strategy="nade")
    assert "search" in checked(error.value)


# Always the same


def test_the_same_seed_gives_the_same_answer_in_any_company(random):
    texts = ["cab____ba", "cab__c_ba", "ab{1-3}ca"]
    requests = [Request(text, strategy=NARROW, seed=3) for text in texts]
    together = random.fill_many(requests)
    for text, fill in zip(texts, together, strict=True):
        alone = random.fill(text, strategy=NARROW, seed=3)
        assert alone.best == fill.best
        for one, other in zip(alone.gaps, fill.gaps, strict=True):
            assert readings(one) == pytest.approx(readings(other), abs=1e-4)
            assert one.lengths == pytest.approx(other.lengths, abs=1e-4)
        again = random.fill(text, strategy=NARROW, seed=3)
        assert again.to_dict() == alone.to_dict()


# A limit of time


def test_without_a_limit_a_fill_is_finished(markov):
    assert markov.fill("cab___cda", strategy=EVERYTHING).ended == "finished"


@pytest.mark.parametrize("text", ["cab___cda", "ab{1-4}cd", "ab__c" + "abcab" * 5 + "b___da"])
def test_within_any_time_there_is_an_answer(markov, text):
    fill = markov.fill(text, seconds=1e-3)
    assert fill.ended in ("out of time", "settled")
    for gap in fill.gaps:
        assert_ranked(gap)
    assert fill.to_dict()["ended"] == fill.ended


def test_a_small_gap_settles_before_the_time_is_up(markov):
    markov.fill("cab__cda", seconds=1.0)  # compiles
    began = time.perf_counter()
    fill = markov.fill("cab__cda", seconds=60.0)
    assert fill.ended == "settled"
    assert time.perf_counter() - began < 30
    assert_readings(fill.gaps[0], posterior("b", "cda", 2), atol=1e-3)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_a_limit_that_is_no_time_is_refused(markov, seconds):
    with pytest.raises(CaesuraError) as error:
        markov.fill("cab__cda", seconds=seconds)
    assert "seconds" in checked(error.value)
