"""Nets of symbols or switches, run by NumPy without compilation, for arrays of any size.

The cells and the heads are those of `caesura.nets.rnn`, with NumPy arrays as weights. Only the
loops over steps are here. A batch stands in the last axis, as in the equations, but in memory the
numbers of a lane are next to each other (Fortran's order). So lanes are copied as a whole.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from jaxtyping import Float, Int

from caesura.hardware import few_blas_threads
from caesura.later import Array, jax, jnp, map_leaves
from caesura.nets.cells import Cell, State
from caesura.nets.frames import Categorical, Frame
from caesura.nets.heads.base import Query
from caesura.nets.pair import Pair
from caesura.nets.products import times
from caesura.nets.rnn import Input, Net, Stack
from caesura.sequence import UNKNOWN

BLOCK = 16  # lanes: two threads share a batch in multiples of it, which OpenBLAS multiplies faster

AnyNet = TypeVar("AnyNet", bound=Net | Pair)
# Some steps: symbols, or rows of switches; `UNKNOWN` for what is missing or not known.
Steps = Int[np.ndarray, "_ *D"]


def with_numpy(net: AnyNet) -> AnyNet:
    """Return the net with NumPy arrays as weights, in the order in which `times` is fast.

    If they are so already, nothing is copied.
    """
    return map_leaves(np.asfortranarray, net)


def with_jax(net: AnyNet) -> AnyNet:
    """Return the net with arrays of JAX as weights, for what is compiled."""
    return jax.tree.map(jnp.asarray, net)


def take(states: State, columns: Int[np.ndarray, " n"] | slice | int) -> State:
    """Return some of a batch of states, or one of them."""
    return map_leaves(lambda a: a[..., columns], states)


def join(states: Sequence[State]) -> State:
    """Return several batches of states as one."""
    if len(states) == 1:
        return states[0]
    return map_leaves(lambda *parts: np.concatenate(parts, axis=-1), *states)


def steps_of(frame: Frame, values: Int[np.ndarray, "n D"]) -> Steps:
    """Return values in the form of `Steps`: the only component of a symbol has no axis."""
    return values[:, 0] if isinstance(frame, Categorical) else values


def batch_last(states: State) -> State:
    """Return states whose batch stands in the first axis with it in the last."""
    return map_leaves(lambda a: np.moveaxis(np.asarray(a), 0, -1), states)


def encode(net: Net, steps: Steps) -> Input:
    """Return the inputs of the cells: as `Net.encode`, with a batch in the last axis."""
    values = steps[None] if steps.ndim == 1 else steps.T
    return net.encode(values, np.zeros(values.shape, bool))


def table(net: Net, stack: Stack) -> Float[np.ndarray, "rows Bc"]:
    """Return the input's share of the first layer for every symbol; `UNKNOWN` is the last row."""
    return _share(net, stack, np.append(np.arange(net.frame.cardinality), UNKNOWN))


def _share(net: Net, stack: Stack, steps: Steps) -> Float[np.ndarray, "n Bc"]:
    return np.ascontiguousarray(stack.cells[0].input(encode(net, steps).x).T)


def _shares(
    net: Net, stack: Stack, steps: Steps, rows: Float[np.ndarray, "rows Bc"] | None = None
) -> tuple[Float[np.ndarray, "n Bc"], Float[np.ndarray, " n"]]:
    """Return the input's share of the first layer at some steps, and their missing shares.

    A symbol is a row of the `table` of the stack. Without it, each symbol is encoded once.
    """
    if steps.ndim > 1:
        return _share(net, stack, steps), encode(net, steps).m
    m = (steps == UNKNOWN).astype(np.float32)
    if rows is not None:
        return rows[steps], m
    symbols, which = np.unique(steps, return_inverse=True)
    return _share(net, stack, symbols)[which], m


def step(
    net: Net,
    stack: Stack,
    states: State,
    steps: Steps,
    rows: Float[np.ndarray, "rows Bc"] | None = None,
    parents: Int[np.ndarray, " n"] | None = None,
) -> State:
    """Return the states of a stack after one more step each.

    Parameters
    ----------
    net, stack, states, steps
        The net, one of its stacks, its states, and a step for each of them.
    rows
        The `table` of the stack. It is worth making once if there are many symbols.
    parents
        Which of the states each step follows; by default each step has its own. W_h h is computed
        once for all steps that follow the same state.
    """
    found: list[State] = []
    u, m = _shares(net, stack, steps, rows)
    u = u.T
    if parents is not None:
        used, which = np.unique(parents, return_inverse=True)
    for cell, state in zip(stack.cells, states, strict=True):
        if found:
            u = cell.input(np.asarray(cell.output(found[-1])))
        if parents is None:
            a = times(cell.W_h, np.asarray(cell.output(state)))
        else:
            a = times(cell.W_h, np.asarray(cell.output(state)[:, used]))[:, which]
            state = take(state, parents)
        found.append(cell.finish(state, a, u, m))
    return tuple(found)


def predict(net: Net, before: State, after: State) -> Float[np.ndarray, "n K"]:
    """Return the log-probabilities of a symbol, from the states before and after it.

    A forward net has no states after it: `after` is empty.
    """
    context = output(net.forward, before)
    if net.backward.cells:
        context = np.concatenate([context, output(net.backward, after)])
    if net.head.in_numpy:
        nothing = np.zeros((1, context.shape[1]), np.int32)
        return net.head.marginals(Query(context, nothing, nothing == 0))[0].T

    def one(context: Array) -> Array:
        nothing = np.zeros(1, np.int32)
        return net.head.marginals(Query(context, nothing, nothing == 0))[0]

    return np.asarray(jax.vmap(one)(jnp.asarray(context.T)))


def output(stack: Stack, states: State) -> Float[np.ndarray, "c n"]:
    """Return h of the highest layer."""
    return np.asarray(stack.cells[-1].output(states[-1]))


def start(stack: Stack, count: int) -> State:
    """Return the state outside a text, which is zero, so many times."""
    return map_leaves(lambda a: np.repeat(a[None], count, axis=0).T, stack.initial())


def read(net: Net, stack: Stack, begin: State, texts: Sequence[Steps]) -> list[State]:
    """Return the states of a stack on its way through each of some texts.

    Parameters
    ----------
    net, stack
        The net, and its stack that reads. Texts are in its own direction.
    begin
        The states before the texts, one for each.
    texts
        The steps of each; texts may have different lengths.

    Returns
    -------
    list of states
        For each text one more state than it has steps, in the last axis: `begin` is the first.
    """
    lengths = np.array([len(text) for text in texts])
    order = np.argsort(-lengths, kind="stable")  # at each step, those that go on stand first
    steps = np.arange(lengths.max(initial=0))
    going = steps[:, None] < lengths[order]
    padded = np.zeros((*going.shape, *texts[0].shape[1:]), np.int32)
    for column, row in enumerate(order):
        padded[: lengths[row], column] = texts[row]
    u, m = np.zeros((0, 0), np.float32), np.zeros(0, np.float32)
    if stack.cells:
        u, m = _shares(net, stack, padded[going])  # step by step
    counts = going.sum(axis=1).tolist()
    layers: list[list[State]] = []
    for cell, first in zip(stack.cells, begin, strict=True):
        if layers and counts:
            outputs = [cell.output(state) for state in layers[-1][1:]]
            u = np.ascontiguousarray(cell.input(np.concatenate(outputs, axis=1)).T)
        with few_blas_threads():
            layers.append(_run_cell(cell, take(first, order), u, m, counts))
    found: list[State] = [None] * len(texts)
    for column, row in enumerate(order.tolist()):
        here = slice(0, int(lengths[row]) + 1)
        found[row] = tuple(_column(states[here], column) for states in layers)
    return found


def follow(
    net: Net, states: State, symbols: Int[np.ndarray, "L n"], rows: Float[np.ndarray, "rows Bc"]
) -> tuple[list[State], State]:
    """Return the states of the forward stack on its way through L known symbols of n texts.

    It is faster than L calls of `step`, because only W_h h has to wait for the step before.

    Parameters
    ----------
    net, states
        The net, and its states before the symbols.
    symbols
        The symbols of each text.
    rows
        The `table` of the forward stack.

    Returns
    -------
    tops, last
        The states of the highest layer before all symbols and after each, and those of all layers
        after the last.
    """
    flat, counts = symbols.reshape(-1), [symbols.shape[1]] * len(symbols)
    u, m = rows[flat], (flat == UNKNOWN).astype(np.float32)
    way: list[State] = []
    last: list[State] = []
    for cell, state in zip(net.forward.cells, states, strict=True):
        if last and counts:
            outputs = [cell.output(below) for below in way[1:]]
            u = cell.input(np.concatenate(outputs, axis=1)).T
        way = _run_cell(cell, state, u, m, counts)
        last.append(way[-1])
    return way, tuple(last)


def step_log_probs(net: Net, symbols: Steps) -> Float[np.ndarray, " known"]:
    """Return the log-probability of each known symbol of a text, given all the others."""
    with ThreadPoolExecutor(1) as aside:
        job = aside.submit(read, net, net.forward, start(net.forward, 1), [symbols])
        (after,) = read(net, net.backward, start(net.backward, 1), [symbols[::-1]])
        (before,) = job.result()
    # The state before the last symbol has read all but one, and so has the one after the first.
    log_probs = predict(net, take(before, slice(0, -1)), take(after, slice(-2, None, -1)))
    known = np.flatnonzero(symbols != UNKNOWN)
    return log_probs[known, symbols[known]]


def _run_cell(
    cell: Cell,
    state: State,
    u: Float[np.ndarray, "n Bc"],
    m: Float[np.ndarray, " n"],
    counts: Sequence[int],
) -> list[State]:
    """Return the states before all steps and after the last; fewer texts go on at each step."""
    states, first, before = [state], 0, cell.output(state).shape[-1]
    for count in counts:
        if count < before:
            state = map_leaves(lambda a, n=count: a[:, :n], state)
            before = count
        now = slice(first, first + count)
        a = times(cell.W_h, np.asarray(cell.output(state)))
        state = cell.finish(state, a, u[now].T, m[now])
        states.append(state)
        first += count
    return states


def _column(states: Sequence[State], column: int) -> State:
    return map_leaves(lambda *parts: np.stack([a[:, column] for a in parts]).T, *states)
