"""Texts: their alphabets, their gaps, and that no character of them is ever lost."""

import dataclasses
import json
import lzma
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from caesura.errors import CaesuraError, CaesuraWarning, FileMissingError
from caesura.kinds import Text
from caesura.kinds.finding import find_files
from caesura.kinds.text import files as text_files
from caesura.kinds.text.alphabet import PAPER
from caesura.kinds.text.text import TextItem
from caesura.sequence import UNKNOWN, FrameSpec, Span

PLAIN = "“Zwölf Boxkämpfer”\n\tjagten – ‘Viktor’ quer\n\n漢字 🙂 e\u0301 \ufeff \ud800 \U0010ffff"
STRANGE = PLAIN.replace("quer\n", "\rquer\r\n") + "\x00\x85"


def learn(texts: list[str], **fields) -> Text:
    """A kind, whatever it warns of."""
    with warnings.catch_warnings(action="ignore", category=CaesuraWarning):
        return Text.learn(texts, **fields)


def fill_with(kind: Text, text: str, number: int) -> str:
    """The text with one symbol in all of its gaps."""
    item = kind.open(text)
    return item.write(np.where(item.missing, number, item.sequence.values), item.missing)


# Alphabets


def test_the_alphabet_is_learnt_in_the_order_of_code_points():
    assert Text.learn(["cab’", "b\n"]).alphabet == "\nabc’"
    assert Text.learn(["ab_", "c_"]).alphabet == "abc"  # the gap character is never learnt
    assert Text.learn(["a_", "b?"], gap_char="?").alphabet == "_ab"


def test_the_most_frequent_characters_are_kept_and_ties_go_by_code_point():
    texts = ["ddd", "cbcb", "ea"]
    for size, alphabet in [(1, "d"), (2, "bd"), (3, "bcd"), (4, "abcd"), (9, "abcde")]:
        assert Text.learn(texts, alphabet_size=size).alphabet == alphabet
        assert Text.learn(texts[::-1], alphabet_size=size).alphabet == alphabet
    many = "".join(map(chr, range(0x4E00, 0x4E00 + 300)))
    assert Text.learn([many]).frame == FrameSpec("categorical", 256)


def test_an_alphabet_can_be_given():
    assert Text.learn(["xyz"], alphabet="zyx").alphabet == "zyx"
    paper = Text.learn(["some text"], alphabet="paper")
    assert paper.alphabet == PAPER
    assert paper.frame.size == len(set(PAPER)) == 96
    assert set("\n ~_azAZ09") < set(PAPER)
    assert not set("\t\r\x7f’") & set(PAPER)


def test_a_kind_is_made_of_plain_values():
    kind = learn([STRANGE], gap_char="?")
    _ = kind.open("a").sequence  # whatever it keeps for later
    told = json.loads(json.dumps(dataclasses.asdict(kind)))
    fields = {"alphabet", "gap_char", "brackets", "notation", "normalise", "lost", "divided"}
    assert set(told) == fields
    assert Text(**told) == kind
    assert kind.symbols() == list(kind.alphabet)


# Reading and writing


def test_a_text_is_read_as_numbers_with_its_gaps():
    sequence = Text("ab\n’").open("b_’x\n_").sequence
    assert sequence.values.tolist() == [[1], [0], [3], [UNKNOWN], [2], [0]]
    assert sequence.missing[:, 0].tolist() == [False, True, False, False, False, True]


@pytest.mark.parametrize("gap_char", ["_", "?", "\n", "’", "🙂"])
def test_the_gap_character_can_be_changed(gap_char):
    kind = Text("ab", gap_char)
    text = f"a{gap_char}b_{gap_char}"
    missing = kind.open(text).sequence.missing[:, 0]
    assert missing.tolist() == [character == gap_char for character in text]


@pytest.mark.parametrize("alphabet", ["learn", "paper", "abc"])
def test_every_untouched_character_is_carried_through(alphabet):
    kind = learn([STRANGE + "abc"], alphabet=alphabet, gap_char="#")
    text = f"#{STRANGE}##{STRANGE}#"
    for number in (0, kind.frame.size - 1):
        assert fill_with(kind, text, number) == text.replace("#", kind.alphabet[number])


def test_each_symbol_is_written_as_it_was_read():
    kind = Text.learn([PLAIN])
    values = kind.open(PLAIN).complete.values
    assert values.min() >= 0
    gaps = kind.open("_" * len(PLAIN))
    assert gaps.write(values, gaps.missing) == PLAIN
    assert gaps.part(values, Span(6, 9)) == PLAIN[6:9]


def test_control_characters_are_left_out_and_counted():
    with pytest.warns(
        CaesuraWarning, match=r"have 4 control characters, such as '\\x00': they are"
    ):
        kind = Text.learn(["a\x00b\r\nc\r\n\td\x85\xa0"])
    assert kind.alphabet == "\t\nabcd\xa0"
    assert kind.open("a\r").sequence.values[:, 0].tolist() == [2, UNKNOWN]
    with warnings.catch_warnings(action="error"):
        assert Text.learn(["a\r"], alphabet="a\r").alphabet == "a\r"  # it was asked for


def test_an_item_holds_its_text_and_is_opened_once():
    kind = Text("abc")
    item = kind.open("a_c")
    assert isinstance(item, TextItem)
    assert kind.open(item) is item
    assert (item.original, item.content("abc"), item.view("abc")) == ("a_c", "abc", {})
    assert item.codes is item.codes
    other = Text("cba").open(item)  # another alphabet has other numbers
    assert other.complete.values[:, 0].tolist() == [2, UNKNOWN, 0]
    assert kind.open_content("a_c").sequence.gaps == item.sequence.gaps


def test_in_complete_texts_the_gap_character_is_a_symbol_if_the_alphabet_has_it():
    with_it, without = Text(PAPER), Text("abc")
    assert not with_it.open("a_b").complete.missing.any()
    assert with_it.open("_").complete.values.item() == PAPER.index("_")
    assert with_it.open("a_b").sequence.missing[:, 0].tolist() == [False, True, False]
    assert without.open("a_b").complete.values[:, 0].tolist() == [0, UNKNOWN, 1]


def test_describe_names_the_character():
    assert Text("ab").open("aüb").describe(1) == "character 'ü' at position 1"


def test_ten_million_characters_take_about_a_second(record_property):
    text = STRANGE * (10_000_000 // len(STRANGE))
    began = time.process_time()
    kind = learn([text], gap_char="#")
    item = kind.open(text)
    same = item.write(item.sequence.values, item.missing)
    took = time.process_time() - began
    record_property("measured", f"10 MB of text learnt, read and written in {took:.2f} s")
    assert same == text
    assert took < 5  # a loop over characters takes more


# Files


def test_files_and_folders_are_found_in_a_fixed_order(tmp_path: Path):
    for name in ["b.txt", "a/z.txt", "a/y.TXT", "a.txt", "c.md", "B/deep/er.txt", "d.txt/x.txt"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    inside = ["B/deep/er.txt", "a.txt", "a/y.TXT", "a/z.txt", "b.txt", "d.txt/x.txt"]
    for hidden in (".c.txt", "a/._z.txt", ".git/e.txt"):
        (tmp_path / hidden).parent.mkdir(exist_ok=True)
        (tmp_path / hidden).write_text(hidden)
    assert Text.find([tmp_path]) == [tmp_path / name for name in inside]
    assert Text.items([tmp_path]) == Text.items(tmp_path) == inside
    some = [tmp_path / "c.md", tmp_path / "a", tmp_path / "a/z.txt"]
    assert Text.items(some[:2]) == ["c.md", "a/y.TXT", "a/z.txt"]
    assert Text.find(some) == [some[0], tmp_path / "a/y.TXT", some[2]]  # each once
    assert Text.items(["a text", some[0]]) == ["a text", "c.md"]
    assert Text.items("a text") == ["a text"]


def test_files_are_found_one_directory_at_a_time(tmp_path: Path, monkeypatch):
    for name in ["a/1.txt", "b/2.txt"]:
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    listed = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path.name) or scandir(path))
    files = find_files([tmp_path], Text.suffixes)
    assert next(files) == tmp_path / "a/1.txt"
    assert listed == [tmp_path.name, "a"]


def test_a_file_is_read_as_it_is_without_its_byte_order_mark(tmp_path: Path):
    text = STRANGE.replace("\ud800", "")
    plain, marked, packed = (tmp_path / name for name in ("a.txt", "b", "c.txt.xz"))
    plain.write_bytes(text.encode())
    marked.write_bytes(b"\xef\xbb\xbf" + text.encode())
    packed.write_bytes(lzma.compress(text[:9].encode()) + lzma.compress(text[9:].encode()))
    assert Text.items([plain, marked, packed]) == [text] * 3
    assert Text.items([tmp_path]) == [text] * 2
    kind = learn([text])
    item = kind.open(marked)
    assert np.array_equal(item.sequence.values, kind.open(text).sequence.values)
    assert item.write(item.sequence.values, item.missing) == item.original == text


def test_a_wrong_file_gets_one_sentence_that_names_it(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(text_files, "MOST_BYTES", 1000)
    made = {
        "latin.txt": "für".encode("latin-1"),
        "utf16.txt": "für".encode("utf-16"),
        "empty.txt": b"",
        "mark.txt": b"\xef\xbb\xbf",
        "wrong.xz": b"no such thing",
        "cut.txt.xz": lzma.compress(b"a" * 500)[:-20],
        "bomb.xz": lzma.compress(b"a" * 3_000_000),
    }
    for name, content in made.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.md").write_text("no text file")
    sentences = {
        "latin.txt": "is not UTF-8 text: its byte 1 cannot be read",
        "utf16.txt": "is not UTF-8",
        "empty.txt": "is empty",
        "mark.txt": "is empty",
        "wrong.xz": "is not a complete xz file",
        "cut.txt.xz": "is not a complete xz file",
        "bomb.xz": "holds more than 1000 bytes",
        "folder": r"has no \*.txt, \*.txt.xz or \*.xml files",
        "nowhere": "There is no file or directory",
        "nowhere.xz": "There is no file or directory",
        "latin.txt/x": "Cannot read .*: not a directory",
    }
    for name, sentence in sentences.items():
        with pytest.raises(CaesuraError, match=sentence) as caught:
            Text.items([tmp_path / name])
        assert_one_sentence(caught.value)
        assert f"'{tmp_path / name}'" in str(caught.value)
    with pytest.raises(CaesuraError, match="is a directory"):
        Text("ab").open(tmp_path)
    with pytest.raises(FileMissingError, match="There is no file or directory"):
        Text("ab").open(tmp_path / "nowhere.txt")


# Mistakes


def assert_one_sentence(error: CaesuraError) -> None:
    text = str(error)
    assert "\n" not in text
    assert text[0].isupper() or text[0] in "'`"
    assert text[-1] in ".?"


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: Text.learn([]), "no text to learn from"),
        (lambda: Text.learn(["", ""]), "no text to learn from"),
        (lambda: Text.learn(["___"]), "no text to learn from"),
        (lambda: Text.learn(["abc"], alphabet="xyz"), "No character of the texts is in the"),
        (lambda: Text.learn(["äöü"], alphabet="paper"), "No character of the texts is in the"),
        (lambda: Text.learn(["ab"], alphabet=""), "'learn', 'paper' or a string of symbols, not"),
        (lambda: Text.learn(["ab"], alphabet=3), "'learn', 'paper' or a string of symbols, not 3"),
        (lambda: Text.learn(["ab"], alphabet="papre"), "holds 'p' twice, but it must be 'learn'"),
        (lambda: Text.learn(["ab"], alphabet="ab", alphabet_size=2), "if the alphabet is learnt"),
        (lambda: Text.learn(["ab"], alphabet_size=0), "'alphabet_size' must be at least 1"),
        (lambda: Text.learn(["ab"], alphabet_size="9"), "'alphabet_size' must be a whole number"),
        (lambda: Text.learn(["ab"], gap_char="__"), "'gap_char' must be one character, not '__'"),
        (lambda: Text.learn(["ab"], gap_char=""), "'gap_char' must be one character, not ''"),
        (lambda: Text.learn(["ab"], gap_char=None), "'gap_char' must be one character, not None"),
        (lambda: Text.learn(["ab"], gapchar="?"), "no field of a text called 'gapchar': did you"),
        (lambda: Text.learn(["ab", 3]), "is a string, not int"),
        (lambda: Text("aba"), "holds 'a' twice"),
        (lambda: Text("ab", "xy"), "'gap_char' must be one character"),
        (lambda: Text("ab").open(""), "The text is empty"),
        (lambda: Text("ab").open(b"ab"), "path or a string, not bytes"),
        (lambda: Text("ab").open(None), "path or a string, not NoneType"),
    ],
)
def test_a_mistake_gets_one_sentence(ask, sentence):
    with pytest.raises(CaesuraError, match=sentence) as caught:
        ask()
    assert_one_sentence(caught.value)
