"""New letters for places in a text, and their places in the new text."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from caesura.kinds.text.normalise import undivided
from caesura.sequence import Span

Readings = Sequence[tuple[str, float]]  # what may stand in a gap, and how probable it is


class Rendered(NamedTuple):
    """New letters as a notation has them, and the place of each of them there."""

    text: str
    places: list[tuple[int, int]]


class Change(NamedTuple):
    """New letters for a place in the text."""

    start: int
    stop: int
    letters: tuple[str | None, ...]  # None: still lost
    step: int  # of the first letter
    bracketed: bool
    ends: bool
    loose: bool  # whether it was a letter, not a mark

    def cut(
        self, span: Span, readings: Readings, starts: bool, divide: Callable[[str], str]
    ) -> dict[str, float]:
        """Return what the readings of a gap have at this place, with the sums of their shares.

        If capitals are word starts for the net, `divide` makes words of letters as it sees them.
        """
        first, last = self.step - span.start, self.step - span.start + len(self.letters)
        if (first, last) == (0, span.stop - span.start):
            return dict(readings)
        found: dict[str, float] = {}
        for words, probability in readings:
            part = undivided(words) if starts else words
            if len(part) == span.stop - span.start:
                here = divide(part[first:last])
                found[here] = found.get(here, 0.0) + probability
        return found


def places_of(letters: Sequence[str | None], place: int) -> list[tuple[int, int]]:
    """Return where each of some letters is if they begin at a place, without blanks before them."""
    found = []
    for letter in letters:
        stop = place + len(letter or ".")
        blank = letter is not None and len(letter) > 1 and letter[0] == " "
        found.append((place + blank, stop))
        place = stop
    return found
