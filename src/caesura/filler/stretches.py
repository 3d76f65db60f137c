"""Long sequences, cut into stretches that are filled separately.

A stretch sees the steps around it. What is missing there stays unknown to it, so stretches are
filled independently of each other, given what is observed. A stretch ends where nothing is missing
if there is such a place, and otherwise inside a gap, across which fills then do not cohere.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from caesura.nets.frames import Frame
from caesura.sequence import Sequence, Span


class Stretch(NamedTuple):
    """Some steps of a sequence to fill, and what is seen around them."""

    sequence: Sequence  # the whole one
    steps: Span  # in the whole sequence
    first: int  # the first step that is seen
    seen: Sequence  # where only `inside` has something missing
    inside: Span  # `steps` in `seen`

    @property
    def longest_gap(self) -> int:
        """The length of the longest run of missing steps."""
        return max((gap.stop - gap.start for gap in self.seen.gaps), default=0)


def cut(sequence: Sequence, frame: Frame, longest: int, around: int) -> list[Stretch]:
    """Return the stretches of a sequence, from left to right; none if nothing is missing.

    Parameters
    ----------
    sequence
        What is to be filled.
    frame
        What its frames hold: it knows how an unknown value is written.
    longest
        The most steps of a stretch.
    around
        How many steps a stretch sees on either side.
    """
    missing, stretches = sequence.missing, []
    for start, stop in _borders(sequence.missing_steps, longest):
        first, last = max(0, start - around), min(len(sequence), stop + around)
        own = missing[first:last].copy()
        own[: start - first] = own[stop - first :] = False
        elsewhere = missing[first:last] & ~own
        values = np.where(elsewhere, frame.unknown_value, sequence.values[first:last])
        line = None if sequence.line is None else sequence.line.cut(first, last)
        seen = Sequence(values.astype(sequence.values.dtype), own, line)
        inside = Span(start - first, stop - first)
        stretches.append(Stretch(sequence, Span(start, stop), first, seen, inside))
    return stretches


def _borders(missing_steps: Bool[np.ndarray, " T"], longest: int) -> list[Span]:
    """From each first missing step to the last one within reach, without cutting a gap if that can
    be had for at most half of the length."""
    places = np.flatnonzero(missing_steps)
    borders: list[Span] = []
    at = 0
    while at < len(places):
        start = int(places[at])
        end = start + longest
        if missing_steps[end - 1 : end + 1].sum() == 2:  # a gap goes on beyond the reach
            observed = np.flatnonzero(~missing_steps[end - longest // 2 : end])
            end = end - longest // 2 + int(observed[-1]) if len(observed) else end
        at = int(np.searchsorted(places, end))
        borders.append(Span(start, int(places[at - 1]) + 1))
    return borders
