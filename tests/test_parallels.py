"""Parallels: passages of a corpus that are like a reading in its context."""

import json
import lzma

import numpy as np
import pytest

from caesura.errors import CaesuraError
from caesura.kinds import Text
from caesura.parallels import Parallels, read_question
from markov_pair import markov_filler
from sentences import checked

LEIDEN = Text("α", notation="leiden")
TEXTS = [
    ("p.1", "Ἔτους πέμπτου Αὐτοκράτορος Καίσαρος, μηνὸς Ἁδριανοῦ"),
    ("p.2", "[ἔτους] τρίτου αὐτο-\nκρά[τορος] Κα[...]ρος μηνὸς [---]αδρ"),
    ("p.3", "<ab>ἔτους ἕκτου αὐτοκράτορος Νέρουα</ab>"),
    ("p.4", "καὶ ἄλλα"),
]


@pytest.fixture(scope="module")
def index():
    return Parallels.build(TEXTS, LEIDEN)


def test_the_best_passage_is_the_one_with_the_longest_context(index):
    found = index.find("ετους πεμπτου", "αὐτοκράτορος", "Καίσαρος μηνός", count=3)
    assert [one.id for one in found] == ["p.1", "p.2", "p.3"]
    best = found[0]
    assert (best.before, best.part) == ("ετους πεμπτου", "αυτοκρατορος")
    assert best.after == "καισαρος μηνος αδριανου"
    assert best.place == len("ετουςπεμπτου")
    assert best.matching == len("ετουςπεμπτουκαισαροςμηνος")
    # Lost letters neither match nor part the passages; a gap of unknown length ends one.
    assert found[1].after == "κα___ρος μηνος …αδρ"
    assert found[1].matching == len("του") + len("καροςμηνος")


def test_any_letter_may_stand_in_the_reading(index):
    for lost, part in (("______", "τριτου"), ("_____", "εκτου")):
        best = index.find("ετους", lost, "αυτοκρατορος")[0]
        assert (best.part, best.matching) == (part, len("ετουςαυτοκρατορος"))


def test_a_reading_is_found_with_one_letter_in_five_changed(index):
    assert [one.part for one in index.find("", "αυτοκρατωρος", "καισα")][:1] == ["αυτοκρατορος"]
    assert index.find("πεμπτου", "βασιλεως", "καισαρος") == []


def test_a_passage_does_not_go_beyond_its_document(index):
    assert index.find("νερουα", "και", "αλλα")[0].matching == len("αλλα")


def test_five_letters_are_needed(index):
    with pytest.raises(CaesuraError) as caught:
        index.find("του", "_", "και")
    assert checked(caught.value).startswith("To find parallels, 5 letters beside each other")
    with pytest.raises(CaesuraError, match="no text"):
        Parallels.build([], LEIDEN)


def test_letters_of_other_scripts_and_many_of_them():
    letters = "".join(map(chr, range(0x4E00, 0x4E00 + 400)))
    index = Parallels.build([("a", letters), ("b", letters[::-1])], Text("a"))
    (one,) = index.find(letters[95:100], letters[100:102], "")
    assert (one.id, one.place, one.part) == ("a", 100, letters[100:102])


def test_the_context_of_a_gap_is_what_is_observed(index):
    filler = markov_filler("search")
    index = Parallels.build([("a", "abcabdcab"), ("b", "abcabacab")], Text("abcd"))
    fill = filler.fill("abcab_ca_")
    assert [one.id for one in index.of_gap(fill, 0, "d")] == ["a"]
    assert index.of_gap(fill, 0, "a")[0].matching == len("abcab") + len("ca")


def test_a_file_holds_the_same(index, tmp_path):
    index.save(tmp_path / "i.parallels")
    again = Parallels.load(tmp_path / "i.parallels")
    asked = ("ετους", "πεμπτου", "αυτο")
    assert again.find(*asked) == index.find(*asked)


def test_damaged_files_are_refused(index, tmp_path):
    path = tmp_path / "i.parallels"
    index.save(path)
    whole = lzma.decompress(path.read_bytes())
    header, letters, ids, numbers = whole.split(b"\n", 3)
    huge = json.dumps(json.loads(header) | {"letters": 1 << 40}).encode()
    infinite = header.replace(b'"documents": 4', b'"documents": 1e999')
    for content in (
        whole[:-1],
        whole + b"x",
        b"\n".join([huge, letters, ids, numbers]),
        b"\n".join([infinite, letters, ids, numbers]),
        b"\n".join([header, letters, b"[]", numbers]),
        b"\n".join([header, letters, ids, b"\xff" * len(numbers)]),
        whole.replace(b"parallels 1", b"parallels 2"),
        b"",
    ):
        path.write_bytes(lzma.compress(content))
        with pytest.raises(CaesuraError) as caught:
            Parallels.load(path)
        assert "is not a complete index of parallels" in checked(caught.value)
    path.write_bytes(whole)
    with pytest.raises(CaesuraError, match="is not a complete index"):
        Parallels.load(path)
    with pytest.raises(CaesuraError, match="There is no file"):
        Parallels.load(tmp_path / "none")


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("ab c", ("", "abc", "")),
        ("Ab[cd]e[f]", ("ab", "cd", "ef")),
        ("ab[.]e[..]f[---]gh", ("ab", "_", "e__f")),
        ("ab[c..]d", ("ab", "c__", "d")),
        ("ab[===]\ncd[e]", ("cd", "e", "")),
        ("ab_d", ("ab", "_", "d")),
    ],
)
def test_what_is_asked(text, question):
    assert read_question(text) == question


def test_a_question_has_a_known_number_of_letters():
    with pytest.raises(CaesuraError) as caught:
        read_question("ab\nc[---]d")
    assert "at line 2, column 3 has no certain length" in checked(caught.value)


def test_word_starts_have_a_place_for_every_letter(index):
    assert len(index.corpus.word_starts) == len(index.corpus.text) == index.corpus.ends[-1]
    assert np.array_equal(np.unique(index.corpus.codes[index.corpus.ends - 1]), [1])
