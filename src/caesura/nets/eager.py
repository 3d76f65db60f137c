"""Nets of symbols, run by NumPy without compilation, for arrays of any size.

The cells and the heads are those of `caesura.nets.rnn`, with NumPy arrays as weights. Only the
loops over steps are here. A batch stands in the last axis: W_h h is then a product as it is.
"""

from collections.abc import Sequence
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from caesura.hardware import few_blas_threads
from caesura.nets.cells import Cell, State
from caesura.nets.heads.base import Query
from caesura.nets.pair import Pair
from caesura.nets.rnn import Input, Net, Stack
from caesura.sequence import UNKNOWN

AnyNet = TypeVar("AnyNet", bound=Net | Pair)
Symbols = Int[np.ndarray, " _"]  # `UNKNOWN` for what is missing or not in the alphabet


def with_numpy(net: AnyNet) -> AnyNet:
    """Return the net with NumPy arrays as weights; on a CPU, they share memory with the old."""
    return jax.tree.map(np.asarray, net)


def take(states: State, columns: Int[np.ndarray, " n"] | slice) -> State:
    """Return some of a batch of states."""
    return jax.tree.map(lambda a: a[..., columns], states)


def join(states: Sequence[State]) -> State:
    """Return several batches of states as one."""
    if len(states) == 1:
        return states[0]
    return jax.tree.map(lambda *parts: np.concatenate(parts, axis=-1), *states)


def encode(net: Net, symbols: Symbols) -> Input:
    """Return the inputs of the cells: as `Net.encode`, with a batch in the last axis."""
    unknown = symbols == UNKNOWN
    x = np.zeros((net.forward.cells[0].W_x.shape[1], len(symbols)), np.float32)
    known = np.flatnonzero(~unknown)
    x[symbols[known], known] = 1
    if net.missing_input in ("added", "each"):  # with one component, both are the same
        x[-1] = unknown
    return Input(x, unknown.astype(np.float32))


def step(net: Net, states: State, symbols: Symbols) -> State:
    """Return the states of the forward stack after one more symbol each."""
    x, m = encode(net, symbols)
    found = []
    for cell, state in zip(net.forward.cells, states, strict=True):
        of = type(cell)  # Equinox is slow to look up methods of an object
        a = cell.W_h @ of.output(cell, state)
        found.append(of.finish(cell, state, a, of.input(cell, x), m))
        x = np.asarray(of.output(cell, found[-1]))
    return tuple(found)


def predict(net: Net, before: State, after: State) -> Float[np.ndarray, "n K"]:
    """Return the log-probabilities of a symbol, from the states before and after it.

    A forward net has no states after it: `after` is empty.
    """
    context = _output(net.forward, before)
    if net.backward.cells:
        context = np.concatenate([context, _output(net.backward, after)])
    if net.head.in_numpy:
        nothing = np.zeros((1, context.shape[1]), np.int32)
        return net.head.marginals(Query(context, nothing, nothing == 0))[0].T

    def one(context: jax.Array) -> jax.Array:
        nothing = np.zeros(1, np.int32)
        return net.head.marginals(Query(context, nothing, nothing == 0))[0]

    return np.asarray(jax.vmap(one)(jnp.asarray(context.T)))


def _output(stack: Stack, states: State) -> Float[np.ndarray, "c n"]:
    return np.asarray(stack.cells[-1].output(states[-1]))


def start(stack: Stack, count: int) -> State:
    """Return the state outside a text, which is zero, so many times."""
    shapes = jax.eval_shape(stack.initial)
    return jax.tree.map(lambda a: np.zeros((*a.shape, count), np.float32), shapes)


def read(net: Net, stack: Stack, begin: State, texts: Sequence[Symbols]) -> list[State]:
    """Return the states of a stack on its way through each of some texts.

    Parameters
    ----------
    net, stack
        The net, and its stack that reads. Texts are in its own direction.
    begin
        The states before the texts, one for each.
    texts
        The symbols; texts may have different lengths.

    Returns
    -------
    list of states
        For each text one more state than it has symbols, in the last axis: `begin` is the first.
    """
    lengths = np.array([len(text) for text in texts])
    order = np.argsort(-lengths, kind="stable")  # at each step, those that go on stand first
    steps = np.arange(lengths.max(initial=0))
    going = steps[:, None] < lengths[order]
    padded = np.zeros(going.shape, np.int32)
    for column, row in enumerate(order):
        padded[: lengths[row], column] = texts[row]
    x, m = encode(net, padded[going])  # step by step
    counts = going.sum(axis=1).tolist()
    layers = []
    for cell, first in zip(stack.cells, begin, strict=True):
        with few_blas_threads():
            states = _run_cell(cell, take(first, order), Input(x, m), counts)
        layers.append(states)
        output = type(cell).output
        outputs = [np.asarray(output(cell, state)) for state in states[1:]]
        x = np.concatenate(outputs, axis=1) if outputs else np.zeros((cell.size, 0), np.float32)
    found: list[State] = [None] * len(texts)
    for column, row in enumerate(order.tolist()):
        here = slice(0, int(lengths[row]) + 1)
        found[row] = tuple(_column(states[here], column) for states in layers)
    return found


def step_log_probs(net: Net, symbols: Symbols) -> Float[np.ndarray, " known"]:
    """Return the log-probability of each known symbol of a text, given all the others."""
    (before,) = read(net, net.forward, start(net.forward, 1), [symbols])
    (after,) = read(net, net.backward, start(net.backward, 1), [symbols[::-1]])
    # The state before the last symbol has read all but one, and so has the one after the first.
    log_probs = predict(net, take(before, slice(0, -1)), take(after, slice(-2, None, -1)))
    known = np.flatnonzero(symbols != UNKNOWN)
    return log_probs[known, symbols[known]]


def _run_cell(cell: Cell, state: State, inputs: Input, counts: Sequence[int]) -> list[State]:
    """Return the states before all steps and after the last; fewer texts go on at each step."""
    u, W_h = np.ascontiguousarray(cell.input(inputs.x).T), cell.W_h
    finish, output = type(cell).finish, type(cell).output
    states, first, before = [state], 0, jax.tree.leaves(state)[0].shape[-1]
    for count in counts:
        if count < before:
            state = jax.tree.map(lambda a, n=count: a[:, :n], state)
            before = count
        now = slice(first, first + count)
        state = finish(cell, state, W_h @ output(cell, state), u[now].T, inputs.m[now])
        states.append(state)
        first += count
    return states


def _column(states: Sequence[State], column: int) -> State:
    return jax.tree.map(lambda *parts: np.stack([a[:, column] for a in parts], axis=1), *states)
