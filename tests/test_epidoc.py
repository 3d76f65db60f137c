"""EpiDoc files: read safely, and written back byte for byte but for their gaps."""

import re
import time
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caesura.errors import CaesuraError
from caesura.kinds import Text
from caesura.kinds.text.document import BREAK
from caesura.kinds.text.epidoc import MOST_BYTES, is_xml, read_epidoc, write_epidoc
from caesura.kinds.text.normalise import words_of
from sentences import checked

GREEK = "αβγδεζηθικλμνξοπρστυφχψω"
LETTERS = words_of("letters")
KIND = Text(GREEK, notation="epidoc", normalise="letters final")
FIVE = '<gap reason="lost" quantity="5" unit="character"/>'
FILE = f"""<?xml version="1.0" encoding="UTF-8"?>
<?xml-model href="http://example.org/tei.rng"?>
<!-- α -->
<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><title>αβγ</title></teiHeader>
<text><body><head>ω</head><div type="edition" xml:lang="grc"><ab>\r
<lb n="1"/>Ἀπ<supplied reason='lost'>ὸ</supplied> τ&#x3bf;ῦ {FIVE}<unclear>δ</unclear>,
<lb n="2" break="no"/>κ<gap reason="lost" extent="unknown" unit="character"></gap  > &amp; ν
</ab></div><div type="translation"><p>ψψψ</p></div></body></text></TEI>
"""


def gaps(inside: str, **options) -> list[tuple[int, int, int]]:
    document = read_epidoc(f"<ab>α{inside}β</ab>", LETTERS, **options)
    return [run.gap[:3] for run in document.runs]


def letters(inside: str) -> str:
    return read_epidoc(f"<ab>{inside}</ab>", LETTERS).letters


def filled_with(item, letter: str = "β", **options) -> str:
    item = item.with_lengths([gap.shortest for gap in item.open_gaps])
    values = np.where(item.missing, GREEK.index(letter), item.sequence.values)
    return item.edition(values, item.missing, **options)


@pytest.mark.parametrize(
    ("inside", "found"),
    [
        (FIVE, [(1, 5, 5)]),
        ('<gap reason="illegible" quantity="2" unit="character"/>', [(1, 2, 2)]),
        ('<gap reason="lost" quantity="5" unit="character" precision="low"/>', [(1, 4, 6)]),
        ('<gap reason="lost" atLeast="2" atMost="4" unit="character"/>', [(1, 2, 4)]),
        ('<gap reason="lost" extent="unknown" unit="character"/>', [(1, 1, 12)]),
        ('<gap reason="lost" extent="3" unit="character"/>', [(1, 3, 3)]),
        ('<gap reason="lost" quantity="2" unit="cm"/>', [(1, 1, 12)]),
        ('<gap reason="lost"/>', [(1, 1, 12)]),
        ('<gap reason="lost" quantity="x"/>', [(1, 1, 12)]),
        ('<gap quantity="2"><certainty match=".."/><desc>γγ</desc></gap>', [(1, 2, 2)]),
        ('<gap quantity="2"/><gap quantity="3"/>', [(1, 5, 5)]),
        ('<t:gap xmlns:t="t" quantity="2"></t:gap>', [(1, 2, 2)]),
        ('<gap reason="lost" quantity="2" unit="line"/>', []),
        ('<gap reason="ellipsis"/>', []),
        ("<del>γ<gap quantity='2'/></del>", []),
    ],
)
def test_gaps_are_found(inside, found):
    assert gaps(inside) == found


@pytest.mark.parametrize(
    ("inside", "seen"),
    [
        ("<hi rend='x'>Ἀ</hi><unclear>β</unclear>", "αβ"),
        ("<expan>δρ<ex>αχμὴ</ex></expan><am>χ</am>", "δραχμη"),
        ("<subst><add>α</add><del>β</del></subst><surplus>γ</surplus>", "α"),
        ("<choice><reg>α</reg><orig>β</orig></choice>", "β"),
        ("<choice><sic>α</sic><corr>β</corr></choice>", "α"),
        ("<choice><unclear>α</unclear><unclear>β</unclear></choice>", "α"),
        ("<app><lem>α</lem><rdg>β</rdg></app><app><rdg>γ</rdg><rdg>δ</rdg></app>", "αγ"),
        ("α<note>β</note><!-- γ --><?pi δ?><![CDATA[ε]]>&#950;", "αεζ"),
        ("α<gap reason='lost' unit='line'/>β", f"α{BREAK}β"),
        ("<supplied reason='omitted'>α</supplied><supplied reason='lost'>β</supplied>", "αβ"),
    ],
)
def test_letters_are_those_of_the_edition(inside, seen):
    assert letters(inside) == seen


def test_words_go_on_after_a_line_end_that_does_not_break():
    text = "<ab>\n<lb/>α\n<lb break='no'/>β\r\n<lb/>γ<lb/>δ</ab>"
    assert read_epidoc(text).letters == "αβ γ δ"


def test_only_the_edition_is_read():
    assert KIND.open(FILE).document.letters == "αποτουδκν"
    whole = "<TEI><teiHeader>α</teiHeader><text><front>β</front><body>γ</body></text></TEI>"
    assert read_epidoc(whole).letters == "γ"
    assert read_epidoc("<TEI><teiHeader>α</teiHeader><text>β</text></TEI>").letters == "β"


def test_restored_and_doubtful_letters_are_lost_on_request():
    inside = "<supplied reason='lost'>βγ</supplied>δ<unclear>ε</unclear>"
    assert gaps(inside, lost={"restored"}) == [(1, 2, 2)]
    assert gaps(inside, lost={"doubtful"}) == [(4, 1, 1)]


def test_a_file_comes_back_byte_for_byte_but_for_its_gaps():
    item = KIND.open(FILE)
    assert item.suffix == ".xml"
    item = item.with_lengths([2])
    nothing = np.zeros_like(item.missing)
    assert item.write(item.sequence.values, nothing) == FILE
    filled = item.write(np.where(item.missing, 1, item.sequence.values), item.missing)
    restored = '<supplied reason="lost" resp="#caesura">{}</supplied>'
    wanted = FILE.replace(FIVE, restored.format("βββββ"))
    assert filled == re.sub(r"<gap.*?</gap  >", restored.format("ββ"), wanted)
    assert KIND.open(filled).document.letters == "αποτουβββββδκββν"


def test_certainty_and_other_readings():
    item = KIND.open(f"<ab>α{FIVE}\n<lb break='no'/><gap quantity='1'/>β</ab>")
    readings = [[("βββββ" + "β", 0.5), ("γγγγγ" + "β", 0.4), ("βββββ" + "δ", 0.05)]]
    first = filled_with(item, readings=readings)
    assert re.findall('cert="(.*?)"', first) == ["medium", "high"]  # 0.55 and 0.9
    both = filled_with(item, readings=readings, others=None)
    assert '<rdg><supplied reason="lost" cert="low" resp="#caesura">γγγγγ</supplied>' in both
    ElementTree.fromstring(both)
    assert read_epidoc(both).letters == read_epidoc(first).letters


def test_letters_are_escaped_and_some_may_be_left():
    assert "&lt;&amp;</supplied>" in write_epidoc("<&")
    one = write_epidoc(["α", None, None])
    assert one.endswith('α</supplied><gap reason="lost" quantity="2" unit="character"/>')


def test_final_sigmas_stand_at_the_ends_of_words():
    text = "<ab>το<gap quantity='1'/> α<gap quantity='1'/>\n<lb break='no'/>α</ab>"
    assert re.findall(">(.)</sup", filled_with(KIND.open(text), "σ")) == ["ς", "σ"]


def test_xml_is_told_from_leiden():
    kind = Text(GREEK, notation="leiden")
    assert type(kind.open("<ab>α</ab>")).__name__ == "EpiDocItem"
    assert type(kind.open("<α> β")).__name__ == "LeidenItem"
    assert is_xml(FILE)


# What is refused

LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("αβγ", "The XML cannot be read: syntax error at line 1, column 1."),
        ("<ab>\nα", "The XML cannot be read: no element found at line 2, column 2."),
        ("<ab>\nα</b>", "The XML cannot be read: mismatched tag at line 2, column 4."),
        ("<ab>\ud800</ab>", "The XML cannot be read: not well-formed"),
        ("<ab>α\x00</ab>", "The XML cannot be read: not well-formed"),
        ("<ab>&l;</ab>", "The XML cannot be read: undefined entity at line 1, column 5."),
        (f'<!DOCTYPE a [<!ENTITY l0 "ha">{LAUGHS}]><ab>&l9;</ab>', "The DOCTYPE of the XML has"),
        ('<!DOCTYPE a [<!ENTITY l SYSTEM "file:///etc/passwd">]><ab>&l;</ab>', "The DOCTYPE of"),
        ('<!DOCTYPE a [<!ENTITY % l SYSTEM "http://x/">%l;]><ab>α</ab>', "The DOCTYPE of the"),
        ('<!DOCTYPE a [<!ATTLIST b c CDATA "x">]><ab>α</ab>', "The DOCTYPE of the XML has"),
        ('<?xml version="1.0" encoding="latin1"?><ab>α</ab>', "The XML has the encoding 'latin1'"),
        (
            "<a>" * 10**5 + "α" + "</a>" * 10**5,
            "The XML has more than 200 levels of elements at line 1,",
        ),
        (f"<ab>{'α' * (MOST_BYTES // 2)}</ab>", "The XML has more than"),
        ("<ab><gap quantity='5'/></ab>", "The text has no letters that are not lost."),
        ("<ab>α<gap quantity='99999999999999999999'/></ab>", "The gap at line 1, column 6 has"),
        ("<ab/>", "The text has no letters."),
    ],
    ids=range(16),
)
def test_bad_files_are_refused(text, sentence):
    start = time.perf_counter()
    with pytest.raises(CaesuraError) as caught:
        KIND.open(text)
    assert checked(caught.value).startswith(sentence)
    assert time.perf_counter() - start < 2


def test_external_files_are_not_opened(tmp_path):
    (tmp_path / "x.dtd").write_text("<!ENTITY l 'ω'>")
    assert letters("α") == "α"
    text = f'<!DOCTYPE ab SYSTEM "{tmp_path}/x.dtd"><ab>α&l;</ab>'
    assert read_epidoc(text).letters == "α"


def test_huge_attributes_are_no_trouble():
    many = " ".join(f'a{i}="1"' for i in range(10_000))
    text = f"<ab {many} x='{'y' * 10**6}'>α{FIVE}</ab>"
    assert filled_with(KIND.open(text)).startswith(text[: text.index("<gap")])


# Any file

text = st.text(st.sampled_from("αβ Ά,\n\u0323]&<>"), max_size=5).map(
    lambda t: t.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&#62;")
)
MARKS = [FIVE, "<gap></gap>", "<lb/>", "<lb break='no'/>", "<!--x-->\r\n"]
MARKS += ["<app><lem>α</lem><rdg>β</rdg></app>", "<choice><reg>α</reg><orig>β</orig></choice>"]
leaf = st.one_of(text, st.sampled_from(MARKS))
tag = st.sampled_from(["hi", "supplied", "unclear", "del", "ab", "gap", "note"])
tree = st.recursive(
    leaf,
    lambda child: st.tuples(tag, st.lists(child, max_size=4)).map(
        lambda one: f"<{one[0]}>{''.join(one[1])}</{one[0]}>"
    ),
    max_leaves=15,
)


@settings(max_examples=100, deadline=None)
@given(tree, st.sampled_from(["", "restored doubtful"]))
def test_whatever_is_read_comes_back(inside, states):
    content = f"<div>α{inside}</div>"
    kind = Text(GREEK, notation="epidoc", normalise="letters", lost=states)
    item = kind.open(content)
    item = item.with_lengths([gap.shortest for gap in item.open_gaps])
    nothing = np.zeros_like(item.missing)
    assert item.write(item.sequence.values, nothing) == content
    filled = filled_with(item)
    ElementTree.fromstring(filled)
    again = Text(GREEK, notation="epidoc", normalise="letters").open(filled)
    values = np.where(item.missing, 1, item.sequence.values)
    assert again.complete.values.tolist() == values.tolist()
