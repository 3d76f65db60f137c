"""The first weights of a net: random ones, or, without a key, only their shapes.

A model file is checked against the shapes before anything of their size is made.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from caesura.later import Array, PRNGKeyArray, jax, jnp

MaybeKey = PRNGKeyArray | None


@dataclass(frozen=True)
class Blank:
    """An array that was not made."""

    shape: tuple[int, ...]
    dtype: ClassVar[Any] = np.dtype(np.float32)


if TYPE_CHECKING:
    Weights = Any
else:
    Weights = Array | np.ndarray | Blank  # what a net may have as its weights


def split(key: MaybeKey, count: int) -> Any:
    """Return so many keys."""
    return [None] * count if key is None else jax.random.split(key, count)


def uniform(key: MaybeKey, rows: int, columns: int, s: float) -> Any:
    """Return weights drawn from U[−s, s]."""
    if key is None:
        return Blank((rows, columns))
    return jax.random.uniform(key, (rows, columns), minval=-s, maxval=s)


def glorot(key: MaybeKey, d_out: int, d_in: int) -> Any:
    """Return weights with the paper's s = √(6 / (d_in + d_out)), used except from the frame."""
    return uniform(key, d_out, d_in, (6 / (d_in + d_out)) ** 0.5)


def zeros(key: MaybeKey, *shape: int) -> Any:
    """Return zeros; the key only says whether to make them."""
    return Blank(shape) if key is None else jnp.zeros(shape)


def from_states(keys: Sequence[MaybeKey], rows: int, sizes: tuple[int, ...]) -> Any:
    """Return [W^f, W^b], drawn separately: the context is h^f and h^b, concatenated."""
    if keys[0] is None:
        return Blank((rows, sum(sizes)))
    blocks = [glorot(key, rows, size) for key, size in zip(keys, sizes, strict=True)]
    return jnp.concatenate(blocks, axis=1)


def from_itself(keys: Sequence[MaybeKey], size: int) -> Any:
    """Return the recurrent weights of the gates of a cell, drawn separately."""
    if keys[0] is None:
        return Blank((len(keys) * size, size))
    return jnp.concatenate([glorot(key, size, size) for key in keys])
