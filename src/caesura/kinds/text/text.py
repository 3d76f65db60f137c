"""Text: one character a step, from an alphabet that is learnt or given."""

import os
from collections.abc import Iterable
from collections.abc import Sequence as List
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Bool, Int, Int32, UInt32

from caesura.errors import CaesuraError, lookup, whole_number
from caesura.kinds.base import Item, Kind
from caesura.kinds.text.alphabet import (
    CODE_POINTS,
    MOST_LEARNT,
    PAPER,
    check_alphabet,
    codes_of,
    count,
    most_frequent,
)
from caesura.kinds.text.files import SIGNATURE, FileText, read_signed, read_text
from caesura.kinds.text.normalise import words_of
from caesura.kinds.text.notation import Lengths, Marked, check_brackets, mark
from caesura.sequence import UNKNOWN, FrameSpec, Gap, Sequence, Span

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTATIONS = ("plain", "leiden", "epidoc")
STATES = ("restored", "doubtful")  # of letters in an edition


@dataclass(frozen=True)
class Text(Kind):
    """Text over an alphabet; in a text to be filled, `gap_char` marks a missing character.

    A gap can also be written by its length: `{5}` are five missing characters, `{3-7}` are 3 to 7
    of them, and `{?}` are 1 to 12. With a backslash before it, `\\{5}` is the text `{5}`. All other
    brackets are text. Marks beside each other are one gap: `__{1-3}` has 3 to 5 characters.

    Characters outside the alphabet stay as they are, and are unknown to the net. A character is a
    code point, so an accent that is written separately counts separately.

    Parameters
    ----------
    alphabet
        The symbols, each once.
    gap_char
        The character that marks a gap. If the alphabet has it, it is a symbol like the others in
        complete texts, which are learnt from or scored.
    brackets
        The two characters around the length of a gap. If it is empty, gaps are only marked by
        `gap_char`. Complete texts stand as they are.
    notation
        "plain"; or "leiden" for the notation of editors of papyri and inscriptions, in a text or in
        an EpiDoc file; or "epidoc" for such files alone. Then `brackets` have no meaning.
    normalise
        In which form the net sees letters: words such as "case marks", listed in `WORDS` of
        `caesura.kinds.text.normalise`. What the user wrote stays as it is.
    lost
        Which letters of an edition count as lost: "restored", "doubtful", or both words.
    divided
        Whether new letters are divided into words, if `normalise` has the word "starts". If not,
        readings that differ only in their division are one.

    Examples
    --------
    >>> kind = Text("abc")
    >>> item = kind.open("a__b")
    >>> item.sequence.gaps
    [Span(start=1, stop=3)]
    >>> item.write(np.array([[0], [2], [1], [1]]), item.missing)
    'acbb'
    >>> kind.open("a{1-3}b").open_gaps
    [Gap(at=1, shortest=1, longest=3, prior=None)]
    """

    name: ClassVar[str] = "text"
    head: ClassVar[str] = "softmax"
    options: ClassVar[tuple[str, ...]] = (
        *("alphabet", "alphabet_size", "gap_char", "brackets"),
        *("notation", "normalise", "lost", "divided"),
    )
    suffixes: ClassVar[tuple[str, ...]] = (".txt", ".txt.xz", ".xml")
    around: ClassVar[int] = 192  # more is not better: benchmarks/context.py

    alphabet: str
    gap_char: str = "_"
    brackets: str = "{}"
    notation: str = "plain"
    normalise: str = ""
    lost: str = ""
    divided: bool = True

    def __post_init__(self) -> None:
        check_alphabet(self.alphabet)
        _check_gap_char(self.gap_char)
        check_brackets(self.brackets)
        lookup(dict.fromkeys(NOTATIONS), self.notation, "notation")
        words_of(self.normalise)
        _ = self.lost_states
        if not isinstance(self.divided, bool):
            raise CaesuraError(f"The option 'divided' must be true or false, not {self.divided!r}.")

    @classmethod
    def path_of(cls, data: Any) -> Path | None:
        """Return the data as a path if it is one; a string is a text."""
        return Path(data) if isinstance(data, os.PathLike) else None

    @classmethod
    def load(cls, path: Path) -> str:
        return read_text(path)

    @classmethod
    def learn(
        cls,
        items: Iterable[Any],
        *,
        alphabet: Any = "learn",
        alphabet_size: Any = None,
        gap_char: Any = "_",
        brackets: Any = "{}",
        notation: Any = "plain",
        normalise: Any = "",
        lost: Any = "",
        divided: Any = True,
        **others: Any,
    ) -> "Text":
        """Return a kind with the most frequent characters of the texts, or with a given alphabet.

        Parameters
        ----------
        items
            The texts; any iterable of strings will do, such as the parts of a long text.
        alphabet
            "learn", a string of symbols, or "paper" for the paper's 96. The gap character is never
            learnt, nor are control characters other than newline and tab.
        alphabet_size
            How many characters are learnt at most (256).
        gap_char
            The character that marks a gap.
        brackets
            The two characters around the length of a gap, or none.
        notation, normalise, lost, divided
            As for the kind. With a notation, each item is a whole text.

        Raises
        ------
        CaesuraError
            If the texts are empty, or have no character of a given alphabet.

        Examples
        --------
        >>> Text.learn(["cab", "bad"]).alphabet
        'abcd'
        """
        for name in others:
            lookup(dict.fromkeys(cls.options), name, "field of a text")
        _check_gap_char(gap_char)
        check_brackets(brackets)
        fields = (gap_char, brackets, notation, normalise, lost, divided)
        counts = count(map(cls("?", *fields).letters, items))
        if alphabet == "learn":
            size = MOST_LEARNT if alphabet_size is None else alphabet_size
            counts[ord(gap_char)] = 0
            symbols = most_frequent(counts, whole_number("alphabet_size", size, 1))
        elif alphabet_size is None:
            symbols = check_alphabet(PAPER if alphabet == "paper" else alphabet)
        else:
            raise CaesuraError(
                "The option 'alphabet_size' can only be used if the alphabet is learnt."
            )
        if not counts.any():
            raise CaesuraError("There is no text to learn from.")
        if not counts[codes_of(symbols)].any():
            raise CaesuraError("No character of the texts is in the alphabet.")
        return cls(symbols, *fields)

    @property
    def frame(self) -> FrameSpec:
        return FrameSpec("categorical", len(self.alphabet))

    def open(self, data: Any) -> "TextItem":
        """Return a string, or the text of a file, as an item."""
        if isinstance(data, TextItem):
            if data.kind == self:
                return data
            return self._open_again(data)
        if (path := self.path_of(data)) is not None:
            return self.open_content(read_signed(path))
        if not isinstance(data, str):
            raise CaesuraError(f"A text is a path or a string, not {type(data).__name__}.")
        if not data:
            raise CaesuraError("The text is empty.")
        if not self.is_edited:
            return TextItem(self, data)
        from caesura.kinds.text.edition import open_edition  # which needs items of this file

        with FileText.named(data):
            item = open_edition(self, data)
            _ = item.document  # what is wrong with it is told at once
        return item

    def open_content(self, content: Any) -> "TextItem":
        """Return the item of a file's text; a mark of the encoding before it is not lost."""
        if not (isinstance(content, str) and content.startswith(SIGNATURE)):
            return self.open(content)
        return replace(self.open(content.removeprefix(SIGNATURE)), signature=SIGNATURE)

    def _open_again(self, item: "TextItem") -> "TextItem":
        """Return an item of another kind as one of this kind."""
        if not (self.is_edited or item.kind.is_edited):
            return replace(item, kind=self)
        if item.has_other_gaps:
            raise CaesuraError(
                "The text has gaps that are not marked in the text itself: "
                "open it with this kind first, then specify what is missing."
            )
        again = replace(self.open(item.original), signature=item.signature)
        return again if item.lengths is None else again.with_range(item.lengths)

    def letters(self, text: Any) -> Any:
        """Return the letters of a text as a net would see them, without its gaps.

        Examples
        --------
        >>> Text("ab", notation="leiden", normalise="case").letters("A[..]b[c]")
        'abc'
        """
        if not (self.is_edited and isinstance(text, str)):
            return text
        from caesura.kinds.text.edition import open_edition

        with FileText.named(text):
            return open_edition(self, text).read_letters()

    @property
    def is_edited(self) -> bool:
        """Whether what a net sees differs from the text as it is written."""
        return self.notation != "plain" or bool(self.normalise)

    @property
    def lost_states(self) -> frozenset[str]:
        """Which letters of an edition count as lost."""
        if not isinstance(self.lost, str):
            raise CaesuraError(f"The option 'lost' must be a string of words, not {self.lost!r}.")
        words = self.lost.replace(",", " ").split()
        for word in words:
            lookup(dict.fromkeys(STATES), word, "state of letters that can count as lost")
        return frozenset(words)

    def symbols(self) -> list[str]:
        return list(self.alphabet)

    @property
    def is_word(self) -> Bool[np.ndarray, " K"]:
        return np.array([symbol.isalnum() or symbol == "'" for symbol in self.alphabet])

    def plot(self, fill: Any) -> "Figure":
        from caesura.plots.text import plot_text

        return plot_text(fill.best, fill.places[:, 0], fill.confidence)

    def html(self, fill: Any) -> str:
        from caesura.plots.html import text_html

        return text_html(fill.best, fill.places[:, 0], fill.confidence) + super().html(fill)

    @cached_property
    def numbers(self) -> Int32[np.ndarray, " codes"]:
        """The number of each code point, or `UNKNOWN`; the last entry is for all beyond it."""
        symbols = codes_of(self.alphabet)
        numbers = np.full(int(symbols.max()) + 2, UNKNOWN, np.int32)
        numbers[symbols] = np.arange(len(symbols))
        return numbers


@dataclass(frozen=True, eq=False)
class TextItem(Item):
    """A text, its code points, and its gaps."""

    suffix: ClassVar[str] = ".txt"

    kind: Text
    original: str
    lengths: Lengths | None = None  # of all gaps for which the text does not say them
    given: Marked | None = None  # the gaps, if they are not only those that the text marks
    signature: str = ""  # what stands before the text in its file: a mark of the encoding

    @property
    def has_other_gaps(self) -> bool:
        """Whether there are gaps that the text itself does not mark."""
        return self.given is not None

    @cached_property
    def codes(self) -> UInt32[np.ndarray, " T"]:
        """The code points of the original, read-only."""
        return codes_of(self.original)

    @cached_property
    def marked(self) -> Marked:
        """The text without its notation, and its gaps."""
        if self.given is not None:
            return self.given
        kind = self.kind
        return mark(self.original, self.codes, kind.gap_char, kind.brackets, self.lengths)

    @cached_property
    def sequence(self) -> Sequence:
        codes, missing, open_gaps = self.marked
        if open_gaps and not len(codes):
            raise CaesuraError(
                "The whole text is a gap of unknown length: at least one character must be known."
            )
        if codes is self.codes and not missing.any():
            return self.complete
        values = self.complete.values if codes is self.codes else self._numbers(codes)
        gaps = missing[:, None]
        return Sequence(np.where(gaps, np.int32(0), values), gaps)

    @cached_property
    def complete(self) -> Sequence:
        """The text as it stands: the gap character is a symbol of the alphabet, or unknown."""
        values = self._numbers(self.codes)
        return Sequence(values, np.zeros(values.shape, bool))

    @property
    def open_gaps(self) -> list[Gap]:
        return list(self.marked.open_gaps)

    def with_gaps(
        self, gaps: List[Gap], missing: Bool[np.ndarray, "T D"] | None = None
    ) -> "TextItem":
        if missing is None:
            missing = np.zeros((len(self.marked.codes), 1), bool)
        else:
            self._check_shape(missing)
        return replace(self, given=self.marked.with_gaps(gaps, missing[:, 0]))

    def with_lengths(self, lengths: List[int]) -> "TextItem":
        return replace(self, given=self.marked.with_lengths(lengths))

    def with_range(self, lengths: Lengths) -> "TextItem":
        """Return the text with these lengths in every gap for which it does not say them.

        So a run of gap characters is one gap, however many they are.

        Examples
        --------
        >>> Text("abc").open("a__b").with_range((1, 5)).open_gaps
        [Gap(at=1, shortest=1, longest=5, prior=None)]
        """
        return replace(self, lengths=lengths)

    def write(self, values: Int[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]) -> str:
        self._check_shape(missing)
        if self.open_gaps:
            raise CaesuraError("A gap whose length is not known cannot be written.")
        codes = self.marked.codes.copy()
        codes[missing[:, 0]] = codes_of(self.kind.alphabet)[values[missing]]
        return codes.tobytes().decode(*CODE_POINTS)

    def part(self, values: Int[np.ndarray, "T D"], gap: Span) -> str:
        return "".join(self.kind.alphabet[number] for number in values[gap.start : gap.stop, 0])

    def content(self, filled: str) -> str:
        return self.signature + filled

    def describe(self, step: int) -> str:
        return f"character {self.original[step]!r} at position {step}"

    def _numbers(self, codes: UInt32[np.ndarray, " T"]) -> Int32[np.ndarray, "T 1"]:
        numbers = self.kind.numbers
        return numbers[np.minimum(codes, len(numbers) - 1)][:, None]


def _check_gap_char(gap_char: Any) -> None:
    if not isinstance(gap_char, str) or len(gap_char) != 1:
        raise CaesuraError(f"The 'gap_char' must be one character, not {gap_char!r}.")
