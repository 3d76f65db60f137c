"""How a text marks its gaps: `_` is a missing character, `{3-7}` are 3 to 7 of them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, UInt32

from caesura.errors import CaesuraError
from caesura.sequence import LONGEST_GAP, Gap, Span, runs

ANY = (1, 12)  # the lengths of `{?}`
TAKEN = "0123456789-?\\"  # characters of the notation, which cannot be brackets
SHOWN = 20  # characters of a notation in an error message

Lengths = tuple[int, int]  # the shortest and the longest


class Marked(NamedTuple):
    """A text to be filled: its characters without the notation, and where its gaps are.

    An open gap, whose length is not known, has no steps. It stands neither beside another one nor
    beside a missing character, since they would be one gap.
    """

    codes: UInt32[np.ndarray, " T"]
    missing: Bool[np.ndarray, " T"]
    open_gaps: tuple[Gap, ...] = ()

    def with_gaps(self, gaps: Iterable[Gap], missing: Bool[np.ndarray, " T"]) -> "Marked":
        """Return the text with more open gaps and more missing characters."""
        checked = [gap.check(len(self.codes)) for gap in gaps]
        return _joined(self.codes, self.missing | missing, [*self.open_gaps, *checked])

    def with_lengths(self, lengths: Sequence[int]) -> "Marked":
        """Return the text with so many missing characters in each of its open gaps."""
        if len(lengths) != len(self.open_gaps):
            raise CaesuraError(
                f"The number of gaps of unknown length is {len(self.open_gaps)}, but lengths are "
                f"given for {len(lengths)}."
            )
        for gap, length in zip(self.open_gaps, lengths, strict=True):
            if length not in gap.lengths:
                raise CaesuraError(
                    f"A gap of {gap.shortest} to {gap.longest} characters cannot have {length}."
                )
        places = np.repeat(np.array([gap.at for gap in self.open_gaps], int), lengths)
        return Marked(np.insert(self.codes, places, 0), np.insert(self.missing, places, True))


def mark(
    text: str,
    codes: UInt32[np.ndarray, " T"],
    gap_char: str,
    brackets: str,
    lengths: Lengths | None = None,
) -> Marked:
    """Return a text with its gaps found.

    Parameters
    ----------
    text, codes
        The text, and its code points.
    gap_char
        The character that marks a missing one.
    brackets
        What stands before and after the lengths of a gap; "" if texts have no such notation.
    lengths
        What each gap has that does not say its own lengths, however many gap characters mark it.
        By default a gap character is one missing character, and `{?}` stands for 1 to 12.

    Raises
    ------
    CaesuraError
        If the text has lengths that no gap can have.
    """
    missing = codes == ord(gap_char)
    notations = list(_find(text, brackets))
    if not notations and lengths is None:
        return Marked(codes, missing)
    said = np.zeros(len(codes), bool)  # missing characters whose number the text says
    copies = np.ones(len(codes), int)  # how many steps each character becomes
    ranges: list[tuple[int, Lengths]] = []
    for start, stop, written in notations:
        missing[start:stop] = False
        if text[start - 1 : start] == "\\":
            copies[start - 1] = 0
            continue
        copies[start:stop] = 0
        if written == "?" and lengths is not None:
            copies[start], missing[start] = 1, True
            continue
        shortest, longest = _lengths_at(text, start, stop)
        if shortest == longest:
            copies[start], said[start] = longest, True
        else:
            ranges.append((start, (shortest, longest)))
    steps_before = np.cumsum(copies) - copies
    gaps = [Gap(int(steps_before[place]), *each) for place, each in ranges]
    codes, missing, said = (np.repeat(each, copies) for each in (codes, missing, said))
    if lengths is not None:
        gaps += [Gap(span.start, *lengths) for span in runs(missing)]
        codes, said, gaps = codes[~missing], said[~missing], _moved(gaps, missing)
        missing = said
    return _joined(codes, missing | said, gaps)


def has_notation(text: str, brackets: str) -> bool:
    """Return whether a text has anything like `{3-7}`, escaped or not."""
    return next(_find(text, brackets), None) is not None


def find_lengths(
    text: str, brackets: str, lengths: Lengths | None = None
) -> list[tuple[int, int, int, int]]:
    """Return the start and the end of each gap that is marked like `{3-7}`, and its lengths.

    `lengths` are those of `{?}`, by default 1 to 12.
    """
    found = []
    for start, stop, written in _find(text, brackets):
        if text[start - 1 : start] != "\\":
            each = lengths if written == "?" and lengths else _lengths_at(text, start, stop)
            found.append((start, stop, *each))
    return found


def parse_lengths(written: str) -> Lengths:
    """Return the lengths that are written as 3-7 or as 5.

    Raises
    ------
    CaesuraError
        If no gap can have them.

    Examples
    --------
    >>> parse_lengths("3-7")
    (3, 7)
    """
    if not re.fullmatch(r"\d+(-\d+)?", written, re.ASCII):
        raise CaesuraError(f"A range of lengths is written as 3-7 or as 5, not as '{written}'.")
    if problem := _problem(lengths := _read(written)):
        raise CaesuraError(f"The range of lengths {written} {problem}.")
    return lengths


def check_brackets(brackets: Any) -> None:
    """Raise an error if lengths cannot be written between these."""
    whole = isinstance(brackets, str) and (not brackets or len(brackets) == len({*brackets}) == 2)
    if not whole or set(brackets) & set(TAKEN):
        raise CaesuraError(
            f"The 'brackets' must be two different characters such as '{{}}', but no digits, '-', "
            f"'?' or '\\', or '' for none, not {brackets!r}."
        )


def _find(text: str, brackets: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start and the end of everything like `{3-7}`, and what is between the brackets."""
    if brackets:
        opening, closing = map(re.escape, brackets)
        pattern = rf"{opening}(\?|\d+|\d+-\d+){closing}"
        for found in re.finditer(pattern, text, re.ASCII):
            yield found.start(), found.end(), found[1]


def _lengths_at(text: str, start: int, stop: int) -> Lengths:
    lengths = _read(text[start + 1 : stop - 1])
    if problem := _problem(lengths):
        shown = text[start:stop] if stop - start <= SHOWN else f"{text[start : start + SHOWN]}…"
        raise CaesuraError(
            f"The gap '{shown}' at position {start} of the text {problem}; if it is not a gap, "
            f"write '\\{shown}'."
        )
    return lengths


def _read(written: str) -> Lengths:
    if written == "?":
        return ANY
    # Nine digits are more than any gap has, and Python refuses to read thousands of them.
    numbers = [int(digits[:9]) for digits in written.split("-")]
    return numbers[0], numbers[-1]


def _problem(lengths: Lengths) -> str | None:
    """Return what is wrong with the lengths of a gap, as the rest of a sentence about them."""
    shortest, longest = lengths
    if longest < shortest:
        return "must have its smaller number first"
    if longest == 0:
        return "has no characters"
    if longest > LONGEST_GAP:
        return f"is too long, since such gaps have at most {LONGEST_GAP} characters"
    return None


def _moved(gaps: Iterable[Gap], dropped: Bool[np.ndarray, " T"]) -> list[Gap]:
    """Return the gaps of a text from which some steps are dropped."""
    dropped_before = np.concatenate([[0], np.cumsum(dropped)])
    return [gap._replace(at=gap.at - int(dropped_before[gap.at])) for gap in gaps]


def _joined(
    codes: UInt32[np.ndarray, " T"], missing: Bool[np.ndarray, " T"], gaps: Iterable[Gap]
) -> Marked:
    """Return the text in which open gaps have become one with all that is missing beside them.

    Lengths are added up. They are independent a priori, so that of a sum is a convolution.
    """
    spans = runs(missing)
    stops = [span.stop for span in spans]
    joined: dict[Span, Gap] = {}
    for gap in gaps:
        number = int(np.searchsorted(stops, gap.at))  # the only one that may touch it
        touches = number < len(spans) and spans[number].start <= gap.at
        span = spans[number] if touches else Span(gap.at, gap.at)
        steps = span.stop - span.start
        joined[span] = _sum(joined.get(span, Gap(span.start, steps, steps)), gap)
    dropped = np.zeros(len(codes), bool)
    for span in joined:
        dropped[slice(*span)] = True
    ordered = sorted(joined.values(), key=lambda gap: gap.at)
    return Marked(codes[~dropped], missing[~dropped], tuple(_moved(ordered, dropped)))


def _sum(one: Gap, two: Gap) -> Gap:
    shortest, longest = one.shortest + two.shortest, one.longest + two.longest
    if longest > LONGEST_GAP:
        raise CaesuraError(
            f"Gaps beside each other are one gap, which would have up to {longest} characters "
            f"here: if its length is not known, it can have at most {LONGEST_GAP}."
        )
    if one.prior is None and one.shortest == one.longest:
        prior = two.prior
    else:
        prior = tuple(np.convolve(one.weights, two.weights).tolist())
    return Gap(one.at, shortest, longest, prior)
