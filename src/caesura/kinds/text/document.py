"""A document as letters and lost letters, each with its place in the text that the user wrote."""

import re
from array import array
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Literal, NamedTuple
from unicodedata import combining

import numpy as np
from jaxtyping import Bool, Int64

from caesura.errors import CaesuraError
from caesura.kinds.text.normalise import capital, normaliser
from caesura.sequence import LONGEST_GAP, Gap

BREAK = "\N{OBJECT REPLACEMENT CHARACTER}"  # stands for what is no letter, such as lost lines
MOST_LOST = 1000  # letters that one mark may stand for

State = Literal["read", "restored", "doubtful"]


class Mark(NamedTuple):
    """A mark of the notation that stands for lost letters."""

    at: int  # how many letters of the document stand before it
    start: int  # its place in the text
    stop: int
    shortest: int  # how many letters are lost
    longest: int
    bracketed: bool  # whether it stands in square brackets already
    letter: str = ""  # what stands there, if it is a letter that counts as lost
    ends: bool = False  # whether a word ends after it
    prior: tuple[float, ...] | None = None  # of the numbers of letters

    @property
    def gap(self) -> Gap:
        """The mark as a gap of its own."""
        return Gap(self.at, self.shortest, self.longest, self.prior)


class Run(NamedTuple):
    """Lost letters with no letter between them: one mark, or several."""

    gap: Gap  # its `at` counts the letters of the document
    marks: tuple[Mark, ...]

    @property
    def length(self) -> int | None:
        """The number of letters, if it is known."""
        return self.gap.longest if self.gap.shortest == self.gap.longest else None

    def shares(self, length: int) -> list[int]:
        """Return how many letters each mark has if all have `length`."""
        shares = [mark.shortest for mark in self.marks]
        rest = length - sum(shares)
        for number, mark in enumerate(self.marks):
            more = min(rest, mark.longest - mark.shortest)
            shares[number] += more
            rest -= more
        return shares


@dataclass(frozen=True, eq=False)
class Document:
    """A text in some notation: its letters, as a net sees them, and its lost letters."""

    text: str
    letters: str  # those that are not lost
    starts: Int64[np.ndarray, " letters"]  # the place of each letter in the text
    stops: Int64[np.ndarray, " letters"]
    bracketed: Bool[np.ndarray, " letters"]  # whether it stands in square brackets
    ends: Bool[np.ndarray, " letters"]  # whether a word ends after it
    marks: tuple[Mark, ...]

    @cached_property
    def runs(self) -> list[Run]:
        """The lost letters, from left to right.

        A gap of unknown length next to more than 64 lost letters is left out: how long such a gap
        is, cannot be told.
        """
        found = []
        for _, group in groupby(self.marks, key=lambda mark: mark.at):
            marks = tuple(group)
            if sum(mark.shortest for mark in marks) > LONGEST_GAP:
                marks = tuple(mark for mark in marks if mark.shortest == mark.longest)
            if marks:
                found.append(Run(_sum([mark.gap for mark in marks]), marks))
        return found

    def with_lengths(self, lengths: Sequence[int]) -> "Document":
        """Return the document with so many letters in each run whose number is not known."""
        open_runs = [run for run in self.runs if run.length is None]
        known: dict[int, int] = {}  # by identity: two marks can be equal
        for run, length in zip(open_runs, lengths, strict=True):
            known |= dict(zip(map(id, run.marks), run.shares(length), strict=True))
        marks = [
            mark._replace(shortest=known[id(mark)], longest=known[id(mark)], prior=None)
            if id(mark) in known
            else mark
            for mark in self.marks
        ]
        return replace(self, marks=tuple(mark for mark in marks if mark.longest))

    def with_gaps(self, gaps: Sequence[Gap], lost: Bool[np.ndarray, " letters"]) -> "Document":
        """Return the document with more gaps, whose `at` counts letters, and more lost letters."""
        before = np.concatenate([[0], np.cumsum(~lost)])  # letters that stay, before each
        marks = [mark._replace(at=int(before[mark.at])) for mark in self.marks]
        for i in np.flatnonzero(lost).tolist():
            lost_at = int(before[i]), int(self.starts[i]), int(self.stops[i])
            inside, ends = bool(self.bracketed[i]), bool(self.ends[i])
            marks.append(Mark(*lost_at, 1, 1, inside, self.letters[i], ends))
        for gap in gaps:
            after = max(gap.at - 1, 0)  # a gap stands after a letter, but for the first one
            place = int((self.stops if gap.at else self.starts)[after])
            inside = bool(self.bracketed[after : gap.at + 1].all())
            at = int(before[gap.at])
            marks.append(Mark(at, place, place, gap.shortest, gap.longest, inside, prior=gap.prior))
        keep = ~lost
        return Document(
            self.text,
            "".join(np.array(list(self.letters))[keep]) if lost.any() else self.letters,
            self.starts[keep],
            self.stops[keep],
            self.bracketed[keep],
            self.ends[keep],
            tuple(sorted(marks, key=lambda mark: (mark.at, mark.start))),
        )


class Builder:
    """Makes a document of the parts of a text, which are given from left to right.

    Parameters
    ----------
    text
        The user's text; all places are counted in it.
    words
        How letters are normalised, as `words_of` gives it.
    lost
        Which letters that are there shall count as lost: "restored", "doubtful" or both.
    collapses
        Whether several blanks and line ends are one blank.
    """

    def __init__(
        self, text: str, words: Set[str], lost: Set[str] = frozenset(), collapses: bool = True
    ) -> None:
        self.text, self.lost, self.collapses = text, lost, collapses
        self.see = normaliser(frozenset(words))
        self.continuous, self.capitals = "blanks" in words, "starts" in words
        self.starting = True  # whether a letter that comes next begins a word
        self.seen: list[str] = []  # the letters, and, for each, as in a document:
        self.starts, self.stops = array("q"), array("q")
        self.bracketed, self.ends = bytearray(), bytearray()
        self.marks: list[Mark] = []
        self.blank: tuple[int, int] | None = None  # the place of one that is not yet added
        self.joined = False  # whether a blank that comes next is inside a word

    def letter(
        self, cluster: str, start: int, stop: int, state: State = "read", bracketed: bool = False
    ) -> None:
        """Add a character with its marks, whatever is written at its place in the text."""
        seen = self.see(cluster)
        if not seen:
            if cluster and not combining(cluster[0]):
                self._end_word()
        elif self.collapses and seen.isspace():
            self.space(start, stop)
        else:
            if not seen[0].isalnum():
                self._end_word()
            self._before()
            if self.capitals and self.starting:
                seen = capital(seen[0]) + seen[1:]
            # Marks for which there is no single character are letters of their own.
            for number, character in enumerate(seen):
                self._append(character, stop if number else start, stop, state, bracketed)

    def gap(self, start: int, stop: int, shortest: int, longest: int, bracketed: bool) -> None:
        """Add lost letters; a gap that may be very long has its mean length."""
        if longest < 1:
            return
        shortest = max(1, shortest)
        if longest > MOST_LOST:
            raise CaesuraError(
                f"The gap at {where(self.text, start)} has more than {MOST_LOST} letters."
            )
        if shortest < longest > LONGEST_GAP:
            shortest = longest = (shortest + longest) // 2
        self._before()
        self.starting = False
        self.marks.append(Mark(len(self.seen), start, stop, shortest, longest, bracketed))

    def break_off(self, start: int, stop: int) -> None:
        """Add something of unknown extent that is not filled."""
        self._end_word()
        self._before()
        self._append(BREAK, start, stop, "read", False)

    def space(self, start: int, stop: int) -> None:
        """Add a blank; several are one."""
        if self.joined:
            return
        self._end_word()
        self.blank = (self.blank or (start, stop))[0], stop

    def join(self) -> None:
        """Note that a word goes on, whatever blanks are around: it is broken at a line end."""
        self._end_word(False)
        self.blank, self.joined = None, True

    def document(self) -> Document:
        """Return the document.

        Raises
        ------
        CaesuraError
            If it has no letters.
        """
        self.joined = False
        self._end_word()
        if not any(letter.isalnum() for letter in self.seen):
            which = " that are not lost" if self.marks else ""
            raise CaesuraError(f"The text has no letters{which}.")
        return Document(
            self.text,
            "".join(self.seen),
            np.array(self.starts, np.int64),
            np.array(self.stops, np.int64),
            np.frombuffer(bytes(self.bracketed), bool),
            np.frombuffer(bytes(self.ends), bool),
            tuple(self.marks),
        )

    def _append(self, letter: str, start: int, stop: int, state: State, bracketed: bool) -> None:
        self.starting = False
        if state in self.lost:
            self.marks.append(Mark(len(self.seen), start, stop, 1, 1, bracketed, letter))
            return
        self.seen.append(letter)
        self.starts.append(start)
        self.stops.append(stop)
        self.bracketed.append(bracketed)
        self.ends.append(False)

    def _before(self) -> None:
        """Add the blank before a letter or mark, if there is one and blanks count."""
        if self.blank and not self.continuous and (self.seen or self.marks):
            self._append(" ", *self.blank, "read", False)
        self.blank, self.joined = None, False

    def _end_word(self, ends: bool = True) -> None:
        """Note whether a word ends after the last letter or mark."""
        if self.joined:
            return
        self.starting = ends
        if self.marks and self.marks[-1].at == len(self.seen):
            self.marks[-1] = self.marks[-1]._replace(ends=ends)
        elif self.seen:
            self.ends[-1] = ends


def _sum(gaps: Sequence[Gap]) -> Gap:
    """Return gaps beside each other as one; it is at most 64 letters long if that is not known."""
    total = gaps[0]
    for gap in gaps[1:]:
        shortest, longest = total.shortest + gap.shortest, total.longest + gap.longest
        if gap.shortest == gap.longest:
            prior = total.prior
        elif total.shortest == total.longest:
            prior = gap.prior
        else:
            prior = tuple(np.convolve(total.weights, gap.weights).tolist())
        total = Gap(total.at, shortest, longest, prior)
    if total.longest > LONGEST_GAP and total.longest > total.shortest:
        number = LONGEST_GAP - total.shortest + 1
        total = Gap(total.at, total.shortest, LONGEST_GAP, (total.prior or ())[:number] or None)
    return total


def about(number: int) -> tuple[int, int]:
    """Return the range of "about so many letters": a fifth less or more, and one at least.

    Examples
    --------
    >>> about(5), about(20), about(1)
    ((4, 6), (16, 24), (1, 2))
    """
    margin = max(1, round(number / 5))
    return max(1, number - margin), number + margin


def where(text: str, place: int) -> str:
    """Return the line and column of a place in a text, in words.

    Examples
    --------
    >>> where("ab\\ncd", 4)
    'line 2, column 2'
    """
    lines = re.split(r"\r\n|\r|\n", text[:place])
    return f"line {len(lines)}, column {len(lines[-1]) + 1}"
