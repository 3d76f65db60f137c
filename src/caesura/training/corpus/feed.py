"""Reads the stretches of the next updates from disk, for data too large for a device."""

from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Int64, Key, PRNGKeyArray, Shaped, UInt32

from caesura.training.batches import Stretches, keys_of_update
from caesura.training.corpus.stored import Stored
from caesura.training.recipe import Recipe

UPDATES = 16  # in a block; all blocks have the same shape, so one program is compiled
NARROW = 2**31  # the integers of a device are below this


class Places(NamedTuple):
    """The starts in the file and the lengths of the stretches of a block."""

    starts: Int64[np.ndarray, "updates batch"]
    lengths: Int64[np.ndarray, "updates batch"]


class Feed:
    """Draws the same stretches as a `Corpus` of the same pieces.

    Every process draws the places of all rows, and reads only its own rows. The next block is read
    while the devices work on the current one.
    """

    def __init__(
        self, key: PRNGKeyArray, pieces: Stored, recipe: Recipe, sharding: jax.sharding.Sharding
    ):
        self.key = key
        self.pieces = pieces
        self.recipe = recipe
        self.sharding = sharding
        self._ends = np.cumsum(pieces.lengths)
        values = pieces.values
        self._shape = (UPDATES, recipe.batch, recipe.length, values.shape[1])
        indices = sharding.addressable_devices_indices_map(self._shape).values()
        self._mine = np.unique([row for index in indices for row in self._rows(index)])
        self._reader = ThreadPoolExecutor(1)  # it only reads: JAX stays in one thread
        self._number = -1
        self._block: Stretches | None = None  # of the last call, in case the next needs it again
        self._ahead = self._read_ahead(0)

    def block(self, step: int) -> Stretches:
        """Return the block that the update `step` is in."""
        number = step // UPDATES
        if self._block is None or self._number != number:
            if self._number + 1 != number:
                self._ahead = self._read_ahead(number)
            self._number, self._block = number, self._put(*self._ahead.result())
            self._ahead = self._read_ahead(number + 1)
        return self._block

    def _put(self, places: Places, values: Shaped[np.ndarray, "updates mine T D"]) -> Stretches:
        """Put what was read on the devices that have those rows."""

        def values_of(index: Any) -> Shaped[np.ndarray, "updates rows T D"]:
            rows = self._rows(index)
            first = np.searchsorted(self._mine, rows[0])
            return values[:, first : first + len(rows)]

        def valid_of(index: Any) -> Bool[np.ndarray, "updates rows T"]:
            return np.arange(self.recipe.length) < places.lengths[index[:2]][..., None]

        return Stretches(
            jax.make_array_from_callback(self._shape, self.sharding, values_of),
            jax.make_array_from_callback(self._shape[:3], self.sharding, valid_of),
        )

    def _rows(self, index: Any) -> range:
        return range(*index[1].indices(self.recipe.batch))

    def _read_ahead(self, number: int) -> Future[Any]:
        return self._reader.submit(self._read, self._places(number))

    def _read(self, places: Places) -> tuple[Places, Shaped[np.ndarray, "updates mine T D"]]:
        values = self.pieces.values
        read = np.zeros((UPDATES, len(self._mine), *self._shape[2:]), values.dtype)
        for update in range(UPDATES):
            for place, row in enumerate(self._mine):
                start, length = places.starts[update, row], places.lengths[update, row]
                read[update, place, :length] = values[start : start + length]
            self.pieces.let_go()
        return places, read

    def _places(self, number: int) -> Places:
        key_step, key_start = _crop_keys(self.key, number * UPDATES, self.recipe.batch)
        step = draw_below(key_step, np.full(key_step.shape, self._ends[-1]))
        piece = np.searchsorted(self._ends, step, side="right")
        lengths = self.pieces.lengths[piece]
        room = np.maximum(lengths - self.recipe.length, 0)
        starts = self.pieces.starts[piece] + draw_below(key_start, room + 1)
        return Places(starts, np.minimum(lengths, self.recipe.length))


def draw_below(
    keys: Key[Array, "*shape"], bounds: Int64[np.ndarray, "*shape"]
) -> Int64[np.ndarray, "*shape"]:
    """Return a random number from 0 up to each bound; bounds may exceed 2^31, the device's limit.

    The remainder of 64 random bits by a bound of 2^40 is uniform up to one part in 2^24.
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
    """Return the two keys into which `Corpus.crop` splits the key of each row."""

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
