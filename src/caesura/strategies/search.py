"""`search`: a beam search for the most probable fills, by both nets together."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from caesura.errors import CaesuraError, whole_number
from caesura.hardware import SEARCHED_LANES, few_blas_threads
from caesura.later import field
from caesura.nets import eager
from caesura.nets.arrays import Numbers
from caesura.nets.frames import Categorical
from caesura.nets.pair import Nets, Pair
from caesura.nets.rnn import Net
from caesura.sequence import UNKNOWN
from caesura.strategies.alone import log_alone
from caesura.strategies.base import Estimate, Marginals, Strategy
from caesura.strategies.beam import EMPTY, Plan, Start, Walk, walk
from caesura.strategies.echo import ALONE, MOST, POWER
from caesura.strategies.keys import Seeds, generators
from caesura.strategies.normaliser import outside, sum_over_fills
from caesura.strategies.rules import Rule
from caesura.strategies.window import Window


class Found(NamedTuple):
    """Fills of each window that were found, and how probable they are.

    The last `draws` of the N fills are drawn at random. The others are those of the beam, and
    echoes. A drawn fill that is among the fills before it has probability zero here, so that all
    are distinct. So has a place that is not used.
    """

    values: Shaped[np.ndarray, "B N W D"]
    log_prob: Float[np.ndarray, "B N"]
    # What a fill stands for: itself, and a drawn one also for the fills that were not found. These
    # weights add up to one.
    log_weight: Float[np.ndarray, "B N"]
    standard_error: Float[np.ndarray, " B"]  # of all log-probabilities: they share a normaliser
    log_evidence: Float[np.ndarray, " B"]  # for a gap of this length; see `Search`
    log_total: Float[np.ndarray, " B"]  # the normaliser: the sum over all fills that are allowed


class Weighed(NamedTuple):
    """The lanes of a walk with their probabilities."""

    lanes: Int[np.ndarray, " N"]  # of the beam, of echoes that are not in it, and of random fills
    known: int  # how many of these are not random
    log_weight: Float[np.ndarray, " N"]  # as in `Found`
    log_prob: Float[np.ndarray, " n"]  # of every lane
    standard_error: float
    log_evidence: float  # as in `Found`
    log_total: float


class Search(Strategy):
    """The most probable fills, by a beam search from left to right.

    By the nets, a fill x has the probability n(x), which is p(x, what follows)^(1 − weight) ·
    q(x)^weight, normalised. Here p is the forward net. q(x) is the product, over the missing steps,
    of the probabilities that the bidirectional net gives to each step, given everything to its left
    and what is observed to its right. The beam keeps the `width` best beginnings of a fill at every
    step. The normaliser is the sum over the fills that the beam finds, which is exact, plus an
    estimate for all others from `draws` random fills. They are drawn step by step, from p^(1 −
    weight) · q^weight, normalised at each step; those that begin alike are spread evenly over what
    may follow. The standard error is rather too large if few of them are outside of the beam. It is
    too small if the fills that were missed are much more probable than the chance to draw them.

    Strings that stand elsewhere in the text are echoes. The strongest ones are scored in any case,
    and are more probable than by the nets alone. The distribution is n(x) + c(x) · n(x)^a / u(x)^b,
    normalised. Here c(x) is zero for fills that are no echoes. It increases with the number of
    places where x stands, with the number of equal letters around them, and with their nearness
    (`caesura.strategies.echo`). u(x) is the probability of x by the bidirectional net if this net
    sees nothing but the two letters beside the gap (`caesura.strategies.alone`). So a name that
    the nets do not know can be probable, and a word that is usual everywhere gains less.

    Lengths of a gap are compared by p(what follows), which is the sum of p(x, what follows) over
    all fills of that length, times the normaliser of the echoes, to the power of `length_power`.

    Parameters
    ----------
    width
        The number of beginnings that the beam keeps (default 96).
    draws
        The number of random fills from which the rest of the normaliser is estimated (default 32).
    lookahead
        How many steps after the last missing step the forward net scores (default 20).
    weight
        The weight of the bidirectional net, from 0 to 1 (default 0.5).
    within
        How many nats below the best one a beginning may be, in the gap and in what follows, before
        the beam drops it (default 8). The random fills then also stand for what was dropped.
    negligible
        The probability below which a fill may be dropped while the forward net scores what follows
        (default 0.001). The 24 best are kept. Echoes that seem to have less than a quarter of it
        are dropped, also in the gap. With 0, all echoes and all that are `within` reach are kept.
    echo
        Whether echoes count (default true). Several gaps that are searched as one have none.
    length_power
        With 1, the default, lengths have their exact probabilities if the nets are exact. Nets that
        are too sure have a smaller one. A model file can say which: see `Filler.training`.

    Examples
    --------
    >>> Search(width=16).lookahead
    20
    """

    name: ClassVar[str] = "search"
    net: ClassVar[Literal["pair"]] = "pair"
    searches: ClassVar[bool] = True

    width: int = field(static=True, default=96)
    draws: int = field(static=True, default=32)
    lookahead: int = field(static=True, default=20)
    weight: float = field(static=True, default=0.5)
    within: float = field(static=True, default=8.0)
    negligible: float = field(static=True, default=0.001)
    echo: bool = field(static=True, default=True)
    length_power: float = field(static=True, default=1.0)

    def __check_init__(self) -> None:
        whole_number("width", self.width, 1)
        whole_number("draws", self.draws, 1)
        whole_number("lookahead", self.lookahead, 0)
        if not self.within >= 0:
            raise CaesuraError(f"The option 'within' is at least 0, not {self.within!r}.")
        if not 0 <= self.negligible < 1:
            raise CaesuraError(
                f"The option 'negligible' must be from 0 to below 1, not {self.negligible!r}."
            )
        if not 0 <= self.weight <= 1:
            raise CaesuraError(f"The option 'weight' must be from 0 to 1, not {self.weight!r}.")
        if not 0 < self.length_power < math.inf:
            raise CaesuraError(
                f"The option 'length_power' must be above 0, not {self.length_power!r}."
            )

    def check(self, net: Any) -> None:
        if not isinstance(net, Pair):
            raise CaesuraError("The strategy 'search' needs a pair of nets, not one.")
        if net.bidirectional.missing_input == "none":
            raise CaesuraError(
                "The strategy 'search' needs a bidirectional net trained with a missing-value "
                "input."
            )
        if not isinstance(net.frame, Categorical):
            raise CaesuraError("The strategy 'search' is for texts: try 'sir'.")

    def in_numpy(self, net: Nets) -> bool:
        return True

    @property
    def hears_echoes(self) -> bool:
        return self.echo

    def stop(self, missing_stop: int, length: int) -> int:
        return min(length, missing_stop + self.lookahead)

    def states(self, net: Nets, width: int, longest_gap: int, samples: int) -> int:
        return 2 * (self.width + self.draws + MOST * self.echo) + width

    def search(
        self, key: Seeds, net: Pair, window: Window, rules: Sequence[Rule | None] | None = None
    ) -> Found:
        """Return the most probable fills of each window, among those that its rule allows."""
        walks = self._walk(key, net, window, rules=rules)
        room = self.width + (0 if window.echoes is None else MOST)
        rows = (
            self._found(*one, room) for one in zip(walks, np.asarray(window.values), strict=True)
        )
        return Found(*map(np.stack, zip(*rows, strict=True)))

    def draw(
        self, key: Seeds, net: Pair, window: Window, samples: int
    ) -> Shaped[np.ndarray, "B S W D"]:
        found, drawn = self.search(key, net, window), []
        for row, random in enumerate(generators(key, len(window.valid), use=1)):
            shares = np.exp(found.log_weight[row])
            chosen = random.choice(len(shares), samples, p=shares / shares.sum())
            drawn.append(found.values[row, chosen])
        return np.stack(drawn)

    def log_prob(
        self, key: Seeds, net: Pair, window: Window, fills: Shaped[Numbers, "B S W D"]
    ) -> Estimate:
        log_probs, errors = [], []
        for one in self._walk(key, net, window, fills=np.asarray(fills)[..., 0]):
            weighed = self._weigh(one)
            log_probs.append(weighed.log_prob[one.asked])
            errors.append(np.full(len(one.asked), weighed.standard_error))
        return Estimate(np.stack(log_probs), np.stack(errors))

    def marginals(self, key: Seeds, net: Pair, window: Window) -> Marginals:
        values = np.asarray(window.values)
        chances = np.zeros((*values.shape[:2], net.frame.cardinality))
        np.put_along_axis(chances, np.maximum(values, 0), 1.0, axis=2)  # if a value is observed
        for row, one in enumerate(self._walk(key, net, window)):
            weighed = self._weigh(one)
            lanes, shares = weighed.lanes, np.exp(weighed.log_weight)
            # A value that was not found is possible, unless the beam holds everything.
            unseen = outside(one.log_drawn[lanes[: weighed.known]]) / (self.draws + 1)
            for t, means in one.means.items():
                found = np.bincount(one.values[lanes, t], shares, minlength=len(means))
                chances[row, t] = (1 - unseen) * found + unseen * means
        with np.errstate(divide="ignore"):
            log_probs = np.log(chances)[:, :, None]
        given = np.take_along_axis(log_probs, values[..., None], axis=3)[:, :, 0, 0]
        return Marginals(*(Estimate(part, np.zeros_like(part)) for part in (log_probs, given)))

    def mix(self, log_q: Float[np.ndarray, "*n"], log_p: Float[np.ndarray, "*n"]) -> Any:
        """Return the log of the distribution, which is not normalised."""
        return (1 - self.weight) * log_p + self.weight * log_q

    def promise(self, log_q: Float[np.ndarray, "*n"], log_p: Float[np.ndarray, "*n"]) -> Any:
        """Return the score by which the beam keeps beginnings of fills.

        The bidirectional net has a larger weight than in the distribution, since only this net
        knows what follows.
        """
        weight = (1 + self.weight) / 2
        return (1 - weight) * log_p + weight * log_q

    def _walk(
        self,
        key: Seeds,
        net: Pair,
        window: Window,
        *,
        fills: Int[np.ndarray, "B S W"] | None = None,
        rules: Sequence[Rule | None] | None = None,
    ) -> list[Walk]:
        """Walk through the windows, some of them at a time."""
        pair, found = eager.with_numpy(net), list[Walk]()
        starts = _starts(pair, window, generators(key, len(window.valid)), fills, rules)
        plan = Plan(self.width, self.draws, self.mix, self.promise, self.within, self.negligible)
        at_once = max(1, SEARCHED_LANES // (self.width + self.draws))
        for first in range(0, len(starts), at_once):
            found += walk(plan, pair, starts[first : first + at_once])
        return found

    def _found(self, one: Walk, padded: Int[np.ndarray, "W D"], room: int) -> Found:
        """Return the fills of one window, which is padded to `padded`; random ones come after
        `room` others."""
        weighed = self._weigh(one)
        lanes, count = weighed.lanes, room + self.draws
        places = np.arange(len(lanes))
        places[weighed.known :] += room - weighed.known
        first = np.unique(lanes, return_index=True)[1]
        values = np.repeat(padded[None], count, axis=0)
        values[places, : one.end, 0] = one.values[lanes]
        log_prob, log_weight = np.full((2, count), -np.inf)
        scores = weighed.log_prob[lanes[first]]
        # The same fill again has no probability, nor has one that was given up.
        log_prob[places[first]] = np.where(scores < EMPTY / 4, -np.inf, scores)
        log_weight[places] = weighed.log_weight
        return Found(
            values,
            log_prob,
            log_weight,
            np.array(weighed.standard_error),
            np.array(weighed.log_evidence),
            np.array(weighed.log_total),
        )

    def _weigh(self, one: Walk) -> Weighed:
        log_value = self.mix(one.log_q, one.log_p)
        known = np.concatenate([one.beam, np.setdiff1d(one.echoing, one.beam, assume_unique=True)])
        summed = sum_over_fills(log_value, one.log_drawn, known, one.drawn)
        evidence = sum_over_fills(one.log_p, one.log_drawn, known, one.drawn)
        log_prob, log_echo = log_value - summed.log_total, np.full(len(log_value), -np.inf)
        log_echo[one.echoing] = one.start.log_echo + POWER * log_prob[one.echoing]
        log_mass = float(np.logaddexp.reduce(np.append(log_echo, 0.0)))
        lanes, log_weight = np.concatenate([known, one.drawn]), summed.log_weight.copy()
        log_weight[: len(known)] = np.logaddexp(log_weight[: len(known)], log_echo[known])
        return Weighed(
            lanes=lanes,
            known=len(known),
            log_weight=log_weight - log_mass,
            log_prob=np.logaddexp(log_prob, log_echo) - log_mass,
            standard_error=summed.standard_error,
            log_evidence=self.length_power * (evidence.log_total + log_mass),
            log_total=summed.log_total + log_mass,
        )


def _starts(
    net: Pair,
    window: Window,
    random: Sequence[np.random.Generator],
    fills: Int[np.ndarray, "B S W"] | None,
    rules: Sequence[Rule | None] | None,
) -> list[Start]:
    """Return the windows without their padding, and with tokens for what is missing."""
    rows = range(len(random))
    values, missing, valid = (np.asarray(a) for a in (window.values, window.missing, window.valid))
    ends = valid.sum(axis=1).tolist()
    hidden = np.where(missing, UNKNOWN, values)[:, :, 0]
    backwards = [hidden[row, 1 : ends[row]][::-1] for row in rows]
    right = eager.batch_last(window.right["bidirectional"])
    bidirectional = net.bidirectional
    q, p = (eager.batch_last(window.left[name]) for name in ("bidirectional", "forward"))
    asked = np.zeros((len(rows), 0, values.shape[1]), int) if fills is None else fills
    table = eager.table(bidirectional, bidirectional.forward)
    with few_blas_threads(), ThreadPoolExecutor(2) as threads:
        job = threads.submit(eager.read, bidirectional, bidirectional.backward, right, backwards)
        echoes = list(threads.map(partial(_echoes, bidirectional, table, window), rows))
        after = job.result()
    return [
        Start(
            symbols=values[row, : ends[row], 0],
            missing=missing[row, : ends[row], 0],
            q=eager.take(q, slice(row, row + 1)),
            p=eager.take(p, slice(row, row + 1)),
            after=eager.take(after[row], slice(None, None, -1)),
            given=np.concatenate([asked[row], echoes[row][0]])[:, : ends[row]],
            log_echo=echoes[row][1],
            random=random[row],
            rule=None if rules is None else rules[row],
        )
        for row in rows
    ]


def _echoes(
    net: Net, table: Float[np.ndarray, "rows Bc"], window: Window, row: int
) -> tuple[Int[np.ndarray, "E W"], Float[np.ndarray, " E"]]:
    """Return the echoes of a window, and the logs of what they count."""
    nothing = np.zeros((0, window.valid.shape[1]), int), np.zeros(0)
    if window.echoes is None:
        return nothing
    values, log_weight, edges = (part[row] for part in window.echoes)
    there = np.isfinite(log_weight)
    if not there.any():
        return nothing
    gap = np.asarray(window.missing)[row, :, 0]
    alone = log_alone(net, table, values[there][:, gap], edges)
    return values[there], log_weight[there] - ALONE * alone
