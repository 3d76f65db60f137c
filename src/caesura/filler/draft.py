"""A partly filled sequence: what is observed, and the best fill of every gap so far."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Shaped

from caesura.filler.stretches import Stretch
from caesura.sequence import Gap, Span, runs
from caesura.sequence import Sequence as Steps

Values = Shaped[np.ndarray, "_ D"]
TOGETHER = 64  # steps, between the first and the last gap that are searched as one


@dataclass
class Draft:
    """Gaps and what stands between them.

    Parameters
    ----------
    observed
        What stands before each gap, and after the last one.
    gaps
        All gaps; those of a known length have only that one.
    fills
        What stands in each gap for now, which is unknown in the beginning.
    groups
        The numbers of the gaps that are searched together.
    """

    observed: list[Values]
    gaps: list[Gap]
    fills: list[Values]
    groups: list[range]

    def stretch(self, group: range, lengths: Sequence[int], around: int) -> Stretch:
        """Return the gaps of a group, with these lengths, between what stands around them."""
        before = _end(self._leftwards(group.start), around)
        after = _start(self._rightwards(group.stop), around)
        inside: list[tuple[Values, bool]] = []
        for number, length in zip(group, lengths, strict=True):
            if inside:
                inside.append((self.observed[number], False))
            inside.append((self._nothing(length), True))
        seen = _joined([(before, False), *inside, (after, False)])
        middle = Span(len(before), len(before) + sum(len(part) for part, _ in inside))
        steps = Span(self._spans[group.start].start, self._spans[group[-1]].stop)
        return Stretch(self._whole, steps, steps.start - len(before), seen, middle)

    @cached_property
    def _whole(self) -> Steps:
        """All that is observed; what is filled for now counts as missing."""
        parts = [(self.observed[0], False)]
        for fill, observed in zip(self.fills, self.observed[1:], strict=True):
            parts += [(fill, True), (observed, False)]
        return _joined(parts)

    @cached_property
    def _spans(self) -> list[Span]:
        """The gaps in the whole sequence."""
        pairs = zip(self.observed, self.fills, strict=False)
        sizes = [len(part) for pair in pairs for part in pair]
        ends = np.cumsum(sizes).tolist()
        return [Span(*ends[number : number + 2]) for number in range(0, len(ends), 2)]

    def fill(self, group: range, lengths: Sequence[int], values: Values) -> None:
        """Write into the gaps of a group."""
        for number, part in zip(group, np.split(values, np.cumsum(lengths)[:-1]), strict=True):
            self.fills[number] = part

    def near(self, group: range, other: range, steps: int) -> bool:
        """Return whether fewer than `steps` observed steps are between two groups."""
        first, second = sorted([group, other], key=lambda one: one.start)
        between = self.observed[first.stop : second.start + 1]
        return sum(map(len, between)) < steps

    def _nothing(self, length: int) -> Values:
        return np.zeros((length, self.observed[0].shape[1]), self.observed[0].dtype)

    def _leftwards(self, gap: int) -> Iterable[Values]:
        yield self.observed[gap]
        for number in range(gap - 1, -1, -1):
            yield self.fills[number]
            yield self.observed[number]

    def _rightwards(self, gap: int) -> Iterable[Values]:
        yield self.observed[gap]
        for number in range(gap, len(self.gaps)):
            yield self.fills[number]
            yield self.observed[number + 1]


def make_draft(
    values: Values,
    missing_steps: Bool[np.ndarray, " T"],
    open_gaps: Sequence[Gap],
    unknown: int,
    apart: int,
) -> Draft:
    """Return a draft in which nothing is filled.

    Parameters
    ----------
    values, missing_steps
        The sequence, in which open gaps have no steps.
    open_gaps
        The gaps of unknown length.
    unknown
        How an unknown value is written.
    apart
        Gaps with at least so many observed steps between them are searched by themselves.
    """
    known = [
        (span, Gap(span.start, span.stop - span.start, span.stop - span.start))
        for span in runs(missing_steps)
    ]
    both = [*known, *((Span(gap.at, gap.at), gap) for gap in open_gaps)]
    both.sort(key=lambda one: one[0])
    starts = [0, *(span.stop for span, _ in both)]
    stops = [*(span.start for span, _ in both), len(values)]
    observed = [values[a:b] for a, b in zip(starts, stops, strict=True)]
    gaps = [gap for _, gap in both]
    middle = [(gap.shortest + gap.longest) // 2 for gap in gaps]
    fills = [np.full((n, values.shape[1]), unknown, values.dtype) for n in middle]
    return Draft(observed, gaps, fills, _grouped(observed, gaps, apart))


def _grouped(observed: list[Values], gaps: list[Gap], apart: int) -> list[range]:
    """Return the gaps that are searched as one; one of unknown length is searched by itself."""
    groups: list[range] = []
    steps = 0
    for number, gap in enumerate(gaps):
        between, length = len(observed[number]), gap.longest
        known = gap.shortest == gap.longest
        if (
            groups
            and known
            and gaps[number - 1].shortest == gaps[number - 1].longest
            and between < apart
            and steps + between + length <= TOGETHER
        ):
            groups[-1] = range(groups[-1].start, number + 1)
            steps += between + length
        else:
            groups.append(range(number, number + 1))
            steps = length
    return groups


def _end(parts: Iterable[Values], steps: int) -> Values:
    """Return the last steps of parts that are given from right to left."""
    taken = _enough(parts, steps)[::-1]
    return np.concatenate(taken)[-steps:] if steps else taken[-1][:0]


def _start(parts: Iterable[Values], steps: int) -> Values:
    return np.concatenate(_enough(parts, steps))[:steps]


def _enough(parts: Iterable[Values], steps: int) -> list[Values]:
    taken: list[Values] = []
    for part in parts:
        taken.append(part)
        steps -= len(part)
        if steps <= 0:
            break
    return taken


def _joined(parts: Sequence[tuple[Values, bool]]) -> Steps:
    """Return parts one after the other, each with whether it is missing."""
    missing = [np.full(values.shape, is_gap) for values, is_gap in parts]
    return Steps(np.concatenate([values for values, _ in parts]), np.concatenate(missing))
