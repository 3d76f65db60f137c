"""Cells: one recurrent step as an equation; `vmap` and `scan` make batches and sequences.

A step has three parts. `input` depends on the input alone (one matrix product for a whole
sequence), W_h h_{t−1} is the product that must wait for the previous step, and `finish` makes the
next state of both, element by element.

The equations are for arrays of JAX and of NumPy alike: `caesura.nets.eager` runs them with NumPy.
"""

from abc import abstractmethod
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float

from caesura.later import Module, jnp
from caesura.nets.arrays import Numbers, namespace, parts, sigmoid
from caesura.nets.initial import MaybeKey, Weights, from_itself, split, uniform, zeros
from caesura.nets.products import times

State = Any  # a pytree of arrays, zero at the start; each cell defines its own


def product(W: Float[Numbers, "N C"], x: Float[Numbers, "C *B"]) -> Float[Numbers, "N *B"]:
    """Return W x; with NumPy, a batch may stand in the last axis.

    JAX sums in float32, and as x Wᵀ, so that a GPU need not transpose a batch of x.
    """
    if isinstance(x, np.ndarray):
        return times(W, x) if x.ndim == 2 else W @ x
    return jnp.matmul(x, W.T, preferred_element_type=jnp.float32)


def plus(x: Float[Numbers, "N *B"], b: Float[Numbers, " N"]) -> Float[Numbers, "N *B"]:
    """Return x + b; with NumPy, a batch may stand in the last axis, and x is overwritten."""
    if isinstance(x, np.ndarray):
        np.add(x.T, b, out=x.T)
        return x
    return (x.T + b).T


class Cell(Module):
    """h_t from h_{t−1} and x_t; a cell with gates stacks their weights in one matrix.

    If the state and the input's share are zero, so is the next state.
    """

    blocks: ClassVar[int]  # the number of pre-activations of size c per step
    additive: ClassVar[bool] = True  # only the sum of a_t and u_t matters: one gradient for both
    # Whether the equations take arrays of NumPy, and `__init__` needs no key for the shapes alone.
    in_numpy: ClassVar[bool] = False

    W_x: Float[Weights, "Bc N"]
    W_h: Float[Weights, "Bc c"]
    b_h: Float[Weights, " Bc"]
    gate: Float[Weights, " Bc"] | None

    def __init__(self, key: MaybeKey, inputs: int, size: int, *, from_frame: bool, gated: bool):
        key_x, *keys_h = split(key, 1 + self.blocks)
        d_out = self.blocks * size
        s = 1.0 if from_frame else (6 / (inputs + size)) ** 0.5
        self.W_x = uniform(key_x, d_out, inputs, s)
        self.W_h = from_itself(keys_h, size)
        self.b_h = zeros(key, d_out)
        self.gate = zeros(key, d_out) if gated else None

    @property
    def size(self) -> int:
        """c, the number of hidden units."""
        return self.W_h.shape[1]

    def input(self, x_t: Float[Numbers, "N *B"]) -> Float[Numbers, "Bc *B"]:
        """Return u_t, the input's share of the pre-activations."""
        return plus(product(self.W_x, x_t), self.b_h)

    def __call__(
        self, state: State, u_t: Float[Numbers, "Bc *B"], m_t: Float[Numbers, "*B"]
    ) -> State:
        """Return the next state, from the input's share and the missing share of the frame."""
        return self.finish(state, product(self.W_h, self.output(state)), u_t, m_t)

    def finish(
        self,
        state: State,
        a_t: Float[Numbers, "Bc *B"],
        u_t: Float[Numbers, "Bc *B"],
        m_t: Float[Numbers, "*B"],
    ) -> State:
        """Return the next state, given a_t = W_h h_{t−1}.

        With NumPy, a batch may stand in the last axis, and a_t is overwritten.
        """
        if self.gate is not None:
            # The paper's discussion proposes that a missing step may gate the recurrence. The
            # factor is 1 where nothing is missing, and everywhere at the start of training.
            a_t = 2 * sigmoid(namespace(m_t).multiply.outer(m_t, self.gate).T) * a_t
        return self.activate(state, a_t, u_t)

    @abstractmethod
    def activate(
        self, state: State, a_t: Float[Numbers, "Bc *B"], u_t: Float[Numbers, "Bc *B"]
    ) -> State:
        """Return the next state by the cell's own equation, from both shares."""

    def initial(self) -> State:
        """Return the state outside the sequence, which is zero."""
        return self._zeros()

    def _zeros(self) -> Float[Numbers, " c"]:
        return namespace(self.W_h).zeros(self.size, np.float32)

    def output(self, state: State) -> Float[Numbers, "*axes"]:
        """Return h_t, the visible part of the state; also for batches and sequences of states."""
        return state


class Tanh(Cell):
    """The paper's cell."""

    blocks: ClassVar[int] = 1
    in_numpy: ClassVar[bool] = True

    def activate(
        self, state: State, a_t: Float[Numbers, "Bc *B"], u_t: Float[Numbers, "Bc *B"]
    ) -> State:
        if isinstance(a_t, np.ndarray):  # which has no gradients
            return np.tanh(a_t + u_t)
        from caesura.nets.gradients import tanh  # which imports JAX

        return tanh(a_t + u_t)  # Eqs. (2), (4), (5)


class GRU(Cell):
    """Gated recurrent unit (Cho et al. 2014), with the reset gate after the recurrent product."""

    blocks: ClassVar[int] = 3
    in_numpy: ClassVar[bool] = True
    additive: ClassVar[bool] = False

    def activate(
        self, state: State, a_t: Float[Numbers, "Bc *B"], u_t: Float[Numbers, "Bc *B"]
    ) -> State:
        u_r, u_z, u_n = parts(u_t, 3)
        a_r, a_z, a_n = parts(a_t, 3)
        r = sigmoid(u_r + a_r)
        z = sigmoid(u_z + a_z)
        n = namespace(a_t).tanh(u_n + r * a_n)
        return (1 - z) * n + z * state


class LSTMState(NamedTuple):
    """Output and memory."""

    h: Float[Numbers, "c *B"]
    c: Float[Numbers, "c *B"]


class LSTM(Cell):
    """Long short-term memory (Hochreiter & Schmidhuber 1997); the forget gate starts open."""

    blocks: ClassVar[int] = 4
    in_numpy: ClassVar[bool] = True

    def __init__(self, key: MaybeKey, inputs: int, size: int, *, from_frame: bool, gated: bool):
        super().__init__(key, inputs, size, from_frame=from_frame, gated=gated)
        if key is not None:
            self.b_h = self.b_h.at[size : 2 * size].set(1.0)

    def initial(self) -> LSTMState:
        return LSTMState(self._zeros(), self._zeros())

    def output(self, state: LSTMState) -> Float[Numbers, "*axes"]:
        return state.h

    def activate(
        self, state: LSTMState, a_t: Float[Numbers, "Bc *B"], u_t: Float[Numbers, "Bc *B"]
    ) -> LSTMState:
        if isinstance(a_t, np.ndarray):  # which has no gradients
            a_t += u_t
            return LSTMState(*_lstm_numpy(state.c, a_t))
        from caesura.nets.gradients import lstm  # which imports JAX

        return LSTMState(*lstm(state.c, a_t + u_t))


def _lstm_numpy(
    c: Float[np.ndarray, "c *B"], a: Float[np.ndarray, "Bc *B"]
) -> tuple[np.ndarray, np.ndarray]:
    """Return h and c as `gradients.lstm` does, with few calls; `a` is overwritten.

    The gates are σ(a) = ½ tanh(a / 2) + ½, so that one tanh serves them and g.
    """
    factor, shift = _gates(c.ndim, len(c))
    a *= factor
    np.tanh(a, out=a)
    a *= factor
    a += shift
    i, f, g, o = parts(a, 4)  # views
    new = f * c
    i *= g
    new += i
    return o * np.tanh(new), new


@cache
def _gates(axes: int, size: int) -> Float[np.ndarray, "2 Bc *ones"]:
    """Return ½ and ½ for i, f and o, which are gates, and 1 and 0 for g."""
    each = np.array([[0.5, 0.5, 1, 0.5], [0.5, 0.5, 0, 0.5]], np.float32)
    return np.repeat(each, size, axis=1).reshape(2, -1, *[1] * (axes - 1))


CELLS: dict[str, type[Cell]] = {"tanh": Tanh, "gru": GRU, "lstm": LSTM}
