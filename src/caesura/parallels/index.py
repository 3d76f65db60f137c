"""The index of a corpus, in which a reading and its context are searched for.

A corpus is one long string of letters, in which a question is searched for as it stands: windows of
it around the reading, each shorter than the one before until enough is found. What is found is
compared with the whole question, letter by letter.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int64

from caesura.errors import CaesuraError, whole_number
from caesura.kinds.text.document import BREAK
from caesura.kinds.text.normalise import CLUSTER, normaliser, with_final_sigmas
from caesura.kinds.text.text import Text
from caesura.parallels.corpus import Corpus, load_corpus, make_corpus, save_corpus
from caesura.parallels.reading import LOST, WORDS, read_document
from caesura.sequence import UNKNOWN

AROUND = 40  # letters on either side of the reading that are compared
SHOWN = 30  # letters on either side that are returned
SIZES = (20, 12, 8, 6, 5)  # letters of the windows that are searched for
MOST_FOUND = 4000  # places that are compared for one window
MISMATCH = -2  # the value of a letter that differs, where one that is the same has 1
END = -1000  # that of a place beyond which nothing is compared


class Parallel(NamedTuple):
    """A passage of a corpus that is like a reading in its context.

    The passage is not in the document's own spelling but in normalised letters, as the index has
    them: small, without accents and punctuation, with blanks between words. "_" is a lost letter,
    and "…" stands for more.

    Attributes
    ----------
    id : str
        The document.
    place : int
        How many letters of the document stand before `part`.
    before, part, after : str
        What stands where the reading does, and around it.
    matching : int
        How many letters around the reading are the same as in the question. They are counted up to
        where the passages part: a few letters in between may differ.
    """

    id: str
    place: int
    before: str
    part: str
    after: str
    matching: int


@dataclass(frozen=True, eq=False)
class Parallels:
    """An index of a corpus, in which parallels are found.

    Attributes
    ----------
    corpus : Corpus
        The letters of the documents.

    Examples
    --------
    >>> corpus = [("a", "The quick brown fox jumps."), ("b", "A quiet town, a brown box.")]
    >>> index = Parallels.build(corpus, Text("abc"))
    >>> index.find("the qui", "ck", "brown dog", count=1)
    [Parallel(id='a', place=6, before='the qui', part='ck', after='brown fox jumps', matching=11)]
    """

    corpus: Corpus

    @classmethod
    def build(cls, texts: Iterable[tuple[str, str]], kind: Text) -> "Parallels":
        """Return an index of texts with their ids.

        Parameters
        ----------
        texts
            The id and the text of each document.
        kind
            How the texts are written: its notation, and how it marks gaps. With "leiden", a text
            may also be an EpiDoc file. Its alphabet and normalisation do not matter.

        Raises
        ------
        CaesuraError
            If a text cannot be read, or there is none.
        """
        return cls(make_corpus((name, read_document(text, kind)) for name, text in texts))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Parallels":
        """Return the index in a file.

        Raises
        ------
        CaesuraError
            If the file cannot be read, or is no whole index.
        """
        return cls(load_corpus(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file, packed with xz; it holds no code."""
        save_corpus(self.corpus, path)

    def find(self, before: str, reading: str, after: str, count: int = 5) -> list[Parallel]:
        """Return the passages that are most like a reading in its context, the best first.

        Of a document only the best passage is returned. It has the reading, with at most one letter
        in five changed.

        Parameters
        ----------
        before, reading, after
            Letters, in any spelling: case, accents, punctuation and blanks do not count. "_" may be
            any letter.
        count
            How many passages to return at most.

        Raises
        ------
        CaesuraError
            If there are not five letters beside each other that are known.

        Examples
        --------
        >>> index = Parallels.build([("a", "The quick brown fox")], Text("abc"))
        >>> [one.part for one in index.find("The", "_____", "brown")]
        ['quick']
        """
        whole_number("count", count, 1)
        left, part, right = map(self._numbers, (before, reading, after))
        left, right = left[-AROUND:], right[:AROUND]
        question = np.concatenate([left, part, right])
        inside = slice(len(left), len(left) + len(part))
        best: dict[int, tuple[int, int, int]] = {}  # by document: score, start and matching letters
        asked = False
        for size in SIZES:
            for window in _windows(question, inside, size):
                asked = True
                for start, score, same in self._compared(question, inside, window, size):
                    document = int(np.searchsorted(self.corpus.ends, start, side="right"))
                    if (known := best.get(document)) is None or known[0] < score:
                        best[document] = score, start, same
            if len(best) >= count:
                break
        if not asked:
            raise CaesuraError(
                f"To find parallels, {SIZES[-1]} letters beside each other have to be known."
            )
        ranked = sorted(best.items(), key=lambda one: (-one[1][0], one[0]))[:count]
        return [self._parallel(name, start, len(part), same) for name, (_, start, same) in ranked]

    def of_gap(self, fill: Any, number: int, reading: str, count: int = 5) -> list[Parallel]:
        """Return the parallels of a reading of a gap, with what is observed around it.

        Parameters
        ----------
        fill
            A `caesura.Fill` of a text.
        number
            Which of its gaps, from 0.
        reading
            What could stand there, such as the `part` of one of the gap's candidates.
        count
            As for `find`.

        Raises
        ------
        CaesuraError
            As for `find`.
        """
        lengths = fill.completions[0].lengths[: number + 1]
        start = sum(fill.between[: number + 1]) + sum(lengths[:-1])
        known, values = fill.kind.alphabet, fill.values[:, 0].tolist()
        lost = fill.missing[:, 0] | (fill.values[:, 0] == UNKNOWN)
        letters = [LOST if lost[step] else known[value] for step, value in enumerate(values)]
        after = letters[start + lengths[-1] :]
        return self.find("".join(letters[:start]), reading, "".join(after), count)

    def _numbers(self, text: str) -> Int64[np.ndarray, " letters"]:
        """Return the letters of a question by their numbers; those that no text has are 1."""
        see, known = normaliser(WORDS), {letter: n for n, letter in enumerate(self.corpus.alphabet)}
        found = []
        for match in CLUSTER.finditer(text):
            found += [0] if match[0] == LOST else [known.get(one, 1) for one in see(match[0])]
        return np.array(found, np.int64)

    def _compared(
        self, question: Int64[np.ndarray, " n"], inside: slice, window: int, size: int
    ) -> Iterator[tuple[int, int, int]]:
        """Yield where the reading would start, the score and how many letters around it match."""
        hits = self._places("".join(map(chr, question[window : window + size].tolist())))
        if not len(hits):
            return
        places = hits[:, None] - window + np.arange(len(question))
        seen = self.corpus.codes[np.clip(places, 0, len(self.corpus.text) - 1)].astype(np.int64)
        seen[(places < 0) | (places >= len(self.corpus.text))] = 1
        same = (seen == question) & (question > 1)
        value = np.where(same, 1, MISMATCH)
        value[(seen == 0) | (question == 0)[None]] = 0
        value[seen == 1] = END
        part = value[:, inside]
        tolerated = part.shape[1] // 5
        left, same_left = _extended(
            value[:, : inside.start][:, ::-1], same[:, : inside.start][:, ::-1]
        )
        right, same_right = _extended(value[:, inside.stop :], same[:, inside.stop :])
        fits = ((part == MISMATCH).sum(1) <= tolerated) & (part > END).all(1)
        score = left + right + part.sum(1)
        for n in np.flatnonzero(fits).tolist():
            start = int(places[n, 0]) + inside.start
            yield start, int(score[n]), int(same_left[n] + same_right[n])

    def _places(self, window: str) -> Int64[np.ndarray, " hits"]:
        found, place = list[int](), self.corpus.text.find(window)
        while place >= 0 and len(found) < MOST_FOUND:
            found.append(place)
            place = self.corpus.text.find(window, place + 1)
        return np.array(found, np.int64)

    def _parallel(self, document: int, start: int, length: int, same: int) -> Parallel:
        first = int(self.corpus.ends[document - 1]) if document else 0
        last = int(self.corpus.ends[document]) - 1  # which is a break
        stop = start + length
        return Parallel(
            self.corpus.ids[document],
            start - first,
            self._shown(max(first, start - SHOWN), start),
            self._shown(start, stop),
            self._shown(stop, min(last, stop + SHOWN)),
            same,
        )

    def _shown(self, start: int, stop: int) -> str:
        letters = [
            self.corpus.alphabet[number] for number in self.corpus.codes[start:stop].tolist()
        ]
        begins = self.corpus.word_starts[start:stop].tolist()
        words = (" " + one if new else one for one, new in zip(letters, begins, strict=True))
        # There is always a letter that comes next: a document ends with a break.
        ends = bool(self.corpus.codes[stop] == 1 or self.corpus.word_starts[stop])
        return with_final_sigmas("".join(words).replace(BREAK, "…").strip(), ends)


def _windows(question: Int64[np.ndarray, " n"], inside: slice, size: int) -> list[int]:
    """Return where windows of known letters start: at the reading, around it and before its end."""
    known = np.concatenate([[0], np.cumsum(question > 1)])
    starts = np.flatnonzero(known[size:] - known[:-size] == size)  # none if it is shorter
    if not len(starts):
        return []
    wanted = ((inside.start + inside.stop - size) // 2, inside.start, inside.stop - size)
    nearest = [int(starts[np.argmin(np.abs(starts - place))]) for place in wanted]
    return list(dict.fromkeys(nearest))


def _extended(
    value: Int64[np.ndarray, "hits n"], same: Bool[np.ndarray, "hits n"]
) -> tuple[Int64[np.ndarray, " hits"], Int64[np.ndarray, " hits"]]:
    """Return the greatest sum of values from the first on, and how many letters match up to it."""
    nothing = np.zeros((len(value), 1), np.int64)
    sums = np.concatenate([nothing, np.cumsum(value, axis=1)], axis=1)
    counts = np.concatenate([nothing, np.cumsum(same, axis=1)], axis=1)
    best = np.argmax(sums, axis=1)
    rows = np.arange(len(value))
    return sums[rows, best], counts[rows, best]
