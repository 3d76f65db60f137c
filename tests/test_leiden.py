"""Leiden notation: what is lost is found, and all else comes back byte for byte."""

import json
import lzma
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caesura import datasets
from caesura.datasets import papyri
from caesura.errors import CaesuraError
from caesura.kinds import Text
from caesura.kinds.text.document import BREAK
from caesura.kinds.text.leiden import read_leiden
from caesura.kinds.text.normalise import words_of
from caesura.sequence import UNKNOWN, Gap
from caesura.training.corpus.packed import pack
from sentences import checked

GREEK = "αβγδεζηθικλμνξοπρστυφχψωϛϙϡ"
LETTERS = words_of("letters")
KIND = Text(GREEK, notation="leiden", normalise="letters final")


def lost(text: str, **options) -> list[tuple[int, int, int]]:
    """The gaps of a text: how many letters are before them, and their lengths."""
    return [run.gap[:3] for run in read_leiden(text, LETTERS, **options).runs]


def fill(item, letter: str = "β", length: str = "longest") -> str:
    """The text with one letter in all of its gaps."""
    item = item.with_lengths([getattr(gap, length) for gap in item.open_gaps])
    number = item.kind.alphabet.index(letter)
    values = np.where(item.missing, np.int32(number), item.sequence.values)
    return item.write(values, item.missing)


# What is lost


@pytest.mark.parametrize(
    ("text", "gaps"),
    [
        ("α[...]β", [(1, 3, 3)]),
        ("α[. . .]β", [(1, 3, 3)]),
        ("α[…]β", [(1, 3, 3)]),
        ("α[.5]β", [(1, 5, 5)]),
        ("α[.4-6]β", [(1, 4, 6)]),
        ("α[c.5]β", [(1, 4, 6)]),
        ("α[c. 5]β", [(1, 4, 6)]),
        ("α[ca. 10]β", [(1, 8, 12)]),
        ("α[ca 5]β", [(1, 4, 6)]),
        ("α[±5]β", [(1, 4, 6)]),
        ("α[ -ca.5- ]β", [(1, 4, 6)]),
        ("α[c. 5-9]β", [(1, 5, 9)]),
        ("α[---]β", [(1, 1, 12)]),
        ("α[- - -]β", [(1, 1, 12)]),
        ("α[— —]β", [(1, 1, 12)]),
        ("α[ -ca.?- ]β", [(1, 1, 12)]),
        ("[..τ..]β", [(0, 2, 2), (1, 2, 2)]),
        ("[αβγ...]δ", [(3, 3, 3)]),
        ("[αβ.5]δ", [(2, 5, 5)]),
        ("[αβ c.5 γ]δ", [(2, 4, 6)]),
        ("α[.]β", [(1, 1, 1)]),
        ("α[  \u0323 \u0323]β", [(1, 2, 2)]),  # a dot below a blank
        ("α \u0323 \u0323β", [(1, 2, 2)]),
        ("α....β", [(1, 4, 4)]),
        ("α__β", [(1, 2, 2)]),
        ("α[.2][.3]β", [(1, 5, 5)]),  # no letter is between them
        ("α[.2]-\n[---]β", [(1, 3, 14)]),
        ("α[---]\n[---]β", [(1, 2, 24)]),
        ("α" + "[---]" * 6 + "β", [(1, 6, 64)]),
        ("α[.70][---]β", [(1, 70, 70)]),
        ("α[c.80]β", [(1, 80, 80)]),
        ("α[.0]β", []),
        ("]αβ[", [(0, 1, 12), (2, 1, 12)]),  # broken edges
        (" ]αβ[ \n]γ[.2][\r\n ] δ", [(0, 1, 12), (2, 2, 24), (3, 4, 26)]),
        ("α[\nβ [γ]", [(1, 1, 12)]),
        ("α[\nβ] γ", []),  # a restoration that starts at a line end
        ("[α\n] β", []),
        ("[αβ]", []),
        ("[αβ.] γ. δ", []),  # full stops
        ("[χ(αίρειν). ὁ] δ", []),
        ("⟦α[..]⟧β{γ[...]}[[δ[---]]]", []),  # deleted
        ("α(…)β[===]\nγ", []),
        ("---\nα", []),
    ],
)
def test_gaps_are_found(text, gaps):
    assert lost(text) == gaps


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("Ἀπ[ὸ] τ(οῦ)", "αποτου"),
        ("α\u0323β\u0323", "αβ"),
        ("αβ-\nγ", "αβγ"),
        ("[αβ-]\r\n[γ]", "αβγ"),
        ("\\αβ/ <γ> ⟨δ⟩ \u2329ε\u232a", "αβγδε"),
        ("αβ / γ", "αβγ"),
        ("α⟦β⟧{γ}[[δ]]ε", "αε"),
        ("α? [β?]?", "αβ"),
        ("α[===]\nβ(γ…)", f"α{BREAK}βγ{BREAK}"),
        ("— α\n- - -\nβ", f"α{BREAK}β"),
        ("ạbc", "abc"),
    ],
)
def test_letters_are_those_of_the_text(text, letters):
    assert read_leiden(text, LETTERS).letters == letters


def test_blanks_are_kept_unless_they_are_left_out():
    assert read_leiden(" αβ  [γ]\n\n⟦δ⟧ ε-\n ζ ").letters == "αβ γ εζ"
    assert read_leiden("α, β.", words_of("stops")).letters == "α β."


def test_restored_and_doubtful_letters_are_lost_on_request():
    assert lost("α[βγ]δ\u0323ε") == []
    assert lost("α[βγ]δ\u0323ε", lost={"restored"}) == [(1, 2, 2)]
    assert lost("α[βγ]δ\u0323ε", lost={"doubtful"}) == [(3, 1, 1)]
    assert lost("α[βγ]δ\u0323ε", lost={"doubtful", "restored"}) == [(1, 3, 3)]
    (run,) = read_leiden("α[Βγ]δ", LETTERS, {"restored"}).runs
    assert "".join(mark.letter for mark in run.marks) == "βγ"
    with pytest.raises(CaesuraError, match="did you mean 'restored'"):
        Text(GREEK, notation="leiden", lost="restore")


def test_two_gaps_of_unknown_length_have_the_prior_of_their_sum():
    (run,) = read_leiden("α[.1-2][.1-2]β").runs
    assert run.gap == Gap(1, 2, 4, (0.25, 0.5, 0.25))


# What is written


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("Ἀπ[..]ω τὸν [c.5] δ", "Ἀπ[ββ]ω τὸν [ββββββ] δ"),
        ("[ -ca.5- ]δ", "[ββββββ]δ"),
        ("[..τ..]δ", "[ββτββ]δ"),
        ("[αβγ...]δ", "[αβγβββ]δ"),
        ("α[.2][.3]δ", "α[ββ][βββ]δ"),
        ("α[.2]-\n[.1]δ", "α[ββ]-\n[β]δ"),
        ("α..δ", "α[ββ]δ"),
        ("α_δ [_]", "α[β]δ [β]"),
        ("]α[\r\n ]δ[", "[ββββββββββββ]α[ββββββββββββ]\r\n [ββββββββββββ]δ[ββββββββββββ]"),
        ("α{β[.3]}\r\n\t⟦δ[...]⟧ε(…)[.1]", "α{β[.3]}\r\n\t⟦δ[...]⟧ε(…)[β]"),
    ],
)
def test_letters_are_restored_in_square_brackets(text, filled):
    assert fill(KIND.open(text)) == filled


def test_an_open_gap_has_the_length_that_is_given():
    item = KIND.open("α[.2][---]\n[---]δ")
    assert item.open_gaps[0][:3] == (1, 4, 26)
    assert fill(item, length="shortest") == "α[ββ][β]\n[β]δ"
    with pytest.raises(CaesuraError, match="cannot have 3"):
        item.with_lengths([3])
    with pytest.raises(CaesuraError, match="cannot be written"):
        item.write(item.sequence.values, item.missing)
    assert KIND.open("α[---]δ").with_range((3, 4)).open_gaps == [Gap(1, 3, 4)]


def test_final_sigmas_stand_at_the_ends_of_words():
    assert fill(KIND.open("το[.1] α[.1]-\nα[..]. [.1]α"), "σ") == "το[ς] α[σ]-\nα[σς]. [σ]α"


def test_restorations_that_count_as_lost_are_replaced():
    kind = Text(GREEK, notation="leiden", normalise="letters", lost="restored doubtful")
    assert fill(kind.open("Ἀπ[ὸ τ]οῦ κ\u0323α\u0323ὶ [τὸν, κ]αὶ")) == "Ἀπ[ββ]οῦ [ββ]ὶ [ββββ]αὶ"
    assert fill(kind.open("[Φοιβ(άμ)] α")) == "[ββββ(ββ)] α"


def test_letters_can_be_called_lost_and_some_be_left():
    item = KIND.open("αβγ δε[...]")
    missing = np.zeros_like(item.missing)
    missing[[2, 3, 6]] = True
    values = np.full_like(item.sequence.values, 1)
    assert item.write(values, missing) == "αβ[ββ]ε[.β.]"
    wider = item.with_gaps([Gap(4, 0, 2)], missing & ~item.missing)
    assert wider.open_gaps == [Gap(2, 2, 4)]
    assert fill(wider) == "αβ[ββββ]ε[βββ]"
    assert item.describe(3) == "letter 'δ' at line 1, column 5"


def test_what_is_learnt_from_has_unknown_steps_where_letters_are_lost():
    item = KIND.open("α[..]β[---]γ[===]δx")
    known = item.complete.values[:, 0].tolist()
    assert known == [0, UNKNOWN, UNKNOWN, 1, UNKNOWN, 2, UNKNOWN, 3, UNKNOWN]
    learnt = Text.learn(["Α[..]β[---]", "[γ](…)"], notation="leiden", normalise="letters")
    assert learnt.alphabet == "αβγ"


def test_a_set_of_papyri_is_read(tmp_path):
    (tmp_path / "greek").mkdir()
    lines = [{"id": "p.toy.1", "tm": "1 2", "text": "α[..]β"}, {"id": "p.2", "tm": "", "text": "γ"}]
    content = lzma.compress("".join(json.dumps(line) + "\n" for line in lines).encode())
    (tmp_path / "greek/papyri.test.jsonl.xz").write_bytes(content)
    assert datasets.load("papyri", "test", tmp_path) == ["α[..]β", "γ"]
    assert datasets.load("papyri", "test", tmp_path, limit=3) == ["α[..]β"]
    assert next(papyri.documents(content)) == ("p.toy.1", "1 2", "α[..]β")
    (tmp_path / "greek/papyri.test.jsonl.xz").write_bytes(lzma.compress(b'{"id": 1}\n'))
    with pytest.raises(CaesuraError, match="is damaged"):
        datasets.load("papyri", "test", tmp_path)


def test_packed_texts_keep_their_notation(tmp_path):
    text = f"α[β{{{'x' * (2 << 20)}}}]γ"  # longer than what is read at once
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    packed = pack([tmp_path / "a.txt"], tmp_path / "packed", {"notation": "leiden"})
    assert packed.kind.alphabet == "αβγ"
    assert packed.counts.tolist() == [1, 1, 1]


# What is refused


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("αβ\nγ[δ", "The '[' at line 2, column 2 is not closed."),
        ("αβ]γ", "The ']' at line 1, column 3 closes nothing: write '[---]' where the text breaks"),
        ("α]β[", "The ']' at line 1, column 2 closes nothing: write '[---]' where the text breaks"),
        ("]α[β\n", "The '[' at line 1, column 3 is not closed."),
        ("(α[\nβ", "The '[' at line 1, column 3 is not closed."),
        ("α\r\nβ}", "The '}' at line 2, column 2 closes nothing."),
        ("[α[β]]", "The '[' at line 1, column 3 stands inside another '['"),
        ("[α(β]γ)", "The ']' at line 1, column 5 does not close the '(' at line 1, column 3"),
        ("⟦[α⟧]", "The '⟧' at line 1, column 4 does not close the '[' at line 1, column 2"),
        ("α[.5000]", "The gap at line 1, column 3 has more than 1000 letters."),
        (".,-", "The text has no letters."),
        ("[...]", "The text has no letters that are not lost."),
        ("ab\ncd", "The alphabet of the model has no letter of the text: the first, 'a', is at"),
    ],
)
def test_bad_texts_are_refused_with_their_place(text, sentence):
    with pytest.raises(CaesuraError) as caught:
        KIND.open(text)
    assert checked(caught.value).startswith(sentence)


# Any text

SIGNS = "αβσς ΆΩ.,-_=?…[]()⟦⟧{}<>\\/\n\r\u0323\u0301c5"
signs = st.sampled_from([*SIGNS, "[.3]", "[---]", "[αβ]", "-\n"])


@settings(max_examples=300, deadline=None)
@given(st.lists(signs, max_size=30).map("".join), st.sampled_from(["", "restored doubtful"]))
def test_whatever_is_read_comes_back(text, states):
    kind = Text(GREEK, notation="leiden", normalise="letters", lost=states)
    try:
        item = kind.open("α" + text)
    except CaesuraError as error:
        checked(error)
        return
    item = item.with_lengths([gap.shortest for gap in item.open_gaps])
    nothing = np.zeros_like(item.missing)
    assert item.write(item.sequence.values, nothing) == "α" + text
    filled = fill(item)
    if not item.missing.any():
        assert filled == "α" + text
    again = Text(GREEK, notation="leiden", normalise="letters").open(filled)
    values = np.where(item.missing, 1, item.sequence.values)
    if not (states or again.document.marks):  # a stop may be read as a letter after other letters
        assert again.complete.values.tolist() == values.tolist()


@pytest.mark.slow
@pytest.mark.skipif(
    not (Path(os.environ.get("CAESURA_DATA", ".")) / "greek/papyri.valid.jsonl.xz").is_file(),
    reason="the papyri are not in CAESURA_DATA",
)
def test_every_papyrus_comes_back_as_it_was(record_property):
    kind, count = Text(GREEK, notation="leiden", normalise="letters"), Counter()
    for text in datasets.load("papyri", "valid"):
        item = kind.open(text)
        count["unknown"] += len(item.open_gaps)
        item = item.with_lengths([gap.shortest for gap in item.open_gaps])
        assert item.write(item.sequence.values, np.zeros_like(item.missing)) == text
        again = kind.open(fill(item))
        if not again.document.marks:  # what is beside a very long gap stays open
            values = np.where(item.missing, 1, item.sequence.values)
            np.testing.assert_array_equal(again.complete.values, values)
        count["papyri"] += 1
        count["letters"] += int((~item.missing).sum())
    record_property("measured", f"papyri in Leiden notation: {dict(count)}")
