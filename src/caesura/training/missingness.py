"""Which inputs a net does not see while it learns to fill them."""

from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


class Pattern(NamedTuple):
    """The steps that a net does not see, and the gaps that they are in."""

    unseen: Bool[Array, " T"]
    gaps: Bool[Array, " T"]


def no_gaps(length: int) -> Pattern:
    """Return a pattern without gaps, as the paper trains its forward RNN and the BRNN for GSN."""
    return Pattern(jnp.zeros(length, bool), jnp.zeros(length, bool))


@dataclass(frozen=True)
class Gaps:
    """A gap of `least` to `most` steps in every `every` steps, with one to all of its steps unseen.

    So the net learns every stage of filling a gap. The length of a gap, the number of its unseen
    steps, which ones they are, and the place of the first gap are random.
    """

    least: int
    most: int
    every: int

    def __call__(self, key: PRNGKeyArray, length: int) -> Pattern:
        """Return which of `length` steps are unseen."""
        key_length, key_count, key_rank, key_shift = jax.random.split(key, 4)
        blocks = length // self.every + 2
        lengths = jax.random.randint(key_length, (blocks, 1), self.least, self.most + 1)
        inside = jnp.arange(self.most) < lengths
        count = jax.random.randint(key_count, (blocks, 1), 1, lengths + 1)
        drawn = jax.random.uniform(key_rank, (blocks, self.most))
        # The rank of each step of a gap among those drawn for it.
        rank = jnp.argsort(jnp.argsort(jnp.where(inside, drawn, jnp.inf), axis=1), axis=1)
        shift = jax.random.randint(key_shift, (), 0, self.every)

        def steps(in_gap: Bool[Array, "blocks most"]) -> Bool[Array, " T"]:
            row = jnp.pad(in_gap, [(0, 0), (0, self.every - self.most)]).reshape(-1)
            return jax.lax.dynamic_slice(row, [shift], [length])

        return Pattern(steps(rank < count), steps(inside))


@dataclass(frozen=True)
class ShortGaps:
    """Gaps of `least` to `most` steps, most of them short; half of them are unseen as a whole.

    The probability of a length is proportional to 1 / length². In the other half of the gaps, one
    to all of their steps are unseen. Gaps follow one another with observed steps between them, at
    least one and `every` on average: each of these is the last before the next gap with probability
    1 / `every`. A stretch is cut out of an endless row of such gaps, so no place is special.
    """

    least: int
    most: int
    every: int

    def __call__(self, key: PRNGKeyArray, length: int) -> Pattern:
        """Return which of `length` steps are unseen."""
        step = jnp.arange(-self.most, length + self.most)  # with room for gaps that the ends cut
        most_gaps = (length + self.most) // (self.least + 1) + 2
        sizes = (3, most_gaps, most_gaps, 2 * most_gaps, len(step))
        first, lengths, between, counts, order = _chances(key, sizes)
        choices = np.arange(self.least, self.most + 1)
        weights = 1.0 / choices**2
        lengths = self.least + _weighted(lengths, weights)
        between = self._observed(between, length)
        # A gap covers the first step the more often the longer it is; the step is anywhere in it.
        mean = np.average(choices, weights=weights)
        covered = first[0] < mean / (mean + self.every)
        cover = self.least + _weighted(first[1], weights * choices)
        lengths = lengths.at[0].set(jnp.where(covered, cover, lengths[0]))
        start = jnp.where(covered, -_any_of(first[2], cover), self._observed(first[2], length))
        after = start + jnp.cumsum(lengths + between)
        starts = jnp.concatenate([start[None], after[:-1]])
        gap = jnp.searchsorted(starts, step, side="right") - 1  # -1 before the first one
        inside = (gap >= 0) & (step < (starts + lengths)[gap])
        # Steps are ranked in their gap: sorted by gap and chance, they stay in the gap's place.
        rank = jnp.argsort(jnp.argsort(jnp.where(inside, gap + order, gap + 1.0)))
        rank -= starts[gap] + self.most
        whole, counts = counts[most_gaps:] < 0.5, counts[:most_gaps]
        last = jnp.where(whole, lengths - 1, _any_of(counts, lengths))
        unseen = inside & (rank <= last[gap])
        here = slice(self.most, self.most + length)
        return Pattern(unseen[here], inside[here])

    def _observed(self, chance: Float[Array, "*n"], most: int) -> Int[Array, "*n"]:
        """Return numbers of observed steps between gaps; `most` or more of them are alike."""
        more = jnp.log1p(-chance) / jnp.log1p(-1 / self.every)
        return 1 + jnp.minimum(more, most).astype(int)


def parts(key: PRNGKeyArray, length: int, components: int) -> Bool[Array, "T D"]:
    """Return unseen values: the same part of the frame in some steps of a random stretch.

    The part is a range of components, everything outside a range, or a random set. So the net
    learns to add voices to a melody, and a melody to voices.
    """
    sizes = (2, 1 + length, 2, 1 + components, 1)
    stretch, steps, inside, members, kind = _chances(key, sizes)
    inside = _any_range(inside, components)
    kinds = jnp.stack([inside, ~inside, _any_set(members)])
    part = kinds[_any_of(kind[0], len(kinds))]
    steps = _any_range(stretch, length) & _any_set(steps)
    return steps[:, None] & part


def holes(key: PRNGKeyArray, length: int, components: int) -> Bool[Array, "T D"]:
    """Return unseen values: single ones, and sometimes runs of steps, as when sensors fail.

    The runs are in some of the components, either each at its own place or all at the same, or in
    whole frames.
    """
    sizes = (2, length * components, 1 + components, 2 * components, 2)
    few, points, part, runs, stretch = _chances(key, sizes)
    share = few[0] ** 2  # few more often than many
    points = points.reshape(length, components) < share
    part = _any_set(part)
    runs = jax.vmap(partial(_any_range, size=length), out_axes=1)(runs.reshape(-1, 2))
    stretch = _any_range(stretch, length)[:, None]
    shapes = jnp.stack(jnp.broadcast_arrays(False, runs & part, stretch & part, stretch))
    return points | shapes[_any_of(few[1], len(shapes))]


def _chances(key: PRNGKeyArray, sizes: tuple[int, ...]) -> list[Float[Array, " _"]]:
    """Return uniform random numbers, drawn at once, since every draw adds to compile time."""
    ends = list(accumulate(sizes))
    return jnp.split(jax.random.uniform(key, ends[-1:]), ends[:-1])


def _any_of(chance: Float[Array, "*n"], size: int | Int[Array, "*n"]) -> Int[Array, "*n"]:
    """Return one of the integers from 0 to size − 1."""
    return jnp.minimum((chance * size).astype(int), size - 1)


def _weighted(chance: Float[Array, "*n"], weights: Float[np.ndarray, " size"]) -> Int[Array, "*n"]:
    """Return integers from 0 on, each as often as its weight says."""
    below = np.cumsum(weights) / np.sum(weights)
    return jnp.searchsorted(jnp.asarray(below[:-1]), chance, side="right")


def _any_range(chances: Float[Array, " 2"], size: int) -> Bool[Array, " size"]:
    first, last = jnp.sort(_any_of(chances, size + 1))
    place = jnp.arange(size)
    return (place >= first) & (place < last)


def _any_set(chances: Float[Array, " n"]) -> Bool[Array, " n-1"]:
    """Return a random set; every number of members is equally likely."""
    return chances[1:] < chances[0]
