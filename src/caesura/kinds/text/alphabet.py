"""Alphabets: the symbols of texts, by their code points."""

import sys
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import Int64, UInt32

from caesura.errors import CaesuraError, CaesuraWarning

PAPER = "\n" + "".join(map(chr, range(0x20, 0x7F)))  # the 96 symbols of the paper's Wikipedia
MOST_LEARNT = 256  # symbols, unless specified otherwise
CODE_POINTS = ("utf-32-le", "surrogatepass")  # a string may hold half a surrogate pair
CONTROLS = [c for c in range(0xA0) if unicodedata.category(chr(c)) == "Cc" and chr(c) not in "\n\t"]


def codes_of(text: str) -> UInt32[np.ndarray, " T"]:
    """Return the code points of a text."""
    return np.frombuffer(text.encode(*CODE_POINTS), np.dtype("<u4"))


def count(texts: Iterable[Any]) -> Int64[np.ndarray, " codes"]:
    """Return how often each code point occurs."""
    counts = np.zeros(sys.maxunicode + 1, np.int64)
    for text in texts:
        if not isinstance(text, str):
            raise CaesuraError(f"A text to learn from is a string, not {type(text).__name__}.")
        seen = np.bincount(codes_of(text))
        counts[: len(seen)] += seen
    return counts


def most_frequent(counts: Int64[np.ndarray, " codes"], size: int) -> str:
    """Return characters in the order of their code points, by which ties are broken, too.

    Control characters are left out: they are often signs of a file that is not text.
    """
    if counts[CONTROLS].any():
        first = chr(CONTROLS[int(np.argmax(counts[CONTROLS] > 0))])
        some = f"{counts[CONTROLS].sum()} control characters, such as {first!r}"
        sentence = f"The texts have {some}: they are left out of the alphabet."
        warnings.warn(sentence, CaesuraWarning, stacklevel=3)
        counts[CONTROLS] = 0
    seen = np.flatnonzero(counts)
    chosen = seen[np.argsort(-counts[seen], kind="stable")[:size]]
    return "".join(map(chr, sorted(chosen)))


def check_alphabet(alphabet: Any) -> str:
    """Return an alphabet, or raise an error if it is none."""
    wanted = "'learn', 'paper' or a string of symbols"
    if not isinstance(alphabet, str) or not alphabet:
        raise CaesuraError(f"The alphabet must be {wanted}, not {alphabet!r}.")
    twice, count = Counter(alphabet).most_common(1)[0]
    if count > 1:
        again = f"The alphabet holds {twice!r} twice"
        raise CaesuraError(f"{again}, but it must be {wanted}, each of them once.")
    return alphabet
