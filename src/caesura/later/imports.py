"""The names of JAX and Equinox; the first use of one imports the library, which takes a while."""

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

__all__ = ["Array", "PRNGKeyArray", "PyTree", "after_import", "eqx", "jax", "jit", "jnp"]

P = ParamSpec("P")
R = TypeVar("R")

_LOCK = RLock()
_waiting: list[Callable[[], None]] = []


def after_import(function: Callable[[], None]) -> None:
    """Call a function once JAX is imported, before this package first uses it."""
    with _LOCK:
        _waiting.append(function)
        if "jax" in sys.modules:
            _call_waiting()


def _call_waiting() -> None:
    with _LOCK:
        while _waiting:
            _waiting.pop(0)()


class _Library(ModuleType):
    """A library that is imported when it is asked for one of its names."""

    def __getattr__(self, name: str) -> Any:
        library = import_module(self.__name__)
        _call_waiting()
        return getattr(library, name)


if TYPE_CHECKING:
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    from jax import Array
    from jaxtyping import PRNGKeyArray, PyTree
else:
    jax, jnp, eqx = map(_Library, ("jax", "jax.numpy", "equinox"))
    if "jax" in sys.modules:
        from jaxtyping import Array, PRNGKeyArray, PyTree
    else:  # nothing is compared with types that only JAX has
        Array = PRNGKeyArray = Any

        class PyTree:
            """Any tree of arrays."""

            def __class_getitem__(cls, leaf: Any) -> Any:
                return Any


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function as `jax.jit` does, but import JAX only when it is called."""
    compiled: Callable[P, R] | None = None

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        nonlocal compiled
        if compiled is None:
            compiled = jax.jit(function)
        return compiled(*args, **kwargs)

    return run
