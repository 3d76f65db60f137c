"""Regular expressions and readings as automata: against Python's own `re`."""

import re
import time
from itertools import product

import pytest

from caesura.errors import CaesuraError
from caesura.kinds import Text
from caesura.kinds.text.automaton import MOST_STATES, chain
from caesura.kinds.text.pattern import automaton_of, automaton_of_reading
from sentences import checked

LONGEST = 4
GREEK = Text("αβνοςσυτ", normalise="letters")
STARTS = Text("αυτΑΥΤ1", normalise="letters starts")


def words(kind: Text, automaton, longest: int = LONGEST) -> set[str]:
    """All words that are accepted, up to a length."""
    numbers = range(len(kind.alphabet))
    return {
        "".join(kind.alphabet[k] for k in word)
        for length in range(longest + 1)
        for word in product(numbers, repeat=length)
        if automaton.accepts(word)
    }


PATTERNS = (
    *("", "a", "abc", ".*", "a.*", ".*a", "a|bc", "(a|b)*c?", "[ab]+", "[^a]{2}", "[a-b]c{1,3}"),
    *("(ab){2}", "(a?b?){2}", "a{2,}", "a{0}b", "(a*)*", "((a|b)c)+?", r"\w{3}", r"\d|a", "^ab$"),
    *("(?:a|bb)c*", "(a|)(b|)", "[^abc]", "(a{3}){1}", r"\Sb", "a|b|cc|"),
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_words_match_as_a_whole(pattern):
    kind = Text("abc")
    automaton = automaton_of(kind, pattern, LONGEST)
    everything = map("".join, (w for n in range(LONGEST + 1) for w in product("abc", repeat=n)))
    wanted = {word for word in everything if re.fullmatch(pattern, word)}
    assert words(kind, automaton) == wanted
    lengths = {len(word) for word in wanted}
    assert {n for n in range(LONGEST + 1) if automaton.has_words(n)} == lengths


def test_letters_are_normalised_as_those_of_a_text():
    for pattern in (
        "τοῦ",
        "ΤΟΥ",
        "το\u03c5\u0342",
        "[τ][ο-π][ῦ]",
        "[Τ-Υ]ου",
        "τ ου",
        "τ,ου",
        "τ(,|ο)ου",
    ):
        assert "του" in words(GREEK, automaton_of(GREEK, pattern, 3), 3), pattern
    assert words(GREEK, automaton_of(GREEK, "τος", 3), 3) == {"τοσ"}
    assert words(GREEK, automaton_of_reading(GREEK, "Τοῦς")[0]) == {"τουσ"}


def test_what_is_not_normalised_stays():
    kind = Text("aAb ")
    assert words(kind, automaton_of(kind, "a b", 3)) == {"a b"}
    assert words(kind, automaton_of(kind, r"A\s?", 3)) == {"A", "A "}
    assert words(kind, automaton_of_reading(kind, "A b")[0]) == {"A b"}


def test_a_letter_that_the_model_does_not_know_matches_nothing():
    kind = Text("abc")
    assert words(kind, automaton_of(kind, "az?|z+", 3)) == {"a"}
    with pytest.raises(CaesuraError) as error:
        automaton_of_reading(kind, "abz")
    assert "'z'" in checked(error.value)


# The starts of words


def both(word: str) -> set[str]:
    """The word with a capital or small letter at each place that has a question mark before it."""
    parts = re.findall(r"\??.", word)
    options = [(p[1].lower(), p[1].upper()) if p[0] == "?" else (p,) for p in parts]
    return set(map("".join, product(*options)))


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("τα", both("?τ?α")),
        ("τ α", both("?τΑ")),
        (" τα", both("Τ?α")),
        (r"τ\s+α", both("?τΑ")),
        ("τ ?α", both("?τ?α")),
        ("τ( |υ)α", both("?τΑ") | both("?τ?υ?α")),
        ("τα ", both("?τ?α")),
        ("τ 1", both("?τ1")),  # it has no capital
        ("Τα", both("?τ?α")),
        ("τ α.", {w + c for w in both("?τΑ") for c in STARTS.alphabet}),
    ],
)
def test_a_blank_says_that_a_word_starts(pattern, wanted):
    assert words(STARTS, automaton_of(STARTS, pattern, 3), 3) == wanted


@pytest.mark.parametrize(
    ("reading", "wanted"),
    [
        ("τα", both("?τ?α")),
        ("τ αυ", both("?τΑυ")),
        (" τα", {"Τα"}),
        ("τα ", both("?τα")),
        ("τ 1", both("?τ1")),
    ],
)
def test_a_reading_with_a_blank_is_divided_there_and_nowhere_else(reading, wanted):
    automaton, length = automaton_of_reading(STARTS, reading)
    assert words(STARTS, automaton) == wanted
    assert {len(word) for word in wanted} == {length}


def test_both_of_two_automata():
    kind = Text("abc")
    one, other = (automaton_of(kind, pattern, LONGEST) for pattern in ("a.*", ".*b"))
    assert words(kind, one.both(other)) == words(kind, one) & words(kind, other)
    assert words(kind, chain([[0], [0, 1]], 3).both(other)) == {"ab"}


# Hostile expressions


@pytest.mark.parametrize(
    "pattern",
    [
        *("(a", "[^", "*", "a{3,2}", "a(?=b)", r"(a)\1", "(?i)a", "a++", "(?>a)", r"\bα", "b^a"),
        *("a" * 3000, ".*a.{15}", "((((a{60}){60}){60}){60})", "((((){60}){60}){60})", "(" * 900),
        *("(" * 480 + ")" * 480 + "(a|b)*a.{12}", "a{99999999999}", "((a?){60}b?){60}"),
        *("(.*a){30}.{20}", "(a|ab|abc)*" * 80),
    ],
)
def test_what_is_no_pattern_or_too_large_is_told_at_once(pattern):
    began = time.process_time()
    try:
        automaton = automaton_of(Text("abc"), pattern, 60)
    except CaesuraError as error:
        assert "pattern" in checked(error)  # noqa: PT017 - some machines have more stack
    else:
        assert len(automaton.accepting) <= MOST_STATES
        assert pattern.startswith("(a|ab")
    assert time.process_time() - began < 2
