"""The forward and the bidirectional RNN (Eqs. 1–5), and the one-gram as a net without cells.

All three are one class: a net has one stack of cells per direction, and a stack may be empty. The
two directions meet only at the head, so the prediction at t never depends on x_t.
"""

from typing import Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Bool, Float, Int64, Shaped

from caesura.errors import lookup
from caesura.later import Array, Module, PyTree, field, jax, jnp
from caesura.nets.arrays import Numbers, namespace
from caesura.nets.cells import CELLS, Cell, State
from caesura.nets.frames import Continuous, Frame
from caesura.nets.heads import HEADS, make_head
from caesura.nets.heads.base import Head
from caesura.nets.heads.histogram import TINY, Histogram
from caesura.nets.heads.linear import Constant
from caesura.nets.initial import MaybeKey, Weights, split
from caesura.nets.memory import Memory

NetName = Literal["bidirectional", "forward", "onegram"]
MissingInput = Literal["none", "added", "each", "gating"]


class Input(NamedTuple):
    """The input of the cells at a step: the encoded frame, and the unknown share of the frame."""

    x: Float[Numbers, "*T N"]
    m: Float[Numbers, "*T"]


class States(NamedTuple):
    """The states between the steps: [t] of `forward` stands before step t, [t + 1] of `backward`
    after it."""

    forward: PyTree[Float[Array, "T+1 ..."]]
    backward: PyTree[Float[Array, "T+1 ..."]]


class Stack(Module):
    """Layers of cells in one direction of time, each reading the one below.

    If the head needs it, the last part of the state is a memory of the frames.
    """

    cells: tuple[Cell, ...]
    memory: Memory | None

    def __init__(
        self,
        key: MaybeKey,
        cell: type[Cell],
        inputs: int,
        size: int,
        layers: int,
        *,
        gated: bool,
        memory: Memory | None = None,
    ):
        self.memory = memory
        self.cells = tuple(
            cell(k, size if i else inputs, size, from_frame=i == 0, gated=gated)
            for i, k in enumerate(split(key, layers))
        )

    def initial(self) -> State:
        """Return the state outside the sequence."""
        return tuple(part.initial() for part in (*self.cells, self.memory) if part is not None)

    def output(self, state: State) -> Float[Array, " c"]:
        """Return h of the top layer and the memory, concatenated; nothing from an empty stack."""
        if not self.cells:
            return jnp.zeros(0)
        top = len(self.cells) - 1
        h = self.cells[top].output(state[top])
        return h if self.memory is None else jnp.concatenate([h, state[-1].flat()])

    def step(self, state: State, inputs: Input) -> State:
        """Return the state after one more step of time."""
        x, states = inputs.x, []
        for cell, old in zip(self.cells, state[: len(self.cells)], strict=True):
            states.append(cell(old, cell.input(x), inputs.m))
            x = cell.output(states[-1])
        if self.memory is not None:
            states.append(self.memory.step(state[-1], inputs.x))
        return tuple(states)

    def run(
        self, start: State, inputs: Input, valid: Bool[Array, " T"], *, reverse: bool
    ) -> PyTree[Float[Array, "T+1 ..."]]:
        """Return the states between all steps, with `start`; padding leaves a state unchanged."""
        xs, layers = inputs.x, []
        for cell, first in zip(self.cells, start[: len(self.cells)], strict=True):
            layers.append(_run_cell(cell, first, Input(xs, inputs.m), valid, reverse))
            after = jax.tree.map(lambda h: h[:-1] if reverse else h[1:], layers[-1])
            xs = jax.vmap(cell.output)(after)
        if self.memory is not None:
            layers.append(self.memory.run(start[-1], inputs.x, valid, reverse=reverse))
        return tuple(layers)


def _run_cell(
    cell: Cell, start: State, inputs: Input, valid: Bool[Array, " T"], reverse: bool
) -> PyTree[Float[Array, "T+1 ..."]]:
    def step(state: State, now: tuple[Array, Array, Array]) -> tuple[State, State]:
        u_t, m_t, valid_t = now
        new = cell(state, u_t, m_t)
        new = jax.tree.map(lambda n, o: jnp.where(valid_t, n, o), new, state)
        return new, new

    now = (jax.vmap(cell.input)(inputs.x), inputs.m, valid)
    _, states = jax.lax.scan(step, start, now, reverse=reverse)

    def with_start(s: Array, h: Array) -> Array:
        return jnp.concatenate([h, s[None]] if reverse else [s[None], h])

    return jax.tree.map(with_start, start, states)


class Net(Module):
    """Two stacks, either of which may be empty, and a head that joins them."""

    forward: Stack
    backward: Stack
    head: Head
    missing_input: MissingInput = field(static=True)

    @property
    def name(self) -> NetName:
        """What the net is, by the directions that it has cells for."""
        if self.backward.cells:
            return "bidirectional"
        return "forward" if self.forward.cells else "onegram"

    @property
    def frame(self) -> Frame:
        """The frames that the net is for."""
        return self.head.frame

    def encode(self, values: Shaped[Numbers, "D *B"], unknown: Bool[Numbers, "D *B"]) -> Input:
        """Return the input of the cells for a frame whose `unknown` values must not be seen.

        Arrays may be of NumPy, with a batch in the last axis.
        """
        xp = namespace(values)
        unknown = unknown | self.frame.unknown(values)
        x, m = self.frame.encode(values, unknown), xp.mean(unknown, axis=0, dtype=np.float32)
        if self.missing_input == "added":
            # The paper's missing-value token: one more input, 1 where the frame is missing.
            x = xp.concatenate([x, m[None]])
        elif self.missing_input == "each":
            # One token per component, scaled so that together they weigh as much as one.
            x = xp.concatenate([x, unknown.astype(x.dtype) / len(unknown) ** 0.5])
        return Input(x, m)

    def context(self, before: State, after: State) -> Float[Array, " C"]:
        """Return h^f_{t−1} and h^b_{t+1}, concatenated: what the head knows of the other steps.

        Each is followed by the memory of its direction, if the head needs one.
        """
        return jnp.concatenate([self.forward.output(before), self.backward.output(after)])

    def inputs(self, values: Shaped[Array, "T D"], unknown: Bool[Array, "T D"]) -> Input:
        """Return the inputs of the cells at all steps."""
        return jax.vmap(self.encode)(values, unknown)

    def initial(self) -> States:
        """Return the states outside the sequence, which are zero."""
        return States(self.forward.initial(), self.backward.initial())

    def states(self, inputs: Input, valid: Bool[Array, " T"]) -> States:
        """Return the states between all steps of a sequence."""
        before, after = self.initial()
        return States(
            self.forward.run(before, inputs, valid, reverse=False),  # Eqs. (2), (4)
            self.backward.run(after, inputs, valid, reverse=True),  # Eq. (5)
        )

    def contexts(self, states: States) -> Float[Array, "T C"]:
        """Return the context of every step: h^f_{t−1} and h^b_{t+1}, never h_t."""
        before = jax.tree.map(lambda h: h[:-1], states.forward)
        after = jax.tree.map(lambda h: h[1:], states.backward)
        return jax.vmap(self.context)(before, after)


def bidirectional(
    key: MaybeKey,
    frame: Frame,
    *,
    head: str,
    hidden: int,
    cell: str = "tanh",
    layers: int = 1,
    head_hidden: int = 0,
    missing_input: MissingInput = "added",
) -> Net:
    """Return a new BRNN, Eqs. (3)–(5): y_t depends on h^f_{t−1} and h^b_{t+1}."""
    make_cell = lookup(CELLS, cell, "cell")
    lookup(dict.fromkeys(get_args(MissingInput)), missing_input, "missing-value input")
    key_f, key_b, key_y = split(key, 3)
    inputs = frame.inputs + {"added": 1, "each": frame.components}.get(missing_input, 0)
    gated = missing_input == "gating"
    memory = _memory(head, frame)
    return Net(
        Stack(key_f, make_cell, inputs, hidden, layers, gated=gated, memory=memory),
        Stack(key_b, make_cell, inputs, hidden, layers, gated=gated, memory=memory),
        make_head(head, key_y, frame, (hidden, hidden), head_hidden),
        missing_input,
    )


def unidirectional(
    key: MaybeKey,
    frame: Frame,
    *,
    head: str,
    hidden: int,
    cell: str = "tanh",
    layers: int = 1,
    head_hidden: int = 0,
) -> Net:
    """Return a new forward RNN, Eqs. (1) and (2) with x_t predicted from h_{t−1}."""
    make_cell = lookup(CELLS, cell, "cell")
    key_f, key_y = split(key, 2)
    memory = _memory(head, frame)
    stack = Stack(key_f, make_cell, frame.inputs, hidden, layers, gated=False, memory=memory)
    return Net(stack, _no_layers(), make_head(head, key_y, frame, (hidden,), head_hidden), "none")


def _memory(head: str, frame: Frame) -> Memory | None:
    """Return a memory for the heads that need the nearest known values."""
    remembers = lookup(HEADS, head, "head").remembers
    return Memory(frame) if remembers and isinstance(frame, Continuous) else None


def onegram(frame: Frame, values: Shaped[np.ndarray, "T D"]) -> Net:
    """Return the one-gram: the frequencies of `values`."""
    return onegram_of(frame, count(frame, values))


def count(frame: Frame, values: Shaped[np.ndarray, "T D"]) -> Int64[np.ndarray, "D K"]:
    """Return how often each component takes each of its K values."""
    known = (np.asarray(frame.index(column[~frame.unknown(column)])) for column in values.T)
    return np.stack([np.bincount(column, minlength=frame.cardinality) for column in known])


def onegram_of(frame: Frame, counts: Int64[np.ndarray, "D K"]) -> Net:
    """Return the one-gram of such counts, plus pseudo-counts so that nothing is impossible."""
    more = counts + frame.unseen
    probs = np.maximum(more / more.sum(axis=1, keepdims=True), TINY)
    return constant(frame, jnp.asarray(np.log(probs), jnp.float32))


def constant(frame: Frame, log_probs: Float[Weights, "D K"]) -> Net:
    """Return a net that gives the same distribution at every step."""
    head = Histogram if isinstance(frame, Continuous) else Constant
    return Net(_no_layers(), _no_layers(), head(frame, log_probs), "none")


def _no_layers() -> Stack:
    return Stack(None, CELLS["tanh"], 0, 0, layers=0, gated=False)
