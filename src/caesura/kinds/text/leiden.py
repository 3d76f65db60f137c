r"""Leiden notation: what editors of papyri and inscriptions write for lost and restored letters.

============================  =====================================================================
``[αβγ]``                     lost, restored by the editor
``[...]`` ``[. . .]``         three lost letters; ``[..τ..]`` has a letter among four lost ones
``[.5]`` ``[.4-6]``           five lost letters, four to six
``[c.5]`` ``[ca. 5]`` ``±5``  about five lost letters: four to six
``[---]`` ``[-ca.?-]``        an unknown number of lost letters
``]αβγ[``                     the same at the broken edges of a line: it starts with ``]`` or
                              ends with ``[``
``[===]``                     lost lines, which are not filled
``..``                        outside brackets, two or more illegible letters
``(αβγ)``                     an abbreviation, resolved; ``(…)`` was left open and is not filled
``<αβγ>`` ``⟨αβγ⟩``           left out by the scribe, added by the editor
``\αβγ/``                      added by the scribe above the line
``⟦αβγ⟧`` ``[[αβγ]]``         deleted by the scribe: not part of the text
``{αβγ}``                     superfluous, deleted by the editor: not part of the text
``α̣``                         a doubtful letter
``-`` at a line end           the word goes on in the next line
``?``                         the editor has doubts about what stands before it
============================  =====================================================================

A single dot in brackets is a lost letter, unless it follows a letter and a blank or the closing
bracket follows it: then it is a full stop.
"""

import re
from collections.abc import Callable, Sequence, Set
from typing import NamedTuple

from caesura.errors import CaesuraError
from caesura.kinds.text.document import Builder, Document, State, about, where
from caesura.kinds.text.normalise import CLUSTER, DOUBT, MARKS, without_doubt

PAIRS = {
    "[": "]",
    "[[": "]]",
    "(": ")",
    "⟦": "⟧",
    "{": "}",
    "<": ">",
    "⟨": "⟩",
    "\u2329": "\u232a",  # two more pairs of angle brackets, which look alike
    "\u3008": "\u3009",
    "\\": "/",
}
NOT_TEXT = {"⟦", "[[", "{"}  # what stands in these is no part of the text
PLAIN = re.compile(
    r"[^\[\]()⟦⟧{}<>⟨⟩\u2329\u232a\u3008\u3009\\/\r\n]*"
)  # has no marks of the notation

_B = "[ \u00a0\u2009\u202f]"  # blanks within a line
_N = r"\d{1,6}"  # a longer number is no number of letters
_CLOSE = r"[\])⟧}>⟩\u232a\u3009/]"
_DASH = "[-–—]"
_DOT = rf"(?:\.{DOUBT}?(?!\d)|{_B}{DOUBT}|…)"  # some editions have a dot below a blank
_AFTER = rf"(?:{_B}+(?=\]))?"  # blanks at the edges of the brackets go with the mark
_CIRCA = rf"(?:(?<!\w)(?:circa|ca|c)\.?{_B}?|±{_B}?)"
_ANYWHERE = rf"""
    (?P<hyphen> -(?={_CLOSE}*[ \t]*\r?(?:\n|\Z)))
  | (?P<open> \[\[ | [\[(⟦{{<⟨\u2329\u3008\\])
  | (?P<close> \]\] | {_CLOSE})
  | (?P<blank> \s+(?!{DOUBT}))
  | (?P<break> …)
  | (?P<doubt> \?)
  | (?P<letters> [^\W_]+(?![{MARKS}]) | .[{MARKS}]*)
"""
_FLAGS = re.VERBOSE | re.DOTALL | re.MULTILINE
OUTSIDE = re.compile(
    rf"""
    (?P<lines> ^{_DASH}(?:{_B}?{_DASH}){{2,}}(?=\r?$))
  | (?P<dots> \.{{2,}} | (?<![\w{MARKS}])\.(?:{_B}\.)+(?!\.) | (?:{_B}{DOUBT}|\.{DOUBT})+)
  | {_ANYWHERE}
    """,
    _FLAGS,
)
INSIDE = re.compile(
    rf"""
    (?P<stop> (?<=[\w{MARKS})⟧}}>⟩/?´])\.(?=\s|{_CLOSE})(?!{_B}\.))
  | (?:(?<=\[){_B}+)?(?:
        (?P<lines> ={{3,}}{_AFTER})
      | (?P<unknown> (?:
            {_DASH}{_B}?(?:ca?\.?)?{_B}?\?{_B}?{_DASH} | {_DASH}(?:{_B}?{_DASH})+ | {_CIRCA}\?
        ){_AFTER})
      | (?P<about> (?:{_DASH}{_B}?)?{_CIRCA}(?P<circa>{_N})(?:[-–](?P<to>{_N}))?(?!\d)
            (?:{_B}?{_DASH})?{_AFTER})
      | (?P<exact> \.(?P<number>{_N})(?:[-–](?P<most>{_N}))?(?!\d){_AFTER})
      | (?P<dots> {_DOT}(?:{_B}?{_DOT})*{_AFTER})
    )
  | {_ANYWHERE}
    """,
    _FLAGS,
)
# At a line end, unless what it opens is closed after a letter of a later line.
EDGE = re.compile(r"\[(?=[ \t]*(?:[\r\n]|\Z))(?![^\[\]]*[^\s\[\]][ \t]*\])")


class Bracket(NamedTuple):
    """An opened bracket and its place."""

    sign: str
    place: int


def read_leiden(
    text: str,
    words: Set[str] = frozenset(),
    lost: Set[str] = frozenset(),
    unknown: tuple[int, int] = (1, 12),
    gap_char: str = "_",
) -> Document:
    """Return a text in Leiden notation as a document.

    Parameters
    ----------
    text
        The text; its lines may be as long as they are.
    words
        How letters are normalised, as `words_of` gives it.
    lost
        Which letters that are there shall count as lost: "restored", "doubtful" or both.
    unknown
        The least and the greatest number of letters of a gap whose length is not stated.
    gap_char
        A character that stands for one lost letter, as in a plain text.

    Raises
    ------
    CaesuraError
        If a bracket is not closed or not opened, or stands in one of its own kind; if a gap has
        more than 1000 letters; if there are no letters.

    Examples
    --------
    >>> document = read_leiden("ab[..]c[d]e(f)", words={"case"})
    >>> document.letters
    'abcdef'
    >>> [run.gap for run in document.runs]
    [Gap(at=2, shortest=2, longest=2, prior=None)]
    """
    builder, brackets, place = Builder(text, words, lost), list[Bracket](), 0
    while place < len(text):
        innermost = brackets[-1].sign if brackets else ""
        match = (INSIDE if innermost == "[" else OUTSIDE).match(text, place)
        assert match is not None  # since every character is a letter at least
        place = match.end()
        signs = {bracket.sign for bracket in brackets}
        if not brackets and _is_edge(match):
            builder.gap(*match.span(), *unknown, bracketed=False)
        elif match.lastgroup == "open":
            brackets.append(_opened(match, signs))
        elif match.lastgroup == "close" and not (match[0] == "/" and "\\" not in signs):
            place = _closed(match, brackets)
        elif not signs & NOT_TEXT:
            _add(builder, match, "[" in signs, unknown, gap_char)
    if brackets:
        sign, start = brackets[-1]
        raise CaesuraError(f"The '{sign}' at {where(text, start)} is not closed.")
    return builder.document()


def write_leiden(letters: Sequence[str | None], bracketed: bool) -> str:
    """Return restored letters in square brackets; None stands for one that is still lost.

    Parameters
    ----------
    letters
        The letters.
    bracketed
        Whether there are brackets around them already.

    Examples
    --------
    >>> write_leiden("abc", bracketed=False), write_leiden(["a", None, "c"], bracketed=True)
    ('[abc]', 'a.c')
    """
    text = "".join("." if letter is None else letter for letter in letters)
    return text if bracketed else f"[{text}]"


def _is_edge(match: re.Match[str]) -> bool:
    """Return whether a bracket that has no partner is the broken edge of a line."""
    text, start = match.string, match.start()
    if match[0] == "]":
        line = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
        return not text[line:start].strip()
    return match[0] == "[" and EDGE.match(text, start) is not None


def _opened(match: re.Match[str], signs: Set[str]) -> Bracket:
    sign, start = match[0], match.start()
    if sign in signs:
        raise CaesuraError(
            f"The '{sign}' at {where(match.string, start)} stands inside another '{sign}': "
            "brackets of one kind cannot be nested."
        )
    return Bracket(sign, start)


def _closed(match: re.Match[str], brackets: list[Bracket]) -> int:
    """Close the innermost bracket; return the place after it."""
    sign, start, stop = match[0], match.start(), match.end()
    if sign == "]]" and (not brackets or brackets[-1].sign != "[["):
        sign, stop = "]", start + 1  # two brackets that happen to end together
    if brackets and PAIRS[brackets[-1].sign] == sign:
        brackets.pop()
        return stop
    place = where(match.string, start)
    if brackets:
        open_sign, open_at = brackets[-1]
        raise CaesuraError(
            f"The '{sign}' at {place} does not close the '{open_sign}' at "
            f"{where(match.string, open_at)}, which is still open."
        )
    hint = ": write '[---]' where the text breaks off" if sign == "]" else ""
    raise CaesuraError(f"The '{sign}' at {place} closes nothing{hint}.")


def _add(
    builder: Builder, match: re.Match[str], inside: bool, unknown: tuple[int, int], gap_char: str
) -> None:
    """Add what a match stands for to the document."""
    start, stop = match.span()
    match match.lastgroup:
        case "letters" | "stop" | "close":
            for letter in CLUSTER.finditer(builder.text, start, stop):
                _add_letter(builder, letter, inside, gap_char)
        case "blank":
            builder.space(start, stop)
        case "hyphen":
            builder.join()
        case "lines" | "break":
            builder.break_off(start, stop)
        case "unknown":
            builder.gap(start, stop, *unknown, inside)
        case "about":
            builder.gap(start, stop, *_range(match["circa"], match["to"], about), inside)
        case "exact":
            builder.gap(start, stop, *_range(match["number"], match["most"], _just), inside)
        case "dots":
            mark = match["dots"]
            number = len(re.findall(rf"\.|{_B}{DOUBT}", mark)) + 3 * mark.count("…")
            builder.gap(start, stop, number, number, inside)


def _add_letter(builder: Builder, match: re.Match[str], inside: bool, gap_char: str) -> None:
    start, stop = match.span()
    if match[0] == gap_char:
        builder.gap(start, stop, 1, 1, inside)
        return
    letter = without_doubt(match[0])
    state: State = "restored" if inside else "read" if letter == match[0] else "doubtful"
    builder.letter(letter, start, stop, state, inside)


def _range(
    number: str, most: str | None, meant: Callable[[int], tuple[int, int]]
) -> tuple[int, int]:
    """Return the range that is stated, or what a single number is meant for."""
    if most is None:
        return meant(int(number))
    return min(int(number), int(most)), max(int(number), int(most))


def _just(number: int) -> tuple[int, int]:
    return number, number
