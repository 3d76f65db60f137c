"""`nade`: missing steps are filled once each, in random order, from missing-value tokens."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree, Shaped

from caesura.errors import whole_number
from caesura.hardware import SETS, power_of_four
from caesura.nets.cells import State
from caesura.nets.heads.base import Query
from caesura.nets.rnn import Input, Net, NetName, Stack, States
from caesura.sequence import Gap
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
    Keys,
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
from caesura.strategies.window import Window


class NADE(Strategy):
    """The paper's second reading of a BRNN, Eq. (7), averaged over the orders of filling.

    Several gaps are filled from left to right, each in any of its g! orders. While no gap is longer
    than `exact_up_to` steps, the score is the exact average over all of them; otherwise it is the
    average over a number of sampled `orders`. All of them cost g·2^(g−1) frames and a sample of
    100 costs 100·g, which is where the default comes from.
    """

    net: ClassVar[NetName] = "bidirectional"
    needs_missing_input: ClassVar[bool] = True

    exact_up_to: int = eqx.field(static=True, default=8)
    orders: int = eqx.field(static=True, default=100)

    def __check_init__(self) -> None:
        whole_number("exact_up_to", self.exact_up_to, 0, 16)
        whole_number("orders", self.orders, 1)

    @eqx.filter_jit
    def draw(self, key: Keys, net: Net, window: Window, samples: int) -> Shaped[Array, "B S W D"]:
        key_order, key_visits = jax.vmap(jax.random.split, out_axes=1)(key.reshape(-1))
        lanes = window.repeat(samples)
        order = random_order(key_order, lanes, samples)
        cursor, _ = _fill(key_visits, net, window, lanes, order, draw)
        return split_lanes(cursor.values, samples)

    def log_prob(
        self, key: PRNGKeyArray, net: Net, window: Window, fills: Shaped[Array, "B S W D"]
    ) -> Estimate:
        gaps = _find_gaps(np.any(np.asarray(window.missing), axis=-1))
        if max(gap.stop - gap.start for _, gap in gaps) > self.exact_up_to:
            return _sampled_log_prob(key, net, window, fills, self.orders)
        return _exact_log_prob(net, window, fills, gaps)

    @eqx.filter_jit
    def marginals(self, key: PRNGKeyArray, net: Net, window: Window) -> Marginals:
        return each_alone(net, window)


def _fill(
    key: Keys, net: Net, window: Window, lanes: Window, order: Order, visit: Visit
) -> tuple[Cursor, PyTree]:
    """Each lane fills its window once, in an order of its own; all of a window begin alike."""
    begin = enter(net, window, window.values, window.missing)
    copies = len(lanes.valid) // len(window.valid)
    cursor = jax.tree.map(lambda a: jnp.repeat(a, copies, axis=0), begin)
    return walk(key, net, given_the_rest(net), cursor, lanes, order, visit)


def each_alone(net: Net, window: Window) -> Marginals:
    """Every step as if it were the first to be filled: all that is missing is a token."""

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


@eqx.filter_jit
def _sampled_log_prob(
    key: PRNGKeyArray, net: Net, window: Window, fills: Shaped[Array, "B S W D"], orders: int
) -> Estimate:
    """The average over sampled orders, the same ones for all fills of a window."""
    lanes = window.repeat(orders)
    order = random_order(key, lanes, orders)
    order = jax.tree.map(lambda a: jnp.repeat(a, fills.shape[1], axis=0), order)
    lanes = lanes.with_fills(jnp.repeat(fills, orders, axis=0))
    _, log_probs = _fill(key, net, window, lanes, order, force)
    return log_mean(jnp.sum(log_probs, axis=1).reshape(-1, orders, fills.shape[1]))


def _find_gaps(missing_steps: Bool[np.ndarray, "B W"]) -> list[tuple[int, Gap]]:
    """Each gap, with the number of its window."""
    edges = np.diff(missing_steps.astype(np.int8), axis=1, prepend=0, append=0)
    rows, starts = np.nonzero(edges == 1)
    stops = np.nonzero(edges == -1)[1]
    return [(int(r), Gap(int(a), int(b))) for r, a, b in zip(rows, starts, stops, strict=True)]


def _exact_log_prob(
    net: Net, window: Window, fills: Shaped[Array, "B S W D"], gaps: list[tuple[int, Gap]]
) -> Estimate:
    """The chain rule over the gaps of a window, and in each of them the average over orders.

    Gaps of like length are scored together, so that a short one never pays for a long one, and in
    batches of few sizes, so that few programs are compiled whatever the gaps of a text.
    """
    states = _around_gaps(net, window, fills)
    samples = fills.shape[1]
    total = np.zeros((len(fills), samples), np.float32)
    alike: dict[int, list[tuple[int, int, int, int]]] = {}
    for row, (start, stop) in gaps:
        same = alike.setdefault(_round_up(stop - start), [])
        same += [(row, sample, start, stop) for sample in range(samples)]
    for g, places in alike.items():
        batch = min(power_of_four(len(places)), max(1, power_of_four(SETS >> g) // 4))
        for first in range(0, len(places), batch):
            some = np.array(places[first : first + batch])
            padded = np.pad(some, [(0, batch - len(some)), (0, 0)], mode="edge")
            scores = np.asarray(_average_all(net, window, fills, states, padded, g))[: len(some)]
            np.add.at(total, (some[:, 0], some[:, 1]), scores)
    return Estimate(*jax.device_put((total, np.zeros_like(total))))


def _round_up(g: int) -> int:
    """Few lengths, so few compilations; but each step more doubles the work."""
    return g if g <= 6 else g + g % 2


class OneGap(eqx.Module):
    """A gap of at most g steps between the states at its edges; `real` is False on padding."""

    values: Shaped[Array, "g D"]
    missing: Bool[Array, "g D"]
    real: Bool[Array, " g"]
    left: State
    right: State


@eqx.filter_jit
def _around_gaps(net: Net, window: Window, fills: Shaped[Array, "B S W D"]) -> States:
    """[B, S, W + 1]: the states as `nade` meets each gap, given values before it, tokens behind."""

    def states(window: Window, values: Shaped[Array, "W D"]) -> States:
        filled = net.inputs(values, jnp.zeros_like(window.missing))
        tokens = net.inputs(values, window.missing)
        return States(
            net.forward.run(window.left, filled, window.valid, reverse=False),
            net.backward.run(window.right, tokens, window.valid, reverse=True),
        )

    return jax.vmap(jax.vmap(states, in_axes=(None, 0)))(window, fills)


@eqx.filter_jit
def _average_all(
    net: Net,
    window: Window,
    fills: Shaped[Array, "B S W D"],
    states: States,
    places: Int[Array | np.ndarray, "n 4"],
    g: int,
) -> Float[Array, " n"]:
    """The scores of gaps of some windows in some of their fills: (window, fill, start, stop)."""

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
    """log of the mean of Eq. (7) over all g! orders, by a recursion over sets of filled steps.

    W(S) = mean over i not in S of p(x_i | S) W(S + i), and the answer is W of the empty set. A set
    is a number whose bit k says that step k is filled. The forward state before step k depends on
    the bits below k alone and the backward state behind it on those above, so 2^(g+1) cell steps
    serve all 2^g sets.
    """
    g = len(gap.real)
    tokens = net.inputs(gap.values, gap.missing)
    filled = net.inputs(gap.values, jnp.zeros_like(gap.missing))

    def pass_step(stack: Stack, states: State, k: int, axis: int) -> State:
        """The states beyond step k, once as a token and once filled, as a new bit on `axis`."""

        def through(inputs: Input) -> State:
            now = jax.tree.map(lambda a: a[k], inputs)
            new = jax.vmap(stack.step, in_axes=(0, None))(states, now)
            return jax.tree.map(lambda n, o: jnp.where(gap.real[k], n, o), new, states)

        def branch(token: Array, filled: Array) -> Array:
            return jnp.stack([token, filled], axis).reshape(-1, *token.shape[1:])

        return jax.tree.map(branch, through(tokens), through(filled))

    before = [jax.tree.map(lambda h: h[None], gap.left)]
    behind = [jax.tree.map(lambda h: h[None], gap.right)]
    for k in range(g - 1):
        before.append(pass_step(net.forward, before[-1], k, axis=0))  # bit k above the lower ones
        behind.append(pass_step(net.backward, behind[-1], g - 1 - k, axis=1))  # below the higher
    behind.reverse()

    def log_prob(before: State, behind: State, k: int) -> Float[Array, ""]:
        query = Query(net.context(before, behind), gap.values[k], gap.missing[k])
        return net.head.log_prob(query)

    def log_probs_of_step(k: int) -> Float[Array, " sets"]:
        """log p(x_k | S) for all sets S; minus infinity where S holds k."""
        lower = jax.vmap(log_prob, in_axes=(0, None, None))
        table = jax.vmap(lower, in_axes=(None, 0, None))(before[k], behind[k], k)  # [above, below]
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
