"""Which inputs are hidden from a net while it learns to fill them."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PRNGKeyArray

Missingness = Callable[[PRNGKeyArray, int], Bool[Array, " T"]]


def nothing(key: PRNGKeyArray, length: int) -> Bool[Array, " T"]:
    """Every input is seen, as the nets for `gsn`, `bayes` and `oneway` are trained."""
    return jnp.zeros(length, bool)


def gaps(key: PRNGKeyArray, length: int, *, gap: int = 5, every: int = 25) -> Bool[Array, " T"]:
    """A gap of `gap` steps every `every` steps, of which one to all are hidden at random.

    So the net meets every stage of filling a gap. The first gap's place is random too.
    """
    key_count, key_rank, key_shift = jax.random.split(key, 3)
    blocks = length // every + 2
    hidden = jax.random.randint(key_count, (blocks, 1), 1, gap + 1)
    rank = jnp.argsort(jax.random.uniform(key_rank, (blocks, gap)), axis=1)
    steps = jnp.pad(rank < hidden, [(0, 0), (0, every - gap)]).reshape(-1)
    return jax.lax.dynamic_slice(steps, [jax.random.randint(key_shift, (), 0, every)], [length])
