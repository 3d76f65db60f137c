"""Functions that NumPy lacks or names otherwise, so that one equation serves NumPy and JAX."""

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from caesura.later import Array, jax, jnp

if TYPE_CHECKING:
    Numbers = Any  # a function that takes both would have to say that it returns what it was given
else:
    Numbers = Array | np.ndarray


def namespace(a: Numbers) -> ModuleType:
    """Return the module whose functions are for this array: `numpy` or `jax.numpy`."""
    return np if isinstance(a, np.ndarray) else jnp


def parts(a: Float[Numbers, "nN *B"], n: int) -> Any:
    """Return the n equal parts of the first axis."""
    if isinstance(a, np.ndarray):  # np.split takes as long as a small matrix product
        size = len(a) // n
        return [a[first : first + size] for first in range(0, len(a), size)]
    return jnp.split(a, n)


def sigmoid(x: Float[Numbers, "*shape"]) -> Float[Numbers, "*shape"]:
    """Return 1 / (1 + exp(−x))."""
    if isinstance(x, np.ndarray):
        return 0.5 * np.tanh(0.5 * x) + 0.5  # NumPy's tanh is vectorised, and cannot overflow
    return jax.nn.sigmoid(x)


def gelu(x: Float[Numbers, "*shape"]) -> Float[Numbers, "*shape"]:
    """Return x Φ(x), with the usual approximation of Φ by tanh."""
    if isinstance(x, np.ndarray):
        # √(2 / π) (x + 0.044715 x³), with few temporary arrays: these take most of the time.
        inner = x * x
        inner *= 0.044715 * (2 / np.pi) ** 0.5
        inner += (2 / np.pi) ** 0.5
        inner *= x
        np.tanh(inner, out=inner)
        inner += 1
        inner *= x
        inner *= 0.5
        return inner
    return jax.nn.gelu(x)


def log_softmax(x: Float[Numbers, "K *B"]) -> Float[Numbers, "K *B"]:
    """Return the log of the softmax over the first axis."""
    if isinstance(x, np.ndarray):
        shifted = x - x.max(axis=0)
        return shifted - np.log(np.exp(shifted).sum(axis=0))
    return jax.nn.log_softmax(x, axis=0)


def log_sigmoid(x: Float[Numbers, "*shape"]) -> Float[Numbers, "*shape"]:
    """Return the log of the sigmoid."""
    if isinstance(x, np.ndarray):
        return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))
    return jax.nn.log_sigmoid(x)


def scan(step: Callable[[Any, Any], tuple[Any, Any]], start: Any, xs: tuple[Any, ...]) -> Any:
    """Return what `step(carry, x)` notes of each x in turn, stacked; it also makes the next carry.

    NumPy has a plain loop for it.
    """
    if not isinstance(start, np.ndarray):
        return jax.lax.scan(step, start, xs)[1]
    carry, notes = start, []
    for x in zip(*xs, strict=True):
        carry, noted = step(carry, x)
        notes.append(noted)
    return tuple(map(np.stack, zip(*notes, strict=True)))


def cumulative_max(x: Numbers) -> Numbers:
    """Return the largest of all entries so far along the first axis."""
    return np.maximum.accumulate(x) if isinstance(x, np.ndarray) else jax.lax.cummax(x)
