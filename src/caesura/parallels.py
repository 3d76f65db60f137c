"""Parallels: the passages of a corpus that are nearest to a reading in its context.

A corpus is one long string of letters, in which a question is searched for as it stands: windows of
it around the reading, each shorter than the one before until enough is found. What is found is
compared with the whole question, letter by letter.
"""

import json
import lzma
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Int64

from caesura.errors import CaesuraError, whole_number
from caesura.files import cannot_read, replacing
from caesura.kinds.text.document import BREAK, Document
from caesura.kinds.text.epidoc import is_xml, read_epidoc
from caesura.kinds.text.leiden import read_leiden
from caesura.kinds.text.normalise import CLUSTER, normaliser, with_final_sigmas, words_of
from caesura.kinds.text.plain import read_plain
from caesura.kinds.text.text import Text

FORMAT = "caesura parallels 1"
WORDS = words_of("letters")  # case, accents, punctuation and blanks do not count
LOST = "_"  # a lost letter of the corpus, and one of a question that may be any letter
AROUND = 40  # letters on either side of the reading that are compared
SHOWN = 30  # letters on either side that are returned
SIZES = (20, 12, 8, 6, 5)  # letters of the windows that are searched for
MOST_FOUND = 4000  # places that are compared for one window
MISMATCH = -2  # the value of a letter that differs, where one that is the same has 1
END = -1000  # that of a place beyond which nothing is compared
MOST_LETTERS = 1 << 30
MOST_DOCUMENTS = 1 << 24
MOST_SYMBOLS = 50_000  # so that each of them is one character of a string
HEADER = 64 << 20  # bytes of a line of a file


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
    alphabet : str
        The letters of the corpus; the first two stand for what is no letter.
    text : str
        All documents, each letter as the character with the letter's number in the alphabet.
    word_starts : array of bool
        For each letter, whether a word starts with it.
    ids : list of str
        The documents.
    ends : array of int
        Where each document ends in the text.

    Examples
    --------
    >>> corpus = [("a", "The quick brown fox jumps."), ("b", "A quiet town, a brown box.")]
    >>> index = Parallels.build(corpus, Text("abc"))
    >>> index.find("the qui", "ck", "brown dog", count=1)
    [Parallel(id='a', place=6, before='the qui', part='ck', after='brown fox jumps', matching=11)]
    """

    alphabet: str
    text: str
    word_starts: Bool[np.ndarray, " letters"]
    ids: list[str]
    ends: Int64[np.ndarray, " documents"]

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
        ids, letters, starts, ends, length = [], list[str](), list[Any](), list[int](), 0
        for name, text in texts:
            seen, begins = _letters(read_document(text, kind))
            ids.append(name)
            letters.append(seen)
            starts.append(begins)
            length += len(seen)
            ends.append(length)
            if length > MOST_LETTERS or len(ids) > MOST_DOCUMENTS:
                raise CaesuraError(f"A corpus has at most {MOST_LETTERS} letters.")
        if not ids:
            raise CaesuraError("There is no text to find parallels in.")
        counts: Counter[str] = Counter()
        for seen in letters:
            counts.update(seen)
        for sign in (LOST, BREAK):
            counts.pop(sign, None)
        known = [letter for letter, _ in counts.most_common(MOST_SYMBOLS)]
        alphabet = LOST + BREAK + "".join(known)
        numbers = {ord(letter): chr(number) for number, letter in enumerate(alphabet)}
        numbers |= {ord(letter): chr(0) for letter in counts if letter not in set(known)}
        text = "".join(letters).translate(numbers)
        return cls(alphabet, text, np.concatenate(starts), ids, np.array(ends, np.int64))

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
                    document = int(np.searchsorted(self.ends, start, side="right"))
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file, packed with xz; it holds no code."""
        width = _width(self.alphabet)
        header = {"format": FORMAT, "letters": len(self.text), "documents": len(self.ids)}
        with replacing(Path(path)) as part, lzma.open(part, "wb", preset=1) as file:
            for line in (header, {"alphabet": self.alphabet}, {"ids": self.ids}):
                file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
            file.write(self.ends.astype("<i8").tobytes())
            file.write(np.packbits(self.word_starts).tobytes())
            file.write(self.codes.astype(width).tobytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Parallels":
        """Return the index in a file.

        Raises
        ------
        CaesuraError
            If the file cannot be read, or is no whole index.
        """
        wrong = CaesuraError(
            f"The file '{path}' is no whole index of parallels: make one with `caesura parallels "
            "build`."
        )
        try:
            with lzma.open(path, "rb") as file:
                return _read(file)
        except OSError as error:
            raise cannot_read(Path(path), error) from error
        except (lzma.LZMAError, EOFError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise wrong from error

    @cached_property
    def codes(self) -> Int[np.ndarray, " letters"]:
        """The number of each letter in the alphabet; 0 is a lost one, and 1 ends a passage."""
        width = _width(self.alphabet)
        return np.frombuffer(self.text.encode("latin-1" if width == "u1" else "utf-16-le"), width)

    def _numbers(self, text: str) -> Int64[np.ndarray, " letters"]:
        """Return the letters of a question by their numbers; those that no text has are 1."""
        see, known = normaliser(WORDS), {letter: n for n, letter in enumerate(self.alphabet)}
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
        seen = self.codes[np.clip(places, 0, len(self.text) - 1)].astype(np.int64)
        seen[(places < 0) | (places >= len(self.text))] = 1
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
        found, place = list[int](), self.text.find(window)
        while place >= 0 and len(found) < MOST_FOUND:
            found.append(place)
            place = self.text.find(window, place + 1)
        return np.array(found, np.int64)

    def _parallel(self, document: int, start: int, length: int, same: int) -> Parallel:
        first = int(self.ends[document - 1]) if document else 0
        last = int(self.ends[document]) - 1  # which is a break
        stop = start + length
        return Parallel(
            self.ids[document],
            start - first,
            self._shown(max(first, start - SHOWN), start),
            self._shown(start, stop),
            self._shown(stop, min(last, stop + SHOWN)),
            same,
        )

    def _shown(self, start: int, stop: int) -> str:
        letters = [self.alphabet[number] for number in self.codes[start:stop].tolist()]
        begins = self.word_starts[start:stop].tolist()
        words = (" " + one if new else one for one, new in zip(letters, begins, strict=True))
        ends = self.codes[stop] == 1 or bool(self.word_starts[stop])  # at the latest, a break
        return with_final_sigmas("".join(words).replace(BREAK, "…").strip(), ends)


def read_document(text: str, kind: Text) -> Document:
    """Return a text of a corpus, whatever letters it has, as its notation has it."""
    if kind.notation == "plain":
        return read_plain(text, WORDS, kind.gap_char, kind.brackets)
    if kind.notation == "epidoc" or is_xml(text):
        return read_epidoc(text, WORDS)
    return read_leiden(text, WORDS, gap_char=kind.gap_char)


def _letters(document: Document) -> tuple[str, Bool[np.ndarray, " letters"]]:
    """Return the letters with signs for what is lost, a break at the end, and the word starts."""
    parts, done = list[str](), 0
    starts = list[np.ndarray]()
    new = True  # whether the next letter starts a word
    for run in [*document.runs, None]:
        at = len(document.letters) if run is None else run.gap.at
        ends = document.ends[done:at]
        parts.append(document.letters[done:at])
        starts.append(np.concatenate([[new], ends])[: at - done])
        new = bool(ends[-1]) if len(ends) else new
        sign = BREAK if run is None or run.length is None else LOST * run.length
        parts.append(sign)
        starts.append(np.append(new, np.zeros(len(sign) - 1, bool)))
        new = run is not None and run.marks[-1].ends
        done = at
    return "".join(parts), np.concatenate(starts).astype(bool)


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


def _width(alphabet: str) -> str:
    return "u1" if len(alphabet) <= 256 else "<u2"


def _read(file: IO[bytes]) -> Parallels:
    """Return the index that a file holds; it never reads more than the file says it has."""
    header, letters, ids = (_line(file) for _ in range(3))
    count, documents = int(header["letters"]), int(header["documents"])
    names, alphabet = [str(name) for name in ids["ids"]], str(letters["alphabet"])
    if (
        header["format"] != FORMAT
        or not 0 < count <= MOST_LETTERS
        or not 0 < documents <= MOST_DOCUMENTS
        or len(names) != documents
        or not 2 < len(alphabet) <= MOST_SYMBOLS + 2
    ):
        raise ValueError("The header is wrong.")
    width = np.dtype(_width(alphabet))
    ends = np.frombuffer(_bytes(file, 8 * documents), "<i8").astype(np.int64)
    bits = np.frombuffer(_bytes(file, (count + 7) // 8), np.uint8)
    codes = np.frombuffer(_bytes(file, width.itemsize * count), width)
    if (
        file.read(1)
        or (np.diff(ends, prepend=0) < 1).any()
        or int(ends[-1]) != count
        or int(codes.max()) >= len(alphabet)
    ):
        raise ValueError("The numbers are wrong.")
    text = codes.tobytes().decode("latin-1" if width.itemsize == 1 else "utf-16-le")
    return Parallels(alphabet, text, np.unpackbits(bits)[:count].astype(bool), names, ends)


def _line(file: IO[bytes]) -> Any:
    line = file.readline(HEADER)
    if not line.endswith(b"\n"):
        raise ValueError("A line is too long.")
    return json.loads(line)


def _bytes(file: IO[bytes], number: int) -> bytes:
    content = file.read(number)
    if len(content) != number:
        raise EOFError
    return content
