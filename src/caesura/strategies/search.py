"""`search`: a beam search for the most probable fills, by both nets together."""

from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PyTree, Shaped

from caesura.errors import CaesuraError, whole_number
from caesura.hardware import searched_windows
from caesura.nets.cells import State
from caesura.nets.frames import Categorical
from caesura.nets.heads.base import Query
from caesura.nets.pair import Nets, Pair
from caesura.nets.rnn import Net, States
from caesura.strategies.base import Estimate, Marginals, Strategy, exactly
from caesura.strategies.keys import Keys, fold, fold_each, keys_of_windows
from caesura.strategies.rules import Rules
from caesura.strategies.sir import judge
from caesura.strategies.window import Window

EMPTY = -1e30  # not infinite, because a weight of zero times infinity is not a number
ROUNDING = 1e-5  # of a share: less of the probability is outside of a beam that holds all fills


class Found(NamedTuple):
    """Fills of each window that were found, and how probable they are.

    The first `width` of the N fills are those of the beam, the others are drawn at random. A drawn
    fill that is among the fills before it has probability zero here, so that all are distinct.
    """

    values: Shaped[Array, "B N W D"]
    log_prob: Float[Array, "B N"]
    # What a fill stands for: itself, and a drawn one also for the fills that were not found. These
    # weights add up to one.
    log_weight: Float[Array, "B N"]
    standard_error: Float[Array, " B"]  # of all log-probabilities, since they share a normaliser
    log_evidence: Float[Array, " B"]  # of what follows the gap: log Σ_x p(x, what follows)
    log_total: Float[Array, " B"]  # the normaliser: the sum over all fills that are allowed


class Search(Strategy):
    """The most probable fills, by a beam search from left to right.

    The distribution is p(x, what follows)^(1 − weight) · q(x)^weight, normalised. Here p is the
    forward net, and q(x) the product of what the bidirectional net says of each missing step, given
    what stands to the left of it and what is observed to the right. The beam keeps the `width` best
    beginnings of a fill at every step. The normaliser is the sum over the fills that the beam
    finds, which is exact, plus an estimate for all others from `draws` random fills. They are drawn
    step by step, from p^(1 − weight) · q^weight, normalised at each step. The standard error is
    wide rather than narrow where few of them are outside of the beam, but too small if the fills
    that were missed are much more probable than it was to draw them.

    Parameters
    ----------
    width
        The number of fills that the beam keeps (default 128).
    draws
        The number of random fills that the rest of the normaliser is estimated from (default 32).
    lookahead
        How many steps after the last missing one the forward net scores (default 20).
    weight
        The weight of the bidirectional net, from 0 to 1 (default 0.5).

    Examples
    --------
    >>> Search(width=16).lookahead
    20
    """

    name: ClassVar[str] = "search"
    net: ClassVar[Literal["pair"]] = "pair"
    searches: ClassVar[bool] = True

    width: int = eqx.field(static=True, default=128)
    draws: int = eqx.field(static=True, default=32)
    lookahead: int = eqx.field(static=True, default=20)
    weight: float = eqx.field(static=True, default=0.5)

    def __check_init__(self) -> None:
        whole_number("width", self.width, 1)
        whole_number("draws", self.draws, 1)
        whole_number("lookahead", self.lookahead, 0)
        if not 0 <= self.weight <= 1:
            raise CaesuraError(f"The option 'weight' is from 0 to 1, not {self.weight!r}.")

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

    def stop(self, missing_stop: int, length: int) -> int:
        return min(length, missing_stop + self.lookahead)

    def states(self, net: Nets, width: int, longest_gap: int, samples: int) -> int:
        return 2 * (self.width + self.draws) + width

    @eqx.filter_jit
    def search(self, key: Keys, net: Pair, window: Window, rules: Rules | None = None) -> Found:
        """Return the most probable fills of each window, of those that the rules allow."""
        return self._search(key, net, window, rules)[0]

    @eqx.filter_jit
    def draw(self, key: Keys, net: Pair, window: Window, samples: int) -> Shaped[Array, "B S W D"]:
        keys = keys_of_windows(key, len(window.valid))
        found = self.search(key, net, window)
        choices = fold_each(fold(keys.own, 1), jnp.arange(samples))
        choose = jax.vmap(jax.vmap(jax.random.categorical, in_axes=(0, None)))
        chosen = choose(choices, found.log_weight)
        return jnp.take_along_axis(found.values, chosen[:, :, None, None], axis=1)

    @eqx.filter_jit
    def log_prob(
        self, key: Keys, net: Pair, window: Window, fills: Shaped[Array, "B S W D"]
    ) -> Estimate:
        found, _, log_total = self._search(key, net, window)
        log_q, log_p = score(net, window, fills)
        error = jnp.broadcast_to(found.standard_error[:, None], log_q.shape)
        return Estimate(self.mix(log_q, log_p) - log_total[:, None], error)

    @eqx.filter_jit
    def marginals(self, key: Keys, net: Pair, window: Window) -> Marginals:
        found, rest, _ = self._search(key, net, window)
        symbols = jax.nn.one_hot(found.values[..., 0], net.frame.cardinality)
        shares = jnp.einsum("bn,bnwk->bwk", jnp.exp(found.log_weight), symbols)
        # A value that was not found is possible, unless the beam holds everything.
        unseen = rest.share[:, None, None] / (self.draws + 1)
        log_probs = jnp.log((1 - unseen) * shares + unseen * rest.means)[:, :, None]
        given = jnp.take_along_axis(log_probs, window.values[..., None], axis=3)[:, :, 0, 0]
        return Marginals(exactly(log_probs), exactly(given))

    def mix(self, log_q: Float[Array, "*n"], log_p: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """Return the log of the distribution, which is not normalised."""
        return (1 - self.weight) * log_p + self.weight * log_q

    def promise(self, log_q: Float[Array, "*n"], log_p: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """Return by what the beam keeps beginnings of fills.

        The bidirectional net counts for more than in the whole, since it alone knows what follows.
        """
        weight = (1 + self.weight) / 2
        return (1 - weight) * log_p + weight * log_q

    def _search(
        self, key: Keys, net: Pair, window: Window, rules: Rules | None = None
    ) -> tuple[Found, "Rest", Float[Array, " B"]]:
        """Return what was found, the rest, and the log of the normaliser."""
        keys = fold(keys_of_windows(key, len(window.valid)).own, 0)

        def some(args: tuple[Array, Window, Rules | None]) -> PyTree:
            return self._weigh(*_walk(self, net, *args))

        at_once = searched_windows(len(keys))
        if at_once == len(keys):
            return some((keys, window, rules))
        blocks = jax.tree.map(lambda a: a.reshape(-1, at_once, *a.shape[1:]), (keys, window, rules))
        answers = jax.lax.map(some, blocks)
        return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), answers)

    def _weigh(
        self, lanes: "Lanes", means: Float[Array, "B W K"]
    ) -> tuple[Found, "Rest", Float[Array, " B"]]:
        empty = lanes.log_q < EMPTY / 2
        scores = jnp.where(empty, -jnp.inf, self.mix(lanes.log_q, lanes.log_p))
        count = scores.shape[1]
        in_beam = jnp.arange(count) < self.width
        before = jnp.tril(jnp.ones((count, count), bool), -1)
        same = jnp.all(lanes.values[:, :, None] == lanes.values[:, None], axis=-1)
        same &= ~empty[:, None]
        again = jnp.any(same & before, axis=2) & ~in_beam
        in_both = jnp.any(same & in_beam, axis=2) & ~in_beam

        outside = ~in_beam & ~in_both
        log_held = jax.nn.logsumexp(jnp.where(in_beam, lanes.log_drawn, -jnp.inf), axis=1)
        share = jnp.clip(-jnp.expm1(log_held), 0, 1)
        share = jnp.where(share < ROUNDING, 0.0, share)

        def summed(log_value: Float[Array, "B N"]) -> "Summed":
            """Sum over all fills: those of the beam, and the others as the random fills say."""
            return _sum(log_value, lanes.log_drawn, in_beam, outside, log_held, share)

        log_weight, log_total, error = summed(scores)
        found = Found(
            values=lanes.values[..., None],
            log_prob=jnp.where(again, -jnp.inf, scores - log_total[:, None]),
            log_weight=log_weight,
            standard_error=error,
            log_evidence=summed(jnp.where(empty, -jnp.inf, lanes.log_p)).log_total,
            log_total=log_total,
        )
        return found, Rest(share, means), log_total


class Summed(NamedTuple):
    """A sum over all fills, some of which were found."""

    log_weight: Float[Array, "B N"]  # the share of each in the sum; a random fill stands for others
    log_total: Float[Array, " B"]
    standard_error: Float[Array, " B"]  # of `log_total`


def _sum(
    log_value: Float[Array, "B N"],
    log_drawn: Float[Array, "B N"],
    in_beam: Bool[Array, " N"],
    outside: Bool[Array, "B N"],
    log_held: Float[Array, " B"],
    share: Float[Array, " B"],
) -> Summed:
    """Sum a value over all fills.

    The values of the beam are known. How probable it is that a random fill is outside of the beam
    is known too, so the sum over the others is this `share` times the mean of value / probability
    over the random fills outside. If there are none, the mean over the beam stands for it.

    A few random fills may be too much alike to tell the variance of that mean. So one more is
    counted, with the highest value / probability of the beam. With less than two of them, the error
    is at least as large as the sum over the others.
    """
    count = jnp.sum(outside, axis=1)
    log_beam = jax.nn.logsumexp(jnp.where(in_beam, log_value, -jnp.inf), axis=1)
    log_each = jnp.where(outside, log_value - log_drawn, -jnp.inf) + jnp.log(share)[:, None]
    weights = jnp.where(in_beam, log_value, log_each - jnp.log(jnp.maximum(count, 1))[:, None])
    log_like_beam = log_beam - log_held + jnp.log(share)
    log_ratio = jnp.where(in_beam & jnp.isfinite(log_value), log_value - log_drawn, -jnp.inf)
    log_highest = jnp.max(log_ratio, axis=1) + jnp.log(share)
    log_rest = jnp.where(
        count > 0,
        jax.nn.logsumexp(jnp.where(in_beam, -jnp.inf, weights), axis=1),
        log_like_beam,
    )
    log_total = jnp.logaddexp(log_beam, log_rest)
    rest, highest = jnp.exp(log_rest - log_total), jnp.exp(log_highest - log_total)
    each = jnp.exp(log_each - log_total[:, None])
    squares = jnp.sum(jnp.where(outside, (each - rest[:, None]) ** 2, 0.0), axis=1)
    least = jnp.where(count > 1, 0.0, rest)
    squares += jnp.maximum(jnp.abs(highest - rest), least) ** 2
    error = jnp.where(share > 0, jnp.sqrt(squares) / jnp.maximum(count, 1), 0.0)
    log_weight = weights - jax.nn.logsumexp(weights, axis=1, keepdims=True)
    return Summed(log_weight, log_total, error)


class Rest(NamedTuple):
    """What the beam does not hold."""

    share: Float[Array, " B"]  # the probability that a random fill is none of the beam's
    means: Float[Array, "B W K"]  # how each step was drawn, on average over the random fills


class Lanes(eqx.Module):
    """Fills in the making: of each window, those of the beam and the random ones."""

    values: Int[Array, "B N W"]
    log_q: Float[Array, "B N"]  # `EMPTY` for a lane of the beam that holds nothing yet
    log_p: Float[Array, "B N"]
    log_drawn: Float[Array, "B N"]  # with which probability the fill would be drawn at random
    q: State  # of the bidirectional net's forward stack
    p: State
    rule: PyTree[Int[Array, "B N"]]  # the states of the rules; None if there are none


def _walk(
    plan: Search, net: Pair, keys: Key[Array, " B"], window: Window, rules: Rules | None
) -> tuple[Lanes, Float[Array, "B W K"]]:
    """Return filled lanes, and how each step was drawn, on average over the random fills."""
    begin, steps = _start(plan, window, rules), window.missing_steps
    own = jnp.broadcast_to(jnp.arange(begin.log_q.shape[1]), begin.log_q.shape)
    left, random = slice(0, plan.width), slice(plan.width, None)
    tokens = _backward_states(net.bidirectional, window)

    def fill(t: Int[Array, ""], carry: tuple[Lanes, Array]) -> tuple[Lanes, Array]:
        lanes, means = carry
        q = _predict(net.bidirectional, lanes.q, jax.tree.map(lambda h: h[:, t + 1], tokens))
        p = _predict(net.forward, lanes.p, window.right["forward"])
        if rules is not None:
            lanes = replace(lanes, rule=rules.entered(lanes.rule, t))
            allowed = rules.permitted(lanes.rule, t) | ~steps[:, t, None, None]
            q, p = jnp.where(allowed, q, EMPTY), jnp.where(allowed, p, EMPTY)
        scores = plan.promise(lanes.log_q[..., None] + q, lanes.log_p[..., None] + p)
        _, best = jax.lax.top_k(scores[:, left].reshape(len(keys), -1), plan.width)
        r = jax.nn.log_softmax(plan.mix(q, p))
        drawn = jax.vmap(jax.random.categorical)(fold(keys, t), r[:, random])
        source = jnp.concatenate([best // q.shape[-1], own[:, random]], axis=1)
        symbol = jnp.concatenate([best % q.shape[-1], drawn], axis=1)
        missing = steps[:, t, None]  # an observed step keeps its value in every lane
        source, symbol = jnp.where(missing, source, own), jnp.where(missing, symbol, _at(window, t))
        here = (lanes, q, p, r)
        lanes, q, p, r = jax.tree.map(lambda a: jax.vmap(lambda a, i: a[i])(a, source), here)
        moved = Lanes(
            values=lanes.values.at[:, :, t].set(symbol),
            log_q=lanes.log_q + jnp.where(missing, _pick(q, symbol), 0.0),
            log_p=lanes.log_p + _pick(p, symbol),
            log_drawn=lanes.log_drawn + jnp.where(missing, _pick(r, symbol), 0.0),
            q=_step(net.bidirectional, lanes.q, symbol),
            p=_step(net.forward, lanes.p, symbol),
            rule=None if rules is None else rules.moved(lanes.rule, symbol),
        )
        means = means.at[:, t].set(jnp.mean(jnp.exp(r[:, random]), axis=1))
        return _where(window.valid[:, t], moved, lanes), means

    def follow(t: Int[Array, ""], lanes: Lanes) -> Lanes:
        symbol = jnp.broadcast_to(_at(window, t), lanes.log_p.shape)
        log_p = _pick(_predict(net.forward, lanes.p, window.right["forward"]), symbol)
        changed = (lanes.log_p + log_p, _step(net.forward, lanes.p, symbol))
        moved = eqx.tree_at(lambda one: (one.log_p, one.p), lanes, changed)
        return _where(window.valid[:, t], moved, lanes)

    numbers = jnp.arange(1, steps.shape[1] + 1)
    last, end = (jnp.max(jnp.where(on, numbers, 0)) for on in (steps, window.valid))
    means = jnp.zeros((*steps.shape, net.frame.cardinality))
    lanes, means = jax.lax.fori_loop(0, last, fill, (begin, means))
    return jax.lax.fori_loop(last, end, follow, lanes), means


def _start(plan: Search, window: Window, rules: Rules | None) -> Lanes:
    """Return lanes in which nothing is filled: the beam has one of them."""
    count = plan.width + plan.draws

    def spread(a: Array) -> Array:
        return jnp.repeat(a[:, None], count, axis=1)

    empty = (jnp.arange(count) > 0) & (jnp.arange(count) < plan.width)
    nothing = jnp.zeros((len(window.valid), count))
    return Lanes(
        values=spread(window.values[:, :, 0]),
        log_q=jnp.where(empty, EMPTY, nothing),
        log_p=jnp.where(empty, EMPTY, nothing),
        log_drawn=jnp.where(empty, EMPTY, nothing),
        q=jax.tree.map(spread, window.left["bidirectional"]),
        p=jax.tree.map(spread, window.left["forward"]),
        rule=None if rules is None else jnp.zeros(nothing.shape, jnp.int32),
    )


def _at(window: Window, t: Int[Array, ""]) -> Int[Array, "B 1"]:
    return window.values[:, t]


def _backward_states(net: Net, window: Window) -> PyTree[Float[Array, "B ..."]]:
    """Return the backward states between steps, with tokens for everything missing."""

    def run(values: Array, missing: Array, valid: Array, right: State) -> PyTree:
        return net.backward.run(right, net.inputs(values, missing), valid, reverse=True)

    right = window.right["bidirectional"]
    return jax.vmap(run)(window.values, window.missing, window.valid, right)


def _predict(net: Net, states: State, right: State) -> Float[Array, "B N K"]:
    """Return what the net says of a step: the states before it, and of each window that after."""

    def one(before: State, after: State) -> Float[Array, " K"]:
        anything = jnp.zeros(1, jnp.int32)
        return net.head.marginals(Query(net.context(before, after), anything, anything == 0))[0]

    return jax.vmap(jax.vmap(one, (0, None)))(states, right)


def _step(net: Net, states: State, symbols: Int[Array, "B N"]) -> State:
    """Return the states after one more step."""

    def one(state: State, symbol: Int[Array, ""]) -> State:
        return net.forward.step(state, net.encode(symbol[None], jnp.zeros(1, bool)))

    return jax.vmap(jax.vmap(one))(states, symbols)


def _pick(log_probs: Float[Array, "B N K"], symbols: Int[Array, "B N"]) -> Float[Array, "B N"]:
    """Return the log-probability of each symbol; one that the model does not know adds nothing."""
    chosen = jnp.take_along_axis(log_probs, jnp.maximum(symbols, 0)[..., None], axis=2)[..., 0]
    return jnp.where(symbols >= 0, chosen, 0.0)


def _where(here: Bool[Array, " B"], new: Lanes, old: Lanes) -> Lanes:
    def choose(a: Array, b: Array) -> Array:
        return jnp.where(here.reshape(-1, *[1] * (a.ndim - 1)), a, b)

    return jax.tree.map(choose, new, old)


def score(
    net: Pair, window: Window, fills: Shaped[Array, "B S W D"]
) -> tuple[Float[Array, "B S"], Float[Array, "B S"]]:
    """Return log q and log p of given fills."""
    q, tokens = net.bidirectional, _backward_states(net.bidirectional, window)

    def one(left: State, missing: Array, valid: Array, after: PyTree, values: Array) -> Array:
        inputs = q.inputs(values, jnp.zeros_like(missing))
        states = States(q.forward.run(left, inputs, valid, reverse=False), after)
        log_q = jax.vmap(q.head.log_prob)(Query(q.contexts(states), values, missing))
        return jnp.sum(jnp.where(valid, log_q, 0.0))

    of_fills = jax.vmap(jax.vmap(one, (None, None, None, None, 0)))
    left = window.left["bidirectional"]
    log_q = of_fills(left, window.missing, window.valid, tokens, fills)
    return log_q, judge(net.forward, window.with_fills(fills)).reshape(log_q.shape)
