"""Compiled programs: one for each shape of the arrays, of which the least recently used go first.

JAX keeps every program that it ever compiled. Here each has a function of its own, so that JAX lets
it go with that function.
"""

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from caesura.later import jax

MOST = 96  # programs that are kept; one of a net with 512 units takes 10 to 30 MB

P = ParamSpec("P")
R = TypeVar("R")


class Programs:
    """The programs that are kept, by what they were compiled for."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.evicted = 0
        self._kept: OrderedDict[Hashable, Callable[..., Any]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable, make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
        """Return the program of a key, made if it is not there; it is the last to go."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = make()
            self._kept.move_to_end(key)
            self._keep(self.most)
            return self._kept[key]

    def shrink(self) -> None:
        """Let go of half of the programs: those that were not used for longest."""
        with self._lock:
            self._keep(len(self._kept) // 2)

    def _keep(self, most: int) -> None:
        while len(self._kept) > most:
            self._kept.popitem(last=False)
            self.evicted += 1


PROGRAMS = Programs()  # of this process


def program(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function of arrays and other values, once for each shape and each other value.

    As by `equinox.filter_jit`, arrays of JAX and NumPy are traced, and everything else is fixed.
    Inside another program, the function is a part of that one.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        leaves, structure = jax.tree.flatten((args, kwargs))
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return function(*args, **kwargs)
        traced = [isinstance(leaf, jax.Array | np.ndarray) for leaf in leaves]
        fixed = [None if is_array else x for is_array, x in zip(traced, leaves, strict=True)]
        arrays = [x for is_array, x in zip(traced, leaves, strict=True) if is_array]

        def make() -> Callable[..., R]:
            def whole(*arrays: Any) -> R:
                given = iter(arrays)
                filled = [
                    next(given) if is_array else x
                    for is_array, x in zip(traced, fixed, strict=True)
                ]
                args, kwargs = jax.tree.unflatten(structure, filled)
                return function(*args, **kwargs)

            return jax.jit(whole)

        shapes = tuple((array.shape, array.dtype) for array in arrays)
        # 1 and True are equal, but not for a program.
        types = tuple(map(type, fixed))
        compiled = PROGRAMS.get((function, structure, tuple(fixed), types, shapes), make)
        return compiled(*arrays)

    return run
