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
from caesura.strategies.echo import POWER
from caesura.strategies.normaliser import Summed, sum_over_fills
from caesura.strategies.rules import Rule

# After the gap, fills are dropped as the letters that follow tell them apart: docs/experiments.md.
LEAST = 24  # fills that the beam keeps in any case if they are near the best
SURPRISE = 6.0  # nats by which what follows may favour a fill in comparison with all others
HALVED = 4  # steps after which half of this surprise is left, and half of the beam is enough
ADDED = 1 / 4  # of what is negligible: a random fill or an echo that adds less is given up
EMPTY = -1e30  # not infinite, because a weight of zero times infinity is not a number

Mix = Callable[[Any, Any], Any]  # of log q and log p, arrays of one shape


class Plan(NamedTuple):
    """How to walk."""

    width: int  # the most lanes of the beam
    draws: int
    mix: Mix  # the distribution, from which random fills are drawn step by step
    promise: Mix  # by which the beam keeps beginnings
    within: float  # nats below the best of the beam, beyond which a beginning is dropped
    negligible: float  # the probability below which a fill is dropped in the end; 0 keeps all


class Reader(NamedTuple):
    """A net with what its first layer makes of every symbol."""

    net: Net
    rows: Float[np.ndarray, "rows Bc"]

    @classmethod
    def of(cls, net: Net) -> "Reader":
        """Return the net with its rows."""
        return cls(net, eager.table(net, net.forward))

    def step(
        self, states: State, parents: Int[np.ndarray, " n"], symbols: Int[np.ndarray, " n"]
    ) -> State:
        """Return the states of the forward stack after some symbols, each after its parent."""
        return eager.step(self.net, self.net.forward, states, symbols, self.rows, parents)


class Start(NamedTuple):
    """A window to walk through, without padding."""

    symbols: Int[np.ndarray, " W"]  # anything where they are missing
    missing: Bool[np.ndarray, " W"]
    q: State  # of the bidirectional net's forward stack before the first step
    p: State  # of the forward net's
    after: State  # of the bidirectional net's backward stack: number t is after step t
    given: Int[np.ndarray, "given W"]  # fills whose probability is asked for, then echoes
    log_echo: Float[np.ndarray, " E"]  # the weights of the echoes
    random: np.random.Generator
    rule: Rule | None


@dataclass
class Walk:
    """The way through one window. Its lanes are distinct beginnings of fills."""

    start: Start
    q: State  # the states of the parents of the lanes, or their own if there is no last symbol
    p: State
    values: Int[np.ndarray, "n W"]
    log_q: Float[np.ndarray, " n"]
    log_p: Float[np.ndarray, " n"]
    log_drawn: Float[np.ndarray, " n"]  # with which probability a lane is drawn at random
    rule: Int[np.ndarray, " n"]  # the states of the automaton of the current gap
    # The lanes of the beam, of the random fills, and of the given ones.
    beam: Int[np.ndarray, " width"]
    drawn: Int[np.ndarray, " draws"]
    given: Int[np.ndarray, " given"]
    # How each missing step was drawn, on average over the random fills.
    means: dict[int, Float[np.ndarray, " K"]] = field(default_factory=dict)
    # The last symbols of the lanes, which the nets have not read, and the lanes that they follow.
    symbols: Int[np.ndarray, " n"] = field(default_factory=lambda: np.zeros(0, int))
    parents: Int[np.ndarray, " n"] = field(default_factory=lambda: np.zeros(0, int))
    # The lanes that go on after the last missing step: `p` has their states.
    live: Int[np.ndarray, " live"] = field(default_factory=lambda: np.zeros(0, int))

    @property
    def end(self) -> int:
        """The number of steps."""
        return len(self.start.symbols)

    @property
    def last(self) -> int:
        """The number of steps up to the last missing one."""
        return int(np.max(np.flatnonzero(self.start.missing), initial=-1)) + 1

    @property
    def asked(self) -> Int[np.ndarray, " S"]:
        """The lanes of the fills whose probability is asked for."""
        return self.given[: len(self.given) - len(self.start.log_echo)]

    @property
    def echoing(self) -> Int[np.ndarray, " E"]:
        """The lanes of the echoes."""
        return self.given[len(self.asked) :]

    def follow(self, t: int, p: Float[np.ndarray, "n K"]) -> None:
        """Take an observed step; an unknown symbol adds nothing."""
        symbol = self.start.symbols[t]
        if symbol != UNKNOWN:
            self.log_p = self.log_p + p[:, symbol]
        self.symbols, self.parents = np.full(len(self.log_p), symbol), np.arange(len(self.log_p))

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
        of_beam = [of_lane[self.beam] for of_lane in grown]
        best = _highest(plan.promise(*of_beam).reshape(-1), plan.width, plan.within)
        echoing = self.echoing, self.start.given[len(self.asked) :, t]
        log_shares = plan.mix(*(of_lane[echoing] for of_lane in grown))
        self.hear(plan, log_shares - np.logaddexp.reduce(plan.mix(*of_beam), axis=None), 0)
        r = log_softmax(plan.mix(q, p).T).T
        chances = np.exp(r[self.drawn])
        self.means[t] = chances.mean(axis=0)
        codes = [
            self.beam[best // size] * size + best % size,
            self.drawn * size + _draw(self.start.random, self.drawn, chances),
            self.given * size + self.start.given[:, t],
        ]
        # A lane for each distinct pair of an old lane and a symbol.
        lanes, where = np.unique(np.concatenate(codes), return_inverse=True)
        self.beam, self.drawn, self.given = np.split(where, np.cumsum([len(c) for c in codes[:2]]))
        parents, symbols = divmod(lanes, size)
        self.parents, self.symbols = parents, symbols
        self.log_q, self.log_p = (of_lane[parents, symbols] for of_lane in grown)
        self.log_drawn = self.log_drawn[parents] + r[parents, symbols]
        self.values = self.values[parents]
        self.values[:, t] = symbols
        self.rule = np.broadcast_to(after, q.shape)[parents, symbols]

    def drop(self, plan: Plan, ahead: int) -> None:
        """Go on only with fills that may still be probable, so many steps after the gap.

        A random fill that adds nearly nothing to the sum over all fills counts as one that adds
        nothing.
        """
        log_value, told = plan.mix(self.log_q, self.log_p), 1 + ahead / HALVED
        scores = log_value[self.beam]
        most = max(LEAST, int(plan.width / told)) if plan.negligible else plan.width
        kept = _highest(scores, most, plan.within)
        log_shares = scores[kept] - self._sum(log_value).log_total
        is_likely = np.exp(log_shares + SURPRISE / told) >= plan.negligible
        is_likely[:LEAST] = True
        self.beam = self.beam[kept[is_likely]]
        total = self._sum(log_value)
        self.hear(plan, log_value[self.echoing] - total.log_total, ahead)
        shares = np.exp(total.log_weight[len(self.beam) :])
        adds = shares >= ADDED * plan.negligible
        goes_on = np.zeros(len(log_value), bool)
        goes_on[np.concatenate([self.beam, self.drawn[adds], self.given])] = True
        ended = self.drawn[~goes_on[self.drawn]]
        self.log_q[ended] = self.log_p[ended] = EMPTY
        self.p = eager.take(self.p, np.flatnonzero(goes_on[self.live]))
        self.live = np.flatnonzero(goes_on)

    def hear(self, plan: Plan, log_shares: Float[np.ndarray, " E"], ahead: int) -> None:
        """Go on only with echoes that may still be probable, so many steps after the gap.

        `log_shares` are those of the echoes by the nets alone, among all fills so far.
        """
        most = np.minimum(0, log_shares + SURPRISE / (1 + ahead / HALVED))
        likely = np.exp(self.start.log_echo + POWER * most) >= ADDED * plan.negligible
        kept = np.concatenate([np.ones(len(self.asked), bool), likely])
        self.given = self.given[kept]
        self.start = self.start._replace(
            given=self.start.given[kept], log_echo=self.start.log_echo[likely]
        )

    def _sum(self, log_value: Float[np.ndarray, " n"]) -> Summed:
        return sum_over_fills(log_value, self.log_drawn, self.beam, self.drawn)


def _highest(
    scores: Float[np.ndarray, " n"], most: int, within: float
) -> Int[np.ndarray, " highest"]:
    """Return where the highest scores are, the best first, of those that are near the best."""
    most = min(most, len(scores))
    some = np.argpartition(-scores, most - 1)[:most]
    some = some[np.argsort(-scores[some], kind="stable")]
    return some[scores[some] > max(EMPTY / 2, scores[some[0]] - within)]


def _draw(
    random: np.random.Generator,
    lanes: Int[np.ndarray, " draws"],
    chances: Float[np.ndarray, "draws K"],
) -> Int[np.ndarray, " draws"]:
    """Return a random symbol for each fill, which follows a lane.

    Those that follow the same lane are spread evenly over its distribution (systematic sampling):
    together they stand for it better than if each were drawn by itself.
    """
    _, which, count = np.unique(lanes, return_inverse=True, return_counts=True)
    order = np.argsort(which, kind="stable")
    place = np.empty(len(lanes))  # among those of the same lane
    place[order] = np.arange(len(lanes)) - np.repeat(np.cumsum(count) - count, count)
    chance = (place + random.random(len(count))[which]) / count[which]
    total = np.cumsum(chances, axis=1)
    return np.sum(total <= chance[:, None] * total[:, -1:], axis=1)


def walk(plan: Plan, net: Pair, starts: Sequence[Start]) -> list[Walk]:
    """Walk through some windows side by side, in two threads."""
    walks = [_begin(plan, start) for start in starts]
    of_q, of_p = Reader.of(net.bidirectional), Reader.of(net.forward)
    with few_blas_threads(), ThreadPoolExecutor(1) as aside:
        for t in range(max(one.last for one in walks)):
            going = [one for one in walks if t < one.last]
            job = aside.submit(_ask_q, of_q, going, t)
            said = _ask_p(of_p, going, t)
            for one, q, p in zip(going, job.result(), said, strict=True):
                if q is None:
                    one.follow(t, p)
                else:
                    one.branch(plan, t, q, p)
        _step_p(of_p, [one for one in walks if 0 < one.last < one.end])
        for one in walks:
            one.live = np.arange(len(one.log_p))
        first, most = 0, max(one.end - one.last for one in walks)
        while first < most:
            going = [one for one in walks if one.last + first < one.end]
            for one in going:
                one.drop(plan, first)
            steps = max(1, first)  # the next letters say most about what can be dropped
            _look_ahead(aside, of_p, going, first, steps)
            first += steps
    return walks


def _look_ahead(
    aside: ThreadPoolExecutor, net: Reader, walks: Sequence[Walk], first: int, steps: int
) -> None:
    """Add what the forward net says of some steps after the last missing one."""
    states, counts = eager.join([one.p for one in walks]), [len(one.live) for one in walks]
    left = max(one.end - one.last for one in walks) - first
    symbols = np.full((min(steps, left), len(walks)), UNKNOWN)
    for column, one in enumerate(walks):
        some = one.start.symbols[one.last + first :][:steps]
        symbols[: len(some), column] = some
    of_lanes = np.repeat(symbols, counts, axis=1)
    goes_on, lanes = left > steps, sum(counts)
    half = eager.BLOCK * round(lanes / 2 / eager.BLOCK)
    parts = [part for part in np.split(np.arange(lanes), [half]) if len(part)]
    first_part, *others = [
        (net, eager.take(states, part), of_lanes[:, part], goes_on) for part in parts
    ]
    jobs = [aside.submit(_log_probs, *part) for part in others]
    found = [_log_probs(*first_part), *(job.result() for job in jobs)]
    log_p = np.concatenate([log_p for log_p, _ in found])
    p = eager.join([p for _, p in found])
    for one, here in zip(walks, _slices(counts), strict=True):
        one.log_p[one.live] += log_p[here]
        one.p = eager.take(p, here)


def _log_probs(
    net: Reader, states: State, symbols: Int[np.ndarray, "L n"], goes_on: bool
) -> tuple[Float[np.ndarray, " n"], State]:
    """Return the log-probability of the next symbols of each lane, and the states after them.

    Unknown symbols add nothing. The last symbol is only read if the walk goes on.
    """
    read = symbols if goes_on else symbols[:-1]
    tops, last = eager.follow(net.net, states, read, net.rows)
    said = eager.predict(net.net, (eager.join(tops[: len(symbols)]),), ())
    flat = symbols.reshape(-1)
    each = np.where(flat != UNKNOWN, said[np.arange(len(flat)), np.maximum(flat, 0)], 0.0)
    return each.reshape(symbols.shape).sum(axis=0, dtype=np.float64), last


def _begin(plan: Plan, start: Start) -> Walk:
    """Return a walk that has not taken a step: all fills are in one lane."""
    first = np.zeros(1, int)
    return Walk(
        start=start,
        q=start.q,
        p=start.p,
        values=start.symbols[None],
        log_q=np.zeros(1),
        log_p=np.zeros(1),
        log_drawn=np.zeros(1),
        rule=first,
        beam=first,
        drawn=np.zeros(plan.draws, int),
        given=np.zeros(len(start.given), int),
    )


def _ask_q(net: Reader, walks: Sequence[Walk], t: int) -> list[Float[np.ndarray, "_ K"] | None]:
    """Have the bidirectional net read the last symbols; return what it says of step t."""
    if t:
        _step_q(net, walks)
    return _predict_q(net.net, walks, t)


def _ask_p(net: Reader, walks: Sequence[Walk], t: int) -> list[Float[np.ndarray, "_ K"]]:
    """Have the forward net read the last symbols; return what it says of step t."""
    if t:
        _step_p(net, walks)
    return _predict_p(net.net, walks)


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


def _step_p(net: Reader, walks: Sequence[Walk]) -> None:
    for one, p in zip(walks, _stepped(net, walks, [one.p for one in walks]), strict=True):
        one.p = p


def _step_q(net: Reader, walks: Sequence[Walk]) -> None:
    for one, q in zip(walks, _stepped(net, walks, [one.q for one in walks]), strict=True):
        one.q = q


def _stepped(net: Reader, walks: Sequence[Walk], states: list[State]) -> list[State]:
    """Return the states of the walks after their last symbols."""
    if not walks:
        return []
    counts = [eager.output(net.net.forward, some).shape[1] for some in states]
    firsts = [lanes.start for lanes in _slices(counts)]
    parents = [first + one.parents for first, one in zip(firsts, walks, strict=True)]
    symbols = [one.symbols for one in walks]
    new = net.step(eager.join(states), np.concatenate(parents), np.concatenate(symbols))
    return [eager.take(new, lanes) for lanes in _slices(list(map(len, symbols)))]


def _slices(counts: Sequence[int]) -> list[slice]:
    """Return where each of some parts is, if they stand one after the other."""
    ends = np.cumsum(counts).tolist()
    return [slice(*ends_of) for ends_of in zip([0, *ends[:-1]], ends, strict=True)]


def _split(rows: Float[np.ndarray, "n K"], walks: Sequence[Walk]) -> list[Float[np.ndarray, "_ K"]]:
    """Return the rows of each walk, in double precision: many of them are added up."""
    ends = np.cumsum([len(one.log_q) for one in walks])[:-1]
    return np.split(rows.astype(np.float64), ends)
