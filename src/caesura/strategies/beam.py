"""The walk of a search: beginnings of fills, which grow by one symbol at a time.

Several windows are walked through side by side. The lanes of all windows go through the nets
together, however many each has. A beginning that the beam and random fills have in common is one
lane.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from caesura.hardware import few_blas_threads
from caesura.nets import eager
from caesura.nets.arrays import log_softmax
from caesura.nets.cells import State
from caesura.nets.pair import Pair
from caesura.nets.rnn import Net
from caesura.sequence import UNKNOWN
from caesura.strategies.rules import Rule

AHEAD = 5  # steps after a gap that are scored before lanes are dropped again
EMPTY = -1e30  # not infinite, because a weight of zero times infinity is not a number

Mix = Callable[[Any, Any], Any]  # of log q and log p, arrays of one shape


class Plan(NamedTuple):
    """How to walk."""

    width: int  # the most lanes of the beam
    draws: int
    mix: Mix  # the distribution, from which random fills are drawn step by step
    promise: Mix  # by which the beam keeps beginnings
    within: float  # nats below the best of the beam, beyond which a beginning is dropped


class Reader(NamedTuple):
    """A net with what its first layer makes of every symbol."""

    net: Net
    rows: Float[np.ndarray, "rows Bc"]

    @classmethod
    def of(cls, net: Net) -> "Reader":
        """Return the net with its rows."""
        return cls(net, eager.table(net, net.forward))

    def step(self, states: State, symbols: Int[np.ndarray, " n"]) -> State:
        """Return the states of the forward stack after one more symbol each."""
        return eager.step(self.net, states, symbols, self.rows)


class Start(NamedTuple):
    """A window to walk through, without padding."""

    symbols: Int[np.ndarray, " W"]  # anything where they are missing
    missing: Bool[np.ndarray, " W"]
    q: State  # of the bidirectional net's forward stack before the first step
    p: State  # of the forward net's
    after: State  # of the bidirectional net's backward stack: number t is after step t
    given: Int[np.ndarray, "S W"]  # fills whose probability is asked for
    random: np.random.Generator
    rule: Rule | None


@dataclass
class Walk:
    """The way through one window. Its lanes are distinct beginnings of fills."""

    start: Start
    q: State  # the states of the lanes
    p: State
    values: Int[np.ndarray, "n W"]
    log_q: Float[np.ndarray, " n"]
    log_p: Float[np.ndarray, " n"]
    log_drawn: Float[np.ndarray, " n"]  # with which probability a lane is drawn at random
    rule: Int[np.ndarray, " n"]  # the states of the automaton of the current gap
    # The lanes of the beam, of the random fills, and of the given ones.
    beam: Int[np.ndarray, " width"]
    drawn: Int[np.ndarray, " draws"]
    given: Int[np.ndarray, " S"]
    # How each missing step was drawn, on average over the random fills.
    means: dict[int, Float[np.ndarray, " K"]] = field(default_factory=dict)
    symbols: Int[np.ndarray, " n"] = field(default_factory=lambda: np.zeros(0, int))  # the last

    @property
    def end(self) -> int:
        """The number of steps."""
        return len(self.start.symbols)

    @property
    def last(self) -> int:
        """The number of steps up to the last missing one."""
        return int(np.max(np.flatnonzero(self.start.missing), initial=-1)) + 1

    @property
    def fills(self) -> Int[np.ndarray, " N"]:
        """The lanes of the beam, then those of the random fills."""
        return np.concatenate([self.beam, self.drawn])

    def follow(self, t: int, p: Float[np.ndarray, "n K"]) -> None:
        """Take an observed step; an unknown symbol adds nothing."""
        symbol = self.start.symbols[t]
        if symbol != UNKNOWN:
            self.log_p = self.log_p + p[:, symbol]
        self.symbols = np.full(len(self.log_p), symbol)

    def branch(
        self, plan: Plan, t: int, q: Float[np.ndarray, "n K"], p: Float[np.ndarray, "n K"]
    ) -> None:
        """Take a missing step."""
        after = self.rule[:, None]  # the states of the rule after each symbol
        if self.start.rule is not None and (step := self.start.rule.step(t, self.rule)) is not None:
            after, allowed = step
            q, p = np.where(allowed, q, EMPTY), np.where(allowed, p, EMPTY)
        size = q.shape[1]
        grown = (self.log_q[:, None] + q, self.log_p[:, None] + p)
        best = _best(plan.promise(*(of_lane[self.beam] for of_lane in grown)), plan)
        r = log_softmax(plan.mix(q, p).T).T
        chances = np.exp(r[self.drawn])
        self.means[t] = chances.mean(axis=0)
        codes = [
            self.beam[best // size] * size + best % size,
            self.drawn * size + _draw(self.start.random, chances),
            self.given * size + self.start.given[:, t],
        ]
        # A lane for each distinct pair of an old lane and a symbol.
        lanes, where = np.unique(np.concatenate(codes), return_inverse=True)
        self.beam, self.drawn, self.given = np.split(where, np.cumsum([len(c) for c in codes[:2]]))
        parents, symbols = divmod(lanes, size)
        self.symbols = symbols
        self.q, self.p = eager.take(self.q, parents), eager.take(self.p, parents)
        self.log_q, self.log_p = (of_lane[parents, symbols] for of_lane in grown)
        self.log_drawn = self.log_drawn[parents] + r[parents, symbols]
        self.values = self.values[parents]
        self.values[:, t] = symbols
        self.rule = np.broadcast_to(after, q.shape)[parents, symbols]

    def drop(self, plan: Plan) -> None:
        """Drop beginnings of the beam that are far below its best."""
        scores = plan.mix(self.log_q, self.log_p)[self.beam]
        self.beam = self.beam[scores > max(EMPTY / 2, scores.max() - plan.within)]
        which = (self.beam, self.drawn, self.given)
        lanes, where = np.unique(np.concatenate(which), return_inverse=True)
        self.beam, self.drawn, self.given = np.split(where, np.cumsum([len(w) for w in which[:2]]))
        self.p = eager.take(self.p, lanes)
        self.values, self.rule = self.values[lanes], self.rule[lanes]
        self.log_q, self.log_p, self.log_drawn = (
            of_lane[lanes] for of_lane in (self.log_q, self.log_p, self.log_drawn)
        )


def _best(scores: Float[np.ndarray, "n K"], plan: Plan) -> Int[np.ndarray, " best"]:
    """Return where the highest scores are in the flat array."""
    flat = scores.reshape(-1)
    most = min(plan.width, len(flat))
    some = np.argpartition(-flat, most - 1)[:most]
    some = some[np.argsort(-flat[some], kind="stable")]
    return some[flat[some] > max(EMPTY / 2, flat[some[0]] - plan.within)]


def _draw(
    random: np.random.Generator, chances: Float[np.ndarray, "draws K"]
) -> Int[np.ndarray, " draws"]:
    """Return a random symbol for each row of chances."""
    total = np.cumsum(chances, axis=1)
    return np.sum(total <= random.random((len(total), 1)) * total[:, -1:], axis=1)


def walk(plan: Plan, net: Pair, starts: Sequence[Start]) -> list[Walk]:
    """Walk through some windows side by side, in two threads."""
    walks = [_begin(plan, start) for start in starts]
    of_q, of_p = Reader.of(net.bidirectional), Reader.of(net.forward)
    with few_blas_threads(), ThreadPoolExecutor(1) as aside:
        for t in range(max(one.last for one in walks)):
            going = [one for one in walks if t < one.last]
            job = aside.submit(_predict_q, net.bidirectional, going, t)
            said = _predict_p(net.forward, going)
            for one, q, p in zip(going, job.result(), said, strict=True):
                if q is None:
                    one.follow(t, p)
                else:
                    one.branch(plan, t, q, p)
            step = aside.submit(_step_q, of_q, [w for w in going if t + 1 < w.last])
            _step_p(of_p, [w for w in going if t + 1 < w.end])
            step.result()
        for first in range(0, max(one.end - one.last for one in walks), AHEAD):
            going = [one for one in walks if one.last + first < one.end]
            for one in going:
                one.drop(plan)
            _look_ahead(aside, of_p, going, first)
    return walks


def _look_ahead(
    aside: ThreadPoolExecutor, net: "Reader", walks: Sequence[Walk], first: int
) -> None:
    """Add what the forward net says of some steps after the last missing one."""
    states, counts = eager.join([one.p for one in walks]), [len(one.log_p) for one in walks]
    left = max(one.end - one.last for one in walks) - first
    symbols = np.full((min(AHEAD, left), len(walks)), UNKNOWN)
    for column, one in enumerate(walks):
        some = one.start.symbols[one.last + first :][:AHEAD]
        symbols[: len(some), column] = some
    of_lanes = np.repeat(symbols, counts, axis=1)
    halves = np.array_split(np.arange(sum(counts)), 2)
    goes_on = left > AHEAD
    parts = [(net, eager.take(states, half), of_lanes[:, half], goes_on) for half in halves]
    job = aside.submit(_log_probs, *parts[1])
    (log_p, p), (more, others) = _log_probs(*parts[0]), job.result()
    log_p, p = np.append(log_p, more), eager.join([p, others])
    for one, lanes in zip(walks, _slices(counts), strict=True):
        one.log_p, one.p = one.log_p + log_p[lanes], eager.take(p, lanes)


def _log_probs(
    net: "Reader", states: State, symbols: Int[np.ndarray, "L n"], goes_on: bool
) -> tuple[Float[np.ndarray, " n"], State]:
    """Return the log-probability of the next symbols of each lane, and the states after them.

    Unknown symbols add nothing. The last symbol is only read if the walk goes on.
    """
    total = np.zeros(symbols.shape[1])
    for t, now in enumerate(symbols, 1):
        known = now != UNKNOWN
        said = eager.predict(net.net, states, ())[np.arange(len(now)), np.maximum(now, 0)]
        total += np.where(known, said, 0.0)
        if goes_on or t < len(symbols):
            states = net.step(states, now)
    return total, states


def _begin(plan: Plan, start: Start) -> Walk:
    """Return a walk that has not taken a step: all fills are in one lane."""
    nothing, first = np.zeros(1), np.zeros(1, int)
    return Walk(
        start=start,
        q=start.q,
        p=start.p,
        values=start.symbols[None],
        log_q=nothing,
        log_p=nothing,
        log_drawn=nothing,
        rule=first,
        beam=first,
        drawn=np.zeros(plan.draws, int),
        given=np.zeros(len(start.given), int),
    )


def _predict_p(net: Net, walks: Sequence[Walk]) -> list[Float[np.ndarray, "_ K"]]:
    """Return what the forward net says of the next step of each walk."""
    return _split(eager.predict(net, eager.join([one.p for one in walks]), ()), walks)


def _predict_q(net: Net, walks: Sequence[Walk], t: int) -> list[Float[np.ndarray, "_ K"] | None]:
    """Return what the bidirectional net says of step t of each walk, where it is missing."""
    some = [one for one in walks if one.start.missing[t]]
    if not some:
        return [None] * len(walks)
    before = eager.join([one.q for one in some])
    after = [eager.take(one.start.after, np.full(len(one.log_q), t)) for one in some]
    found = iter(_split(eager.predict(net, before, eager.join(after)), some))
    return [next(found) if one.start.missing[t] else None for one in walks]


def _step_p(net: "Reader", walks: Sequence[Walk]) -> None:
    for one, p in zip(walks, _stepped(net, walks, [one.p for one in walks]), strict=True):
        one.p = p


def _step_q(net: "Reader", walks: Sequence[Walk]) -> None:
    for one, q in zip(walks, _stepped(net, walks, [one.q for one in walks]), strict=True):
        one.q = q


def _stepped(net: "Reader", walks: Sequence[Walk], states: list[State]) -> list[State]:
    """Return the states of the walks after their last symbols."""
    if not walks:
        return []
    new = net.step(eager.join(states), np.concatenate([one.symbols for one in walks]))
    return [eager.take(new, lanes) for lanes in _slices([len(one.symbols) for one in walks])]


def _slices(counts: Sequence[int]) -> list[slice]:
    """Return where each of some parts is, if they stand one after the other."""
    ends = np.cumsum(counts).tolist()
    return [slice(*ends_of) for ends_of in zip([0, *ends[:-1]], ends, strict=True)]


def _split(rows: Float[np.ndarray, "n K"], walks: Sequence[Walk]) -> list[Float[np.ndarray, "_ K"]]:
    """Return the rows of each walk, in double precision: many of them are added up."""
    ends = np.cumsum([len(one.log_q) for one in walks])[:-1]
    return np.split(rows.astype(np.float64), ends)
