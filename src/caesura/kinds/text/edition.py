"""Editions, opened: texts whose letters are normalised or marked, with fills written back."""

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Sequence as List
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import ClassVar
from xml.sax.saxutils import escape

import numpy as np
from jaxtyping import Bool, Int, Int64

from caesura.errors import CaesuraError
from caesura.kinds.base import Written
from caesura.kinds.text import epidoc, leiden, plain
from caesura.kinds.text.alphabet import codes_of
from caesura.kinds.text.changes import Change, Readings, Rendered, places_of
from caesura.kinds.text.document import BREAK, Document, where
from caesura.kinds.text.normalise import divided, with_final_sigmas, words_of
from caesura.kinds.text.notation import ANY, Lengths, Marked
from caesura.kinds.text.text import Text, TextItem
from caesura.sequence import Gap, Sequence, Span, runs


@dataclass(frozen=True, eq=False)
class EditionItem(TextItem):
    """A text in a notation of editors, or with normalised letters; a letter is a step.

    What the notation marks as lost is missing. Breaks, such as lost lines, are one unknown step.
    """

    edited: Document | None = None  # with gaps that are not only those of the text

    @property
    def has_other_gaps(self) -> bool:
        return self.edited is not None

    @cached_property
    def document(self) -> Document:
        """The letters and lost letters of the text, with their places in it."""
        if self.edited is not None:
            return self.edited
        document = self._read(self.original)
        known = set(self.kind.alphabet)
        if not known & set(document.letters):
            place = next(i for i, letter in enumerate(document.letters) if letter.isalnum())
            raise CaesuraError(
                "The alphabet of the model has no letter of the text: the first, "
                f"'{document.letters[place]}', is at "
                f"{where(self.original, int(document.starts[place]))}."
            )
        return document

    @cached_property
    def marked(self) -> Marked:
        codes = codes_of(self.document.letters)
        places = np.repeat(self._places, self._sizes)
        each = zip(self.document.runs, self._steps_of_runs.tolist(), strict=True)
        opened = tuple(run.gap._replace(at=at) for run, at in each if run.length is None)
        missing = np.insert(np.zeros(len(codes), bool), places, True)
        return Marked(np.insert(codes, places, 0), missing, opened)

    @cached_property
    def complete(self) -> Sequence:
        """The letters; what is lost is unknown, and a gap of unknown length is one unknown step."""
        places = np.repeat(self._places, np.maximum(self._sizes, 1))
        codes = np.insert(codes_of(self.document.letters), places, ord(BREAK))
        values = self._numbers(codes)
        return Sequence(values, np.zeros(values.shape, bool))

    def read_letters(self) -> str:
        """Return the letters that an alphabet is learnt from."""
        return self._read(self.original).letters.replace(BREAK, "")

    def with_gaps(
        self, gaps: List[Gap], missing: Bool[np.ndarray, "T D"] | None = None
    ) -> "EditionItem":
        lost = np.zeros(len(self.marked.codes), bool)
        if missing is not None:
            self._check_shape(missing)
            lost = missing[:, 0] & ~self.marked.missing
        steps = self._steps_of_letters
        checked = [gap.check(len(lost)) for gap in gaps]
        placed = [gap._replace(at=int(np.searchsorted(steps, gap.at))) for gap in checked]
        return replace(self, edited=self.document.with_gaps(placed, lost[steps]))

    def with_lengths(self, lengths: List[int]) -> "EditionItem":
        self.marked.with_lengths(lengths)  # which checks them
        return replace(self, edited=self.document.with_lengths(lengths))

    def with_range(self, lengths: Lengths) -> "EditionItem":
        """Return the text with these lengths in every gap for which it does not say them."""
        return replace(self, lengths=lengths, edited=None)

    def write(self, values: Int[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]) -> str:
        return self.edition(values, missing)

    def edition(
        self,
        values: Int[np.ndarray, "T D"],
        missing: Bool[np.ndarray, "T D"],
        readings: List[Readings] = (),
        others: int | None = 0,
    ) -> str:
        """Return the text with the missing letters in the notation, and all else as it was.

        Parameters
        ----------
        values, missing
            As for `write`.
        readings
            For each run of missing steps, from left to right, what may stand there and how probable
            it is. EpiDoc says by it how certain a restoration is.
        others
            How many other readings are written too, as EpiDoc can; None for all.
        """
        text: str = self.written(values, missing, readings, others).sequence
        return text

    def changes(
        self,
        values: Int[np.ndarray, "T D"],
        missing: Bool[np.ndarray, "T D"],
        readings: List[Readings] = (),
        others: int | None = 0,
    ) -> list[tuple[Span, str]]:
        """Return what `edition` writes: places in the text, from left to right, and what is new."""
        rendered = self._rendered(values, missing, readings, others)
        return [(Span(change.start, change.stop), new.text) for change, new in rendered]

    def written(
        self,
        values: Int[np.ndarray, "T D"],
        missing: Bool[np.ndarray, "T D"],
        readings: List[Readings] = (),
        others: int | None = 0,
    ) -> Written:
        starts, stops = np.zeros((2, len(missing)), np.int64)  # of all steps, in the new text
        starts[self._steps_of_letters] = self.document.starts
        stops[self._steps_of_letters] = self.document.stops
        text, done, length, parts = self.original, 0, 0, list[str]()
        shifts = [(0, 0)]  # by how much letters move from some place on
        for change, new in self._rendered(values, missing, readings, others):
            parts += [text[done : change.start], new.text]
            length += change.start - done
            steps = slice(change.step, change.step + len(change.letters))
            starts[steps], stops[steps] = length + np.array(new.places, np.int64).T
            length, done = length + len(new.text), change.stop
            shifts.append((done, length - done))
        after, moves = np.array(shifts, np.int64).T
        kept = self._steps_of_letters[~missing[self._steps_of_letters, 0]]
        move = moves[np.searchsorted(after, starts[kept], side="right") - 1]
        starts[kept], stops[kept] = starts[kept] + move, stops[kept] + move
        return Written("".join([*parts, text[done:]]), missing, starts, stops)

    def _rendered(
        self,
        values: Int[np.ndarray, "T D"],
        missing: Bool[np.ndarray, "T D"],
        readings: List[Readings],
        others: int | None,
    ) -> list[tuple[Change, Rendered]]:
        """Return what is to be written, from left to right, and as what."""
        self._check_shape(missing)
        if self.open_gaps:
            raise CaesuraError("A gap whose length is not known cannot be written.")
        spans, starting = runs(missing[:, 0]), "starts" in self._words
        first_steps = [span.start for span in spans]
        found = []
        for change in self._changes(values[:, 0], missing[:, 0]):
            number = bisect_right(first_steps, change.step) - 1
            cut: dict[str, float] = {}
            if readings:
                cut = change.cut(spans[number], readings[number], starting, self._divided)
            found.append((change, self._render(change, cut, others)))
        return found

    def part(self, values: Int[np.ndarray, "T D"], gap: Span) -> str:
        written = self._divided(super().part(values, gap))
        return with_final_sigmas(written, ends=False) if "final" in self._words else written

    def describe(self, step: int) -> str:
        found = np.flatnonzero(self._steps_of_letters == step)
        if not len(found):
            return f"lost letter at step {step}"
        letter = int(found[0])
        place = where(self.original, int(self.document.starts[letter]))
        return f"letter {self.document.letters[letter]!r} at {place}"

    @abstractmethod
    def _read(self, text: str) -> Document:
        """Return the text as a document."""

    @abstractmethod
    def _render(self, change: Change, readings: dict[str, float], others: int | None) -> Rendered:
        """Return new letters as the notation has them."""

    def _plain(self, between: str) -> bool:
        """Return whether a part of the text goes with the lost letters on both sides."""
        return not between

    @property
    def _words(self) -> frozenset[str]:
        return words_of(self.kind.normalise)

    def _divided(self, letters: str) -> str:
        """Return letters as the net sees them in the form in which they are written."""
        if "starts" not in self._words:
            return letters
        return divided(letters) if self.kind.divided else letters.lower()

    def _letters(self, change: Change) -> list[str | None]:
        """Return the letters of a change as they are written, with the blanks before words."""
        if None in change.letters:
            return [letter and self._divided(letter) for letter in change.letters]
        letters = "".join(filter(None, change.letters))
        text, parts, done = self._final(letters, change), list[str | None](), 0
        divides = "starts" in self._words and self.kind.divided
        for number, letter in enumerate(letters):
            size = len(self._divided(letter)) + int(divides and number > 0 and letter.isupper())
            parts.append(text[done : done + size])
            done += size
        return parts

    def _start(self, change: Change) -> str:
        """Return the blank before a word that begins with a change, if there is none yet."""
        begins = (change.letters[0] or "").isupper()
        if not (begins and self.kind.divided and "starts" in self._words):
            return ""
        before = int(np.searchsorted(self._steps_of_letters, change.step)) - 1
        apart = before < 0 or bool(self.document.ends[before])
        return "" if apart or self.original[: change.start].rstrip("[")[-1:].isspace() else " "

    def _final(self, letters: str, change: Change) -> str:
        written = self._divided(letters)
        if "final" not in self._words:
            return written
        if "starts" in self._words and letters[:1].islower():  # a word goes on here
            return with_final_sigmas("α" + written, change.ends)[1:]
        return with_final_sigmas(written, change.ends)

    @cached_property
    def _sizes(self) -> Int64[np.ndarray, " runs"]:
        """The number of steps of each run of lost letters: none if it is not known."""
        return np.array([run.length or 0 for run in self.document.runs], np.int64)

    @cached_property
    def _places(self) -> Int64[np.ndarray, " runs"]:
        """How many letters stand before each run of lost letters."""
        return np.array([run.gap.at for run in self.document.runs], np.int64)

    @cached_property
    def _steps_of_runs(self) -> Int64[np.ndarray, " runs"]:
        return self._places + np.cumsum(self._sizes) - self._sizes

    @cached_property
    def _steps_of_letters(self) -> Int64[np.ndarray, " letters"]:
        lost = np.bincount(self._places, self._sizes, len(self.document.letters) + 1)[:-1]
        return np.arange(len(lost)) + np.cumsum(lost.astype(np.int64))

    def _changes(
        self, values: Int[np.ndarray, " T"], missing: Bool[np.ndarray, " T"]
    ) -> list[Change]:
        """Return what is to be written, from left to right; what belongs together is one change."""
        alphabet = self.kind.alphabet
        new = [alphabet[v] if m else None for v, m in zip(values, missing, strict=True)]
        found: list[Change] = []
        for run, first in zip(self.document.runs, self._steps_of_runs.tolist(), strict=True):
            step = first
            for mark, size in zip(run.marks, run.shares(run.gap.longest), strict=True):
                letters = tuple(new[step : step + size])
                if any(letters):
                    flags = mark.bracketed, mark.ends, bool(mark.letter)
                    found.append(Change(mark.start, mark.stop, letters, step, *flags))
                step += size
        steps, document = self._steps_of_letters, self.document
        for i in np.flatnonzero(missing[steps]).tolist():
            place = int(document.starts[i]), int(document.stops[i])
            flags = bool(document.bracketed[i]), bool(document.ends[i]), True
            found.append(Change(*place, (new[steps[i]],), int(steps[i]), *flags))
        return self._merged(sorted(found, key=lambda change: (change.start, change.step)))

    def _merged(self, changes: list[Change]) -> list[Change]:
        merged: list[Change] = []
        for change in changes:
            last = merged[-1] if merged else None
            if (
                last
                and last.step + len(last.letters) == change.step
                and last.bracketed == change.bracketed
                and self._belongs(last, change)
            ):
                letters = last.letters + change.letters
                change = change._replace(start=last.start, letters=letters, step=last.step)
                merged.pop()
            merged.append(change)
        return merged

    def _belongs(self, one: Change, other: Change) -> bool:
        """Return whether nothing but blanks, which are not modelled, is between two changes."""
        between = self.original[one.stop : other.start]
        return not between or (one.loose and other.loose and self._plain(between))


class LeidenItem(EditionItem):
    """A text in Leiden notation."""

    def _read(self, text: str) -> Document:
        return leiden.read_leiden(
            text, self._words, self.kind.lost_states, self.lengths or ANY, self.kind.gap_char
        )

    def _render(self, change: Change, readings: dict[str, float], others: int | None) -> Rendered:
        start, letters = self._start(change), self._letters(change)
        text = leiden.write_leiden((start, *letters), change.bracketed)
        return Rendered(text, places_of(letters, len(start) + (not change.bracketed)))

    def _plain(self, between: str) -> bool:
        return leiden.PLAIN.fullmatch(between) is not None


class EpiDocItem(EditionItem):
    """An EpiDoc file."""

    suffix: ClassVar[str] = ".xml"

    def _read(self, text: str) -> Document:
        return epidoc.read_epidoc(text, self._words, self.kind.lost_states, self.lengths or ANY)

    def _render(self, change: Change, readings: dict[str, float], others: int | None) -> Rendered:
        letters = self._letters(change)
        if others == 0 and None not in change.letters:  # no other probability is written
            chosen = self._divided("".join(filter(None, change.letters)))
            readings = {chosen: readings[chosen]} if chosen in readings else {}
        known = {self._final(part, change): share for part, share in readings.items()}
        text = self._start(change) + epidoc.write_epidoc(letters, list(known.items()), others)
        places, place = list[tuple[int, int]](), 0
        for lost, group in groupby(letters, key=lambda letter: letter is None):
            new = [None if lost else escape(letter or "") for letter in group]
            if not lost:
                place = text.index(f">{''.join(filter(None, new))}<", place) + 1
            places += places_of(new, place)
        return Rendered(text, places)

    def _plain(self, between: str) -> bool:
        return epidoc.PLAIN.fullmatch(between) is not None


class NormalisedItem(EditionItem):
    """A plain text whose letters are normalised."""

    @cached_property
    def complete(self) -> Sequence:
        """The text as it stands: its notation of gaps is text like all else."""
        values = self._numbers(codes_of(self.read_letters()))
        return Sequence(values, np.zeros(values.shape, bool))

    def read_letters(self) -> str:
        return plain.read_plain(self.original, self._words).letters

    def _read(self, text: str) -> Document:
        kind = self.kind
        return plain.read_plain(text, self._words, kind.gap_char, kind.brackets, self.lengths)

    def _render(self, change: Change, readings: dict[str, float], others: int | None) -> Rendered:
        start, letters = self._start(change), self._letters(change)
        text = "".join(self.kind.gap_char if one is None else one for one in letters)
        return Rendered(start + text, places_of(letters, len(start)))


def open_edition(kind: Text, text: str) -> EditionItem:
    """Return a text as an item of a kind with a notation or with normalised letters.

    A text of the notation "leiden" may also be an EpiDoc file, which its first characters show.
    """
    if kind.notation == "plain":
        return NormalisedItem(kind, text)
    if kind.notation == "epidoc" or epidoc.is_xml(text):
        return EpiDocItem(kind, text)
    return LeidenItem(kind, text)
