"""Stretches to fill and the method to fill them by, grouped into batches of one shape."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from caesura.errors import whole_number
from caesura.filler.stretches import Stretch
from caesura.hardware import LANES, NUMBERS, STATES, sequence_length
from caesura.kinds.base import Kind
from caesura.kinds.series.pool import Gap, Pool
from caesura.nets.pair import Nets
from caesura.strategies import Strategy, Window, around_each, around_each_eagerly
from caesura.strategies.echo import Echoes
from caesura.strategies.rules import Rule
from caesura.strategies.window import KnownEnds

WINDOWS = (1, 4, 16, 64)  # side by side: each number is compiled
EAGER_WINDOWS = 32  # where nothing is compiled; more at once are not faster
PART = 8  # fills that are drawn with one key: a fixed number, so that batches do not change them


class Method(NamedTuple):
    """A strategy with the net it works on, or the pair of them, and the kind of the data."""

    strategy: Strategy
    net: Nets
    kind: Kind  # knows which fills are better
    known: KnownEnds | None = None  # what a strategy that runs with NumPy has read before
    pool: Pool | None = None  # a Gaussian model that is asked beside the net

    @property
    def name(self) -> str:
        """The name of the strategy."""
        return self.strategy.name

    @property
    def in_numpy(self) -> bool:
        """Whether NumPy runs the nets, so that nothing is compiled or padded."""
        return self.strategy.in_numpy(self.net)

    def window(self, stretches: Sequence[Stretch]) -> Window:
        """Return the part of each stretch that the strategy needs to see."""
        seen = [stretch.seen for stretch in stretches]
        ends = [self.strategy.stop(one.inside.stop, len(one.seen)) for one in stretches]
        inside = [one.inside for one in stretches]
        if self.in_numpy:
            window = around_each_eagerly(self.net, seen, inside, ends, self.known)
            is_word = self.kind.is_word
            if not self.strategy.hears_echoes or is_word is None:
                return window
            places = [(one.sequence, one.steps) for one in stretches]
            lengths = [span.stop - span.start for span in inside]
            echoes = Echoes.of(places, lengths, is_word, window.valid.shape[1])
            return replace(window, echoes=echoes)
        return around_each(self.net, seen, inside, ends, max(map(self.width, stretches)))

    def width(self, stretch: Stretch) -> int:
        """Return the width of the window of a stretch, padded if a program is compiled for it."""
        end = self.strategy.stop(stretch.inside.stop, len(stretch.seen))
        steps = end - stretch.inside.start
        return steps if self.in_numpy else self.strategy.padded(steps)

    @property
    def alone(self) -> bool:
        """Whether `PART` fills of one window keep the device busy: then windows and parts of the
        fills are run one by one, so that the same programs serve any number of them."""
        return self.strategy.lanes(PART) >= LANES

    def states(self, stretch: Stretch, draws: int) -> int:
        """Return how many states of the net are held at once to fill a stretch."""
        draws = min(draws, PART) if self.alone else draws
        return self.strategy.states(self.net, self.width(stretch), stretch.longest_gap, draws)

    def work(self, stretch: Stretch, draws: int) -> int:
        """Return how long it takes to fill a stretch, in a unit of the strategy's own."""
        gaps = [gap.stop - gap.start for gap in stretch.seen.gaps]
        draws = -(-draws // PART) * PART if self.alone else draws
        return self.strategy.work(self.net, self.width(stretch), gaps, draws)


class Task(NamedTuple):
    """A stretch to fill."""

    stretch: Stretch
    seed: int
    number: int  # of the stretch in its sequence
    draws: int
    scored: int  # so many of the draws get a score; all of them where the best is one of them
    rule: Rule | None = None  # what a search may put into the gaps

    @property
    def inside(self) -> tuple[Int[np.ndarray, " places"], Int[np.ndarray, " places"]]:
        """The missing places in the window, step by step."""
        steps, components = np.nonzero(self.stretch.seen.missing)
        return steps - self.stretch.inside.start, components

    @property
    def gap(self) -> Gap:
        """What a Gaussian model is asked about."""
        return Gap(self.stretch.seen.values, self.stretch.seen.missing)

    @property
    def places(self) -> Int[np.ndarray, "places 2"]:
        """The missing places in the whole sequence."""
        return np.argwhere(self.stretch.seen.missing) + np.array([self.stretch.first, 0])

    def shape(self, method: Method) -> tuple[Any, ...]:
        """Return what tasks must share to be filled in one pass."""
        if method.in_numpy:
            return () if method.strategy.searches else (self.draws, self.scored)
        gap = self.stretch.longest_gap
        return (
            sequence_length(len(self.stretch.seen)),
            method.width(self.stretch),
            method.strategy.is_exact(gap),
            self.draws,
            self.scored,
        )


def batches(method: Method, tasks: Sequence[Task]) -> Iterable[list[int]]:
    """Yield the numbers of tasks that are filled in one pass."""
    alike: dict[tuple[Any, ...], list[int]] = {}
    for number, task in enumerate(tasks):
        shape = task.shape(method) if method.strategy.batched else (number,)
        alike.setdefault(shape, []).append(number)
    for numbers in alike.values():
        most = _most(method, tasks[numbers[0]])
        while numbers:
            few = len(numbers) < WINDOWS[-1] // 2  # most of the largest batch would be padding
            size = min(most, WINDOWS[-2]) if few else most
            yield numbers[:size]
            numbers = numbers[size:]


def _most(method: Method, task: Task) -> int:
    """Return how many tasks of this shape fit into one pass."""
    if method.in_numpy:
        return EAGER_WINDOWS
    if method.alone:
        return 1
    frame, width = method.net.frame, method.width(task.stretch)
    answers = width * frame.components * max(frame.cardinality, task.draws)
    states = max(1, method.states(task.stretch, max(task.scored, min(task.draws, PART))))
    most = max(1, min(NUMBERS // answers, STATES // states))
    return max(size for size in WINDOWS if size <= most)


def seed_of(value: int) -> int:
    """Return the seed, if it is one."""
    return whole_number("seed", value, 0, 2**32 - 1)
