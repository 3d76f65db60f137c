"""Stretches for the next updates, read from disk by the host: no device could hold it all."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Int64, Key, PRNGKeyArray, Shaped, UInt32

from caesura.training.batches import Stretches, keys_of_update
from caesura.training.recipe import Recipe
from caesura.training.stored import Stored

UPDATES = 16  # in one call of the device; all calls have the same shapes, so one program does
NARROW = 2**31  # what the integers of a device do not reach


class Feed:
    """Draws the very stretches that a `Corpus` of the same pieces would.

    Every process draws the places of all rows, which are a few numbers, and reads its own rows.
    """

    def __init__(
        self, key: PRNGKeyArray, pieces: Stored, recipe: Recipe, sharding: jax.sharding.Sharding
    ):
        self.key = key
        self.pieces = pieces
        self.recipe = recipe
        self.sharding = sharding
        self._ends = np.cumsum(pieces.lengths)

    def read(self, first: int, last: int) -> Stretches:
        """What updates `first` to `last` learn from, at most `UPDATES` of them."""
        starts, lengths = (place[: last - first] for place in self._places(first))
        steps, batch = self.recipe.length, self.recipe.batch
        values = self.pieces.values

        def rows_of(index: Any) -> Shaped[np.ndarray, "updates rows T D"]:
            rows = range(*index[1].indices(batch))
            read = np.zeros((UPDATES, len(rows), steps, values.shape[1]), values.dtype)
            for update in range(last - first):
                for place, row in enumerate(rows):
                    start, length = starts[update, row], lengths[update, row]
                    read[update, place, :length] = values[start : start + length]
            return read

        valid = np.zeros((UPDATES, batch, steps), bool)
        valid[: last - first] = np.arange(steps) < lengths[..., None]
        shape = (UPDATES, batch, steps, values.shape[1])
        return Stretches(
            jax.make_array_from_callback(shape, self.sharding, rows_of),
            jax.make_array_from_callback(valid.shape, self.sharding, lambda index: valid[index]),
        )

    def _places(
        self, first: int
    ) -> tuple[Int64[np.ndarray, "updates batch"], Int64[np.ndarray, "updates batch"]]:
        """Where the stretches begin in the file, and how many steps they have."""
        key_step, key_start = _crop_keys(self.key, first, self.recipe.batch)
        step = draw_below(key_step, np.full(key_step.shape, self._ends[-1]))
        piece = np.searchsorted(self._ends, step, side="right")
        lengths = self.pieces.lengths[piece]
        room = np.maximum(lengths - self.recipe.length, 0)
        starts = self.pieces.starts[piece] + draw_below(key_start, room + 1)
        return starts, np.minimum(lengths, self.recipe.length)


def draw_below(
    keys: Key[Array, "*shape"], bounds: Int64[np.ndarray, "*shape"]
) -> Int64[np.ndarray, "*shape"]:
    """A random number from 0 up to each bound; on a device, numbers end at 2^31, but no file does.

    Of 64 random bits, the rest by a bound of 2^40 is off from even by one part in 2^24.
    """
    narrow = np.asarray(_draw(keys, np.minimum(bounds, NARROW - 1).astype(np.int32)))
    if np.max(bounds) < NARROW:
        return narrow.astype(np.int64)
    high, low = np.moveaxis(np.asarray(_bits(keys)).astype(np.uint64), -1, 0)
    wide = (high << np.uint64(32) | low) % bounds.astype(np.uint64)
    return np.where(bounds < NARROW, narrow, wide.astype(np.int64))


@partial(jax.jit, static_argnames="batch")
def _crop_keys(
    key: PRNGKeyArray, first: int | Array, batch: int
) -> tuple[Key[Array, "updates batch"], Key[Array, "updates batch"]]:
    """The two keys that `Corpus.crop` makes of each row's own."""

    def of_row(key: PRNGKeyArray) -> Key[Array, "2"]:
        key_crop, *_ = jax.random.split(key, 3)
        return jax.random.split(key_crop)

    def of_update(step: Array) -> Key[Array, "batch 2"]:
        return jax.vmap(of_row)(keys_of_update(key, step, batch).rows)

    keys = jax.vmap(of_update)(first + jnp.arange(UPDATES))
    return keys[..., 0], keys[..., 1]


@jax.jit
@partial(jnp.vectorize, signature="(),()->()")
def _draw(key: PRNGKeyArray, bound: Int[Array, ""]) -> Int[Array, ""]:
    return jax.random.randint(key, (), 0, bound)


@jax.jit
@partial(jnp.vectorize, signature="()->(k)")
def _bits(key: PRNGKeyArray) -> UInt32[Array, " k"]:
    return jax.random.bits(key, (2,), jnp.uint32)
