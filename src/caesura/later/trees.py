"""Trees of arrays, as JAX has them: tuples, lists, dicts and modules, with arrays as leaves."""

from collections.abc import Callable
from typing import Any

from caesura.later.module import Module, rebuilt, tree_fields


def map_leaves(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Return the tree with `function` of its leaves, and of those of trees like it.

    For trees of NumPy's arrays, this is `jax.tree.map` without JAX.
    """
    if isinstance(tree, tuple | list):
        parts = [map_leaves(function, *of) for of in zip(tree, *others, strict=True)]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    if isinstance(tree, dict):
        return {key: map_leaves(function, *(of[key] for of in (tree, *others))) for key in tree}
    if isinstance(tree, Module):
        inner = tree_fields(type(tree))[0]
        new = {n: map_leaves(function, *(getattr(of, n) for of in (tree, *others))) for n in inner}
        return rebuilt(type(tree), vars(tree) | new)
    return None if tree is None else function(tree, *others)


def map_named(function: Callable[[str, Any], Any], tree: Any, name: str = "") -> Any:
    """Return the tree with `function` of each leaf and its name, such as `cells.0.W_x`."""

    def below(key: Any, part: Any) -> Any:
        return map_named(function, part, f"{name}.{key}" if name else str(key))

    if isinstance(tree, tuple | list):
        keys = getattr(tree, "_fields", range(len(tree)))
        parts = [below(key, part) for key, part in zip(keys, tree, strict=True)]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    if isinstance(tree, dict):
        return {key: below(key, tree[key]) for key in sorted(tree)}
    if isinstance(tree, Module):
        inner = tree_fields(type(tree))[0]
        return rebuilt(type(tree), vars(tree) | {n: below(n, getattr(tree, n)) for n in inner})
    return None if tree is None else function(name, tree)
