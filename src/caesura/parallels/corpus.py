"""A corpus as one string of letters with the ids of its documents, and the file that holds it."""

import json
import lzma
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Int64, Integer

from caesura.errors import CaesuraError
from caesura.files import cannot_read, replacing
from caesura.kinds.text.document import BREAK, Document
from caesura.parallels.reading import LOST, letters_of

FORMAT = "caesura parallels 1"
MOST_LETTERS = 1 << 28
MOST_DOCUMENTS = 1 << 24
MOST_SYMBOLS = 50_000  # so that each of them is one character of a string
HEADER = 64 << 20  # bytes of a line of a file


@dataclass(frozen=True, eq=False)
class Corpus:
    """All letters of some documents.

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
    """

    alphabet: str
    text: str
    word_starts: Bool[np.ndarray, " letters"]
    ids: list[str]
    ends: Int64[np.ndarray, " documents"]

    @cached_property
    def codes(self) -> Integer[np.ndarray, " letters"]:
        """The number of each letter in the alphabet; 0 is a lost one, and 1 ends a passage."""
        width = _width(self.alphabet)
        return np.frombuffer(self.text.encode("latin-1" if width == "u1" else "utf-16-le"), width)


def make_corpus(documents: Iterable[tuple[str, Document]]) -> Corpus:
    """Return texts that `read_document` has read, with their ids, as one corpus.

    Raises
    ------
    CaesuraError
        If there is none, or there are too many.
    """
    ids, letters, starts, ends, length = [], list[str](), list[Any](), list[int](), 0
    for name, document in documents:
        seen, begins = letters_of(document)
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
    return Corpus(alphabet, text, np.concatenate(starts), ids, np.array(ends, np.int64))


def save_corpus(corpus: Corpus, path: str | os.PathLike[str]) -> None:
    """Write a corpus to a file, packed with xz: three lines of JSON, then numbers."""
    width = _width(corpus.alphabet)
    header = {"format": FORMAT, "letters": len(corpus.text), "documents": len(corpus.ids)}
    with replacing(Path(path)) as part, lzma.open(part, "wb", preset=1) as file:
        for line in (header, {"alphabet": corpus.alphabet}, {"ids": corpus.ids}):
            file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        file.write(corpus.ends.astype("<i8").tobytes())
        file.write(np.packbits(corpus.word_starts).tobytes())
        file.write(corpus.codes.astype(width).tobytes())


def load_corpus(path: str | os.PathLike[str]) -> Corpus:
    """Return the corpus in a file.

    Raises
    ------
    CaesuraError
        If the file cannot be read, or is no whole index.
    """
    wrong = CaesuraError(
        f"The file '{path}' is not a complete index of parallels: make one with `caesura parallels "
        "build`."
    )
    try:
        with lzma.open(path, "rb") as file:
            return _read(file)
    except OSError as error:
        raise cannot_read(Path(path), error) from error
    except (lzma.LZMAError, EOFError, ArithmeticError, LookupError, RecursionError) as error:
        raise wrong from error
    except (TypeError, ValueError) as error:
        raise wrong from error


def _width(alphabet: str) -> str:
    return "u1" if len(alphabet) <= 256 else "<u2"


def _read(file: lzma.LZMAFile) -> Corpus:
    """Return the corpus that a file holds; it never reads more than the file says it has."""
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
        or (codes[ends - 1] != 1).any()  # what ends a document
    ):
        raise ValueError("The numbers are wrong.")
    text = codes.tobytes().decode("latin-1" if width.itemsize == 1 else "utf-16-le")
    return Corpus(alphabet, text, np.unpackbits(bits)[:count].astype(bool), names, ends)


def _line(file: lzma.LZMAFile) -> Any:
    line = file.readline(HEADER)
    if not line.endswith(b"\n"):
        raise ValueError("A line is too long.")
    return json.loads(line)


def _bytes(file: lzma.LZMAFile, number: int) -> bytes:
    content = file.read(number)
    if len(content) != number:
        raise EOFError
    return content
