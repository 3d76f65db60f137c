"""Questions about single gaps: patterns that they must match, and readings of the user."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from caesura.errors import CaesuraError
from caesura.filler.request import Request
from caesura.kinds import Text
from caesura.kinds.base import Kind
from caesura.kinds.text.automaton import MOST_STATES, Automaton, TooLargeError
from caesura.kinds.text.pattern import automaton_of, automaton_of_reading, shortened
from caesura.sequence import Gap

MOST_READINGS = 100


class Own(NamedTuple):
    """A reading of the user's own."""

    text: str
    letters: Automaton
    length: int
    allowed: Automaton  # its letters, if they match the pattern of the gap


class Questions(NamedTuple):
    """What is asked, for each gap from left to right."""

    patterns: tuple[Automaton | None, ...]
    readings: tuple[tuple[Own, ...], ...]


def questions_of(kind: Kind, request: Request, gaps: Sequence[Gap]) -> Questions | None:
    """Return what a request asks about its gaps; None if it does not.

    Raises
    ------
    CaesuraError
        If there is no such gap, or nothing that fits into it matches its pattern, or a reading does
        not fit into it.
    """
    if not request.asks:
        return None
    if not isinstance(kind, Text):
        raise CaesuraError("Patterns and readings are for texts.")
    patterns = _by_gap("patterns", request.patterns, len(gaps))
    readings = _by_gap("readings", request.readings, len(gaps))
    automata = [
        _pattern(kind, number, patterns[number], gap) if number in patterns else None
        for number, gap in enumerate(gaps)
    ]
    if sum(len(one.accepting) for one in automata if one is not None) > MOST_STATES:
        raise CaesuraError("The patterns are too large together: write simpler ones.")
    own = [
        _readings(kind, number, readings.get(number, ()), gap, automata[number])
        for number, gap in enumerate(gaps)
    ]
    return Questions(tuple(automata), tuple(own))


def _by_gap(name: str, given: Any, gaps: int) -> dict[int, Any]:
    """Return what is given for each gap, by its number; without a number it is for the only one."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        if gaps != 1:
            raise CaesuraError(
                f"The data has {gaps} gaps: `{name}` must say for which, as in {{0: …}}."
            )
        given = {0: given}
    for number in given:
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < gaps:
            count = "1 gap" if gaps == 1 else f"{gaps} gaps"
            raise CaesuraError(
                f"There is no gap {number!r} for `{name}`: the data has {count}, counted from 0."
            )
    return dict(given)


def _pattern(kind: Text, number: int, pattern: Any, gap: Gap) -> Automaton:
    if not isinstance(pattern, str):
        raise CaesuraError(
            f"The pattern of gap {number} must be a string, not a {type(pattern).__name__}."
        )
    automaton = automaton_of(kind, pattern, gap.longest)
    if not any(automaton.has_words(length) for length in _lengths(gap)):
        raise CaesuraError(
            f"Nothing that the model could put into {_nth(number)}, which has {_size(gap)}, "
            f"matches the pattern {shortened(pattern)}."
        )
    return automaton


def _readings(
    kind: Text, number: int, readings: Any, gap: Gap, pattern: Automaton | None
) -> tuple[Own, ...]:
    texts = [readings] if isinstance(readings, str) else readings
    if not isinstance(texts, list | tuple) or not all(isinstance(one, str) for one in texts):
        raise CaesuraError(f"The readings of gap {number} must be a list of strings.")
    if len(texts) > MOST_READINGS:
        raise CaesuraError(f"Gap {number} has more than {MOST_READINGS} readings: ask about fewer.")
    found = []
    for text in texts:
        letters, length = automaton_of_reading(kind, text)
        if length not in _lengths(gap):
            raise CaesuraError(
                f"The reading {shortened(text)} has {length} letters, but {_nth(number)} has "
                f"{_size(gap)}."
            )
        try:
            allowed = letters if pattern is None else letters.both(pattern)
        except TooLargeError:
            raise CaesuraError(f"The pattern of {_nth(number)} is too large.") from None
        found.append(Own(text, letters, length, allowed))
    return tuple(found)


def _nth(number: int) -> str:
    """Return words for a gap that are right whether one counts from 0 or from 1."""
    names = ("the first gap", "the second gap", "the third gap")
    return names[number] if number < len(names) else f"the {number + 1}th gap"


def _lengths(gap: Gap) -> list[int]:
    return [n for n, weight in zip(gap.lengths, gap.weights.tolist(), strict=True) if weight]


def _size(gap: Gap) -> str:
    if gap.shortest == gap.longest:
        return "1 letter" if gap.longest == 1 else f"{gap.longest} letters"
    return f"{gap.shortest} to {gap.longest} letters"
