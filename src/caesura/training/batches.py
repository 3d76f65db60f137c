"""Examples to train on, from a corpus on the device or from stretches read from disk."""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key, PRNGKeyArray, Shaped

from caesura.hardware import pad, power_of_four
from caesura.training.corpus.stored import lengths_of
from caesura.training.missingness import Gaps, ShortGaps, holes, no_gaps, parts
from caesura.training.recipe import Recipe


class Example(NamedTuple):
    """A stretch of a sequence: what the net does not see of it, and which steps it predicts."""

    values: Shaped[Array, "T *B D"]
    unseen: Bool[Array, "T *B D"]
    targets: Bool[Array, "T *B"]
    valid: Bool[Array, "T *B"]  # False on the padding of a short piece
    # True in gaps that are filled from left to right: what is unseen there is unseen only by the
    # cells that read backwards. None if there are no such gaps.
    in_order: Bool[Array, "T *B"] | None = None
    # True in gaps that are filled from right to left, where the others do not see it.
    in_reverse: Bool[Array, "T *B"] | None = None


class Range(NamedTuple):
    """A part of a corpus: its first step, and how many steps it has."""

    first: Int[Array, "*n"]
    steps: Int[Array, "*n"]


class Corpus(eqx.Module):
    """All sequences on the device, one after another, followed by empty ones and padding.

    Sizes are rounded up, so that corpora of similar size share their compiled programs.
    """

    values: Shaped[Array, "N D"]
    starts: Int[Array, " pieces"]
    lengths: Int[Array, " pieces"]

    def __init__(self, pieces: Sequence[Shaped[np.ndarray, "_ D"]]):
        lengths = lengths_of(pieces)
        ends = np.cumsum(lengths)
        self.values = jnp.asarray(_padded(np.concatenate(pieces), 0))
        self.starts = jnp.asarray(_padded(ends - lengths, int(ends[-1])))
        self.lengths = jnp.asarray(_padded(lengths, 0))

    def crop(
        self, key: PRNGKeyArray, length: int, within: "Range | None" = None
    ) -> tuple[Shaped[Array, "T D"], Bool[Array, " T"]]:
        """Return a random stretch, padded if the piece is short, and which steps are not padding.

        Every step of the corpus, or of a range of whole pieces, is about equally likely to be in
        it.
        """
        first, steps = within or Range(jnp.zeros((), jnp.int32), jnp.sum(self.lengths))
        key_step, key_start = jax.random.split(key)
        step = first + jax.random.randint(key_step, (), 0, steps)
        piece = jnp.searchsorted(self.starts, step, side="right") - 1
        room = jnp.maximum(self.lengths[piece] - length, 0)
        offset = jax.random.randint(key_start, (), 0, room + 1) + jnp.arange(length)
        return self.values[self.starts[piece] + offset], offset < self.lengths[piece]


class Stretches(eqx.Module):
    """Stretches read for a block of updates, if the data is too large for the device.

    Blocks start at multiples of their size.
    """

    values: Shaped[Array, "updates batch T D"]
    valid: Bool[Array, "updates batch T"]


def _padded(array: Shaped[np.ndarray, "n ..."], value: int) -> Shaped[np.ndarray, "m ..."]:
    return pad(array, power_of_four(len(array)), value)


class Chunks(eqx.Module):
    """Validation data: sequences cut into stretches of equal length; the last one is padded."""

    values: Shaped[Array, "n T D"]
    valid: Bool[Array, "n T"]

    def __init__(self, pieces: Sequence[Shaped[np.ndarray, "_ D"]], recipe: Recipe):
        """Take about `valid_steps` steps, spread evenly over the pieces, in whole batches."""
        counts = -(-lengths_of(pieces) // recipe.length)
        ends = np.cumsum(counts)
        most = max(1, recipe.valid_steps // recipe.length)
        chosen = np.unique(np.linspace(0, ends[-1] - 1, most).astype(int))
        rows = -(-len(chosen) // recipe.batch) * recipe.batch
        values = np.zeros((rows, recipe.length, pieces[0].shape[1]), pieces[0].dtype)
        valid = np.zeros((rows, recipe.length), bool)
        for row, cut in enumerate(chosen):
            p = np.searchsorted(ends, cut, side="right")
            t = (cut - (ends[p] - counts[p])) * recipe.length
            stretch = pieces[p][t : t + recipe.length]
            values[row, : len(stretch)] = stretch
            valid[row, : len(stretch)] = True
        self.values, self.valid = jnp.asarray(values), jnp.asarray(valid)


class UpdateKeys(NamedTuple):
    """One key for each row of the batch, and one for everything random in the net."""

    rows: Key[Array, " batch"]
    noise: PRNGKeyArray


def keys_of_update(key: PRNGKeyArray, step: Int[Array, ""], batch: int) -> UpdateKeys:
    """Return the keys of an update, which depend only on the training's key and its number."""
    key_batch, key_noise = jax.random.split(jax.random.fold_in(key, step))
    return UpdateKeys(jax.random.split(key_batch, batch), key_noise)


def draw_example(key: PRNGKeyArray, corpus: Corpus, recipe: Recipe, informing: int = 0) -> Example:
    """Return a random stretch to learn from; the last `informing` components are not shifted."""
    key_crop, *_ = jax.random.split(key, 3)
    return make_example(key, *corpus.crop(key_crop, recipe.length), recipe, informing)


def make_example(
    key: PRNGKeyArray,
    values: Shaped[Array, "T D"],
    valid: Bool[Array, " T"],
    recipe: Recipe,
    informing: int = 0,
) -> Example:
    """Return an example of a stretch that was drawn with the first key that `key` splits into."""
    _, key_shift, key_hide = jax.random.split(key, 3)
    if recipe.shift:
        keys, rest = jnp.split(values, [values.shape[1] - informing], axis=1)
        values = jnp.concatenate([shift(key_shift, keys, recipe.shift), rest], axis=1)
    return hide(key_hide, values, valid, recipe)


def hide(
    key: PRNGKeyArray, values: Shaped[Array, "T D"], valid: Bool[Array, " T"], recipe: Recipe
) -> Example:
    """Return the stretch with the gaps, parts and holes of the recipe, placed at random."""
    make = ShortGaps if recipe.gap_lengths == "short" else Gaps
    gaps = make(*recipe.gap_range, recipe.every)
    pattern = gaps(key, recipe.length) if recipe.gap else no_gaps(recipe.length)
    unseen, in_order, in_reverse = pattern.unseen, None, None
    if recipe.in_order:
        # The keys are far from those that the gaps split theirs into.
        ordered = jax.random.bernoulli(jax.random.fold_in(key, 2**31 + 2), recipe.in_order)
        in_order = ordered & pattern.gaps
        unseen = unseen | in_order
        if recipe.ways == "both":
            leftwards = jax.random.bernoulli(jax.random.fold_in(key, 2**31 + 3))
            in_order, in_reverse = in_order & ~leftwards, in_order & leftwards
    unseen = jnp.broadcast_to(unseen[:, None], values.shape)
    for share, number, more in (recipe.parts, 2**31, parts), (recipe.holes, 2**31 + 1, holes):
        if share:
            key = jax.random.fold_in(key, number)
            key_whether, key_where = jax.random.split(key)
            whether = jax.random.bernoulli(key_whether, share)
            unseen |= whether & more(key_where, *values.shape)
    in_gaps = pattern.gaps | jnp.any(unseen, axis=1)
    targets = valid & (in_gaps if recipe.targets == "gaps" else True)
    # "We therefore avoid propagating the gradient from predictions that lack long context."
    step = jnp.arange(recipe.length)
    last = recipe.length - (recipe.burn_in if recipe.net == "bidirectional" else 0)
    targets &= (step >= recipe.burn_in) & (step < last)
    wide = jnp.result_type(values, jnp.int32)  # small integers in, numbers as they are
    return Example(values.astype(wide), unseen, targets, valid, in_order, in_reverse)


def shift(key: PRNGKeyArray, values: Int[Array, "T D"], most: int) -> Int[Array, "T D"]:
    """Return the values up to `most` components higher or lower, with none moved off the frame."""
    components = jnp.arange(values.shape[1])
    used = jnp.any(values > 0, axis=0)
    lowest = jnp.min(jnp.where(used, components, len(components) - 1))
    highest = jnp.max(jnp.where(used, components, 0))
    down, up = jnp.minimum(most, lowest), jnp.minimum(most, len(components) - 1 - highest)
    return jnp.roll(values, jax.random.randint(key, (), -down, up + 1), axis=1)
