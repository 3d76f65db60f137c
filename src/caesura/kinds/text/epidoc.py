"""EpiDoc: editions in TEI XML, read with the places of their letters so that fills go back in.

========================================================  ========================================
``<gap reason="lost" quantity="5" unit="character"/>``    five lost letters
the same with ``precision="low"``                         about five: four to six
``<gap atLeast="2" atMost="4" unit="character"/>``        two to four
``<gap extent="unknown" unit="character"/>``              an unknown number
``<gap unit="line"/>``, ``<gap reason="ellipsis"/>``      not filled
``<supplied reason="lost">``, ``reason="undefined"``      restored by the editor
``<unclear>``                                             doubtful letters
``<lb break="no"/>`` (``pb``, ``cb``, ``milestone``)      a line end inside a word
``<del>``, ``<surplus>``, ``<am>``, ``<note>`` ...        not part of the text
``<choice>``                                              ``<orig>``, ``<sic>`` or ``<expan>``
``<app>``                                                 ``<lem>``, or the first reading
========================================================  ========================================

All other elements are read as if they were not there. Only divisions ``<div type="edition">`` are
read if there are any, else ``<body>``, else ``<text>``, else everything.

The tree is never written anew: a fill replaces the characters of its gap.
"""

import re
from collections.abc import Sequence, Set
from itertools import groupby
from typing import NamedTuple
from xml.sax.saxutils import escape

from caesura.errors import CaesuraError
from caesura.kinds.text.document import Builder, Document, State, about
from caesura.kinds.text.normalise import CLUSTER
from caesura.kinds.xml import Reader

MOST_BYTES = 32 << 20
PLAIN = re.compile(r"[^<>&\r\n]*")  # has no markup
OPENING = re.compile(r"\s*<(?:\?xml\s|!DOCTYPE\s|(?:\w+:)?(?:TEI|TEI\.2|text|body|div|ab)[\s>/])")
GAP_END = re.compile(rb"</(?:[^\s<>:]+:)?gap\s*>")

LETTERS = {"", "character", "characters", "char", "chars", "letter", "letters"}  # units of a gap
LINES = {"line", "lines"}
NOT_LOST = {"ellipsis", "omitted", "editorial"}  # reasons of gaps that are not filled
RESTORED = {"", "lost", "undefined", "illegible"}  # reasons for what an editor supplies
LEFT_OUT = {"am", "bibl", "certainty", "del", "desc", "figDesc", "figure", "head", "note", "ref"}
LEFT_OUT |= {"space", "surplus", "teiHeader"}
CHOSEN, NOT_CHOSEN = {"orig", "sic", "expan"}, {"reg", "corr", "abbr"}
BLOCKS = {"ab", "cell", "div", "item", "l", "lg", "p", "row"}
STARTS = BLOCKS | {"lb", "cb", "gb", "pb", "milestone"}  # where a word starts unless break="no"


class Element(NamedTuple):
    """An element that is open."""

    name: str
    inside: bool  # whether it is in the part of the file that is read
    hidden: bool  # whether its text is not part of the edition
    state: State
    seen: set[str]  # the names of its children so far


def is_xml(text: str) -> bool:
    """Return whether a text begins as an EpiDoc file does.

    Examples
    --------
    >>> is_xml('<ab>αβγ</ab>'), is_xml('<αβγ> δ'), is_xml('a < b')
    (True, False, False)
    """
    return OPENING.match(text) is not None


def read_epidoc(
    text: str,
    words: Set[str] = frozenset(),
    lost: Set[str] = frozenset(),
    unknown: tuple[int, int] = (1, 12),
) -> Document:
    """Return the edition of an EpiDoc file as a document.

    Parameters
    ----------
    text
        The whole file.
    words
        How letters are normalised, as `words_of` gives it.
    lost
        Which letters that are there shall count as lost: "restored", "doubtful" or both.
    unknown
        The least and the greatest number of letters of a gap whose length is not stated.

    Raises
    ------
    CaesuraError
        If it is not well-formed XML, has declarations, is larger than 32 MiB or nested more than
        200 deep, or has no letters.

    Examples
    --------
    >>> document = read_epidoc('<ab>ab<gap reason="lost" quantity="2" unit="character"/>c</ab>')
    >>> document.letters
    'abc'
    >>> [run.gap for run in document.runs]
    [Gap(at=2, shortest=2, longest=2, prior=None)]
    """
    content = text.encode("utf-8", "surrogatepass")
    if len(content) > MOST_BYTES:
        raise CaesuraError(f"The XML has more than {MOST_BYTES} bytes.")
    zones = Zones(content)
    zones.read()
    edition = Edition(content, zones.nearest, Builder(text, words, lost), unknown)
    edition.read()
    return edition.builder.document()


def write_epidoc(
    letters: Sequence[str | None],
    readings: Sequence[tuple[str, float]] = (),
    others: int | None = 0,
) -> str:
    """Return restored letters as `<supplied>`; None stands for one that is still lost.

    Parameters
    ----------
    letters
        The letters.
    readings
        What may stand here and how probable it is, as far as it is known. The probability of the
        letters themselves gives `cert`: high from 0.9, medium from 0.5, else low.
    others
        How many other readings are written too, in an `<app>`; None for all.

    Examples
    --------
    >>> write_epidoc("ab", [("ab", 0.6)])
    '<supplied reason="lost" cert="medium" resp="#caesura">ab</supplied>'
    >>> write_epidoc("a")
    '<supplied reason="lost" resp="#caesura">a</supplied>'
    """
    if any(letter is None for letter in letters):
        return "".join(
            f'<gap reason="lost" quantity="{len(list(group))}" unit="character"/>'
            if lost
            else _supplied("".join(filter(None, group)), None)
            for lost, group in groupby(letters, key=lambda letter: letter is None)
        )
    text = "".join(filter(None, letters))
    known = dict(readings)
    chosen = _supplied(text, known.pop(text, None))
    written = list(known.items())[:others]
    if not written:
        return chosen
    rest = "".join(f"<rdg>{_supplied(other, sure)}</rdg>" for other, sure in written)
    return f'<app type="alternative"><lem>{chosen}</lem>{rest}</app>'


def _supplied(letters: str, probability: float | None) -> str:
    cert = ""
    if probability is not None:
        word = "high" if probability >= 0.9 else "medium" if probability >= 0.5 else "low"
        cert = f' cert="{word}"'
    return f'<supplied reason="lost"{cert} resp="#caesura">{escape(letters)}</supplied>'


class Zones(Reader):
    """Finds the zone of a file that is to be read."""

    nearest = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.nearest = max(self.nearest, _zone(name, attributes))


class Edition(Reader):
    """Adds the letters of a zone to a document, with their places in the file."""

    def __init__(
        self, content: bytes, zone: int, builder: Builder, unknown: tuple[int, int]
    ) -> None:
        super().__init__(content)
        self.zone, self.builder, self.unknown = zone, builder, unknown
        self.open = [Element("", zone == 0, False, "read", set())]
        self.gap_start = 0
        self.lengths: tuple[int, int] | None = None  # of the gap that starts there
        self.known = (0, 0)  # a place in bytes, and the same in characters

    def start(self, name: str, attributes: dict[str, str]) -> None:
        above = self.open[-1]
        inside = above.inside or _zone(name, attributes) == self.zone
        hidden = above.hidden or _is_hidden(name, above)
        above.seen.add(name)
        self.open.append(Element(name, inside, hidden, _state(name, attributes, above), set()))
        if hidden or not inside:
            return
        if name == "gap":
            self.gap_start = self._place(self.parser.CurrentByteIndex)
            self.lengths = _lengths(attributes, self.unknown)
        elif attributes.get("break") == "no":
            self.builder.join()
        elif name in STARTS:
            self._blank()

    def end(self, name: str) -> None:
        element = self.open.pop()
        if element.hidden or not element.inside:
            return
        if name == "gap":
            byte = self.parser.CurrentByteIndex  # of the end tag; after an empty element
            tag = GAP_END.match(self.content, byte)
            place = self.gap_start, self._place(tag.end() if tag else byte)
            if self.lengths is None:
                self.builder.break_off(*place)
            else:
                self.builder.gap(*place, *self.lengths, bracketed=False)
        elif name in BLOCKS:
            self._blank()

    def text(self, text: str) -> None:
        element = self.open[-1]
        if element.hidden or element.name == "gap" or not element.inside:
            return
        byte = self.parser.CurrentByteIndex
        start = self._place(byte)
        if self.content.startswith(b"&", byte):  # a reference is one letter
            stop = self._place(self.content.index(b";", byte) + 1)
            self.builder.letter(text, start, stop, element.state)
            return
        for match in CLUSTER.finditer(text):  # line ends alone may be shorter than in the file
            place = start + match.start(), start + match.end()
            self.builder.letter(match[0], *place, element.state)

    def _blank(self) -> None:
        place = self._place(self.parser.CurrentByteIndex)
        self.builder.space(place, place)

    def _place(self, byte: int) -> int:
        """Return a place in characters; places are asked for from left to right."""
        last, characters = self.known
        self.known = byte, characters + len(self.content[last:byte].decode("utf-8"))
        return self.known[1]


def _zone(name: str, attributes: dict[str, str]) -> int:
    if name == "div" and attributes.get("type") == "edition":
        return 3
    return {"body": 2, "text": 1}.get(name, 0)


def _is_hidden(name: str, above: Element) -> bool:
    """Return whether the text of an element is not part of the edition."""
    if name in LEFT_OUT or above.name == "gap":
        return True
    if above.name == "choice":
        return name in NOT_CHOSEN or (name not in CHOSEN and bool(above.seen))
    return above.name == "app" and name != "lem" and bool(above.seen)


def _state(name: str, attributes: dict[str, str], above: Element) -> State:
    if name == "supplied" and attributes.get("reason", "") in RESTORED:
        return "restored"
    if name == "unclear" and above.state == "read":
        return "doubtful"
    return above.state


def _lengths(attributes: dict[str, str], unknown: tuple[int, int]) -> tuple[int, int] | None:
    """Return how many letters a gap has at least and at most; None if it is not to be filled."""
    unit = attributes.get("unit", "")
    if unit in LINES or attributes.get("reason") in NOT_LOST:
        return None
    if unit not in LETTERS:
        return unknown
    names = ("atLeast", "atMost", "quantity", "extent")
    least, most, quantity, extent = (_number(attributes.get(name, "")) for name in names)
    if least is not None or most is not None:
        least = 1 if least is None else least
        return least, max(least, unknown[1]) if most is None else max(least, most)
    number = extent if quantity is None else quantity
    if number is None:
        return unknown
    return about(number) if attributes.get("precision") == "low" else (number, number)


def _number(text: str) -> int | None:
    digits = re.fullmatch(r"\s*([0-9]+)\s*", text)
    return int(digits[1][:9]) if digits else None
