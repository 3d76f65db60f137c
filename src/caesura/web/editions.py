"""Damaged texts: their lacunae, with the readings that a client accepts or asks about."""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
from jaxtyping import Bool, Int

from caesura.errors import CaesuraError
from caesura.kinds.base import Item
from caesura.kinds.text.alphabet import CODE_POINTS, codes_of
from caesura.kinds.text.changes import Readings
from caesura.kinds.text.document import Document, Mark, Run
from caesura.kinds.text.edition import EditionItem, EpiDocItem
from caesura.kinds.text.leiden import PLAIN
from caesura.kinds.text.normalise import CLUSTER, capital, normaliser, words_of
from caesura.kinds.text.pattern import shortened
from caesura.sequence import Span, runs

Parts = Mapping[int, str]  # what stands in lacunae, by their numbers
SUPPLIED = re.compile(r"(?<=>)[^<>]+(?=</supplied>)")  # the letters in what is written
BRACKETED = re.compile(r"[^\[\] ][^\[\]]*")
Places = Sequence[tuple[Span, str]]  # what is replaced in a text, from left to right, and by what


def stretches(item: EditionItem, run: Run) -> list[Span]:
    """Return the places of a lacuna in the text: several, if other things stand between them.

    Lost letters with only blanks between them are one stretch.
    """
    found: list[Span] = []
    for mark in run.marks:
        between = item.original[found[-1].stop : mark.start] if found else "\n"
        if between.strip(" \t\u00a0") or "\n" in between:
            found.append(Span(mark.start, mark.stop))
        else:
            found[-1] = found[-1]._replace(stop=mark.stop)
    return found


def accept(item: Item, parts: Parts) -> Item:
    """Return the text with some lacunae filled, whose letters are observed from now on.

    They are observed even if the letters that an editor has restored count as lost.
    """
    if not parts:
        return item
    opened = edition_of(item)
    letters = _letters(opened, parts)
    places = _as_typed(opened, parts, _changes(opened, letters))
    text = _spliced(opened.original, places)
    return replace(opened, original=text, edited=_accepted(opened, letters, text, places))


def restore(item: EditionItem, parts: Parts, readings: Mapping[int, Readings], others: bool) -> str:
    """Return the text with some lacunae filled in its own notation; all else is as it was.

    Parameters
    ----------
    item
        The text.
    parts
        What stands in some lacunae, by their numbers. It need not have the length of the lacuna.
    readings
        What could stand in them, and how probable it is.
    others
        Whether the other readings are written too, as EpiDoc can.
    """
    places = _changes(item, _letters(item, parts), readings, others)
    return _spliced(item.original, _as_typed(item, parts, places))


def begins_word(item: EditionItem, run: Run) -> bool:
    """Return whether a lacuna begins with a word, since a blank stands before it."""
    at = run.gap.at
    return at == 0 or bool(item.document.ends[at - 1])


def edition_of(item: Item) -> EditionItem:
    """Return a text with a notation, or refuse it."""
    if not isinstance(item, EditionItem):
        raise CaesuraError("Only a text with a notation has lacunae: set the field 'notation'.")
    return item


def _changes(
    item: EditionItem, letters: Parts, readings: Mapping[int, Readings] = {}, others: bool = False
) -> Places:
    """Return what is to be replaced in the text so that lacunae have these letters."""
    marks = list[Mark]()
    for number, run in enumerate(item.document.runs):
        length = len(letters.get(number, "")) or run.gap.shortest
        for mark, share in zip(run.marks, _shares(run, length), strict=True):
            marks.append(mark._replace(shortest=share, longest=share, prior=None))
    sized = tuple(mark for mark in marks if mark.longest)
    filled = replace(item, edited=replace(item.document, marks=sized))
    known = [readings.get(number, []) for number in sorted(letters)]
    return filled.changes(*_values(filled, letters), known, None if others else 0)


def _letters(item: EditionItem, parts: Parts) -> dict[int, str]:
    """Return readings of lacunae as the net sees them, from left to right."""
    found = item.document.runs
    for number in parts:
        if number >= len(found):
            raise CaesuraError(f"There is no lacuna {number}: they are counted from 0.")
    return {number: _seen(item, found[number], parts[number]) for number in sorted(parts)}


def _seen(item: EditionItem, run: Run, part: str) -> str:
    """Return a reading of a lacuna as the net sees it."""
    words = words_of(item.kind.normalise)
    see, capitals = normaliser(words), "starts" in words
    starting = begins_word(item, run)
    letters, known = "", set(item.kind.alphabet)
    for cluster in CLUSTER.findall(part):
        starting = starting or cluster.isspace()
        for letter in see(cluster):
            new = capital(letter) if capitals and starting else letter
            if letter not in known and new not in known:
                raise CaesuraError(
                    f"The letter {letter!r} of the reading {shortened(part)} is unknown to the "
                    "model."
                )
            letters, starting = letters + (new if new in known else letter), False
    if not letters:
        raise CaesuraError(f"The reading {shortened(part)} has no letters.")
    return letters


def _as_typed(item: EditionItem, parts: Parts, places: Places) -> Places:
    """Return changes with the accents and capitals of the readings, which a net may not see.

    A reading that is written at several places, or has signs of the notation, is left as it is.
    """
    changed, runs_of = list(places), item.document.runs
    starts = [place.start for place, _ in places]
    for number, part in parts.items():
        marks = runs_of[number].marks
        first, after = bisect_left(starts, marks[0].start), bisect_left(starts, marks[-1].stop)
        if after - first == 1 and PLAIN.fullmatch(part):
            place, new = changed[first]
            is_xml = isinstance(item, EpiDocItem)
            typed = escape(part.strip()) if is_xml else part.strip()
            if found := (SUPPLIED if is_xml else BRACKETED).search(new):
                changed[first] = place, new[: found.start()] + typed + new[found.end() :]
    return changed


def _shares(run: Run, length: int) -> list[int]:
    """Return how many letters each mark of a lacuna has; the last has what is too much."""
    shares = run.shares(max(length, run.gap.shortest))
    excess = sum(shares) - length
    shares[-1] += max(0, -excess)
    for number in reversed(range(len(shares))):
        less = min(shares[number], max(0, excess))
        shares[number] -= less
        excess -= less
    return shares


def _values(
    item: EditionItem, letters: Parts
) -> tuple[Int[np.ndarray, "T 1"], Bool[np.ndarray, "T 1"]]:
    """Return the letters of some lacunae as values of the text, and where they are."""
    lost = item.sequence.missing
    values, missing = np.zeros(lost.shape, np.int32), np.zeros(lost.shape, bool)
    spans = runs(lost[:, 0])
    for number, new in letters.items():
        place = slice(*spans[number])
        values[place, 0] = item.kind.numbers[codes_of(new)]
        missing[place] = True
    return values, missing


def _accepted(item: EditionItem, letters: Parts, text: str, places: Places) -> Document:
    """Return the document of the text in which the lacunae have these letters."""
    document = item.document
    stops = np.array([place.stop for place, _ in places], np.int64)
    grown = [len(new) - (place.stop - place.start) for place, new in places]
    shifts = np.concatenate([[0], np.cumsum(grown, dtype=np.int64)])

    def moved(place: Any) -> Any:
        return place + shifts[np.searchsorted(stops, place, side="right")]

    filled = [(document.runs[number], new) for number, new in letters.items()]
    sizes = [len(new) for _, new in filled]
    before = np.repeat(np.array([run.gap.at for run, _ in filled], np.int64), sizes)
    at = np.repeat(moved(np.array([run.marks[0].start for run, _ in filled], np.int64)), sizes)
    ends = np.zeros(len(before), bool)
    ends[np.cumsum(sizes) - 1] = [run.marks[-1].ends for run, _ in filled]
    new = codes_of("".join(new for _, new in filled))
    codes = np.insert(codes_of(document.letters), before, new)
    taken = {run.gap.at for run, _ in filled}
    marks = [
        mark._replace(
            at=mark.at + int(np.searchsorted(before, mark.at)),
            start=int(moved(mark.start)),
            stop=int(moved(mark.stop)),
        )
        for mark in document.marks
        if mark.at not in taken
    ]
    return Document(
        text,
        codes.tobytes().decode(*CODE_POINTS),
        np.insert(moved(document.starts), before, at),
        np.insert(moved(document.stops), before, at),
        np.insert(document.bracketed, before, True),
        np.insert(document.ends, before, ends),
        tuple(marks),
    )


def _spliced(text: str, places: Places) -> str:
    parts, done = list[str](), 0
    for place, new in places:
        parts += [text[done : place.start], new]
        done = place.stop
    return "".join([*parts, text[done:]])
