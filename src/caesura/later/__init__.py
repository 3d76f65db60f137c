"""JAX, imported when it is first used: fills that run with NumPy never need it."""

from caesura.later.imports import Array, PRNGKeyArray, PyTree, after_import, eqx, jax, jit, jnp
from caesura.later.module import Module, field
from caesura.later.trees import map_leaves, map_named

__all__ = [
    "Array",
    "Module",
    "PRNGKeyArray",
    "PyTree",
    "after_import",
    "eqx",
    "field",
    "jax",
    "jit",
    "jnp",
    "map_leaves",
    "map_named",
]
