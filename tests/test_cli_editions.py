"""Editions on the command line: Leiden and EpiDoc in, the same with restorations out."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import caesura
from caesura.errors import CaesuraError
from caesura.kinds import Text
from caesura.sequence import Gap, Span
from command_line import ask, mistake, run, settings
from markov_pair import markov_filler
from sentences import checked

TWO = '<gap reason="lost" quantity="2" unit="character"/>'
ANY = '<gap reason="lost" extent="unknown" unit="character"/>'
FILE = (
    '\ufeff<?xml version="1.0" encoding="UTF-8"?>\r\n<!-- abc -->\r\n'
    '<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><title>abcd</title></teiHeader>\n'
    '<text><body><div type="edition"><ab><lb n="1"/>Abc{0}bca <supplied reason="lost">bc</supplied>'
    "ab{1}ca &amp; b</ab></div></body></text></TEI>\r\n"
)
SUPPLIED = r'<supplied reason="lost" cert="(?:high|medium|low)" resp="#caesura">[a-d]{2}</supplied>'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two models of the same nets, one of which was made for editions, and some files."""
    folder = tmp_path_factory.mktemp("editions")
    filler = markov_filler("search")
    filler.save(folder / "plain.model")
    edited = Text("abcd", notation="leiden", normalise="letters")
    replace(filler, kind=edited).save(folder / "edited.model")
    (folder / "corpus").mkdir()
    (folder / "corpus" / "one.txt").write_text("Aábc, abcab cabca. bcabbd")
    (folder / "corpus" / "two.xml").write_text(FILE.format(TWO, "cdbb"), encoding="utf-8")
    (folder / "corpus" / "wrong.txt").write_text("abc[d")
    (folder / "letter.xml").write_bytes(FILE.format(TWO, TWO).encode())
    return folder


def fill(folder, *words, model="edited"):
    return ("fill", "text", *words, "--model", folder / f"{model}.model")


def test_an_epidoc_file_comes_back_byte_for_byte_but_for_its_gaps(folder):
    out = folder / "out.xml"
    words = fill(folder, folder / "letter.xml", "--top", 20, "-o", out)
    assert "%" in ask(*words)
    pattern = SUPPLIED.join(map(re.escape, FILE.format("\0", "\0").split("\0")))
    assert re.fullmatch(pattern.encode(), out.read_bytes())
    assert ask(*words[:3], "--model", folder / "plain.model", "--leiden").count("#caesura") == 2


def test_other_readings_go_into_an_epidoc_file(folder):
    words = fill(folder, folder / "letter.xml", "--alternatives")
    told = json.loads(ask(*words, "--top", 3, "--json"))
    assert told["edition"].count("<app ") == 2
    assert told["edition"].count("<rdg>") == 6
    assert "<app" not in told["best"]
    assert "".join(told["edition"].split()) in "".join(ask(*words, "--top", 3).split())
    sentence = mistake(*fill(folder, "ab[..]ca", "--alternatives"))
    assert sentence.startswith("The option --alternatives is for EpiDoc files")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (FILE.format(TWO, ANY)[1:], "leiden"),
        ("Ab[..]b, ca\n[.]bc[c.3]b", "leiden"),
        ("]abc[", "leiden"),
        ("ab⟦[..]⟧c_b{[.2]}_", "leiden"),
        ("Ab, {2}c_ B", "plain"),
    ],
)
def test_places_are_those_of_the_written_text(text, kind):
    item = Text("abcd", notation=kind, normalise="letters", lost="restored").open(text)
    item = item.with_lengths([gap.shortest for gap in item.open_gaps])
    values = np.random.default_rng(0).integers(0, 4, item.sequence.values.shape)
    written = item.written(np.where(item.missing, values, item.sequence.values), item.missing)
    letters = "".join(written.sequence[place] for place, _ in written.places)
    assert letters == "".join("abcd"[value] for value in values[item.missing])
    for step in np.flatnonzero(~item.missing[:, 0]):  # and what is observed has moved with them
        seen = written.sequence[written.starts[step] : written.stops[step]]
        code = item.marked.codes[step]
        assert seen in ("&amp;", "…") or seen.lower() == chr(code) or seen.startswith("<gap")


def test_places_of_words_and_of_nothing():
    item = Text("abAB", notation="leiden", normalise="letters starts").open("ab[...] b")
    written = item.written(item.sequence.values * 0 + 2, item.missing)  # "AAA": three words
    assert written.sequence == "ab[ a a a] b"
    assert written.places[:, 0].tolist() == [4, 6, 8]
    assert written.span(Span(2, 5)) == Span(4, 9)
    assert written.span(Span(5, 5)) == Span(9, 9)


def test_a_fill_of_an_edition_has_the_places_of_its_letters(folder):
    filler = caesura.load(folder / "edited.model")
    fill = filler.fill(folder / "letter.xml")
    parts = fill.candidates[0].parts
    assert tuple(fill.best[slice(*gap.span)] for gap in fill.gaps) == parts
    assert "".join(fill.best[place] for place, _ in fill.to_dict()["places"]) == "".join(parts)
    shown = [text.get_text() for text in fill.plot().axes[0].texts if text.get_color() == "black"]
    assert "".join(shown) == "".join(parts)


def test_gaps_that_a_text_does_not_mark_depend_on_the_kind(folder):
    filler = caesura.load(folder / "edited.model")
    item = filler.kind.open("ab[..]ca")
    assert filler.with_kind(lost="restored").kind.open(item.with_range((1, 3))).lengths == (1, 3)
    with pytest.raises(CaesuraError) as caught:
        filler.with_kind(lost="restored").fill(item.with_gaps([Gap(1, 1, 2)]))
    assert checked(caught.value).startswith(
        "The text has gaps that are not marked in the text itself"
    )


def test_restored_letters_are_lost_on_request(folder):
    told = json.loads(ask(*fill(folder, "abc[ab]c", "--lost", "restored", "--json")))
    assert [gap["start"] for gap in told["gaps"]] == [4]
    assert json.loads(ask(*fill(folder, "abc[ab]c", "--json")))["gaps"] == []
    assert mistake(*fill(folder, "abc", "--lost", "restored", model="plain")).startswith(
        "The option --lost is for editions"
    )


def test_a_range_of_lengths(folder):
    words = fill(folder, "abca[---]bcab", "--length-range", "1-2", "--json")
    assert set(json.loads(ask(*words))["gaps"][0]["lengths"]) == {"1", "2"}


def test_patterns_and_readings_of_ones_own(folder):
    words = fill(folder, "abca[..]bca[.]ca", "--pattern", "1=.c", "--reading", "2=b")
    told = json.loads(ask(*words, "--reading", "2=d", "--json"))
    assert {one["part"][1] for one in told["gaps"][0]["candidates"]} == {"c"}
    assert [one["part"] for one in told["gaps"][1]["asked"]] == ["b", "d"]
    shown = ask(*words)
    assert "yours: “b” " in shown
    assert "given the pattern, which holds with " in shown
    assert "1. " in shown


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--pattern", "3=a"], "--pattern '3=a' names the gap 3, but the text has 2, counted from"),
        (
            ["--pattern", "a"],
            "The text has 2 gaps: say for which one 'a' is, as in --pattern '1=a'",
        ),
        (["--pattern", "1=a", "--pattern", "1=b"], "A gap has one --pattern"),
        (
            ["--reading", "1=abc"],
            "The reading 'abc' has 3 letters, but the first gap has 2 letters",
        ),
        (["--notation", "laiden"], "There is no notation called 'laiden': did you mean 'leiden'?"),
        (["--leiden", "--notation", "epidoc"], "Specify either --leiden or --notation."),
        (["--lost", "all"], "There is no state of letters that can count as lost called 'all'"),
        (["--parallels", "none"], "There is no file or directory 'none'."),
    ],
)
def test_mistakes_in_options(folder, words, sentence):
    assert mistake(*fill(folder, "abca[..]bca[.]ca", *words)).startswith(sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ab\nc[d", "The '[' at line 2, column 2 is not closed."),
        ("ab]c", "The ']' at line 1, column 3 closes nothing"),
        ("a[b[c]]", "The '[' at line 1, column 4 stands inside another '['"),
        ("ab\n[c(d]a)", "The ']' at line 2, column 5 does not close the '(' at line 2, column 3"),
        ("<ab>ab\n<lb></ab>", "The XML cannot be read: mismatched tag at line 2, column"),
        ("xyz\nxy[.]", "The alphabet of the model has no letter of the text: the first, 'x', is"),
    ],
)
def test_mistakes_in_texts_have_their_places(folder, text, sentence):
    assert mistake(*fill(folder, text)).startswith(sentence)
    (folder / "wrong.xml").write_text(text)
    assert mistake(*fill(folder, folder / "wrong.xml")).startswith(sentence)


def test_what_is_no_xml(folder):
    sentence = mistake(*fill(folder, "abc[.]", "--notation", "epidoc"))
    assert sentence.startswith("The XML cannot be read: ")
    assert "line 1, column 1" in sentence


def test_a_folder_of_editions_is_filled(folder, tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "deep" / "a.xml").write_bytes((folder / "letter.xml").read_bytes())
    (tmp_path / "in" / "b.txt").write_text("abca[..]bc\r\n", newline="")
    (tmp_path / "in" / "c.txt").write_text("abca]bc")
    words = fill(folder, tmp_path / "in", "--engine", "local", "-o", tmp_path / "out")
    assert json.loads(ask(*words, "--json"))["filled"] == 2
    files = tmp_path / "out" / "files"
    names = sorted(p.relative_to(files).as_posix() for p in files.rglob("*.*"))
    assert names == ["b.txt", "deep/a.xml"]
    assert (files / "deep" / "a.xml").read_bytes().startswith(b"\xef\xbb\xbf<?xml")
    assert b"#caesura" in (files / "deep" / "a.xml").read_bytes()
    assert re.fullmatch(rb"abca\[[a-d]{2}\]bc\r\n", (files / "b.txt").read_bytes())
    told = pd.read_parquet(tmp_path / "out" / "fills").set_index("id")
    assert told.loc["c.txt"].reason.startswith("The ']' at line 1, column 5 closes nothing")


def test_parallels_are_found_on_the_command_line(folder):
    index = folder / "corpus.parallels"
    result = run("parallels", "build", folder / "corpus", "-o", index, "--leiden", "--json")
    told = json.loads(result.stdout)
    assert (told["texts"], told["left_out"]) == (2, ["wrong.txt"])
    assert "One text is left out, such as 'wrong.txt': The '[' at line 1" in result.stderr
    shown = ask("parallels", "find", index, "abcab[cab]c", "--count", 1)
    assert shown == "one.txt: …aabc ab [cab] cabca bcabbd… (6 letters around it are the same)\n"
    found = json.loads(ask("parallels", "find", index, "abcab[...]bca", "--json"))["passages"]
    assert (found[0]["part"], found[0]["matching"]) == ("cdb", 8)
    text = ("abcab[.]abcabcabb",)
    told = json.loads(ask(*fill(folder, *text, "--parallels", index, "--json", "--top", 1)))
    assert [len(one) for one in told["parallels"]] == [2]
    assert told["parallels"][0][0]["passages"][0]["id"] == "one.txt"
    assert "like one.txt: …" in ask(*fill(folder, *text, "--parallels", index))
    (folder / "no.parallels").write_bytes(index.read_bytes()[:-30])
    assert "is not a complete index of parallels" in mistake(
        *("parallels", "find", folder / "no.parallels", "abcabc")
    )


@pytest.fixture
def corpus(tmp_path):
    for number in range(2):
        text = FILE.format("Tróiae qui primus " * 20, TWO)
        (tmp_path / f"{number}.xml").write_text(text, encoding="utf-8", newline="")
    return tmp_path


def test_the_alphabet_is_learnt_from_the_letters_as_the_net_sees_them(corpus):
    fields = {"notation": "epidoc", "normalise": "case marks"}
    assert Text.learn(Text.items(corpus), **fields).alphabet == " &abceimopqrstu"
    (corpus / "2.xml").write_text("<ab>a<gap></ab>")
    with pytest.raises(CaesuraError) as caught:
        Text.learn(Text.items(corpus), **fields)
    file = corpus / "2.xml"
    assert checked(caught.value).startswith(f"The text of '{file}' cannot be read: the XML cannot")


@pytest.mark.slow
def test_a_folder_of_epidoc_files_is_learnt_from(corpus):
    fields = ("notation=epidoc", "normalise=case marks", "steps=2", "strategy=nade")
    more = [word for setting in fields for word in ("-s", setting)]
    model = corpus / "latin.model"
    ask("train", "text", corpus, "-o", model, *settings(), *more)
    assert caesura.load(model).kind.alphabet == " &abceimopqrstu"
    assert "#caesura" in ask("fill", "text", corpus / "0.xml", "--model", model)
