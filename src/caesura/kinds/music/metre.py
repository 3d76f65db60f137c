"""The metre: where each step stands in its bar and its beat, as switches that a net sees.

The switches are the same for all time signatures and grids:

- the first step of a bar, which an upbeat does not have
- the first step of a beat
- the first step of an eighth note, counted from the start of the bar
- whether the grid divides a quarter note by three
- the number of the beat in the bar: one of six switches; the seventh beat is counted as the first
"""

from fractions import Fraction
from math import floor
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int8

from caesura.errors import CaesuraError, whole_number

BEATS = 6
SWITCHES = 4 + BEATS
BEAT_BEGINS = 1  # the number of the switch that says so
OF_THE_GRID = (2, 3)  # eighth notes, and whether it divides by three
ROUNDING = 1e-6  # of a step


class Bar(NamedTuple):
    """A bar, in quarter notes."""

    start: Fraction  # from the start of the piece
    beat: Fraction  # how long its beats are
    left_out: Fraction = Fraction(0)  # what an upbeat lacks at its beginning


def beat_of(count: int | Fraction, unit: Fraction) -> Fraction:
    """Return the length of a beat in quarter notes; three eighths are one beat in 6/8.

    Parameters
    ----------
    count
        The upper number of a time signature.
    unit
        The length of what it counts: a quarter note is 1.

    Examples
    --------
    >>> beat_of(6, Fraction(1, 2)), beat_of(3, Fraction(1))
    (Fraction(3, 2), Fraction(1, 1))
    """
    return 3 * unit if unit < 1 and count > 3 and count % 3 == 0 else unit


def find_bars(name: str, count: int, numbers: tuple[int, int], zero: int = 1) -> tuple[int, int]:
    """Return the places of some bars, from 0: that of the first, and of the one after the last.

    Parameters
    ----------
    name
        What error messages call the piece.
    count
        How many bars it has.
    numbers
        The number of the first bar, and of the one after the last.
    zero
        The number of the first bar of the piece.

    Raises
    ------
    CaesuraError
        If there are no such bars.
    """
    first, stop = (
        whole_number(word, number, -(2**31))
        for word, number in zip(("first", "stop"), numbers, strict=True)
    )
    for bar in (first, stop - 1):
        if not zero <= bar < zero + count:
            bars = "1 bar" if count == 1 else f"{count} bars"
            bars += ", from bar 0" if zero == 0 else ""
            raise CaesuraError(f"{name} has no bar {bar}; it has {bars}.")
    if stop <= first:
        raise CaesuraError(f"There is no bar from bar {first} to before bar {stop}.")
    return first - zero, stop - zero


def make_metre(bars: list[Bar], steps: int, steps_per_beat: int) -> Int8[np.ndarray, "T switches"]:
    """Return the switches of each step. A bar begins at the step nearest to its start."""
    starts = np.array([floor(bar.start * steps_per_beat + Fraction(1, 2)) for bar in bars])
    bar = np.searchsorted(starts, np.arange(steps), side="right") - 1
    left_out = np.array([float(bar.left_out * steps_per_beat) for bar in bars])
    place = np.arange(steps) - starts[bar] + left_out[bar]
    beat = np.array([float(bar.beat * steps_per_beat) for bar in bars])[bar]
    number = np.floor((place + ROUNDING) / beat).astype(int)
    switches = [
        place < 1,
        _begins(place, beat),
        _begins(place, np.full(steps, steps_per_beat / 2)),
        np.full(steps, steps_per_beat % 3 == 0),
        *(number % BEATS == one for one in range(BEATS)),
    ]
    return np.stack(switches, axis=1).astype(np.int8)


def unknown_metre(steps: int, steps_per_beat: int) -> Int8[np.ndarray, "T switches"]:
    """Return the switches of music that has no bars or beats: only those of the grid may be on."""
    switches = make_metre([Bar(Fraction(0), Fraction(1))], steps, steps_per_beat)
    switches[:, [place for place in range(SWITCHES) if place not in OF_THE_GRID]] = 0
    return switches


def _begins(
    place: Float[np.ndarray, " T"], length: Float[np.ndarray, " T"]
) -> Bool[np.ndarray, " T"]:
    """Whether a part of the bar begins after the step before, and not after this one."""
    now, before = (np.floor((at + ROUNDING) / length) for at in (place, place - 1))
    return now != before
