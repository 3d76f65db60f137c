"""Normalised letters: what a net sees, while the user's text stays as it is."""

import dataclasses
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caesura.errors import CaesuraError
from caesura.kinds import Text
from caesura.kinds.text.normalise import normaliser, with_final_sigmas, without_doubt, words_of
from caesura.sequence import Gap
from sentences import checked

GREEK = "αβγδεζηθικλμνξοπρστυφχψω"


@pytest.mark.parametrize(
    ("words", "given", "seen"),
    [
        ("case", "Ἄ", "ἄ"),
        ("marks", "ᾧ", "ω"),
        ("marks", "e\u0301", "e"),
        ("", "e\u0301", "é"),
        ("", "q\u0301", "q\u0301"),  # there is no single character for it
        ("sigma", "ς", "σ"),
        ("final", "ϲ", "σ"),
        ("case sigma", "Ϲ", "σ"),
        ("stops", "·", "."),
        ("stops", ",", ""),
        ("punctuation", ".", ""),
        ("punctuation", "ʹ", ""),
        ("punctuation", "𐅵", "𐅵"),
        ("blanks", "\n", ""),
        ("case", "\n", "\n"),
        ("case", "İ", "İ"),  # its small letter is two characters
    ],
)
def test_a_character_is_normalised(words, given, seen):
    assert normaliser(words_of(words))(given) == seen


def test_words_are_checked():
    assert words_of("case,marks") == words_of(" marks  case ")
    for wrong in ("cases", "stops punctuation", 3, None):
        with pytest.raises(CaesuraError) as caught:
            words_of(wrong)
        checked(caught.value)
    with pytest.raises(CaesuraError, match="did you mean 'marks'"):
        Text("ab", normalise="mark")


def test_doubt_and_final_sigma():
    assert [without_doubt(c) for c in ("ạ", "ά\u0323", "b", "ά")] == ["a", "ά", "b", "ά"]
    assert with_final_sigmas("σοσ σ, τισ", ends=False) == "σος σ, τισ"
    assert with_final_sigmas("", ends=True) == ""


def test_a_plain_text_is_filled_in_the_users_own_form():
    kind = Text("abc ", normalise="case marks")
    item = kind.open("Á_ {1-2}\tC{2}")
    assert item.open_gaps == [Gap(3, 1, 2)]
    item = item.with_lengths([1])
    values = np.where(item.missing, 1, item.sequence.values)
    assert item.write(values, item.missing) == "Áb b\tCbb"
    assert kind.open("Ab_").with_range((1, 3)).open_gaps == [Gap(2, 1, 3)]


def test_complete_texts_stand_as_they_are():
    kind = Text("abc", normalise="case")
    assert kind.open("A_{2}c").complete.values[:, 0].tolist() == [0, -1, -1, -1, -1, 2]


def test_an_alphabet_is_learnt_from_what_a_net_sees():
    kind = Text.learn(["Ἀβ γ,", "ς"], normalise="letters")
    assert kind.alphabet == "αβγσ"
    assert Text(**dataclasses.asdict(kind)) == kind


def test_an_item_of_another_form_is_read_again():
    item = Text("ab").open("A_")
    other = Text("ab", normalise="case")
    again = other.open(item)
    assert again.sequence.values[0, 0] == 0
    assert other.open(again) is again
    assert Text("ab").open(again).sequence.values[0, 0] == -1


words = st.sampled_from(["case", "marks case", "final", "letters", "letters final", "stops blanks"])


@settings(max_examples=100, deadline=None)
@given(words, st.text(st.sampled_from("αΆβ Σς.,·\n-'\u0301\u0323_{3}?ab"), min_size=1))
def test_what_the_user_wrote_comes_back(chosen, text):
    kind = Text("αβγσ", normalise=chosen)
    try:
        item = kind.open(text)
    except CaesuraError as error:
        checked(error)
        return
    item = item.with_lengths([gap.shortest for gap in item.open_gaps])
    nothing = np.zeros_like(item.missing)
    assert item.write(item.sequence.values, nothing) == text
    filled = item.write(np.where(item.missing, 0, item.sequence.values), item.missing)
    lost = item.missing.sum()
    assert filled.count("α") == text.count("α") + lost
    assert unicodedata.normalize("NFC", filled)
