"""`nade`: the bidirectional net fills each missing step once, in random order."""

from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int, Key, Shaped

from caesura.errors import whole_number
from caesura.hardware import SETS, gap_length, power_of_four
from caesura.later import Array, Module, PyTree, field, jax, jnp
from caesura.nets.cells import State
from caesura.nets.heads.base import Query
from caesura.nets.pair import Nets
from caesura.nets.rnn import Input, Net, NetName, Stack, States
from caesura.programs import program
from caesura.sequence import Span, runs
from caesura.strategies.base import (
    Estimate,
    Marginals,
    Strategy,
    exactly,
    log_mean,
    split_lanes,
)
from caesura.strategies.cursor import (
    Cursor,
    Noted,
    Order,
    Step,
    Visit,
    draw,
    enter,
    force,
    given_the_rest,
    note,
    random_order,
    walk,
)
from caesura.strategies.keys import Keys, keys_of_windows
from caesura.strategies.window import Window


class NADE(Strategy):
    """The paper's second method: Eq. (7), averaged over the orders of filling.

    Missing-value tokens stand for the steps that are not filled yet. Several gaps are filled from
    left to right, each in any of its g! orders.

    Parameters
    ----------
    exact_up_to
        The longest gap whose log-probability is the exact average over all orders, at most 16
        (default 8). It costs g·2^(g−1) frames, while 100 sampled orders cost 100·g.
    orders
        The number of sampled orders that the log-probability of longer gaps averages over (default
        100).

    Examples
    --------
    >>> NADE().is_exact(8), NADE().is_exact(9)
    (True, False)
    """

    name: ClassVar[str] = "nade"
    net: ClassVar[NetName] = "bidirectional"
    needs_missing_input: ClassVar[bool] = True

    exact_up_to: int = field(static=True, default=8)
    orders: int = field(static=True, default=100)

    def __check_init__(self) -> None:
        whole_number("exact_up_to", self.exact_up_to, 0, 16)
        whole_number("orders", self.orders, 1)

    def is_exact(self, longest_gap: int) -> bool:
        return longest_gap <= self.exact_up_to

    def states(self, net: Nets, width: int, longest_gap: int, samples: int) -> int:
        if self.is_exact(longest_gap):
            return samples * max(width, 1 << longest_gap)  # one for each set of filled steps
        return samples * width * self.orders

    @program
    def draw(self, key: Keys, net: Net, window: Window, samples: int) -> Shaped[Array, "B S W D"]:
        keys = keys_of_windows(key, len(window.valid)).copies(jnp.arange(samples))
        lanes = window.repeat(samples)
        order = random_order(keys.order, lanes)
        cursor, _ = _fill(keys.own, net, window, lanes, order, draw)
        return split_lanes(cursor.values, samples)

    def log_prob(
        self, key: Keys, net: Net, window: Window, fills: Shaped[Array, "B S W D"]
    ) -> Estimate:
        gaps = _find_gaps(np.any(np.asarray(window.missing), axis=-1))
        # Chosen for each window by itself: company must not change its answer.
        long = sorted({row for row, gap in gaps if not self.is_exact(gap.stop - gap.start)})
        if not long:
            return exactly(jax.device_put(_exact_log_prob(net, window, fills, gaps)))
        rows = np.pad(long, (0, min(power_of_four(len(long)), len(fills)) - len(long)), mode="edge")
        sampled = _sampled_log_prob(key, net, window, fills, rows, self.orders)
        if len(long) == len(fills):
            return sampled
        short = [(row, gap) for row, gap in gaps if row not in set(long)]
        log_prob = _exact_log_prob(net, window, fills, short)
        both = (log_prob, np.zeros_like(log_prob))
        for whole, part in zip(both, sampled, strict=True):
            whole[long] = np.asarray(part)[: len(long)]
        return Estimate(*jax.device_put(both))

    @program
    def marginals(self, key: Keys, net: Net, window: Window) -> Marginals:
        return each_alone(net, window)


def _fill(
    keys: Key[Array, " L"], net: Net, window: Window, lanes: Window, order: Order, visit: Visit
) -> tuple[Cursor, PyTree]:
    """Fill each lane once in its order; the lanes of a window share their first states."""
    begin = enter(net, window, window.values, window.missing)
    copies = len(lanes.valid) // len(window.valid)
    cursor = jax.tree.map(lambda a: jnp.repeat(a, copies, axis=0), begin)
    return walk(keys, net, given_the_rest(net), cursor, lanes, order, visit)


def each_alone(net: Net, window: Window) -> Marginals:
    """Return the marginals of every step as if it were filled first: all others are tokens."""

    def notes(window: Window) -> Noted:
        inputs = net.inputs(window.values, window.missing)
        states = States(
            net.forward.run(window.left, inputs, window.valid, reverse=False),
            net.backward.run(window.right, inputs, window.valid, reverse=True),
        )
        steps = Step(Query(net.contexts(states), window.values, window.missing), window.values)
        return jax.vmap(lambda step: note(net.head, step))(steps)

    values, given = jax.vmap(notes)(window)
    return Marginals(exactly(values), exactly(given))


@program
def _sampled_log_prob(
    key: Keys,
    net: Net,
    window: Window,
    fills: Shaped[Array, "B S W D"],
    rows: Int[Array | np.ndarray, " n"],
    orders: int,
) -> Estimate:
    """Return the average over sampled orders, the same ones for all fills of a window, of some
    windows."""
    keys = keys_of_windows(key, len(window.valid))
    keys, window, fills = jax.tree.map(lambda a: a[rows], (keys, window, fills))
    keys = keys.copies(jnp.arange(orders))
    lanes = window.repeat(orders)
    order = random_order(keys.order, lanes)
    order = jax.tree.map(lambda a: jnp.repeat(a, fills.shape[1], axis=0), order)
    lanes = lanes.with_fills(jnp.repeat(fills, orders, axis=0))
    _, log_probs = _fill(keys.repeat(fills.shape[1]).own, net, window, lanes, order, force)
    return log_mean(jnp.sum(log_probs, axis=1).reshape(-1, orders, fills.shape[1]))


def _find_gaps(missing_steps: Bool[np.ndarray, "B W"]) -> list[tuple[int, Span]]:
    """Return each gap with the number of its window."""
    # All windows in one call, since there may be thousands; the last column keeps them apart.
    apart = np.pad(missing_steps, [(0, 0), (0, 1)])
    rows = ((divmod(start, apart.shape[1]), stop - start) for start, stop in runs(apart.ravel()))
    return [(row, Span(start, start + length)) for (row, start), length in rows]


def _exact_log_prob(
    net: Net, window: Window, fills: Shaped[Array, "B S W D"], gaps: list[tuple[int, Span]]
) -> Float[np.ndarray, "B S"]:
    """Return the chain rule over the gaps of a window, each averaged over all orders.

    Gaps of similar length are scored together, so that a short gap never costs as much as a long
    one. There are few batch sizes, so that few programs are compiled.
    """
    states = _around_gaps(net, window, fills)
    samples = fills.shape[1]
    total = np.zeros((len(fills), samples), np.float32)
    alike: dict[int, list[tuple[int, int, int, int]]] = {}
    for row, (start, stop) in gaps:
        same = alike.setdefault(gap_length(stop - start), [])
        same += [(row, sample, start, stop) for sample in range(samples)]
    for g, places in alike.items():
        batch = min(power_of_four(len(places)), max(1, power_of_four(SETS >> g) // 4))
        for first in range(0, len(places), batch):
            some = np.array(places[first : first + batch])
            padded = np.pad(some, [(0, batch - len(some)), (0, 0)], mode="edge")
            scores = np.asarray(_average_all(net, window, fills, states, padded, g))[: len(some)]
            np.add.at(total, (some[:, 0], some[:, 1]), scores)
    return total


class OneGap(Module):
    """A gap of at most g steps between the states at its edges; `real` is False on padding."""

    values: Shaped[Array, "g D"]
    missing: Bool[Array, "g D"]
    real: Bool[Array, " g"]
    left: State
    right: State


@program
def _around_gaps(net: Net, window: Window, fills: Shaped[Array, "B S W D"]) -> States:
    """Return the states, [B, S, W + 1]: values are known before a gap, tokens stand after it."""

    def states(window: Window, values: Shaped[Array, "W D"]) -> States:
        filled = net.inputs(values, jnp.zeros_like(window.missing))
        tokens = net.inputs(values, window.missing)
        return States(
            net.forward.run(window.left, filled, window.valid, reverse=False),
            net.backward.run(window.right, tokens, window.valid, reverse=True),
        )

    return jax.vmap(jax.vmap(states, in_axes=(None, 0)))(window, fills)


@program
def _average_all(
    net: Net,
    window: Window,
    fills: Shaped[Array, "B S W D"],
    states: States,
    places: Int[Array | np.ndarray, "n 4"],
    g: int,
) -> Float[Array, " n"]:
    """Return the scores of some gaps, given as (window, fill, start, stop)."""

    def cut(place: Int[Array, " 4"]) -> OneGap:
        row, fill, start, stop = place
        steps = start + jnp.arange(g)
        return OneGap(
            fills[row, fill].at[steps].get(mode="clip"),
            window.missing[row].at[steps].get(mode="clip"),
            steps < stop,
            jax.tree.map(lambda h: h[row, fill, start], states.forward),
            jax.tree.map(lambda h: h[row, fill, stop], states.backward),
        )

    return jax.vmap(lambda place: average_over_orders(net, cut(place)))(places)


def average_over_orders(net: Net, gap: OneGap) -> Float[Array, ""]:
    """Return the log of the mean of Eq. (7) over all g! orders, by a recursion over subsets.

    W(S) = mean over i not in S of p(x_i | S) W(S + i), and the answer is W of the empty set. A
    subset of filled steps is a number whose bit k says that step k is filled. The forward state
    before step k depends only on the bits below k, and the backward state after it on those above,
    so 2^(g+1) cell steps are enough for all 2^g subsets.
    """
    g = len(gap.real)
    tokens = net.inputs(gap.values, gap.missing)
    filled = net.inputs(gap.values, jnp.zeros_like(gap.missing))

    def pass_step(stack: Stack, states: State, k: int, axis: int) -> State:
        """Return the states beyond step k, as a token and as filled: a new bit on `axis`."""

        def through(inputs: Input) -> State:
            now = jax.tree.map(lambda a: a[k], inputs)
            new = jax.vmap(stack.step, in_axes=(0, None))(states, now)
            return jax.tree.map(lambda n, o: jnp.where(gap.real[k], n, o), new, states)

        def branch(token: Array, filled: Array) -> Array:
            return jnp.stack([token, filled], axis).reshape(-1, *token.shape[1:])

        return jax.tree.map(branch, through(tokens), through(filled))

    before = [jax.tree.map(lambda h: h[None], gap.left)]
    after = [jax.tree.map(lambda h: h[None], gap.right)]
    for k in range(g - 1):
        before.append(pass_step(net.forward, before[-1], k, axis=0))  # bit k above the lower ones
        after.append(pass_step(net.backward, after[-1], g - 1 - k, axis=1))  # below the higher
    after.reverse()

    def log_prob(before: State, after: State, k: int) -> Float[Array, ""]:
        query = Query(net.context(before, after), gap.values[k], gap.missing[k])
        return net.head.log_prob(query)

    def log_probs_of_step(k: int) -> Float[Array, " sets"]:
        """Return log p(x_k | S) for all subsets S; minus infinity where S holds k."""
        lower = jax.vmap(log_prob, in_axes=(0, None, None))
        table = jax.vmap(lower, in_axes=(None, 0, None))(before[k], after[k], k)  # [above, below]
        return jnp.stack([table, jnp.full_like(table, -jnp.inf)], axis=1).reshape(-1)

    log_p = jnp.stack([log_probs_of_step(k) for k in range(g)], axis=1)
    bits = 1 << np.arange(g)
    sets = np.arange(2**g)
    sizes = ((sets[:, None] & bits) > 0).sum(axis=1)

    def sets_of_size(i: Int[Array, ""], log_w: Float[Array, " sets"]) -> Float[Array, " sets"]:
        left = i + 1  # steps that are not filled yet
        log_sum = jax.nn.logsumexp(log_p + log_w[sets[:, None] | bits], axis=1)
        return jnp.where(sizes == g - left, log_sum - jnp.log(left), log_w)

    log_w = jax.lax.fori_loop(0, g, sets_of_size, jnp.zeros(2**g))
    return log_w[jnp.sum(jnp.where(gap.real, 0, bits))]  # padding counts as filled from the start
