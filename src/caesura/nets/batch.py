"""The nets over batches of sequences, fast and differentiable, for training.

`contexts` computes the same as `Net.contexts`, for many sequences. Both directions run in one scan,
and the gradient of all weights is one matrix product after the backward scan, instead of a sum
inside it. What such products read is laid out for a CPU: to transpose a large array takes as long
as to multiply it.
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, DTypeLike, Float, PRNGKeyArray, PyTree

from caesura.hardware import Tuning
from caesura.nets.cells import Cell, State
from caesura.nets.memory import Memory
from caesura.nets.rnn import Net


class Inputs(NamedTuple):
    """The inputs of the cells at every step, and which steps are not padding."""

    x: Float[Array, "T B N"]
    m: Float[Array, "T B"]
    valid: Bool[Array, "T B"]


def contexts(
    net: Net,
    inputs: Inputs,
    tuning: Tuning,
    key: PRNGKeyArray,
    dropout: float = 0.0,
    forwards: Inputs | None = None,
    backwards: Inputs | None = None,
) -> Float[Array, "T B C"]:
    """Return the context of every step of a batch, h^f_{t−1} and h^b_{t+1}, as `Net.contexts`.

    Padding must be at the end of a sequence. A share of `dropout` of each layer's outputs is
    dropped. The cells that read forwards or backwards may have inputs of their own.
    """
    of = {False: forwards or inputs, True: backwards or inputs}
    reverses = [r for r, stack in ((False, net.forward), (True, net.backward)) if stack.cells]
    stacks = [net.backward if reverse else net.forward for reverse in reverses]
    m = jnp.stack([_flip(of[reverse].m, reverse) for reverse in reverses], axis=1)
    valid = jnp.stack([_flip(inputs.valid, reverse) for reverse in reverses], axis=1)
    below = [_flip(of[reverse].x, reverse) for reverse in reverses]
    layers = [list(cells) for cells in zip(*(stack.cells for stack in stacks), strict=True)]
    if apart := bool(tuning.ways) and len(stacks) == 2:
        # This device gets its direction of all rows, and gives away the other one of its rows.
        exchange = partial(jax.lax.all_to_all, axis_name=tuning.ways, tiled=True)
        x, m, valid = (
            exchange(a, split_axis=1, concat_axis=2) for a in (jnp.stack(below, 1), m, valid)
        )
        first = jax.lax.axis_index(tuning.ways) == 0
        below = [x[:, 0]]
        layers = [[jax.tree.map(partial(jnp.where, first), *cells)] for cells in layers]
    for key_layer, cells in zip(jax.random.split(key, len(layers)), layers, strict=True):
        h = run_layer(cells, below, m, valid, tuning)
        if dropout:
            kept = jax.random.bernoulli(key_layer, 1 - dropout, h.shape)
            h = jnp.where(kept, h / (1 - dropout), 0)
        below = [h[:, way] for way in range(len(cells))]
    if apart:
        h = exchange(below[0][:, None], split_axis=2, concat_axis=1)
        below = [h[:, 0], h[:, 1]]
    # The state before a step is the one after the previous step; it starts at zero.
    shifted = [jnp.concatenate([jnp.zeros_like(h[:1]), h[:-1]]) for h in below]
    ways: list[Array] = []
    for stack, h, reverse in zip(stacks, shifted, reverses, strict=True):
        ways.append(_flip(h, reverse))
        if stack.memory is not None:
            ways.append(_remembered(stack.memory, of[reverse], reverse))
    return jnp.concatenate(ways, axis=-1)


def _remembered(memory: Memory, inputs: Inputs, reverse: bool) -> Float[Array, "T B M"]:
    """Return what a memory holds before each step of its own direction."""
    x = inputs.x[:, :, : memory.frame.inputs]  # without the missing-value token
    before = memory.before_all(_flip(x, reverse), _flip(inputs.valid, reverse)).flat()
    return _flip(before, reverse)


def _flip(array: Array, reverse: bool) -> Array:
    return array[::-1] if reverse else array


def run_layer(
    cells: list[Cell],
    below: list[Float[Array, "T B N"]],
    m: Float[Array, "T ways B"],
    valid: Bool[Array, "T ways B"],
    tuning: Tuning,
) -> Float[Array, "T ways B c"]:
    """Return h of one layer in each direction, in that direction's order of time."""
    wide = [_widen(cell, -cell.size % tuning.width) for cell in cells]
    each: Any = jax.tree.map(lambda *a: jnp.stack(a), *wide)
    # The bias is the weight of one more input, which is 1. All inputs are zero in padding, so the
    # states stay zero until a reversed sequence begins.
    W_x = jnp.concatenate([each.W_x, each.b_h[..., None]], axis=-1)
    x = jnp.stack([jnp.concatenate([a, jnp.ones_like(a[..., :1])], axis=-1) for a in below])
    x = jnp.where(jnp.moveaxis(valid, 1, 0)[..., None], x, 0)
    more = -x.shape[-1] % tuning.width
    W_x, x = (jnp.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, more)]) for a in (W_x, x))
    start = jax.tree.map(lambda h: jnp.zeros((m.shape[2], h.size)), wide[0].initial())
    rest = eqx.tree_at(lambda c: (c.W_x, c.W_h, c.b_h), each, replace=(None, None, None))
    every_way = jax.vmap(partial(_recur, tuning), in_axes=(0, 0, 0, None, 0, 1), out_axes=1)
    h = wide[0].output(every_way(rest, each.W_h, W_x, start, x, m))
    return h[..., : cells[0].size]


def _widen(cell: Cell, more: int) -> Cell:
    """Return the cell with `more` units of zero weight, which stay zero and change no other."""

    def rows(a: Array) -> Array:  # all arrays of a cell are blocks with one row per unit
        blocks = a.reshape(-1, cell.size, *a.shape[1:])
        widths = [(0, 0), (0, more)] + [(0, 0)] * (a.ndim - 1)
        return jnp.pad(blocks, widths).reshape(-1, *a.shape[1:])

    wide = jax.tree.map(rows, cell)
    return eqx.tree_at(lambda c: c.W_h, wide, jnp.pad(wide.W_h, [(0, 0), (0, more)]))


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _recur(
    tuning: Tuning,
    cell: Cell,
    W_h: Float[Array, "Bc c"],
    W_x: Float[Array, "Bc N"],
    start: State,
    x: Float[Array, "T B N"],
    m: Float[Array, "T B"],
) -> PyTree[Float[Array, "T B c"]]:
    """Return the states after all steps of one layer in one direction.

    `cell` comes without the weights that `W_h` and `W_x` are; `W_x` has the bias as a column.
    """
    return _recur_forward(tuning, cell, W_h, W_x, start, x, m)[0]


def _recur_forward(
    tuning: Tuning, cell: Cell, W_h: Array, W_x: Array, start: State, x: Array, m: Array
) -> tuple[State, Any]:
    u = tuning.einsum("tbj,ij->tbi", x, W_x).astype(tuning.dtype)
    # Rounded here and not in the loop, each turn of which reads all of it. A CPU is faster with
    # contiguous rows.
    W_h_T = jax.lax.optimization_barrier(W_h.T.astype(tuning.dtype))

    def step(state: State, now: tuple[Array, Array]) -> tuple[State, Any]:
        u_t, m_t = now

        def finish(cell: Cell, state: State, a_t: Array, u_t: Array) -> State:
            return jax.vmap(cell.finish)(state, a_t, u_t, m_t)

        a_t = tuning.einsum("bj,ji->bi", cell.output(state), W_h_T)
        new, back = jax.vjp(finish, cell, state, a_t, u_t.astype(jnp.float32))
        return new, _cast((new, back), tuning.dtype)

    _, (states, back) = jax.lax.scan(step, start, (u, m), unroll=tuning.unroll)
    return states, (cell, W_h, W_x, start, x, states, back)


def _recur_backward(tuning: Tuning, residuals: Any, d_states: State) -> Any:
    cell, W_h, W_x, start, x, states, back = residuals
    W = W_h.astype(tuning.dtype)
    alike = cell.additive and cell.gate is None

    def step(carry: tuple[State, Cell], now: Any) -> tuple[Any, Any]:
        d_after, d_cell = carry
        d_state, back_t = _cast(now, jnp.float32)
        d_cell_t, d_state, d_a, d_u = back_t(jax.tree.map(jnp.add, d_after, d_state))
        _, into_state = jax.vjp(cell.output, start)
        (d_through_W,) = into_state(tuning.einsum("bi,ij->bj", d_a, W))
        d_state = jax.tree.map(jnp.add, d_state, d_through_W)
        d_cell = jax.tree.map(jnp.add, d_cell, d_cell_t)
        return (d_state, d_cell), _cast((d_u,) if alike else (d_u, d_a), tuning.dtype)

    nothing = jax.tree.map(jnp.zeros_like, (start, cell))
    now = (d_states, back)
    (_, d_cell), d = jax.lax.scan(step, nothing, now, reverse=True, unroll=tuning.unroll)
    h = cell.output(states)
    h = jnp.concatenate([jnp.zeros_like(h[:1]), h[:-1]])  # before each step
    if alike:
        (d_u,) = d
        both = _of_weights(tuning, d_u, jnp.concatenate([h, x.astype(h.dtype)], axis=-1))
        d_W_h, d_W_x = jnp.split(both, [h.shape[-1]], axis=-1)
    else:
        d_u, d_a = d
        d_W_h, d_W_x = _of_weights(tuning, d_a, h), _of_weights(tuning, d_u, x)
    d_x = tuning.einsum("tbi,ij->tbj", d_u, W_x).astype(x.dtype)
    return d_cell, d_W_h, d_W_x, None, d_x, None


def _of_weights(
    tuning: Tuning, d: Float[Array, "T B i"], x: Float[Array, "T B j"]
) -> Float[Array, "i j"]:
    """Return the gradient of W in W x; a CPU transposes x for it, which is smaller than d."""
    return tuning.einsum("tbj,tbi->ji", x, d).T


def _cast(tree: PyTree, dtype: DTypeLike) -> PyTree:
    return jax.tree.map(lambda a: a.astype(dtype), tree)


_recur.defvjp(_recur_forward, _recur_backward)
