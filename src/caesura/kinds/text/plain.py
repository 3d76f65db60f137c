"""Plain texts as documents, for kinds that normalise their letters."""

import re
from collections.abc import Set

from caesura.kinds.text.document import Builder, Document
from caesura.kinds.text.normalise import CLUSTER
from caesura.kinds.text.notation import Lengths, find_lengths


def read_plain(
    text: str,
    words: Set[str] = frozenset(),
    gap_char: str = "",
    brackets: str = "",
    lengths: Lengths | None = None,
) -> Document:
    """Return a plain text as a document.

    Parameters
    ----------
    text
        The text.
    words
        How letters are normalised, as `words_of` gives it.
    gap_char, brackets
        How the text marks gaps, as `Text` has it; if they are empty, all is text.
    lengths
        What each gap has that does not say its own lengths.

    Raises
    ------
    CaesuraError
        If there are no letters, or a gap cannot be as long as the text says.

    Examples
    --------
    >>> document = read_plain("A_c", {"case"}, "_")
    >>> document.letters, [run.gap for run in document.runs]
    ('ac', [Gap(at=1, shortest=1, longest=1, prior=None)])
    """
    marks = find_lengths(text, brackets, lengths)
    if gap_char:
        for match in re.finditer(f"{re.escape(gap_char)}+", text):
            number = match.end() - match.start()
            marks.append((*match.span(), *(lengths or (number, number))))
    builder, done = Builder(text, words, collapses=False), 0
    for start, stop, shortest, longest in sorted(marks):
        if start >= done:  # a gap character between brackets is part of them
            _add(builder, done, start)
            builder.gap(start, stop, shortest, longest, bracketed=True)
            done = stop
    _add(builder, done, len(text))
    return builder.document()


def _add(builder: Builder, start: int, stop: int) -> None:
    for match in CLUSTER.finditer(builder.text, start, stop):
        builder.letter(match[0], *match.span())
