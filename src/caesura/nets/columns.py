"""The distributions of missing numbers in single columns, by a net whose head weighs predictions.

`one_pass` runs with NumPy, for use: nothing is compiled. `distributions` is the same for training.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from jaxtyping import Bool, Float

from caesura.hardware import Tuning, few_blas_threads
from caesura.later import Array, jax
from caesura.nets.batch import Inputs, contexts
from caesura.nets.heads.logistics import Logistics
from caesura.nets.heads.weighing import Weighing
from caesura.nets.memory import Remembered, remembered_before
from caesura.nets.rnn import Input, Net, Stack


def one_pass(
    net: Net, frames: Float[np.ndarray, "T B D"], missing: Bool[np.ndarray, "T B"]
) -> Logistics:
    """Return the distribution of each missing number, given everything that is observed.

    Parameters
    ----------
    net
        A bidirectional net with NumPy arrays as weights.
    frames
        The number of each step and what informs about it. What is missing may be anything.
    missing
        The numbers that nothing is known of.

    Returns
    -------
    Logistics
        Of the missing numbers, step by step, in the first axis.
    """
    steps = len(frames)
    unknown = np.zeros(frames.shape, bool)
    unknown[..., 0] = missing
    values = np.moveaxis(frames, 2, 0)
    inputs = net.encode(
        values.reshape(len(values), -1), np.moveaxis(unknown, 2, 0).reshape(len(values), -1)
    )
    with few_blas_threads(), ThreadPoolExecutor(1) as aside:
        backwards = aside.submit(_top, net.backward, inputs, steps, reverse=True)
        before, after = _top(net.forward, inputs, steps, reverse=False), backwards.result()
    where = np.nonzero(missing)
    states = [side[where[0], :, where[1]].T for side in (before, after)]
    known = ~missing[:, :, None]
    own = np.where(missing, 0.0, frames[..., 0]).astype(np.float32)[:, :, None]
    left = remembered_before(own, known)
    right = Remembered(*(a[::-1] for a in remembered_before(own[::-1], known[::-1])))
    sides = [Remembered(*(a[*where, :, 0].T for a in side)) for side in (left, right)]
    head = net.head
    assert isinstance(head, Weighing)
    return head.weigh(states, sides, frames[where].T)


def _top(stack: Stack, inputs: Input, steps: int, reverse: bool) -> Float[np.ndarray, "T c B"]:
    """Return h of the top layer before each step, in its own direction."""
    x = np.moveaxis(inputs.x.reshape(len(inputs.x), steps, -1), 1, 0)
    m = inputs.m.reshape(steps, -1)
    x, m = (x[::-1], m[::-1]) if reverse else (x, m)
    x = np.ascontiguousarray(x)
    for cell in stack.cells:
        of = type(cell)
        state = np.zeros((cell.size, x.shape[2]), np.float32)
        above = np.empty((steps + 1, *state.shape), np.float32)
        above[0] = state
        for t in range(steps):  # with its input, which is then still in the cache
            state = of.finish(cell, state, cell.W_h @ state, of.input(cell, x[t]), m[t])
            above[t + 1] = state
        x = above[1:]
    return above[-2::-1] if reverse else above[:-1]


def distributions(
    net: Net,
    frames: Float[Array, "T B D"],
    valid: Bool[Array, "T B"],
    unseen_forwards: Bool[Array, "T B"],
    unseen_backwards: Bool[Array, "T B"],
    tuning: Tuning,
) -> Logistics:
    """Return the distribution of every number, given what the cells of each direction see."""
    seen = read(net, frames, valid, unseen_forwards, unseen_backwards, tuning)
    head = net.head
    assert isinstance(head, Weighing)
    return jax.vmap(jax.vmap(head.distribution))(seen, frames)


def read(
    net: Net,
    frames: Float[Array, "T B D"],
    valid: Bool[Array, "T B"],
    unseen_forwards: Bool[Array, "T B"],
    unseen_backwards: Bool[Array, "T B"],
    tuning: Tuning,
) -> Float[Array, "T B C"]:
    """Return the context of every number, for the head."""
    encode = jax.vmap(jax.vmap(net.encode))
    first = np.arange(frames.shape[-1]) == 0

    def inputs(unseen: Bool[Array, "T B"]) -> Inputs:
        return Inputs(*encode(frames, unseen[..., None] & first), valid)

    nothing_random = jax.random.key(0)
    return contexts(
        net, inputs(unseen_backwards), tuning, nothing_random, forwards=inputs(unseen_forwards)
    )
