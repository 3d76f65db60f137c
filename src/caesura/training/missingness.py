"""Which inputs are hidden from a net while it learns to fill them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PRNGKeyArray


class Pattern(NamedTuple):
    """The steps that a net may not see, and the gaps that they lie in."""

    hidden: Bool[Array, " T"]
    gaps: Bool[Array, " T"]


Missingness = Callable[[PRNGKeyArray, int], Pattern]


@dataclass(frozen=True)
class Nothing:
    """Every input is seen: so the paper trains its forward RNN, and the BRNN for GSN."""

    def __call__(self, key: PRNGKeyArray, length: int) -> Pattern:
        """No step of `length` is hidden."""
        return Pattern(jnp.zeros(length, bool), jnp.zeros(length, bool))


@dataclass(frozen=True)
class Gaps:
    """A gap of `least` to `most` steps every `every` steps, of which one to all are hidden.

    So the net meets every stage of filling a gap. The length of a gap, how many of its steps are
    hidden, which ones, and where the first gap stands: all of it is random.
    """

    least: int
    most: int
    every: int

    def __call__(self, key: PRNGKeyArray, length: int) -> Pattern:
        """Which of `length` steps are hidden."""
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
class Parts:
    """One part of the frames along a stretch of any length, in any number of its steps.

    The part is a range of components, all but a range, or any set of them. So the net meets what
    a musician asks for: other voices to a melody, or another melody to the voices.
    """

    def __call__(self, key: PRNGKeyArray, length: int, components: int) -> Bool[Array, "T D"]:
        """What of `length` frames is hidden."""
        key_stretch, key_steps, key_range, key_set, key_kind = jax.random.split(key, 5)
        inside = _any_range(key_range, components)
        kinds = jnp.stack([inside, ~inside, _any_set(key_set, components)])
        part = kinds[jax.random.randint(key_kind, (), 0, len(kinds))]
        steps = _any_range(key_stretch, length) & _any_set(key_steps, length)
        return steps[:, None] & part


@dataclass(frozen=True)
class Holes:
    """Values here and there, and perhaps more of one shape: what sensors lose.

    The shapes are a run of steps in any of the components, each at its own place; one that several
    components share; and one of whole frames.
    """

    def __call__(self, key: PRNGKeyArray, length: int, components: int) -> Bool[Array, "T D"]:
        """What of `length` frames is hidden."""
        key_share, key_points, key_part, key_runs, key_stretch, key_shape = jax.random.split(key, 6)
        share = jax.random.uniform(key_share) ** 2  # few more often than many
        points = jax.random.bernoulli(key_points, share, (length, components))
        part = _any_set(key_part, components)
        keys = jax.random.split(key_runs, components)
        runs = jax.vmap(lambda key: _any_range(key, length), out_axes=1)(keys)
        stretch = _any_range(key_stretch, length)[:, None]
        shapes = jnp.stack(jnp.broadcast_arrays(False, runs & part, stretch & part, stretch))
        return points | shapes[jax.random.randint(key_shape, (), 0, len(shapes))]


def _any_range(key: PRNGKeyArray, size: int) -> Bool[Array, " size"]:
    first, last = jnp.sort(jax.random.randint(key, (2,), 0, size + 1))
    place = jnp.arange(size)
    return (place >= first) & (place < last)


def _any_set(key: PRNGKeyArray, size: int) -> Bool[Array, " size"]:
    """Every number of members is equally likely."""
    key_share, key_each = jax.random.split(key)
    return jax.random.bernoulli(key_each, jax.random.uniform(key_share), (size,))
