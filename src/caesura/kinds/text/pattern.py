"""Regular expressions and readings of one's own, as automata over the alphabet of a text.

An expression becomes the automaton of its positions (Glushkov): a state is the set of the places in
the expression that the last letter may stand at.
"""

import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache, reduce
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from caesura.errors import CaesuraError
from caesura.kinds.text.automaton import Automaton, TooLargeError, chain, explore
from caesura.kinds.text.normalise import CLUSTER, capital, normaliser, words_of
from caesura.kinds.text.text import Text

MOST_CHARACTERS = 1000
MOST_PARTS = 2000  # of an expression, with everything repeated that is to be repeated
CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}


@lru_cache(maxsize=64)
def automaton_of(kind: Text, pattern: str, longest: int) -> Automaton:
    """Return an automaton of the letters that match a regular expression as a whole.

    The syntax is that of Python's `re`, without lookaround, references to groups, flags and what is
    possessive. A `.` is any letter of the alphabet. The letters of the expression are normalised as
    those of a text are; what is left out of texts says nothing. If the kind marks the starts of
    words, a letter may be the first of a word or not, and a blank says that the next one is.

    Parameters
    ----------
    kind
        The text, which has an alphabet and a normalisation.
    pattern
        The expression.
    longest
        The most letters that are of interest.

    Raises
    ------
    CaesuraError
        If it is no such expression, or too large.

    Examples
    --------
    >>> kind = Text("abcd")
    >>> one = automaton_of(kind, "a.*|b+", 4)
    >>> [one.accepts(map(kind.alphabet.index, word)) for word in ("acd", "bb", "ba")]
    [True, True, False]
    """
    named = f"The pattern {shortened(pattern)}"
    if len(pattern) > MOST_CHARACTERS:
        raise CaesuraError(f"A pattern has more than {MOST_CHARACTERS} characters.")
    try:
        with warnings.catch_warnings(action="ignore"):  # `re` warns of what later versions may read
            tree = parser.parse(
                unicodedata.normalize("NFC", pattern) if kind.is_edited else pattern
            )
        return _Positions(kind, longest).automaton(tree)
    except re.error as error:
        raise CaesuraError(f"{named} is not a regular expression: {error.msg}.") from None
    except _NotUnderstoodError as error:
        raise CaesuraError(f"{named} has {error}, which is not supported.") from None
    except (TooLargeError, RecursionError, OverflowError):
        raise CaesuraError(f"{named} is too large: write a simpler one.") from None


def automaton_of_reading(kind: Text, reading: str) -> tuple[Automaton, int]:
    """Return an automaton of the letters of a reading, and how many they are.

    If the kind marks the starts of words, a reading that has a blank anywhere has starts only after
    its blanks; its first letter may be one or not. Without any blank it may be divided in any way.

    Raises
    ------
    CaesuraError
        If the alphabet lacks a letter.

    Examples
    --------
    >>> kind = Text("abcABC", normalise="letters starts")
    >>> one, length = automaton_of_reading(kind, "ab c")
    >>> [one.accepts(map(kind.alphabet.index, word)) for word in ("abC", "AbC", "abc")], length
    ([True, True, False], 3)
    """
    letters = Letters(kind)
    steps: list[list[int]] = []
    blank, first = False, True
    has_blanks = any(map(str.isspace, reading))
    for cluster in CLUSTER.findall(reading):
        blank = blank or cluster.isspace()
        for letter in letters.see(cluster):
            same = [k for k, one in enumerate(letters.plain) if one == letter]
            if not same:
                raise CaesuraError(
                    f"The letter {letter!r} of the reading {shortened(reading)} is unknown to the "
                    "model, so it has no probability."
                )
            if letters.starts and blank:
                same = [k for k in same if letters.may_start[k]]
            elif letters.starts and has_blanks and not first:
                same = [k for k in same if not letters.kind.alphabet[k].isupper()]
            steps.append(same)
            blank = first = False
    return chain(steps, len(kind.alphabet)), len(steps)


def shortened(text: str) -> str:
    """Return a user's text in quotation marks; of a long one, its beginning.

    Examples
    --------
    >>> shortened("a.*"), shortened("a" * 1000)
    ("'a.*'", "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…'")
    """
    return repr(text if len(text) <= 40 else text[:40] + "…")


class Letters:
    """The symbols of an alphabet as letters of an expression."""

    def __init__(self, kind: Text) -> None:
        words = words_of(kind.normalise)
        self.kind = kind
        self.starts = "starts" in words
        self.see: Callable[[str], str] = normaliser(words) if kind.is_edited else lambda one: one
        self.plain = [one.lower() if self.starts else one for one in kind.alphabet]
        # A letter that has no capital looks the same at the start of a word.
        alphabet = kind.alphabet
        self.may_start = [
            one.isupper() or capital(one) not in set(alphabet) - {one} for one in alphabet
        ]


class _NotUnderstoodError(Exception):
    """An expression has something that is no matter of letters alone."""


class _Part(NamedTuple):
    """A part of an expression; sets of positions are the bits of numbers."""

    empty: bool  # whether it matches nothing at all
    first: int
    last: int


NOTHING = _Part(True, 0, 0)


class _Positions:
    """The places of an expression at which letters stand, and which may follow which."""

    def __init__(self, kind: Text, longest: int) -> None:
        self.letters, self.longest = Letters(kind), longest
        self.parts = 0
        self.follow = [0]  # the place 0 is before the first letter
        self.matches = [0] * len(kind.alphabet)  # the places at which each symbol may stand
        self.blanks = 0

    def automaton(self, tree: Any) -> Automaton:
        """Return the automaton of a whole expression."""
        if tree.state.flags & ~re.UNICODE.value:
            raise _NotUnderstoodError("flags")
        nodes = list(tree)
        if nodes and nodes[0] == (codes.AT, codes.AT_BEGINNING):
            nodes = nodes[1:]  # it matches as a whole anyway
        if nodes and nodes[-1] == (codes.AT, codes.AT_END):
            nodes = nodes[:-1]
        whole = self._sequence(nodes)
        self.follow[0] = whole.first
        last = whole.last | (1 if whole.empty else 0)
        which = list(zip(self.matches, self.letters.may_start, strict=True))

        def step(state: int) -> list[int | None]:
            reached = self._after(state)
            started = reached | self._after(self._with_blanks(state) & ~state)
            new = {one: (started if one[1] else reached) & one[0] for one in set(which)}
            return [new[one] or None for one in which]

        return explore(1, step, lambda state: bool(self._with_blanks(state) & last))

    def _after(self, state: int) -> int:
        reached = 0
        for place in _bits(state):
            reached |= self.follow[place]
        return reached

    def _with_blanks(self, state: int) -> int:
        """Return the state with all that is reached by blanks, which are no symbols."""
        new = state
        while self.blanks and (new := self._after(new) & self.blanks & ~state):
            state |= new
        return state

    def _sequence(self, nodes: Any) -> _Part:
        whole = NOTHING
        for node in nodes:
            whole = self._then(whole, self._part(*node))
        return whole

    def _part(self, code: Any, value: Any) -> _Part:
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise TooLargeError
        if code is codes.LITERAL:
            return self._literal(chr(value))
        if code in (codes.NOT_LITERAL, codes.ANY, codes.IN):
            return self._class(code, value)
        if code is codes.BRANCH:
            return reduce(_either, map(self._sequence, value[1]))
        if code is codes.SUBPATTERN:
            _, added, removed, nodes = value
            if added or removed:
                raise _NotUnderstoodError("flags")
            return self._sequence(nodes)
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            return self._repeated(*value)
        raise _NotUnderstoodError(NAMES.get(code, "something"))

    def _repeated(self, least: int, most: int, nodes: Any) -> _Part:
        # Beyond so many repetitions, all are too long or repeat nothing.
        least = min(least, self.longest + 1)
        whole = NOTHING
        for _ in range(least):
            whole = self._then(whole, self._sequence(nodes))
        if most > self.longest:
            again = self._sequence(nodes)
            self._link(again.last, again.first)
            return self._then(whole, again._replace(empty=True))
        for _ in range(most - least):
            whole = self._then(whole, self._sequence(nodes)._replace(empty=True))
        return whole

    def _then(self, one: _Part, other: _Part) -> _Part:
        self._link(one.last, other.first)
        return _Part(
            one.empty and other.empty,
            one.first | (other.first if one.empty else 0),
            other.last | (one.last if other.empty else 0),
        )

    def _link(self, last: int, first: int) -> None:
        for place in _bits(last):
            self.follow[place] |= first

    def _literal(self, character: str) -> _Part:
        if self.letters.starts and character.isspace():
            return self._blank()
        whole = NOTHING
        for letter in self.letters.see(character):
            whole = self._then(whole, self._place([letter == one for one in self.letters.plain]))
        return whole

    def _class(self, code: Any, value: Any) -> _Part:
        plain = self.letters.plain
        if code is codes.ANY:
            return self._place([True] * len(plain))
        if code is codes.NOT_LITERAL:
            code, value = codes.IN, [(codes.NEGATE, None), (codes.LITERAL, value)]
        negated = value[0][0] is codes.NEGATE
        members = value[1:] if negated else value
        found = {letter for letter in plain if any(self._in(letter, *one) for one in members)}
        part = self._place([(letter in found) != negated for letter in plain])
        if negated:
            return part
        for one in members:  # `re` makes a class of "a| ", in which a blank is no letter
            if one == (codes.CATEGORY, codes.CATEGORY_SPACE) and self.letters.starts:
                part = _either(part, self._blank())
            elif one[0] is codes.LITERAL and not self.letters.see(chr(one[1])):
                part = _either(part, self._literal(chr(one[1])))
        return part

    def _in(self, letter: str, code: Any, value: Any) -> bool:
        see = self.letters.see
        if code is codes.LITERAL:
            return letter == see(chr(value))
        if code is codes.RANGE:
            first, last = map(chr, value)
            seen = see(first), see(last)
            return first <= letter <= last or (all(seen) and seen[0] <= letter <= seen[1])
        if code is codes.CATEGORY:
            return re.fullmatch(CATEGORIES[value], letter) is not None
        raise _NotUnderstoodError("a class that is not one of letters")

    def _place(self, matches: list[bool]) -> _Part:
        bit = 1 << len(self.follow)
        self.follow.append(0)
        for symbol, one in enumerate(matches):
            if one:
                self.matches[symbol] |= bit
        return _Part(False, bit, bit)

    def _blank(self) -> _Part:
        part = self._place([])
        self.blanks |= part.first
        return part


NAMES = {
    codes.AT: "an anchor",
    codes.ASSERT: "a lookaround",
    codes.ASSERT_NOT: "a lookaround",
    codes.GROUPREF: "a reference to a group",
    codes.GROUPREF_EXISTS: "a reference to a group",
    codes.ATOMIC_GROUP: "an atomic group",
    codes.POSSESSIVE_REPEAT: "a possessive repetition",
}


def _either(one: _Part, other: _Part) -> _Part:
    return _Part(one.empty or other.empty, one.first | other.first, one.last | other.last)


def _bits(number: int) -> Iterator[int]:
    while number:
        yield (number & -number).bit_length() - 1
        number &= number - 1
