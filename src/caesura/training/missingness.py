"""Which inputs are hidden from a net while it learns to fill them."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PRNGKeyArray

Missingness = Callable[[PRNGKeyArray, int], Bool[Array, " T"]]


@dataclass(frozen=True)
class Nothing:
    """Every input is seen: so the paper trains its forward RNN, and the BRNN for GSN."""

    def __call__(self, key: PRNGKeyArray, length: int) -> Bool[Array, " T"]:
        """No step of `length` is hidden."""
        return jnp.zeros(length, bool)


@dataclass(frozen=True)
class Gaps:
    """A gap of `gap` steps every `every` steps, of which one to all are hidden at random.

    So the net meets every stage of filling a gap. Where the first gap stands is random too.
    """

    gap: int = 5
    every: int = 25

    def __call__(self, key: PRNGKeyArray, length: int) -> Bool[Array, " T"]:
        """Which of `length` steps are hidden."""
        key_count, key_rank, key_shift = jax.random.split(key, 3)
        blocks = length // self.every + 2
        hidden = jax.random.randint(key_count, (blocks, 1), 1, self.gap + 1)
        rank = jnp.argsort(jax.random.uniform(key_rank, (blocks, self.gap)), axis=1)
        steps = jnp.pad(rank < hidden, [(0, 0), (0, self.every - self.gap)]).reshape(-1)
        shift = jax.random.randint(key_shift, (), 0, self.every)
        return jax.lax.dynamic_slice(steps, [shift], [length])
