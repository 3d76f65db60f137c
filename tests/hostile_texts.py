"""Editions, regular expressions and indexes of parallels from strangers."""

import io
import lzma
import re
import warnings
from itertools import product
from xml.parsers import expat

import numpy as np

from caesura.kinds import Text
from caesura.kinds.text.pattern import automaton_of
from caesura.parallels import Parallels
from hostile_answer import FOLDER, answer, written

GREEK = "αβγδεζηθικλμνξοπρστυφχψω"
STARTS = GREEK + GREEK.upper()
ABC = Text("abc")
WORDS = [word for length in range(4) for word in product(range(3), repeat=length)]


def read_as_leiden(content: bytes) -> None:
    text = content.decode("utf-8", "replace")
    for kind in (
        Text(GREEK, notation="leiden", normalise="letters final"),
        Text(STARTS, notation="leiden", normalise="letters final starts", lost="restored doubtful"),
    ):
        _fill_edition(kind, text)


def read_as_epidoc(content: bytes) -> None:
    text = content.decode("utf-8", "replace")
    for kind in (
        Text(GREEK, notation="epidoc", normalise="letters final"),
        Text(STARTS, notation="epidoc", normalise="letters starts", lost="restored doubtful"),
    ):
        if (filled := _fill_edition(kind, text)) is not None:
            expat.ParserCreate("utf-8").Parse(filled.encode(), True)  # well-formed


def _fill_edition(kind: Text, text: str) -> str | None:
    """Write it back as it was, and with its gaps filled; return the latter."""
    item = answer(kind.open, text)
    if item is None or answer(lambda: item.sequence) is None:
        return None
    if item.sequence.missing.sum() + sum(gap.shortest for gap in item.open_gaps) > 10_000:
        return None
    if not item.open_gaps:
        assert item.write(item.sequence.values, np.zeros_like(item.missing)) == text
    item = item.with_lengths([gap.shortest for gap in item.open_gaps])
    filled = answer(item.write, np.where(item.missing, 1, item.sequence.values), item.missing)
    if filled is not None:
        answer(kind.open, filled)
    return filled


def read_as_pattern(content: bytes) -> None:
    """What Python's `re` matches is accepted, and nothing else."""
    pattern = content.decode("utf-8", "replace")
    answer(automaton_of, Text(STARTS, normalise="letters starts"), pattern, 5)
    automaton = answer(automaton_of, ABC, pattern, 3)
    if automaton is None or len(pattern) > 40 or re.search(r"\d\d", pattern):
        return  # Python's own `re` may take minutes for `(a?b?){99}c`
    with warnings.catch_warnings(action="ignore"):
        compiled = re.compile(pattern)
    for word in WORDS:
        matches = compiled.fullmatch("".join(ABC.alphabet[k] for k in word))
        assert automaton.accepts(word) == (matches is not None), word


def find_parallels(content: bytes) -> None:
    """An index as it is in its file, or as it is before it is packed."""
    if not content.startswith(b"\xfd7zXZ"):
        content = lzma.compress(content, preset=0)
    index = answer(Parallels.load, written("a.parallels", content))
    if index is not None:
        for one in answer(index.find, "ετους", "_____", "αυτοκρατορος", 3) or ():
            assert one.id in index.corpus.ids


def _indexes() -> list[bytes]:
    """A packed index, and the same unpacked."""
    texts = [
        ("p.1", "Ἔτους πέμπτου Αὐτοκράτορος"),
        ("p.2", "[ἔτους] τρίτου αὐτο-\nκρά[τορος] [---]"),
    ]
    Parallels.build(texts, Text("α", notation="leiden")).save(FOLDER / "seed.parallels")
    packed = (FOLDER / "seed.parallels").read_bytes()
    return [lzma.open(io.BytesIO(packed)).read(), packed]


INDEXES = _indexes()
LEIDEN = [
    text.encode()
    for text in (
        "Ἔτους [...] Αὐτο[κράτορος c. 5] κ̣α̣ὶ̣ α[.4-6]β [--- ca. 10 ---]",
        "α(ὐτὸς) ⟦β⟧ <γ> {δ} `ε´ [ζ ± 3 ] η vac. θ | ι 5\nκ-\nλ[-- --]μ . . ν",
        "1. [ -ca.?- ]ον τ[οῦ] αὐ[τοῦ] (ἔτους) ιβ// Φαῶφι [..]",
    )
]
EPIDOC = [
    b'<?xml version="1.0" encoding="UTF-8"?>\n<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body>'
    b'<div type="edition"><ab><lb n="1"/>'
    + 'Ἀπ<supplied reason="lost">ὸ</supplied> τ&#x3bf;ῦ '.encode()
    + b'<gap reason="lost" quantity="5" unit="character"/><unclear>'
    + 'δ</unclear><lb n="2" break="no"/>κ<gap reason="lost" extent="unknown" '.encode()
    + b'unit="character"></gap> &amp; <expan>a<ex>b</ex></expan></ab></div></body></text></TEI>',
    '<ab>α<gap reason="lost" atLeast="2" atMost="4" unit="character"/>β<choice><sic>γ</sic>'
    "<corr>δ</corr></choice><!-- ε --><![CDATA[ζ]]><?p i?><del>η</del></ab>".encode(),
]
PATTERNS = [
    *(b"(a|b)*c?", b"[^a]{2}|[a-b]c{1,3}", rb"\w{3}|\d", b"(?:a|bb)c*.+?", b"^(a?b?){2}$"),
    *(
        "τοῦ [α-ω]+ (καὶ|δὲ)".encode(),
        rb"(?P<n>a)(?=b)(?!c)\1(?(n)a|b)(?i:x)\b(?>a)a++\x41\N{DIGIT ONE}",
    ),
]
