"""Texts as letters to be compared: those of a corpus, and those of a question."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from caesura.errors import CaesuraError
from caesura.kinds.text.document import BREAK, Document, where
from caesura.kinds.text.epidoc import is_xml, read_epidoc
from caesura.kinds.text.leiden import read_leiden
from caesura.kinds.text.normalise import words_of
from caesura.kinds.text.plain import read_plain
from caesura.kinds.text.text import Text

WORDS = words_of("letters")  # case, accents, punctuation and blanks do not count
LOST = "_"  # a lost letter of the corpus, and one of a question that may be any letter


class Question(NamedTuple):
    """What parallels are asked for: a reading, and what stands around it."""

    before: str
    reading: str
    after: str


def read_question(text: str) -> Question:
    """Return the first restoration or gap of a text in Leiden notation, with its context.

    Without any, the whole text is the reading.

    Raises
    ------
    CaesuraError
        If it is no such text, or the number of lost letters is not known.

    Examples
    --------
    >>> read_question("the [qui]ck br[..]n")
    Question(before='the', reading='qui', after='ckbr__n')
    >>> read_question("the [...]ck").reading
    '___'
    """
    document = read_leiden(text, WORDS, {"restored"})
    letters, done, reading, before = "", 0, None, ""
    for run in document.runs:
        letters += document.letters[done : run.gap.at]
        done = run.gap.at
        lost = "".join(mark.letter or LOST * mark.longest for mark in run.marks)
        if reading is None:
            if run.length is None:
                place = where(text, run.marks[0].start)
                raise CaesuraError(
                    f"The gap at {place} has no certain length: write a dot for each letter."
                )
            reading, before, letters = lost, letters, ""
        else:
            letters += BREAK if run.length is None else lost
    letters += document.letters[done:]
    if reading is None:
        return Question("", letters, "")
    return Question(before.split(BREAK)[-1], reading, letters.split(BREAK)[0])


def read_document(text: str, kind: Text) -> Document:
    """Return a text of a corpus, whatever letters it has, as its notation has it."""
    if kind.notation == "plain":
        return read_plain(text, WORDS, kind.gap_char, kind.brackets)
    if kind.notation == "epidoc" or is_xml(text):
        return read_epidoc(text, WORDS)
    return read_leiden(text, WORDS, gap_char=kind.gap_char)


def letters_of(document: Document) -> tuple[str, Bool[np.ndarray, " letters"]]:
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
