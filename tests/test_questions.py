"""Patterns in gaps and readings of one's own: against enumeration."""

import re
from collections import defaultdict

import jax
import numpy as np
import pytest

from caesura.errors import CaesuraError
from caesura.filler import Request
from caesura.filler.filler import Filler
from caesura.kinds import Text
from caesura.kinds.text.pattern import automaton_of
from caesura.sequence import Span
from caesura.strategies.rules import Rule
from enumerated import ALPHABET, Search, make_problem, random_filler, random_pair
from markov_pair import ranked
from sentences import checked

# 128 draws, as gaps of unknown length have: compiled once.
EVERYTHING = Search(width=40, draws=128, negligible=0.0)


@pytest.fixture(scope="module")
def random():
    return random_filler()


def given(fills, pattern):
    """The probabilities of the fills that match, and of a match."""
    kept = {part: chance for part, chance in fills.items() if re.fullmatch(pattern, part)}
    return ranked(kept), sum(kept.values())


def assert_candidates(gap, wanted, atol=1e-4):
    found = {one.part: one.probability for one in gap.candidates}
    assert found == pytest.approx(wanted, abs=atol)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def assert_asked(gap, wanted, readings, atol=1e-4):
    """Ranks are those among all fills, since all are found."""
    assert [one.part for one in gap.asked] == readings
    for part, probability, rank in gap.asked:
        assert probability == pytest.approx(wanted.get(part, 0.0), abs=atol)
        assert rank == 1 + sum(chance > probability + 1e-6 for chance in wanted.values())


def one_gap(text):
    return {parts[0]: chance for parts, chance in make_problem(text).by_parts().items()}


def test_fills_match_and_have_their_conditional_probabilities(random):
    fills = one_gap("cab___bca")
    readings = ["cab", "aab", "bbb", "cca"]
    fill = random.fill("cab___bca", patterns="c.*|.+b", readings=readings, strategy=EVERYTHING)
    wanted, matching = given(fills, "c.*|.+b")
    (gap,) = fill.gaps
    assert 0.1 < matching < 0.9
    assert gap.matching == pytest.approx(matching, abs=1e-4)
    assert_candidates(gap, wanted)
    assert_asked(gap, wanted, readings)
    assert fill.best == "cab" + next(iter(wanted)) + "bca"
    assert float(fill.log_prob) == pytest.approx(np.log(max(wanted.values())), abs=1e-3)


def test_readings_have_the_probabilities_of_candidates(random):
    fills = one_gap("cab___bca")
    readings = ["abc", "cab", "bbb"]
    fill = random.fill("cab___bca", readings={0: readings}, strategy=EVERYTHING)
    (gap,) = fill.gaps
    assert gap.matching is None
    assert_candidates(gap, fills)
    assert_asked(gap, fills, readings)
    told = fill.to_dict()["gaps"][0]
    assert told["asked"][1] == {
        "part": "cab",
        "probability": gap.asked[1].probability,
        "rank": gap.asked[1].rank,
    }
    assert told["matching"] is None


def test_samples_match(random):
    asked = {"patterns": "c.*|.+b", "strategy": EVERYTHING}
    fill = random.fill("cab___bca", samples=50, **asked)
    assert all(re.fullmatch("cab(c..|..b)bca", sample) for sample in fill.samples)
    assert len(set(fill.samples)) > 3


# Gaps of an unknown length


def over_lengths(lengths):
    """Every fill of any length, by the evidence for the lengths."""
    problems = {n: make_problem("cab" + "_" * n + "bca") for n in lengths}
    evidence = ranked({n: one.evidence for n, one in problems.items()})
    return {
        parts[0]: evidence[n] * chance
        for n, problem in problems.items()
        for parts, chance in problem.by_parts().items()
    }


@pytest.mark.slow
def test_lengths_that_cannot_match_have_no_probability(random):
    fills = over_lengths((1, 2, 3))
    readings = ["ca", "acb", "bb"]
    asked = {"patterns": {0: "c?ac?b?"}, "readings": {0: readings}}
    (gap,) = random.fill("cab{1-3}bca", strategy=EVERYTHING, **asked).gaps
    wanted, matching = given(fills, "c?ac?b?")
    assert gap.matching == pytest.approx(matching, abs=1e-4)
    assert_candidates(gap, wanted)
    assert_asked(gap, wanted, readings)
    (gap,) = random.fill("cab{1-3}bca", patterns="..+", strategy=EVERYTHING).gaps
    assert set(gap.lengths) == {2, 3}
    wanted, matching = given(fills, "..+")
    lengths = {n: sum(p for x, p in wanted.items() if len(x) == n) for n in (2, 3)}
    assert gap.lengths == pytest.approx(lengths, abs=1e-4)
    assert gap.matching == pytest.approx(matching, abs=1e-4)


# Gaps that are close


def test_one_of_two_close_gaps_has_a_pattern(random):
    joint = make_problem("cab__c_ba").by_parts()
    readings = {0: ["ca", "bb"], 1: ["a"]}
    asked = {"patterns": {1: "[ab]"}, "readings": readings}
    fill = random.fill("cab__c_ba", strategy=EVERYTHING, **asked)
    matching = sum(chance for (_, part), chance in joint.items() if part in "ab")
    assert [gap.matching for gap in fill.gaps] == [None, pytest.approx(matching, abs=1e-4)]
    for place, gap in enumerate(fill.gaps):
        alone = defaultdict(float)
        for parts, chance in joint.items():
            alone[parts[place]] += chance / matching if parts[1] in "ab" else 0.0
        wanted = ranked({part: chance for part, chance in alone.items() if chance})
        assert_candidates(gap, wanted)
        assert_asked(gap, wanted, readings[place])


def test_each_pattern_has_its_own_probability(random):
    joint = make_problem("cab__c_ba").by_parts()
    fill = random.fill("cab__c_ba", strategy=EVERYTHING, patterns={0: ".a", 1: "[ab]"})
    both = {parts: p for parts, p in joint.items() if parts[0][1] == "a" and parts[1] in "ab"}
    first = sum(p for parts, p in joint.items() if parts[0][1] == "a")
    second = sum(p for parts, p in joint.items() if parts[1] in "ab")
    assert [gap.matching for gap in fill.gaps] == pytest.approx([first, second], abs=1e-4)
    found = {one.parts: np.exp(one.log_prob) for one in fill.candidates}
    assert found == pytest.approx(ranked(both), abs=1e-4)


@pytest.mark.slow
def test_far_gaps_are_asked_about_one_by_one(random):
    """Each is like a single gap while the other is at its best, which matches its pattern."""
    between = "acbbcaabcbcabacbabccabcab"
    text = "cab__" + between + "___bca"
    asked = {"patterns": {1: "b.a"}, "readings": {0: ["ca", "bb"]}}
    fill = random.fill(text, strategy=EVERYTHING, **asked)
    assert [gap.matching is None for gap in fill.gaps] == [True, False]
    left, right = (gap.candidates[0].part for gap in fill.gaps)
    assert re.fullmatch("b.a", right)
    assert fill.best == "cab" + left + between + right + "bca"
    alone = random.fill(
        text.replace("___", right), readings=asked["readings"][0], strategy=EVERYTHING
    )
    for one, other in zip(fill.gaps[0].asked, alone.gaps[0].asked, strict=True):
        assert one.probability == pytest.approx(other.probability, abs=1e-4)
        assert one.rank == other.rank


def test_questions_can_have_a_limit_of_time(random):
    fill = random.fill("cab___bca", patterns="c.*", readings=["cab"], seconds=1e-3)
    (gap,) = fill.gaps
    wanted, matching = given(one_gap("cab___bca"), "c.*")
    assert gap.matching == pytest.approx(matching, rel=0.3)
    assert gap.asked[0].probability == pytest.approx(wanted["cab"], abs=0.05)


# The beam itself


def test_a_narrow_beam_finds_the_best_that_match():
    problem, strategy = make_problem("cb_____ac"), Search(width=20, draws=64)
    automaton = automaton_of(Text(ALPHABET), "(a|bb|c)*", 5)
    rules = [Rule((Span(0, 5),), (automaton,))]
    found = strategy.search(jax.random.key(0), problem.pair, problem.window, rules)
    log_prob = np.asarray(found.log_prob, np.float64)[0]
    used = np.flatnonzero(np.isfinite(log_prob))
    numbers = problem.numbers(found.values[0, used])
    target = problem.log_target(0.5)
    matching = np.array([automaton.accepts(fill[2:7, 0].tolist()) for fill in problem.fills])
    assert 40 < matching.sum() < 100  # so that the beam cannot hold them all
    assert matching[numbers].all()
    order = np.argsort(-log_prob[used])[:5]
    best = np.sort(target[matching])[::-1][:5]
    np.testing.assert_allclose(target[numbers[order]], best, atol=1e-4)
    error = float(found.standard_error[0])
    truth = best - np.logaddexp.reduce(target[matching])
    assert (np.abs(log_prob[used][order] - truth) < 4.5 * error + 1e-4).all()
    assert 0 < error < 0.5


# The starts of words


def test_words_are_divided_by_blanks():
    """The net's third symbol is the capital of its first; the second has none."""
    pair = random_pair()
    nets = {"forward": pair.forward, "bidirectional": pair.bidirectional}
    filler = Filler(Text("abA", normalise="letters starts"), nets, "search")
    joint = one_gap("cb___ba")  # "ab" starts a word, "ba" goes on
    fills = {part.replace("c", "A"): chance for part, chance in joint.items()}
    readings = ["aab", "a ab", "aab ", "a a b"]
    asked = {"patterns": ".* a.*", "readings": readings, "strategy": EVERYTHING}
    (gap,) = filler.fill("ab___ba", **asked).gaps
    wanted, matching = given(fills, ".*A.*")
    assert gap.matching == pytest.approx(matching, abs=1e-4)
    sums = [
        sum(chance for part, chance in wanted.items() if re.fullmatch(own, part))
        for own in ("[aA][aA]b", "[aA]Ab", "Aab", "[aA]Ab")
    ]
    assert [one.probability for one in gap.asked] == pytest.approx(sums, abs=1e-4)
    known = {one.part: one.probability for one in gap.candidates}
    assert known["a ab"] == pytest.approx(sums[1], abs=1e-4)
    better = sum(chance > sums[1] + 1e-6 for chance in known.values())
    assert gap.asked[1].rank == 1 + better
    assert gap.asked[0].rank <= gap.asked[1].rank


# In company, and mistakes


def test_patterns_do_not_touch_other_requests(random):
    asked = {"strategy": EVERYTHING, "seed": 3}
    requests = [
        Request("cab___bca", **asked),
        Request("cab___bca", patterns="c.*|.+b", **asked),
        Request("cab___bca", patterns="z..", **asked),
        Request("cab___bca", patterns={0: "aa."}, **asked),
    ]
    free, first, failed, second = random.fill_many(requests, return_exceptions=True)
    assert "'z..'" in checked(failed)
    assert len(free.gaps[0].candidates) == 27
    assert first.gaps[0].matching < 1
    assert {one.part for one in second.gaps[0].candidates} == {"aaa", "aab", "aac"}


@pytest.mark.parametrize(
    ("text", "asked", "told"),
    [
        ("ab__c", {"patterns": "z."}, "'z.'"),
        ("ab__c", {"patterns": {0: "abc"}}, "2 letters"),
        ("ab{1-3}c", {"patterns": "...."}, "1 to 3 letters"),
        ("ab__c", {"patterns": {1: ".."}}, "gap 1"),
        ("ab__c_a", {"patterns": ".."}, "2 gaps"),
        ("ab__c_a", {"readings": ["a"]}, "2 gaps"),
        ("ab__c", {"readings": ["abc"]}, "3 letters"),
        ("ab__c", {"readings": {0: ["az"]}}, "'z'"),
        ("abc", {"patterns": ".."}, "0 gaps"),
        ("ab__c", {"patterns": "a.", "strategy": "nade"}, "search"),
        ("ab__c", {"readings": "aa", "strategy": "nade"}, "search"),
        ("ab__c", {"patterns": ".*a.{30}|" * 40}, "pattern"),
    ],
)
def test_mistakes_are_told(random, text, asked, told):
    with pytest.raises(CaesuraError) as error:
        random.fill(text, **asked)
    assert told in checked(error.value)
