"""Word starts: the net sees a capital at the beginning of a word, the user sees blanks."""

import numpy as np
import pytest

from caesura.errors import CaesuraError
from caesura.filler import Filler
from caesura.kinds import Text
from caesura.kinds.text.normalise import divided, undivided
from caesura.sequence import Span
from enumerated import random_filler
from sentences import checked

SMALL = "αβγδεικλμνορστυ"
KIND = Text(SMALL + SMALL.upper(), notation="leiden", normalise="letters final starts")
EPIDOC = (
    '<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body><div type="edition"><ab>'
    "{}</ab></div></body></text></TEI>"
)


def numbers(letters: str) -> np.ndarray:
    return np.array([KIND.alphabet.index(letter) for letter in letters], np.int32)


def filled(text: str, letters: str, kind: Text = KIND, **options) -> str:
    item = kind.open(text)
    values = item.sequence.values.copy()
    values[item.missing] = numbers(letters)
    return item.edition(values, item.missing, **options)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("τοῦ κυρίου", "ΤουΚυριου"),
        ("τοῦ κυ-\nρίου", "ΤουΚυριου"),
        ("τοῦ\nκυρ(ίου).αὐτός", "ΤουΚυριουΑυτοσ"),
        ("τ[οῦ κυ]ρίου", "ΤουΚυριου"),
        ("τοῦ[===]\nκυρίου", "ΤουΚυριου"),
    ],
)
def test_the_first_letter_of_a_word_is_a_capital(text, seen):
    assert KIND.letters(text) == seen


def test_a_letter_after_a_gap_begins_a_word_only_after_a_blank():
    assert KIND.open("αβ[..]γδ").document.letters == "Αβγδ"
    assert KIND.open("αβ[..] γδ").document.letters == "ΑβΓδ"
    assert KIND.open("αβ[.. γ]δ").document.letters == "ΑβΓδ"


@pytest.mark.parametrize(
    ("text", "letters", "written"),
    [
        ("το[....]ιου", "υΚυρ", "το[υ κυρ]ιου"),
        ("του[...]ιου", "Κυρ", "του[ κυρ]ιου"),
        ("του [...]ιου", "Κυρ", "του [κυρ]ιου"),
        ("του\n[...]ιου", "Κυρ", "του\n[κυρ]ιου"),
        ("[...]ιου", "Κυρ", "[κυρ]ιου"),
        ("το[....] ", "σΛογ", "το[ς λογ] "),
        ("αυ[...] α", "τοσ", "αυ[τος] α"),
    ],
)
def test_new_words_are_divided_by_blanks(text, letters, written):
    assert filled(text, letters) == written


def test_words_can_be_left_undivided():
    kind = Text(KIND.alphabet, notation="leiden", normalise=KIND.normalise, divided=False)
    assert filled("του[....]ου", "ΚυρΙ", kind) == "του[κυρι]ου"
    assert kind.open("α[..]").part(numbers("βΓ")[:, None], Span(0, 2)) == "βγ"
    assert KIND.open("α[..]").part(numbers("ΒΓ")[:, None], Span(0, 2)) == "β γ"
    assert KIND.open("α[...]").part(numbers("οσΣ")[:, None], Span(0, 3)) == "ος σ"


def test_readings_of_an_edition_have_blanks():
    text = EPIDOC.format('του<gap reason="lost" quantity="4" unit="character"/>ου')
    readings = [[("κυρι", 0.95), ("κυ ρι", 0.05)]]
    out = filled(text, "Κυρι", readings=readings, others=None)
    assert 'του <app type="alternative"><lem><supplied reason="lost" cert="high"' in out
    assert ">κυ ρι</supplied></rdg>" in out


def test_a_reading_of_two_marks_is_cut_by_its_letters():
    text = EPIDOC.format(
        'τ<gap reason="lost" quantity="2" unit="character"/><lb n="2"/>'
        '<gap reason="lost" quantity="2" unit="character"/>ου'
    )
    out = filled(text, "ουΚυ", readings=[[("ου κυ", 0.65), ("αυ κυ", 0.3)]])
    assert out.count('cert="medium"') == 1  # "ου" with 0.65; "κυ" is in both readings
    assert out.count('cert="high"') == 1


def test_words_and_letters():
    assert divided(undivided("του κυριου")) == "του κυριου"
    assert undivided("") == ""


def test_starts_need_letters_without_blanks():
    with pytest.raises(CaesuraError) as caught:
        Text("αβ", normalise="starts")
    checked(caught.value)


def test_readings_that_are_written_alike_are_one():
    kind = Text("abA", normalise="case blanks starts")
    filler = Filler(kind, random_filler().nets, "search")
    apart = filler.fill("ba__ab").gaps[0]
    together = filler.with_kind(divided=False).fill("ba__ab").gaps[0]
    assert len(apart.candidates) == 6  # of nine: whether a word begins at the gap is not shown
    assert len(together.candidates) == 4
    for part, probability in together.candidates:
        same = [one for one in apart.candidates if one.part.replace(" ", "") == part]
        assert probability == pytest.approx(sum(one.probability for one in same))
    assert together.candidates == sorted(together.candidates, key=lambda one: -one.probability)
