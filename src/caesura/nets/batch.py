"""The nets over whole batches of sequences, fast and differentiable: what training needs.

`Net.contexts` says what a net computes, one sequence at a time; this computes the same for many.
Both directions run in one scan, and the gradient of W_h is one matrix product after the backward
scan instead of a sum inside it.
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, DTypeLike, Float, PRNGKeyArray, PyTree

from caesura.nets.cells import Cell, State
from caesura.nets.rnn import Input, Net


class Tuning(NamedTuple):
    """How to compute on the hardware at hand; the mathematics is the same."""

    dtype: DTypeLike = jnp.float32  # of what is multiplied and kept; weights and sums are float32
    unroll: int = 1  # steps of the scan in one turn of its loop
    width: int = 1  # hidden units are padded to a multiple of it, with units that stay at zero


def contexts(
    net: Net,
    inputs: Input,
    valid: Bool[Array, "T B"],
    tuning: Tuning,
    key: PRNGKeyArray,
    dropout: float = 0.0,
) -> Float[Array, "T B C"]:
    """The context of every step of a batch: h^f_{t−1} and h^b_{t+1}, as `Net.contexts` gives them.

    Padding is behind a sequence. Of what a layer shows to others, a share of `dropout` is lost.
    """
    reverses = [r for r, stack in ((False, net.forward), (True, net.backward)) if stack.cells]
    stacks = [net.backward if reverse else net.forward for reverse in reverses]
    m, valid = (jnp.stack([_flip(a, r) for r in reverses], axis=1) for a in (inputs.m, valid))
    below = [_flip(inputs.x, reverse) for reverse in reverses]
    keys = jax.random.split(key, len(stacks[0].cells))
    for key_layer, *cells in zip(keys, *(stack.cells for stack in stacks), strict=True):
        h = _run_layer(cells, below, m, valid, tuning)
        if dropout:
            kept = jax.random.bernoulli(key_layer, 1 - dropout, h.shape)
            h = jnp.where(kept, h / (1 - dropout), 0)
        below = [h[:, way] for way in range(len(cells))]
    # The state before a step is that behind the step before; outside the sequence it is zero.
    shifted = [jnp.concatenate([jnp.zeros_like(h[:1]), h[:-1]]) for h in below]
    return jnp.concatenate([_flip(h, r) for h, r in zip(shifted, reverses, strict=True)], axis=-1)


def _flip(array: Array, reverse: bool) -> Array:
    return array[::-1] if reverse else array


def _run_layer(
    cells: list[Cell],
    below: list[Float[Array, "T B N"]],
    m: Float[Array, "T ways B"],
    valid: Bool[Array, "T ways B"],
    tuning: Tuning,
) -> Float[Array, "T ways B c"]:
    """h of one layer in each direction, in its own order of time."""
    wide = [_widen(cell, -cell.size % tuning.width) for cell in cells]
    u = [_product(x, cell.W_x.T, tuning) + cell.b_h for x, cell in zip(below, wide, strict=True)]
    start = jax.tree.map(lambda h: jnp.zeros((m.shape[2], *h.shape)), wide[0].initial())
    each: Any = jax.tree.map(lambda *a: jnp.stack(a), *wide)
    rest = eqx.tree_at(lambda c: (c.W_x, c.W_h, c.b_h), each, replace=(None, None, None))
    every_way = jax.vmap(partial(_recur, tuning, start), in_axes=(0, 0, 1, 1, 1), out_axes=1)
    states = every_way(rest, each.W_h, jnp.stack(u, axis=1).astype(tuning.dtype), m, valid)
    return wide[0].output(states)[..., : cells[0].size]


def _widen(cell: Cell, more: int) -> Cell:
    """The cell with `more` units whose weights are zero: they stay at zero and move no other."""

    def rows(a: Array) -> Array:  # all arrays of a cell hold blocks of one row for each unit
        blocks = a.reshape(-1, cell.size, *a.shape[1:])
        widths = [(0, 0), (0, more)] + [(0, 0)] * (a.ndim - 1)
        return jnp.pad(blocks, widths).reshape(-1, *a.shape[1:])

    wide = jax.tree.map(rows, cell)
    return eqx.tree_at(lambda c: c.W_h, wide, jnp.pad(wide.W_h, [(0, 0), (0, more)]))


def _product(a: Array, b: Array, tuning: Tuning) -> Array:
    a, b = a.astype(tuning.dtype), b.astype(tuning.dtype)
    return jnp.matmul(a, b, preferred_element_type=jnp.float32)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _recur(
    tuning: Tuning,
    start: State,
    cell: Cell,
    W_h: Float[Array, "Bc c"],
    u: Float[Array, "T B Bc"],
    m: Float[Array, "T B"],
    valid: Bool[Array, "T B"],
) -> PyTree[Float[Array, "T B ..."]]:
    """The states behind all steps of one layer in one direction; zero on padding.

    The cell comes without the weights that `u` and `W_h` stand for: what it has left is its own.
    """
    return _recur_forward(tuning, start, cell, W_h, u, m, valid)[0]


def _finish(cell: Cell, state: State, a_t: Array, u_t: Array, m_t: Array, valid_t: Array) -> State:
    new = jax.vmap(cell.finish)(state, a_t, u_t, m_t)
    return jax.tree.map(lambda h: jnp.where(valid_t[:, None], h, 0), new)


def _recur_forward(
    tuning: Tuning, start: State, cell: Cell, W_h: Array, u: Array, m: Array, valid: Array
) -> tuple[State, Any]:
    W = W_h.T.astype(tuning.dtype)

    def step(state: State, now: tuple[Array, ...]) -> tuple[State, Any]:
        a_t = _product(cell.output(state), W, tuning)
        new = _finish(cell, state, a_t, *now)
        return new, _cast((new, a_t), tuning.dtype)

    _, (states, a) = jax.lax.scan(step, start, (u, m, valid), unroll=tuning.unroll)
    return states, (cell, W_h, u, m, valid, states, a)


def _recur_backward(tuning: Tuning, start: State, residuals: Any, d_states: State) -> Any:
    cell, W_h, u, m, valid, states, a = residuals
    before = jax.tree.map(
        lambda s, h: jnp.concatenate([s[None].astype(h.dtype), h[:-1]]), start, states
    )
    W = W_h.astype(tuning.dtype)

    def step(carry: tuple[State, Cell], now: Any) -> tuple[Any, Any]:
        d_behind, d_cell = carry
        d_state, state, a_t, u_t, m_t, valid_t = now
        d_new = jax.tree.map(jnp.add, d_behind, d_state)
        given = _cast((state, a_t, u_t), jnp.float32)
        _, back = jax.vjp(lambda *x: _finish(*x, m_t, valid_t), cell, *given)
        d_cell_t, d_state, d_a, d_u = back(d_new)
        _, into_state = jax.vjp(cell.output, given[0])
        (d_through_W,) = into_state(_product(d_a, W, tuning))
        d_state = jax.tree.map(jnp.add, d_state, d_through_W)
        d_cell = jax.tree.map(jnp.add, d_cell, d_cell_t)
        return (d_state, d_cell), _cast((d_a, d_u), tuning.dtype)

    nothing = jax.tree.map(jnp.zeros_like, (start, cell))
    now = (d_states, before, a, u, m, valid)
    (_, d_cell), (d_a, d_u) = jax.lax.scan(step, nothing, now, reverse=True, unroll=tuning.unroll)
    d_W_h = jnp.einsum("tbi,tbj->ij", d_a, cell.output(before), preferred_element_type=jnp.float32)
    return d_cell, d_W_h, d_u, None, None


def _cast(tree: PyTree, dtype: DTypeLike) -> PyTree:
    return jax.tree.map(lambda a: a.astype(dtype), tree)


_recur.defvjp(_recur_forward, _recur_backward)
