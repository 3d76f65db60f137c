"""Echoes: what stands elsewhere in a text where the gap could stand, against loops and sums."""

from dataclasses import replace

import jax
import numpy as np
import pytest

import caesura
import oracle
from caesura.kinds import Text
from caesura.nets import eager
from caesura.sequence import Sequence, Span
from caesura.strategies import echo
from caesura.strategies.alone import log_alone
from enumerated import Search, make_problem, random_filler, random_pair

KEY = jax.random.key(0)
ALL = {"width": 243, "draws": 8, "negligible": 0.0}  # all fills of five steps
ALPHABET = "abc ,"


def opened(text: str) -> Sequence:
    return Text(ALPHABET).open(text).sequence


def by_loops(text: str) -> dict[str, float]:
    """The weight of every echo of the only gap, from the definition."""
    start, stop = text.index("_"), text.rindex("_") + 1
    length, weights = stop - start, dict[str, float]()
    kinds = [char in "abc" for char in text]
    before_gap = start > 0 and kinds[start - 1]
    after_gap = stop < len(text) and kinds[stop]
    for at in range(len(text) - length + 1):
        end = at + length
        if not set(text[at:end]) <= set(ALPHABET):
            continue
        if (at > 0 and kinds[at - 1]) != before_gap:
            continue
        if (end < len(text) and kinds[end]) != after_gap:
            continue
        before = after = 0
        while before < 12 and start > before and at > before:
            pair = text[at - 1 - before], text[start - 1 - before]
            if pair[0] != pair[1] or pair[0] not in ALPHABET:
                break
            before += 1
        while after < 12 and stop + after < len(text) and end + after < len(text):
            if text[end + after] != text[stop + after] or text[stop + after] not in ALPHABET:
                break
            after += 1
        between = start - end if at < start else at - stop
        is_part = before_gap or after_gap or not all(kinds[at:end])
        if between < 8 and not is_part:
            continue
        weight = np.exp(echo.CONSTANT + echo.EQUAL * (before + after))
        weight *= (between + 100) ** echo.DISTANCE
        if is_part:
            weight *= np.exp(echo.PART * length)
        weights[text[at:end]] = weights.get(text[at:end], 0.0) + weight
    return weights


TEXTS = [
    "ab, cab ___ ca, abc ab ccc",
    "___ab cab",
    "cab abc,ab ___",
    "ab?ab_ab?abcab?ab",
    "abcabcabcabcabcabcab__abcabcabcabcabcabcabc, cab",
    "".join(np.random.default_rng(0).choice(list(ALPHABET), 300)) + "____" + "ab c" * 9,
]


@pytest.mark.parametrize("text", TEXTS)
def test_echoes_are_what_stands_between_the_same_letters(text):
    sequence = opened(text)
    (gap,) = sequence.gaps
    found = echo.occurrences(sequence, gap, gap.stop - gap.start, Text(ALPHABET).is_word)
    strings, log_weights = echo.strongest(found, 10_000)
    weights = {
        "".join(ALPHABET[symbol] for symbol in string): weight
        for string, weight in zip(strings, np.exp(log_weights), strict=True)
    }
    assert weights == pytest.approx(by_loops(text))
    assert weights


@pytest.mark.parametrize("known", ["", "a", "ab", "abc abc"])
@pytest.mark.parametrize("length", range(1, 13))
def test_a_text_that_is_shorter_than_its_gap_has_no_echoes(known, length):
    sequence, is_word = opened(known + "_" * length + known), Text(ALPHABET).is_word
    found = echo.occurrences(sequence, sequence.gaps[0], length, is_word)
    assert {len(part) for part in found} == {len(found.strings)}
    assert length <= len(known) or not len(found.strings)
    assert len(echo.strongest(found, 9)[1]) == len(set(map(bytes, found.strings)))


def test_only_the_strongest_echoes_are_kept():
    sequence = opened(TEXTS[-1])
    found = echo.Echoes.of([(sequence, sequence.gaps[0])], [4], Text(ALPHABET).is_word, 30)
    wanted = sorted(by_loops(TEXTS[-1]).values(), reverse=True)[: echo.MOST]
    np.testing.assert_allclose(np.exp(found.log_weight[0]), wanted)
    assert found.values.shape == (1, echo.MOST, 30)


def test_other_gaps_are_no_echoes_and_several_gaps_have_none():
    sequence = opened("ab _ ab, c_, ab _ ab")
    is_word = Text(ALPHABET).is_word
    first, middle, _ = sequence.gaps
    one, both = (
        echo.Echoes.of([(sequence, Span(first.start, stop))], [stop - first.start], is_word, 12)
        for stop in (first.stop, middle.stop)
    )
    assert np.isfinite(one.log_weight[0]).any()
    assert not np.isfinite(both.log_weight).any()
    alone = echo.Echoes.of([(opened("_"), Span(0, 1))], [1], is_word, 1)
    assert not np.isfinite(alone.log_weight).any()


def test_edges_are_the_letters_beside_the_gap():
    sequence = opened("_b__?_c")
    edges = [echo.edges_of(sequence, gap) for gap in sequence.gaps]
    assert edges == [(-1, 1), (1, -1), (-1, 2)]
    assert echo.edges_of(sequence, Span(2, 3)) == (1, -1)  # more is missing after it


# The probability of strings by themselves


def alone(string: str, edges: str) -> float:
    """The probability of a string between two letters, one step after another."""
    text = [edges[0], *string, edges[1]]
    values = np.array([["abc".find(char)] for char in text])
    missing = np.zeros(values.shape, bool)
    missing[1:-1] = True
    steps = np.arange(1, len(text) - 1)
    return float(oracle.in_order(random_pair().bidirectional, values, missing, steps))


@pytest.mark.parametrize("length", [1, 2, 4])
@pytest.mark.parametrize("edges", ["ab", "?c", "b?"])
def test_strings_alone_see_only_the_edges(length, edges):
    net = eager.with_numpy(random_pair().bidirectional)
    strings = np.random.default_rng(0).integers(0, 3, (5, length))
    found = log_alone(
        net,
        eager.table(net, net.forward),
        strings,
        np.array(["abc".find(char) for char in edges]),
    )
    wanted = [alone("".join("abc"[i] for i in string), edges) for string in strings]
    np.testing.assert_allclose(found, np.log(wanted), atol=1e-5)


# The distribution with echoes, against a sum over all fills


@pytest.fixture(scope="module", params=["b___acab", "cb_____ac"])
def problem(request):
    return make_problem(request.param)


EDGES = "ba"  # of the gaps of all problems


def factor(string: str, weight: float) -> float:
    """What multiplies a power of the nets' probability of an echo."""
    return weight / alone(string, EDGES) ** echo.ALONE


def heard(problem, echoes: dict[str, float]):
    """The window with echoes, and the probability of every fill."""
    width = problem.window.values.shape[1]
    values = np.zeros((1, echo.MOST, width), int)  # most places are not used
    log_weight = np.full((1, echo.MOST), -np.inf)
    nets = np.exp(problem.log_target(0.5))
    parts = ["".join(part) for part in problem.by_parts()]
    factors = np.zeros(len(nets))
    for number, (string, weight) in enumerate(echoes.items()):
        values[0, number, : len(string)] = ["abc".index(char) for char in string]
        log_weight[0, number] = np.log(weight)
        factors[parts.index(string)] = factor(string, weight)
    mixed = nets + factors * nets**echo.POWER
    edges = np.array([["abc".index(char) for char in EDGES]])
    window = replace(problem.window, echoes=echo.Echoes(values, log_weight, edges))
    return window, mixed / mixed.sum(), mixed.sum()


def some_echoes(problem) -> dict[str, float]:
    """The most and the least probable fill, and one more."""
    chances = problem.by_parts()
    order = sorted(chances, key=chances.__getitem__)
    return {order[0][0]: 0.7, order[-1][0]: 0.2, order[len(order) // 2][0]: 1.5}


@pytest.mark.parametrize("options", [ALL, {"width": 3, "draws": 2000}])
def test_echoes_get_their_share(problem, options):
    strategy = Search(**options)
    window, probs, total = heard(problem, some_echoes(problem))
    found = strategy.search(KEY, problem.pair, window)
    log_prob = found.log_prob[0]
    used = np.flatnonzero(np.isfinite(log_prob))
    numbers = problem.numbers(found.values[0, used])
    assert len(set(numbers)) == len(numbers)
    error = 4.5 * float(found.standard_error[0]) + 1e-4
    np.testing.assert_allclose(log_prob[used], np.log(probs[numbers]), atol=error)
    assert np.exp(found.log_weight[0]).sum() == pytest.approx(1)
    parts = list(problem.by_parts())
    assert {(part,) for part in some_echoes(problem)} <= {parts[n] for n in numbers}
    alone = strategy.search(KEY, problem.pair, problem.window)
    gain = found.log_evidence[0] - alone.log_evidence[0]
    assert gain == pytest.approx(np.log(total), abs=2 * error)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_lengths_are_compared_by_the_nets_and_then_by_echoes(problem, share):
    """By the forward net, however much it weighs in the distribution."""
    strategy = Search(weight=share, **ALL)
    window, _, _ = heard(problem, some_echoes(problem))
    nets = np.exp(problem.log_target(share))
    parts = [part for (part,) in problem.by_parts()]
    mass = 1 + sum(
        factor(part, weight) * nets[parts.index(part)] ** echo.POWER
        for part, weight in some_echoes(problem).items()
    )
    found = strategy.search(KEY, problem.pair, window)
    wanted = np.log(problem.evidence) + np.log(mass)
    assert float(found.log_evidence[0]) == pytest.approx(wanted, abs=1e-4)


def test_given_fills_have_their_share(problem):
    window, probs, _ = heard(problem, some_echoes(problem))
    score = Search(**ALL).log_prob(KEY, problem.pair, window, problem.in_window)
    np.testing.assert_allclose(score.log_prob[0], np.log(probs), atol=1e-4)


def test_marginals_are_sums_over_fills(problem):
    window, probs, _ = heard(problem, some_echoes(problem))
    found = Search(**ALL).marginals(KEY, problem.pair, window)
    values, _ = oracle.marginals(problem.fills, probs, problem.fills[0])
    where = np.asarray(window.missing)[0, :, 0]
    shares = np.exp(np.asarray(found.values.log_prob))[0, where, 0]
    np.testing.assert_allclose(shares, values[problem.missing], atol=1e-4)


DRAWS = 20_000


def test_draws_come_from_the_distribution():
    """By total variation, as in test_search.py: the chance to fail is 1e-6."""
    problem = make_problem("b___acab")
    window, probs, _ = heard(problem, some_echoes(problem))
    drawn = Search(**ALL).draw(KEY, problem.pair, window, DRAWS)
    counts = np.bincount(problem.numbers(drawn[0]), minlength=len(probs))
    distance = np.abs(counts / DRAWS - probs).sum() / 2
    expected = np.sum(np.sqrt(probs * (1 - probs) / DRAWS)) / 2
    assert distance < expected + np.sqrt(np.log(1e6) / (2 * DRAWS))


# In a fill


def reading(fill: caesura.Fill, part: str) -> float:
    return {one.part: one.probability for one in fill.gaps[0].candidates}.get(part, 0.0)


def test_a_fill_hears_what_is_far_away_on_either_side():
    filler = random_filler()
    with_echo, without = Search(width=4), Search(width=4, echo=False)
    far, heard = "a" * 2000, "caabbcbcabba"
    for text in (f"{heard}{far}caab____abba", f"caab____abba{far}{heard}"):
        silent = filler.fill(text, strategy=without)
        loud = filler.fill(text, strategy=with_echo)
        assert reading(loud, "bcbc") > reading(silent, "bcbc")
        whole = text.replace("____", "bcbc")
        score = filler.log_prob(whole, missing=slice(*loud.gaps[0].span), strategy=with_echo)
        error = 4.5 * (score.standard_error + loud.log_prob.standard_error) + 1e-4
        assert float(score) == pytest.approx(np.log(reading(loud, "bcbc")), abs=error)


def test_a_rare_name_that_stands_nearby_is_the_first_reading():
    """Though the nets of the model find it very improbable."""
    text = (
        "In 1720 the house came to John Kerr, who lived on the Marchmont estate until his death. "
        "His son sold most of the land. The owners of the _________ estate built a school."
    )
    filler = caesura.load("text")
    assert filler.fill(text).gaps[0].candidates[0].part == "Marchmont"
    assert reading(filler.fill(text, strategy=Search(echo=False)), "Marchmont") < 1e-4


def test_the_words_beside_a_gap_are_not_read_again():
    text = "The quick brown fox {3-5} over the lazy dog"
    assert reading(caesura.load("text").fill(text), "brown") < 0.01


def test_a_length_that_has_an_echo_is_more_probable():
    filler, text = random_filler(), "caabbcbcabba" + "a" * 300 + "caab{3-5}abba" + "c" * 30 + "_b"
    lengths = [
        filler.fill(text, strategy=Search(width=40, echo=echo)).gaps[0].lengths
        for echo in (False, True)
    ]
    assert lengths[1][4] > lengths[0][4]


def test_a_pattern_is_compared_without_echoes():
    """So the probability that it holds is that of all fills together."""
    filler, text = random_filler(), "bcbcbccb" + "a" * 50 + "bc____cb"
    everything = Search(**ALL)
    asked = filler.fill(text, strategy=everything, patterns="b.*")
    plain = filler.fill(text, strategy=replace(everything, echo=False))
    begins = sum(one.probability for one in plain.gaps[0].candidates if one.part.startswith("b"))
    assert asked.gaps[0].matching == pytest.approx(begins / plain.gaps[0].covered, abs=1e-3)
