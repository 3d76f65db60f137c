"""The notation of gaps in texts: what is a gap, what is text, and that no character is lost."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import caesura
from caesura.errors import CaesuraError
from caesura.filler.request import mask_of, split_missing
from caesura.kinds import Music, Text
from caesura.kinds.text.notation import has_notation, parse_lengths
from caesura.kinds.text.text import TextItem
from caesura.sequence import Gap, Span
from command_line import mistake, run
from sentences import checked
from small_fillers import text_filler

KIND = Text("abc")
NOTATION = re.compile(r"\{(\?|\d+|\d+-\d+)\}", re.ASCII)
PIECES = st.sampled_from(["a", "_", "{", "}", "?", "-", "3", "7", "\\", "🙂", "\ud800", "\n", "٣"])
TEXTS = st.lists(PIECES, min_size=1, max_size=20).map("".join)
MARKS = st.sampled_from(["_", "__", "{1}", "{3}", "{0-1}", "{2-5}", "{?}"])
quickly = settings(max_examples=200, deadline=None, database=None)


def filled(item: TextItem, lengths: list[int]) -> str:
    """The text with so many b in each of its open gaps, and a b for each missing character."""
    item = item.with_lengths(lengths)
    assert item.open_gaps == []
    return item.write(np.ones_like(item.sequence.values), item.missing)


def escaped(text: str) -> str:
    return NOTATION.sub(r"\\\g<0>", text)


# What is a gap


@pytest.mark.parametrize(
    ("text", "steps", "spans", "open_gaps"),
    [
        ("a{3}c", 5, [Span(1, 4)], []),
        ("{3}", 3, [Span(0, 3)], []),
        ("a{4-4}", 5, [Span(1, 5)], []),
        ("_{2}_{1}", 5, [Span(0, 5)], []),
        ("a{3-7}c", 2, [], [Gap(1, 3, 7)]),
        ("a{?}", 1, [], [Gap(1, 1, 12)]),
        ("a{0-3}", 1, [], [Gap(1, 0, 3)]),
        ("{1-64}a", 1, [], [Gap(0, 1, 64)]),
        ("a__{1-3}c", 2, [], [Gap(1, 3, 5)]),
        ("_{2}{1-3}_c_", 2, [Span(1, 2)], [Gap(0, 5, 7)]),
        ("a{1-2}{3-4}c", 2, [], [Gap(1, 4, 6, (0.25, 0.5, 0.25))]),
        ("🙂\ud800{1-2}é{?}_", 3, [], [Gap(2, 1, 2), Gap(3, 2, 13)]),
        ("a_{1-2}b{2}c{?}", 5, [Span(2, 4)], [Gap(1, 2, 3), Gap(5, 1, 12)]),
        (r"a\{3-7}{2}", 8, [Span(6, 8)], []),
    ],
)
def test_what_a_text_marks(text, steps, spans, open_gaps):
    item = KIND.open(text)
    assert len(item.sequence) == steps
    assert item.sequence.gaps == spans
    assert item.open_gaps == open_gaps


@pytest.mark.parametrize(
    "text", ["{}", "{ 3}", "{3", "3}", "{3-}", "{-3}", "{3-4-5}", "{3,7}", "{??}", "{a}", "{٣}"]
)
def test_other_brackets_are_text(text):
    assert not has_notation(text, "{}")
    assert filled(KIND.open(text), []) == text


def test_only_the_text_to_fill_has_the_notation():
    item = KIND.open("a{7-3}{2}")
    assert len(item.complete) == 9
    assert not item.complete.missing.any()
    assert item.describe(1) == "character '{' at position 1"


def test_other_brackets_can_be_chosen():
    item = Text("abc", brackets="<>").open("a<2>{2}<1-2>")
    assert filled(item, [2]) == "abb{2}bb"
    assert filled(Text("abc", brackets="").open(r"a{2}\{2}<2>_"), []) == r"a{2}\{2}<2>b"
    assert Text("abc", "{").open("a{b{2}").sequence.gaps == [Span(1, 2), Span(3, 5)]
    assert Text.learn(["ab"], brackets="[]").brackets == "[]"
    assert Text("abc", "?").open(r"a\{?}?{?}").open_gaps == [Gap(4, 2, 13)]


def test_the_gap_char_inside_an_escape_is_text():
    assert filled(Text("abc", "3").open(r"\{3}3"), []) == "{3}b"


# What becomes of the text


@quickly
@given(TEXTS)
def test_a_text_without_notation_is_untouched(text):
    text = NOTATION.sub("", text)
    if text and not has_notation(text, "{}"):
        item = KIND.open(text)
        assert item.open_gaps == []
        assert filled(item, []) == text.replace("_", "b")


@quickly
@given(TEXTS)
def test_an_escaped_text_stands_for_itself(text):
    text = text.replace("_", "")
    if text:
        item = KIND.open(escaped(text))
        assert not item.missing.any()
        assert filled(item, []) == text


@quickly
@given(st.lists(st.tuples(TEXTS, MARKS), min_size=1, max_size=4), TEXTS, st.data())
def test_only_the_gaps_change(parts, end, data):
    known = {"_": 1, "__": 2, "{1}": 1, "{3}": 3}
    parts = [(re.sub(r"[_\\]", "", text) or "a", mark) for text, mark in [*parts, (end, "")]]
    marked = "".join(escaped(text) + mark for text, mark in parts)
    item = KIND.open(marked)
    lengths = [data.draw(st.sampled_from(gap.lengths)) for gap in item.open_gaps]
    left = iter(lengths)
    counts = [known[mark] if mark in known else next(left) for _, mark in parts[:-1]]
    expected = "".join(text + "b" * n for (text, _), n in zip(parts, [*counts, 0], strict=True))
    assert filled(item, lengths) == expected
    chosen = item.with_lengths(lengths)
    assert chosen.original == marked
    assert filled(chosen, []) == expected


def test_an_open_gap_cannot_be_written_before_its_length_is_known():
    item = KIND.open("a{1-3}")
    with pytest.raises(CaesuraError, match="length is not known"):
        item.write(item.sequence.values, item.missing)
    for lengths, sentence in [([], "is 1, but lengths are given for 0"), ([4], "cannot have 4")]:
        with pytest.raises(CaesuraError, match=sentence):
            item.with_lengths(lengths)


# Gaps from elsewhere


def test_gaps_can_be_added():
    item = KIND.open("ab_c{1-2}a")
    more = item.with_gaps([Gap(5, 1, 2), Gap(0, 1, 2, (1, 3))])
    assert more.open_gaps == [Gap(0, 1, 2, (1, 3)), Gap(4, 1, 2), Gap(5, 1, 2)]
    beside = item.with_gaps([Gap(2, 1, 2, (1, 3))]).open_gaps  # it takes in the character
    assert beside == [Gap(2, 2, 3, (1, 3)), Gap(3, 1, 2)]
    steps = np.array([[False], [False], [False], [True], [False]])
    assert item.with_gaps([], steps).open_gaps == [Gap(2, 3, 4)]
    assert filled(item.with_gaps([], steps), [3]) == "abbbba"
    assert Text("cba").open(more).open_gaps == more.open_gaps  # another kind keeps them
    with pytest.raises(CaesuraError, match="'at' must be at most 5"):
        item.with_gaps([Gap(6, 1, 2)])
    with pytest.raises(CaesuraError, match="shape"):
        item.with_gaps([], steps[1:])


def test_kinds_without_open_gaps_say_so():
    item = Music(2).open(np.zeros((3, 88), int))
    assert item.open_gaps == []
    assert item.with_gaps([]) is item.with_lengths([]) is item
    for ask in (lambda: item.with_gaps([Gap(0, 1, 2)]), lambda: item.with_lengths([1])):
        with pytest.raises(CaesuraError, match="Only texts can have gaps of unknown length"):
            ask()


def test_missing_may_be_gaps():
    gap, two = Gap(1, 1, 3), Gap(2, 1, 3)
    sequence = KIND.open("abc").sequence
    assert split_missing(None) == (None, [])
    assert split_missing([1, 2]) == ([1, 2], [])
    assert split_missing([]) == ([], [])
    assert split_missing(gap) == (None, [gap])
    assert split_missing((gap, two)) == (None, [gap, two])
    assert split_missing([0, gap]) == ([0], [gap])
    for missing in (gap, [gap], [0, gap]):
        with pytest.raises(CaesuraError, match="`missing` must name steps"):
            mask_of(missing, sequence)


@pytest.mark.parametrize(
    ("text", "open_gaps", "steps"),
    [
        ("a___b_c{?}", [Gap(1, 3, 7), Gap(2, 3, 7), Gap(3, 3, 7)], 3),
        ("a_{?}__b", [Gap(1, 3, 7)], 2),
        ("a{2}b{1-2}c__", [Gap(4, 1, 2), Gap(5, 3, 7)], 5),
        ("a{2}_", [Gap(1, 5, 9)], 1),
        (r"a\{?}_", [Gap(4, 3, 7)], 4),
        ("abc", [], 3),
    ],
)
def test_a_range_holds_for_gaps_that_do_not_say_their_lengths(text, open_gaps, steps):
    item = KIND.open(text).with_range((3, 7))
    assert (item.open_gaps, len(item.sequence)) == (open_gaps, steps)
    assert item.original == text
    plain = replace(KIND, brackets="").open("a__b{?}").with_range((3, 7))
    assert (plain.open_gaps, len(plain.sequence)) == ([Gap(1, 3, 7)], 5)


# Mistakes


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("🙂a{7-3}", "'{7-3}' at position 2 of the text must have its smaller number first"),
        ("a{100-200}", "'{100-200}' at position 1 of the text is too long"),
        ("a{65}", "at most 64 characters"),
        ("a{0}", "'{0}' at position 1 of the text has no characters; if it is not a gap, write"),
        ("a{0-0}", "has no characters"),
        ("a{" + "9" * 5000 + "}", "too long"),
        ("a{64}{1-2}", "Gaps beside each other are one gap, which would have up to 66"),
        ("{3-7}", "The whole text is a gap of unknown length"),
        ("__{3-7}_", "The whole text is a gap of unknown length"),
    ],
)
def test_lengths_that_no_gap_can_have(text, sentence):
    with pytest.raises(CaesuraError) as caught:
        KIND.open(text).sequence  # noqa: B018
    checked(caught.value)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("brackets", ["{", "{}{", "{{", "3}", "-}", "?}", "\\}"])
def test_brackets_are_two_characters(brackets):
    for make in (
        lambda: Text("abc", "_", brackets),
        lambda: Text.learn(["abc"], brackets=brackets),
    ):
        with pytest.raises(CaesuraError, match="two different characters"):
            make()


def test_lengths_are_parsed():
    assert (parse_lengths("3-7"), parse_lengths("5"), parse_lengths("0-2")) == (
        (3, 7),
        (5, 5),
        (0, 2),
    )
    for wrong in ("", "?", "3-", "-3", "a-b", "3:7", "٣", "3-7-9", " 3"):
        with pytest.raises(CaesuraError, match="is written as 3-7 or as 5, not as"):
            parse_lengths(wrong)


# The command line


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("notation") / "text.model"
    text_filler().save(path)
    return path


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["a_", "--length", "7-3"], "The range of lengths 7-3 must have its smaller number first."),
        (["a_", "--length", "0"], "has no characters"),
        (["a_", "--length", "3-100"], "is too long, since such gaps have at most 64"),
        (["a_", "--length", "x"], "written as 3-7 or as 5, not as 'x'"),
        (["a_", "--brackets", "("], "The 'brackets' must be two different characters"),
        (["a{3-7}b", "--gap", "0:1"], "--gap counts characters, but the text has a gap of unknown"),
        (["a_b", "--gap", "0:1", "--length", "3-7"], "--gap counts characters"),
        (["a{7-3}"], "'{7-3}' at position 1"),
        (["texts", "--engine", "local", "--length", "3-7"], "--length-range cannot be used with"),
    ],
)
def test_mistakes_at_the_command_line(model, words, sentence):
    assert sentence in mistake("fill", "text", *words, "--model", model)


def test_lengths_in_brackets_at_the_command_line(model):
    words = ("--model", model, "--strategy", "onegram", "--samples", 1)
    for text, more in [("a(2)c{1}", ["--brackets", "()"]), (r"a{2}c\{1}", [])]:
        result = run("fill", "text", text, *words, *more)
        assert result.exit_code == 0, result.output
        assert re.fullmatch(r"a..c\{1\}\n", result.stdout)


def test_gap_is_exported():
    assert caesura.Gap is Gap
