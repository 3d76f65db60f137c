"""Which inputs are hidden from a net while it learns to fill them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


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
        sizes = (2, 1 + length, 2, 1 + components, 1)
        stretch, steps, inside, members, kind = _chances(key, sizes)
        inside = _any_range(inside, components)
        kinds = jnp.stack([inside, ~inside, _any_set(members)])
        part = kinds[_any_of(kind[0], len(kinds))]
        steps = _any_range(stretch, length) & _any_set(steps)
        return steps[:, None] & part


@dataclass(frozen=True)
class Holes:
    """Values here and there, and perhaps more of one shape: what sensors lose.

    The shapes are a run of steps in any of the components, each at its own place; one that several
    components share; and one of whole frames.
    """

    def __call__(self, key: PRNGKeyArray, length: int, components: int) -> Bool[Array, "T D"]:
        """What of `length` frames is hidden."""
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
    """Numbers from 0 to 1, drawn together: each draw by itself would take long to compile."""
    ends = list(accumulate(sizes))
    return jnp.split(jax.random.uniform(key, ends[-1:]), ends[:-1])


def _any_of(chance: Float[Array, "*n"], size: int) -> Int[Array, "*n"]:
    """One of the numbers from 0 to size − 1."""
    return jnp.minimum((chance * size).astype(int), size - 1)


def _any_range(chances: Float[Array, " 2"], size: int) -> Bool[Array, " size"]:
    first, last = jnp.sort(_any_of(chances, size + 1))
    place = jnp.arange(size)
    return (place >= first) & (place < last)


def _any_set(chances: Float[Array, " n"]) -> Bool[Array, " n-1"]:
    """Every number of members is equally likely."""
    return chances[1:] < chances[0]
