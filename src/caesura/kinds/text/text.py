"""Text: one character a step, from an alphabet that is learnt or given."""

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Int, Int32, Int64, UInt32

from caesura.errors import CaesuraError, lookup, whole_number
from caesura.kinds.base import Kind
from caesura.kinds.text.files import find_texts, read_text
from caesura.sequence import UNKNOWN, Sequence

PAPER = "\n" + "".join(map(chr, range(0x20, 0x7F)))  # the 96 symbols of the paper's Wikipedia
MOST_LEARNT = 256  # symbols, unless asked otherwise


@dataclass(frozen=True)
class Text(Kind):
    """Characters and their numbers; in a text to be filled, `gap_char` marks a missing one.

    Characters outside the alphabet are carried through untouched, and are `UNKNOWN` to the net. A
    character is a code point: an accent that is written by itself counts by itself.
    """

    frame: ClassVar[str] = "categorical"
    head: ClassVar[str] = "softmax"
    options: ClassVar[tuple[str, ...]] = ("alphabet", "alphabet_size", "gap_char")

    alphabet: str
    gap_char: str = "_"

    def __post_init__(self) -> None:
        _check_alphabet(self.alphabet)
        _check_gap_char(self.gap_char)

    @classmethod
    def find(cls, paths: Iterable[Path]) -> list[str]:
        """The texts themselves: of files that are named, and of all '.txt' files in folders."""
        return find_texts(paths)

    @classmethod
    def learn(
        cls,
        items: Iterable[Any],
        *,
        alphabet: Any = "learn",
        alphabet_size: Any = None,
        gap_char: Any = "_",
        **others: Any,
    ) -> "Text":
        """A kind with the `alphabet_size` most frequent characters of the texts.

        Or with those of `alphabet`: a string of symbols, or "paper" for the paper's 96. The gap
        character is never learnt; but where a given alphabet holds it, it is a symbol like the
        others in complete texts, and marks what is missing in a text to be filled.
        """
        for name in others:
            lookup(dict.fromkeys(cls.options), name, "field of a text")
        _check_gap_char(gap_char)
        counts = _count(items)
        if alphabet == "learn":
            size = MOST_LEARNT if alphabet_size is None else alphabet_size
            counts[ord(gap_char)] = 0
            symbols = _most_frequent(counts, whole_number("alphabet_size", size, 1))
        elif alphabet_size is None:
            symbols = _check_alphabet(PAPER if alphabet == "paper" else alphabet)
        else:
            raise CaesuraError("An 'alphabet_size' is for an alphabet that is learnt.")
        if not counts.any():
            raise CaesuraError("There is no text to learn from.")
        if not counts[_codes(symbols)].any():
            raise CaesuraError("No character of the texts is in the alphabet.")
        return cls(symbols, gap_char)

    @property
    def size(self) -> int:
        """The number of symbols."""
        return len(self.alphabet)

    def read(self, data: Any) -> Sequence:
        """A text, or that of a file, as numbers; gap characters are missing."""
        codes = _codes(_text(data))
        return self._sequence(codes, codes == ord(self.gap_char))

    def read_complete(self, data: Any) -> Sequence:
        """A text as it stands: the gap character is a symbol of the alphabet, or unknown."""
        codes = _codes(_text(data))
        return self._sequence(codes, np.zeros(len(codes), bool))

    def write(
        self, data: Any, missing: Bool[np.ndarray, "T D"], values: Int[np.ndarray, "T D"]
    ) -> str:
        """The user's own text with the missing characters, and only those, replaced."""
        codes = _codes(_text(data)).copy()
        codes[missing[:, 0]] = _codes(self.alphabet)[values[missing]]
        return codes.tobytes().decode(*CODE_POINTS)

    def symbols(self) -> list[str]:
        """What the K values of a component stand for."""
        return list(self.alphabet)

    def describe(self, data: Any, step: int) -> str:
        return f"character {_text(data)[step]!r} at position {step}"

    def _sequence(
        self, codes: UInt32[np.ndarray, " T"], missing: Bool[np.ndarray, " T"]
    ) -> Sequence:
        if not codes.size:
            raise CaesuraError("The text is empty.")
        values = self._numbers[np.minimum(codes, len(self._numbers) - 1)]
        return Sequence(np.where(missing, np.int32(0), values)[:, None], missing[:, None])

    @cached_property
    def _numbers(self) -> Int32[np.ndarray, " codes"]:
        """The number of each code point; the last entry is for all that lie beyond the alphabet."""
        symbols = _codes(self.alphabet)
        numbers = np.full(int(symbols.max()) + 2, UNKNOWN, np.int32)
        numbers[symbols] = np.arange(len(symbols))
        return numbers


CODE_POINTS = ("utf-32-le", "surrogatepass")  # a string may hold half a surrogate pair


def _codes(text: str) -> UInt32[np.ndarray, " T"]:
    """The code points of a text, read-only."""
    return np.frombuffer(text.encode(*CODE_POINTS), np.dtype("<u4"))


def _count(texts: Iterable[Any]) -> Int64[np.ndarray, " codes"]:
    """How often each code point occurs."""
    counts = np.zeros(sys.maxunicode + 1, np.int64)
    for text in texts:
        seen = np.bincount(_codes(_text(text)))
        counts[: len(seen)] += seen
    return counts


def _most_frequent(counts: Int64[np.ndarray, " codes"], size: int) -> str:
    """In the order of their code points, which decides between equally frequent ones, too."""
    seen = np.flatnonzero(counts)
    chosen = seen[np.argsort(-counts[seen], kind="stable")[:size]]
    return "".join(map(chr, sorted(chosen)))


def _text(data: Any) -> str:
    if isinstance(data, Path):
        return read_text(data)
    if not isinstance(data, str):
        raise CaesuraError(f"A text is a path or a string, not {type(data).__name__}.")
    return data


def _check_alphabet(alphabet: Any) -> str:
    if not isinstance(alphabet, str) or not alphabet:
        raise CaesuraError(
            f"The alphabet is 'learn', 'paper' or a string of symbols, not {alphabet!r}."
        )
    twice, count = Counter(alphabet).most_common(1)[0]
    if count > 1:
        raise CaesuraError(
            f"The alphabet holds {twice!r} twice, "
            "but it is 'learn', 'paper' or a string of symbols, each of them once."
        )
    return alphabet


def _check_gap_char(gap_char: Any) -> None:
    if not isinstance(gap_char, str) or len(gap_char) != 1:
        raise CaesuraError(f"The 'gap_char' is one character, not {gap_char!r}.")
