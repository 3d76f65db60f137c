"""How a damaged text is shown: as its editor wrote it, or, if it is EpiDoc, in Leiden notation."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from caesura.kinds.text import epidoc, leiden
from caesura.kinds.text.document import BREAK, Builder, Document, Run
from caesura.kinds.text.edition import EditionItem, EpiDocItem, LeidenItem
from caesura.kinds.text.normalise import CLUSTER, DOUBT
from caesura.kinds.text.notation import ANY
from caesura.sequence import Span
from caesura.web.editions import stretches

SIGNS = {"ex": ("(", ")"), "del": ("⟦", "⟧"), "surplus": ("{", "}"), "add": ("\\", "/")}
DELETED = {"del", "surplus"}  # shown, though they are no part of the text
DOTS = 12  # lost letters that are written as dots


class Box(NamedTuple):
    """The place of a lacuna in the running text, or of a further part of it."""

    number: int
    further: bool


class Token(NamedTuple):
    """Something to show for a place in the text; it is empty for a sign before the place."""

    start: int
    stop: int
    shown: str


def pieces(item: EditionItem) -> list[str | Box]:
    """Return the running text, cut at its lacunae."""
    tokens = _tokens(item.original) if isinstance(item, EpiDocItem) else None
    places = sorted(
        (span, Box(number, further > 0))
        for number, run in enumerate(item.document.runs)
        for further, span in enumerate(stretches(item, run))
    )
    return list(_cut(item.original, places) if tokens is None else _placed(tokens, places))


def as_leiden(item: EditionItem) -> str:
    """Return the text in Leiden notation."""
    if not isinstance(item, EpiDocItem):
        return item.original
    marks = [_mark(run) for run in item.document.runs]
    shown = (
        one if isinstance(one, str) else "" if one.further else marks[one.number]
        for one in pieces(item)
    )
    return "".join(shown)


def as_plain(item: EditionItem) -> str:
    """Return the text without its notation: what is still lost is marked as in a plain text."""
    text = item.original
    if isinstance(item, EpiDocItem):
        return _plain(epidoc.read_epidoc(text), re.compile("<lb"))
    if isinstance(item, LeidenItem):
        return _plain(leiden.read_leiden(text), re.compile(r"\n"))
    return text


def _plain(document: Document, line: re.Pattern[str]) -> str:
    marks, shown = {run.gap.at: _braces(run) for run in document.runs}, list[str]()
    for number, letter in enumerate(document.letters):
        start, stop = int(document.starts[number]), int(document.stops[number])
        if letter == " " and line.search(document.text, start, stop + len("<lb")):
            letter = "\n"
        shown += [marks.pop(number, ""), "…" if letter == BREAK else letter]
    return "".join([*shown, *marks.values()])


def _braces(run: Run) -> str:
    gap = run.gap
    if (gap.shortest, gap.longest) == ANY:
        return "{?}"
    return "_" * gap.longest if run.length else f"{{{gap.shortest}-{gap.longest}}}"


def _mark(run: Run) -> str:
    """Return a lacuna as Leiden notation has it inside brackets."""
    gap = run.gap
    if (gap.shortest, gap.longest) == ANY:
        return "---"
    if not run.length:
        return f".{gap.shortest}-{gap.longest}"
    return "." * run.length if run.length <= DOTS else f".{run.length}"


def _cut(text: str, places: list[tuple[Span, Box]]) -> Iterator[str | Box]:
    done = 0
    for span, box in places:
        if done < span.start:
            yield text[done : span.start]
        yield box
        done = span.stop
    if done < len(text):
        yield text[done:]


def _placed(tokens: list[Token], places: list[tuple[Span, Box]]) -> Iterator[str | Box]:
    """Yield what is shown of some tokens, with blanks and line ends put right."""
    text, rest, stop = "", iter([*places, None]), 0
    place = next(rest)
    for token in tokens:
        while place and place[0].start < token.stop:
            if text:
                yield text
            yield place[1]
            text, stop, place = "", place[0].stop, next(rest)
        if token.start < stop:
            continue
        if token.shown.endswith("\n"):
            text = text.rstrip(" ")
        doubled = text[-1:] in " \n" if text else not stop  # nothing stands before the first one
        if (token.shown == " " and doubled) or (token.shown == "\n" and not text and not stop):
            continue
        text += token.shown
    if text := text.rstrip():
        yield text


def _tokens(text: str) -> list[Token]:
    content = text.encode("utf-8", "surrogatepass")
    zones = epidoc.Zones(content)
    zones.read()
    reader = Signs(content, zones.nearest, Builder(text, frozenset()), ANY)
    reader.read()
    return reader.tokens


class Signs(epidoc.Edition):
    """Reads an EpiDoc file as Leiden signs and letters, with their places."""

    def __init__(
        self, content: bytes, zone: int, builder: Builder, unknown: tuple[int, int]
    ) -> None:
        super().__init__(content, zone, builder, unknown)
        self.tokens: list[Token] = []
        self.closing: list[str | None] = [""]  # of the elements that are open; None if not shown

    def start(self, name: str, attributes: dict[str, str]) -> None:
        above = self.open[-1]
        super().start(name, attributes)
        element = self.open[-1]
        left_out = name in epidoc.LEFT_OUT if above.hidden else element.hidden
        if self.closing[-1] is None or (left_out and name not in DELETED):
            self.closing.append(None)
            return
        opening, closing = self._signs(name, attributes) if element.inside else ("", "")
        if closing and closing in self.closing:
            opening = closing = ""  # brackets of one kind are not nested
        self.closing.append(closing)
        if opening:
            self._sign(opening)
        elif element.inside and name in epidoc.STARTS and self.tokens:
            self._sign("-\n" if attributes.get("break") == "no" else "\n")

    def end(self, name: str) -> None:
        super().end(name)
        if sign := self.closing.pop():
            self._sign(sign)

    def text(self, text: str) -> None:
        element = self.open[-1]
        if self.closing[-1] is None or element.name == "gap" or not element.inside:
            return
        byte = self.parser.CurrentByteIndex
        start = self._place(byte)
        if self.content.startswith(b"&", byte):
            stop = self._place(self.content.index(b";", byte) + 1)
            self.tokens.append(Token(start, stop, text))
            return
        for match in CLUSTER.finditer(text):
            shown = " " if match[0].isspace() else match[0]
            if element.state == "doubtful" and shown.isalnum():
                shown += DOUBT
            self.tokens.append(Token(start + match.start(), start + match.end(), shown))

    def _signs(self, name: str, attributes: dict[str, str]) -> tuple[str, str]:
        """Return the signs before and after an element."""
        if name == "supplied":
            return ("⟨", "⟩") if attributes.get("reason") == "omitted" else ("[", "]")
        if name == "gap" and self.lengths is None:
            return ("[===]", "") if attributes.get("unit") in epidoc.LINES else ("(…)", "")
        if name == "gap":
            return "[", "]"
        return SIGNS.get(name, ("", ""))

    def _sign(self, shown: str) -> None:
        place = max(self.known[1], self._place(max(self.known[0], self.parser.CurrentByteIndex)))
        self.tokens.append(Token(place, place, shown))
