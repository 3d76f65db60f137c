"""Gaps and words in articles, each on a page: 500 characters before it and 200 after it."""

import re
from typing import NamedTuple

import numpy as np

BEFORE, AFTER = 500, 200
# Words are bounded by anything but letters, digits and apostrophes: a part of one is no word.
PART = "A-Za-z0-9'"


class Place(NamedTuple):
    """A gap in a text, and what stands there."""

    before: str
    truth: str
    after: str

    @property
    def text(self) -> str:
        """The text with nothing missing."""
        return self.before + self.truth + self.after

    @property
    def steps(self) -> slice:
        return slice(len(self.before), len(self.before) + len(self.truth))


def gaps_of(
    pieces: list[str], length: int, count: int, seed: int, whole: bool = False
) -> list[Place]:
    """Return gaps of a length, anywhere in the articles, on a page or in the whole article."""
    room = np.array([max(0, len(piece) - BEFORE - length - AFTER) for piece in pieces])
    ends = np.cumsum(room)
    chosen = np.random.default_rng([seed, length]).choice(ends[-1], count, replace=False)
    which = np.searchsorted(ends, chosen, side="right")
    return [
        cut(pieces[n], BEFORE + int(at - ends[n] + room[n]), length, whole)
        for n, at in zip(which.tolist(), chosen.tolist(), strict=True)
    ]


def words_of(
    pieces: list[str], letters: int, count: int, seed: int, whole: bool = False
) -> list[Place]:
    """Return whole words of so many letters, each occurrence as likely as any other."""
    word = re.compile(f"(?<![{PART}])[A-Za-z]{{{letters}}}(?![{PART}])")
    found = [
        (number, match.start())
        for number, piece in enumerate(pieces)
        for match in word.finditer(piece, BEFORE)
        if match.end() <= len(piece) - AFTER
    ]
    chosen = np.random.default_rng([seed, 1000 + letters]).choice(len(found), count, replace=False)
    return [cut(pieces[found[i][0]], found[i][1], letters, whole) for i in chosen]


def cut(piece: str, start: int, length: int, whole: bool) -> Place:
    stop = start + length
    if whole:
        return Place(piece[:start], piece[start:stop], piece[stop:])
    return Place(piece[start - BEFORE : start], piece[start:stop], piece[stop : stop + AFTER])
