"""Damaged texts over HTTP: lacunae, accepted readings, questions about them, and exports."""

import pytest
from fastapi.testclient import TestClient

from caesura.kinds.text.edition import EditionItem
from caesura.web import make_app
from caesura.web.editions import accept, restore
from small_fillers import greek_filler, music_filler, text_filler

LEIDEN = "Ἀπολλώνιος Ζή(νωνι)\nχαί[ρειν] εἰ [....] κα̣ὶ ⟦τὰ⟧ ἄλλα[..]\n[..] σοι [.1-2] ἔρρωσο"
EPIDOC = """<?xml version="1.0"?>
<TEI><teiHeader><title>ab</title></teiHeader><text><body><div type="edition"><ab>
  <lb n="1"/>Ἀπολλώνιος <expan>Ζή<ex>νωνι</ex></expan> χαί<supplied reason="lost">ρειν</supplied>
  <lb n="2" break="no"/>εἰ <gap reason="lost" quantity="4" unit="character"/> <unclear>κα</unclear>ὶ
  <del>τὰ</del> <note>a note</note>ἄλλα <gap extent="unknown" unit="character"/>
  <lb n="3"/><gap extent="unknown" unit="line"/> ἔρρωσο &amp;</ab></div></body></text></TEI>
"""


@pytest.fixture(scope="module")
def filler():
    return greek_filler()


@pytest.fixture(scope="module")
def client(filler):
    fillers = {"papyri": filler, "words": text_filler(), "tunes": music_filler()}
    with TestClient(make_app(fillers), raise_server_exceptions=False) as client:
        yield client


def ask(client, route: str, sequence: str = LEIDEN, status: int = 200, **more):
    """The answer for a text, or the sentence that refuses it."""
    answer = client.post(f"/api/{route}", json={"model": "papyri", "sequence": sequence} | more)
    assert answer.status_code == status, answer.text
    return answer.json() if status == 200 else answer.json()["detail"]


def running(view: dict) -> str:
    """The text as a page shows it, with the numbers of lacunae in braces."""
    return "".join(
        piece.get("text") or f"{{{piece['gap']}{'+' * piece['further']}}}"
        for piece in view["pieces"]
    )


def test_lacunae_have_places_in_the_text_that_was_sent(client):
    view = ask(client, "view")
    assert view["format"] == "leiden"
    assert running(view) == (
        "Ἀπολλώνιος Ζή(νωνι)\nχαί[ρειν] εἰ [{0}] κα̣ὶ ⟦τὰ⟧ ἄλλα[{1}]\n[{1+}] σοι [{2}] ἔρρωσο"
    )
    first, second, third = view["gaps"]
    assert [LEIDEN[slice(*mark)] for mark in first["marks"]] == ["...."]
    assert [LEIDEN[slice(*mark)] for mark in second["marks"]] == ["..", ".."]
    assert (second["shortest"], second["longest"]) == (4, 4)
    assert (third["shortest"], third["longest"], third["stated"]) == (1, 2, True)


def test_restored_and_doubtful_letters_count_as_lost_on_request(client):
    view = ask(client, "view", lost=["restored", "doubtful"])
    assert running(view).startswith("Ἀπολλώνιος Ζή(νωνι)\nχαί[{0}] εἰ [{1}] κ{2}ὶ")
    assert LEIDEN[slice(*view["gaps"][0]["marks"][0])] == "ρειν"
    assert running(ask(client, "view", "[του κυ]ριου", lost=["restored"])) == "[{0}]ριου"


def test_epidoc_is_shown_with_leiden_signs(client):
    view = ask(client, "view", EPIDOC)
    assert view["format"] == "epidoc"
    assert running(view) == (
        "Ἀπολλώνιος Ζή(νωνι) χαί[ρειν]-\nεἰ [{0}] κ̣α̣ὶ ⟦τὰ⟧ ἄλλα [{1}]\n[===] ἔρρωσο &"
    )
    assert EPIDOC[slice(*view["gaps"][0]["marks"][0])].startswith("<gap reason=")
    assert not view["gaps"][1]["stated"]


def test_any_model_of_texts_reads_the_notation_on_request(client):
    asked = {"model": "words", "notation": "leiden"}
    assert running(ask(client, "view", "The qu[...] (brown) fox", **asked)) == (
        "The qu[{0}] (brown) fox"
    )
    told = ask(client, "fill", "The qu[..] (brown) fox", strategy="onegram", **asked)
    assert told["best"].endswith("] (brown) fox")
    assert told["lacunae"][0]["marks"] == [[7, 9]]
    assert ask(client, "view", "The qu[...] fox", model="words") == {}


@pytest.mark.slow
def test_the_rest_is_filled_given_what_was_accepted(client, filler):
    accepted = [{"gap": 0, "part": "τοῦ κ"}]
    told = ask(client, "fill", accepted=accepted)
    assert [one["number"] for one in told["lacunae"]] == [1, 2]
    by_hand = filler.fill(LEIDEN.replace("....", "τοῦ κ"))
    assert told["best"] == by_hand.best
    for gap, other in zip(told["gaps"], by_hand.gaps, strict=True):
        ours = [one["probability"] for one in gap["candidates"]]
        assert ours == pytest.approx([one.probability for one in other.candidates])
        assert gap["lengths"] == {str(n): pytest.approx(p) for n, p in other.lengths.items()}
    # Written by the parts that a client was given, it is the same text.
    parts = accepted + [{"gap": one["number"], "part": one["part"]} for one in told["lacunae"]]
    assert ask(client, "edition", format="leiden", parts=parts)["content"] == told["best"]


def test_what_is_accepted_stays_even_if_restored_letters_are_lost(filler):
    lost = filler.with_kind(lost="restored").kind
    item = accept(lost.open(LEIDEN), {1: "τουκ", 0: "ρειν"})
    assert isinstance(item, EditionItem)
    assert item.original == LEIDEN.replace("....", "τουκ")
    assert "ΧαιρεινΕιΤουκΚαι" in item.document.letters
    assert [run.gap.shortest for run in item.document.runs] == [4, 1]
    for number, run in enumerate(item.document.runs):
        mark = run.marks[0]
        assert item.original[mark.start : mark.stop] == ["..", ".1-2"][number]


def test_readings_may_be_longer_or_shorter_than_the_lacuna(filler):
    item = filler.kind.open("αβγ[...]δ[.]\n[..]ε")
    assert restore(item, {0: "κλμνξ"}, {}, False) == "αβγ[κλμνξ]δ[.]\n[..]ε"
    assert restore(item, {0: "κ", 1: "λμνξο"}, {}, False) == "αβγ[κ]δ[λ]\n[μνξο]ε"
    assert restore(item, {1: "λ"}, {}, False) == "αβγ[...]δ[λ]\n[..]ε"


def test_readings_are_written_as_they_were_typed(filler):
    item = filler.kind.open("αβγ[...]δ ..\nε")
    assert restore(item, {0: "τοῦ Κ", 1: " ἐς"}, {}, False) == "αβγ[τοῦ Κ]δ [ἐς]\nε"
    assert restore(item, {0: "το(ῦ)"}, {}, False) == "αβγ[του]δ ..\nε"  # signs are not typed
    item = filler.kind.open('<ab>αβ<gap quantity="3" unit="character"/></ab>')
    typed = '<ab>αβ<supplied reason="lost" resp="#caesura">τοῦ</supplied></ab>'
    assert restore(item, {0: "τοῦ"}, {}, False) == typed


def test_epidoc_is_written_back_byte_for_byte_but_for_the_gap(client):
    readings = [{"part": "του κ", "probability": 0.6}, {"part": "τους", "probability": 0.2}]
    parts = [{"gap": 0, "part": "του κ", "readings": readings}]
    told = ask(client, "edition", EPIDOC, format="epidoc", parts=parts)["content"]
    gap = '<gap reason="lost" quantity="4" unit="character"/>'
    chosen = '<supplied reason="lost" cert="medium" resp="#caesura">του κ</supplied>'
    assert told == EPIDOC.replace(gap, chosen)
    told = ask(client, "edition", EPIDOC, format="epidoc", parts=parts, others=True)["content"]
    other = '<rdg><supplied reason="lost" cert="low" resp="#caesura">τους</supplied></rdg>'
    whole = f'<app type="alternative"><lem>{chosen}</lem>{other}</app>'
    assert told == EPIDOC.replace(gap, whole)


def test_epidoc_as_leiden_and_as_plain_text(client):
    parts = [{"gap": 0, "part": "του κ"}]
    told = ask(client, "edition", EPIDOC, format="leiden", parts=parts)["content"]
    assert told == (
        "Ἀπολλώνιος Ζή(νωνι) χαί[ρειν]-\nεἰ [του κ] κ̣α̣ὶ ⟦τὰ⟧ ἄλλα [---]\n[===] ἔρρωσο &"
    )
    assert ask(client, "view", told)["gaps"][0]["longest"] == 12  # it can be read again
    told = ask(client, "edition", EPIDOC, format="plain", parts=parts)["content"]
    assert told == "Ἀπολλώνιος Ζήνωνι χαίρεινεἰ του κ καὶ ἄλλα {?}\n… ἔρρωσο &"
    told = ask(client, "edition", LEIDEN, format="plain", parts=parts)["content"]
    assert told == "Ἀπολλώνιος Ζήνωνι\nχαίρειν εἰ του κ καὶ ἄλλα__\n__ σοι {1-2} ἔρρωσο"


@pytest.mark.slow
def test_patterns_and_readings_are_those_of_the_library(client, filler):
    asked = {"patterns": [{"gap": 2, "pattern": "α.*"}], "readings": [{"gap": 1, "part": "τουτ"}]}
    told = ask(client, "fill", accepted=[{"gap": 0, "part": "τουκ"}], **asked)
    fill = filler.fill(LEIDEN.replace("....", "τουκ"), patterns={1: "α.*"}, readings={0: ["τουτ"]})
    (own,) = told["gaps"][0]["asked"]
    assert own["part"] == "τουτ"
    assert own["probability"] == pytest.approx(fill.gaps[0].asked[0].probability)
    assert all(one["part"].strip().startswith("α") for one in told["gaps"][1]["candidates"])
    assert told["gaps"][1]["matching"] == pytest.approx(fill.gaps[1].matching)


MISTAKES = {
    "is not closed": {"sequence": "αβ\nγ [.."},
    "line 2, column 3": {"sequence": "αβ\nγ [.."},
    "The XML cannot be read": {"sequence": "<ab>αβ<gap></ab>"},
    "no letter of the text": {"sequence": "only [..] English"},
    "There is no lacuna 3": {"accepted": [{"gap": 3, "part": "α"}]},
    "unknown to the model": {"accepted": [{"gap": 0, "part": "abc"}]},
    "has no letters": {"accepted": [{"gap": 0, "part": ", "}]},
    "'accepted.0.part'": {"accepted": [{"gap": 0, "part": ""}]},
    "'lost.0'": {"lost": ["read"]},
    "'notation'": {"notation": "latex"},
    "are for texts": {"model": "tunes", "notation": "leiden"},
    "Only a text with a notation": {"model": "words", "accepted": [{"gap": 0, "part": "a"}]},
    "accepted already": {
        "accepted": [{"gap": 0, "part": "του"}],
        "patterns": [{"gap": 0, "pattern": "τ.*"}],
    },
    "not a regular expression": {"patterns": [{"gap": 0, "pattern": "("}]},
    "'patterns.0.pattern'": {"patterns": [{"gap": 0, "pattern": "a" * 2000}]},
}


@pytest.mark.parametrize("words", MISTAKES)
def test_a_mistake_is_one_sentence(client, words):
    told = ask(client, "fill", status=422, **{"sequence": LEIDEN} | MISTAKES[words])
    assert words in told
    assert told.count(". ") == 0


def test_only_epidoc_is_written_as_epidoc(client):
    assert "Only an EpiDoc file" in ask(client, "edition", status=422, format="epidoc")
