"""The passes of `bothways`, run by NumPy: nothing is compiled, and windows may have any width.

Lanes that go from left to right and lanes that go back take their steps side by side, so that the
head, which may have to visit one component after the other, is asked once for all of them.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from caesura.hardware import DRAWN_LANES, few_blas_threads
from caesura.nets import eager
from caesura.nets.cells import State
from caesura.nets.heads.base import Query
from caesura.nets.rnn import Net, Stack
from caesura.sequence import UNKNOWN
from caesura.strategies.line import draw_one, draw_some
from caesura.strategies.window import Window

SCORED = 64  # frames that the head scores at once: more do not fit into the cache of a core

Numbers = Int[np.ndarray, " n"]


class Side(NamedTuple):
    """One direction: the stack that passes over the windows, and what it knows of the steps ahead.

    `ahead` is h of the other stack between all steps, which has read tokens for what is missing.
    """

    leftward: bool
    stack: Stack
    start: State  # before the first step of each window, the windows in the last axis
    ahead: Float[np.ndarray, "B edges c"]


class Passes:
    """Some windows, with the states of both stacks around tokens for what is missing."""

    def __init__(self, net: Net, window: Window) -> None:
        self.net, self.lines = net, window.lines
        self.values, self.missing = np.asarray(window.values), np.asarray(window.missing)
        self.asked = np.asarray(self.missing.any(axis=2))
        self.ends = np.asarray(window.valid).sum(axis=1)
        left, right = eager.batch_last(window.left), eager.batch_last(window.right)
        hidden = np.where(self.missing, UNKNOWN, self.values)
        tokens = [self._steps(one[:end]) for one, end in zip(hidden, self.ends, strict=True)]
        with ThreadPoolExecutor(1) as aside:
            job = aside.submit(eager.read, net, net.forward, left, tokens)
            after = eager.read(net, net.backward, right, [one[::-1] for one in tokens])
            before = job.result()
        rightward = Side(False, net.forward, left, self._between(net.backward, after, -1))
        leftward = Side(True, net.backward, right, self._between(net.forward, before, 1))
        self.sides = (rightward, leftward)

    @few_blas_threads()
    def draw(
        self, generators: Sequence[np.random.Generator], samples: int
    ) -> Shaped[np.ndarray, "B S W D"]:
        """Return fills whose directions alternate; the first direction is random.

        The numbers of a window come from its own generator, those of one fill after the other.
        """
        first = np.array([generator.integers(2) for generator in generators])
        drawn = np.repeat(self.values[:, None], samples, axis=1)
        at_once = max(1, DRAWN_LANES // len(first))
        for begin in range(0, samples, at_once):
            some = drawn[:, begin : begin + at_once]
            chance = np.zeros(some.shape, np.float32)
            for row, (generator, end) in enumerate(zip(generators, self.ends, strict=True)):
                chance[row, :, :end] = generator.random(chance[row, :, :end].shape, np.float32)
            leftward = (first[:, None] + begin + np.arange(some.shape[1])) % 2 == 1
            self._fill(some, leftward, chance)
        return drawn

    def _fill(
        self,
        drawn: Shaped[np.ndarray, "B S W D"],
        leftward: Bool[np.ndarray, "B S"],
        chance: Float[np.ndarray, "B S W D"],
    ) -> None:
        """Draw what is missing in `drawn`, each fill in its direction."""
        walks = [_Walk.begin(self.ends, side, leftward) for side in self.sides]
        for i in range(int(self.ends.max())):
            walks = [walk.go_on(self.ends, i) for walk in walks]
            walks = [walk for walk in walks if len(walk.rows)]
            at = [walk.at(self.ends, i) for walk in walks]
            asked = [np.flatnonzero(self.asked[rows, t]) for rows, _, t in at]
            contexts = [
                self._context(walk.side, walk.h[:, lanes], place[0][lanes], place[2][lanes])
                for walk, lanes, place in zip(walks, asked, at, strict=True)
            ]
            rows, fills, t = (
                np.concatenate([part[lanes] for part, lanes in zip(parts, asked, strict=True)])
                for parts in zip(*at, strict=True)
            )
            if len(rows):
                here = rows, fills, t
                context = np.concatenate(contexts, axis=1)
                query = Query(context, drawn[here].T, self.missing[rows, t].T)
                drawn[here] = self._drawn(drawn, here, leftward[rows, fills], chance[here], query)
            walks = [
                walk.step(self.net, self._steps(drawn[place]))
                for walk, place in zip(walks, at, strict=True)
            ]

    def _drawn(
        self,
        drawn: Shaped[np.ndarray, "B S W D"],
        here: tuple[Numbers, Numbers, Numbers],
        leftward: Bool[np.ndarray, " n"],
        chance: Float[np.ndarray, "n D"],
        query: Query,
    ) -> Shaped[np.ndarray, "n D"]:
        """Return the frames of some lanes; those of a line as it must be."""
        if self.lines is None:
            return self.net.head.draw(chance.T, query).T
        rows, fills, t = here
        found, sing, sound = drawn[here], self.lines.sings[rows], self.lines.must_sound(rows, t)
        if sing.any():
            at, values = (rows[sing], fills[sing], t[sing]), self.net.frame.cardinality
            allowed = self.lines.choices(drawn, self.missing, values, at, leftward[sing])
            found[sing] = draw_one(chance[sing, 0], _some(query, sing), allowed, self._score).T
        if sound.any():
            found[sound] = draw_some(chance[sound].T, _some(query, sound), self.net.head).T
        if (free := ~(sing | sound)).any():
            found[free] = self.net.head.draw(chance[free].T, _some(query, free)).T
        return found

    @few_blas_threads()
    def log_prob(self, fills: Shaped[np.ndarray, "B S W D"]) -> Float[np.ndarray, "B S"]:
        """Return the log of the mean probability of each fill, over both directions."""
        at_once = max(1, DRAWN_LANES // len(fills))
        some = [fills[:, n : n + at_once] for n in range(0, fills.shape[1], at_once)]
        with ThreadPoolExecutor(1) as aside:
            job = aside.submit(lambda: [self._one_way(self.sides[1], part) for part in some])
            ways = [self._one_way(self.sides[0], part) for part in some], job.result()
        rightward, leftward = (np.concatenate(way, axis=1) for way in ways)
        return (np.logaddexp(rightward, leftward) - np.log(2)).astype(np.float32)

    def _one_way(
        self, side: Side, fills: Shaped[np.ndarray, "B S W D"]
    ) -> Float[np.ndarray, "B S"]:
        rows, numbers = (a.reshape(-1) for a in np.indices(fills.shape[:2]))
        texts, places = [], []  # of each lane, in the direction of the side
        for row, number in zip(rows, numbers, strict=True):
            end, way = self.ends[row], -1 if side.leftward else 1
            texts.append(self._steps(fills[row, number, :end])[::way])
            places.append(np.flatnonzero(self.asked[row, :end][::way]))
        states = eager.read(self.net, side.stack, eager.take(side.start, rows), texts)
        h = [eager.output(side.stack, s)[:, at] for s, at in zip(states, places, strict=True)]
        lanes = np.repeat(np.arange(len(rows)), list(map(len, places)))
        at, of = np.concatenate(places), rows[lanes]
        t = self.ends[of] - 1 - at if side.leftward else at
        context = self._context(side, np.concatenate(h, axis=1), of, t)
        query = Query(context, fills[of, numbers[lanes], t].T, self.missing[of, t].T)
        scores = self._score(query)
        return np.bincount(lanes, scores, len(rows)).reshape(fills.shape[:2])

    @few_blas_threads()
    def alone(self) -> tuple[Float[np.ndarray, "B W D K"], Float[np.ndarray, "B W"]]:
        """Return the distribution of every missing step as if it were filled first, and the
        log-probability of the frame that the window holds there; zeros at other steps."""
        rows, t = np.nonzero(self.asked)
        rightward, leftward = self.sides
        context = self._context(rightward, leftward.ahead[rows, t].T, rows, t)
        query = Query(context, self.values[rows, t].T, self.missing[rows, t].T)
        values = np.zeros((*self.values.shape, self.net.frame.cardinality), np.float32)
        values[rows, t] = np.moveaxis(self.net.head.marginals(query), -1, 0)
        given = np.zeros(self.asked.shape, np.float32)
        given[rows, t] = self._score(query)
        return values, given

    def _context(
        self, side: Side, passed: Float[np.ndarray, "c n"], rows: Numbers, t: Numbers
    ) -> Float[np.ndarray, "C n"]:
        """Return h^f and h^b around some steps; `passed` is that of the side itself."""
        if side.leftward:
            return np.concatenate([side.ahead[rows, t].T, passed])
        return np.concatenate([passed, side.ahead[rows, t + 1].T])

    def _score(self, query: Query) -> Float[np.ndarray, " n"]:
        """Return the log-probability of the missing components of some frames."""
        parts = [_some(query, slice(n, n + SCORED)) for n in range(0, query.frame.shape[1], SCORED)]
        return np.concatenate([self.net.head.log_prob(part) for part in parts])

    def _between(
        self, stack: Stack, states: Sequence[State], way: int
    ) -> Float[np.ndarray, "B edges c"]:
        """Return h between all steps of each window, from the left."""
        each = [eager.output(stack, one).T[::way] for one in states]
        found = np.zeros((*self.asked.shape, each[0].shape[1]), np.float32)
        found = np.pad(found, [(0, 0), (0, 1), (0, 0)])
        for row, h in enumerate(each):
            found[row, : len(h)] = h
        return found

    def _steps(self, values: Int[np.ndarray, "n D"]) -> eager.Steps:
        return eager.steps_of(self.net.frame, values)


def _some(query: Query, which: Bool[np.ndarray, " n"] | slice) -> Query:
    """Return what is asked of some lanes."""
    return Query(query.context[:, which], query.frame[:, which], query.missing[:, which])


class _Walk(NamedTuple):
    """The lanes of one direction, each a fill of a window, on their way."""

    side: Side
    rows: Numbers
    fills: Numbers
    states: State

    @classmethod
    def begin(
        cls, ends: Int[np.ndarray, " B"], side: Side, leftward: Bool[np.ndarray, "B S"]
    ) -> "_Walk":
        rows, fills = np.nonzero(leftward == side.leftward)
        order = np.argsort(-ends[rows], kind="stable")  # at each step, those that go on stand first
        return cls(side, rows[order], fills[order], eager.take(side.start, rows[order]))

    @property
    def h(self) -> Float[np.ndarray, "c n"]:
        """What the stack knows of the steps that it has passed."""
        return eager.output(self.side.stack, self.states)

    def go_on(self, ends: Int[np.ndarray, " B"], i: int) -> "_Walk":
        """Return the lanes that have more than i steps."""
        count = int(np.sum(ends[self.rows] > i))
        if count == len(self.rows):
            return self
        states = eager.take(self.states, slice(count))
        return _Walk(self.side, self.rows[:count], self.fills[:count], states)

    def at(self, ends: Int[np.ndarray, " B"], i: int) -> tuple[Numbers, Numbers, Numbers]:
        """Return the window, the fill and the step of each lane at its step i."""
        t = ends[self.rows] - 1 - i if self.side.leftward else np.full(len(self.rows), i)
        return self.rows, self.fills, t

    def step(self, net: Net, steps: eager.Steps) -> "_Walk":
        """Return the lanes one step later."""
        return self._replace(states=eager.step(net, self.side.stack, self.states, steps))
