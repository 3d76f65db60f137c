"""Keys for random numbers: the numbers of a window depend only on its own key."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int, Key, UInt32

from caesura.later import Array, jax, jnp

Keys = Key[Array, "*windows"]  # one key for all windows, or one key per window
# What strategies that run with NumPy also take: some numbers per window.
Seeds = Keys | UInt32[np.ndarray, "windows numbers"]


class LaneKeys(NamedTuple):
    """The keys of L lanes.

    If all windows share one key, the lanes of the same copy of all windows have the same `order`
    key. They visit their steps in the same order, so that none waits for another.
    """

    order: Key[Array, " L"]
    own: Key[Array, " L"]

    def fold(self, number: int | Int[Array, ""]) -> "LaneKeys":
        """Return other keys for the same lanes: those of use, sweep or visit `number`."""
        return LaneKeys(*(fold(keys, number) for keys in self))

    def copies(self, numbers: Int[Array, " n"]) -> "LaneKeys":
        """Return the keys of some copies of every lane, the copies of a lane next to each other.

        The keys of a copy do not depend on which other copies run beside it.
        """
        return LaneKeys(*(fold_each(keys, numbers).reshape(-1) for keys in self))

    def repeat(self, times: int) -> "LaneKeys":
        """Return every key `times` times, next to each other."""
        return LaneKeys(*(jnp.repeat(keys, times) for keys in self))


def keys_of_windows(key: Keys, windows: int) -> LaneKeys:
    """Return the keys of lanes that are one window each."""
    if key.ndim:
        return LaneKeys(fold(key, 0), fold(key, 1))
    order = jnp.broadcast_to(jax.random.fold_in(key, 0), windows)
    return LaneKeys(order, fold_each(key[None], 1 + jnp.arange(windows))[0])


def fold(keys: Key[Array, " L"], number: int | Int[Array, ""]) -> Key[Array, " L"]:
    """Return each key with the number folded in."""
    return jax.vmap(jax.random.fold_in, in_axes=(0, None))(keys, number)


def fold_each(keys: Key[Array, " L"], numbers: Int[Array, " n"]) -> Key[Array, "L n"]:
    """Return each key with each of the numbers folded in."""
    return jax.vmap(lambda key: jax.vmap(lambda n: jax.random.fold_in(key, n))(numbers))(keys)


def for_steps(keys: Key[Array, " L"], width: int) -> Key[Array, "L width"]:
    """Return a key for every step; that of a step does not depend on the width of the window."""
    return fold_each(keys, jnp.arange(width))


def generators(seeds: Seeds, windows: int, use: int = 0) -> list[np.random.Generator]:
    """Return NumPy's generators for some windows; another `use` has other random numbers."""
    if isinstance(seeds, np.ndarray):
        rows = seeds
    else:
        numbers = np.asarray(jax.random.key_data(seeds))
        shared = np.broadcast_to(numbers, (windows, numbers.shape[-1]))
        rows = numbers if numbers.ndim > 1 else np.column_stack([shared, np.arange(windows)])
    return [np.random.default_rng([use, *row]) for row in rows.tolist()]
