"""The memory of the server: measured, given back, and bounded."""

import ctypes
import gc
import os
import re
from collections.abc import Callable
from pathlib import Path

import jax

from caesura.errors import CaesuraError
from caesura.programs import PROGRAMS

STATM = Path("/proc/self/statm")
UNITS = {"MB": 10**6, "GB": 10**9}
ARENAS = 2
M_ARENA_MAX = -8  # as in the header malloc.h of GNU


class FullError(Exception):
    """The server holds as much memory as it may."""


def resident() -> int:
    """Return the bytes of this process that are in memory; only Linux tells them."""
    return int(STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def is_measured() -> bool:
    """Return whether the system tells how much memory a process has."""
    return STATM.exists()


def read_size(text: str) -> int:
    """Return the bytes of a size such as '2GB'.

    Examples
    --------
    >>> read_size("1.5GB")
    1500000000
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(MB|GB)", text, re.IGNORECASE)
    if found is None or not float(found[1]):
        raise CaesuraError(f"A size of memory is written as 500MB or 2GB, not '{text}'.")
    return round(float(found[1]) * UNITS[found[2].upper()])


class Memory:
    """A limit of memory: above it, programs are let go, and then new work is refused."""

    def __init__(self, limit: int, measure: Callable[[], int] = resident) -> None:
        self._limit, self._measure = limit, measure

    def check(self) -> None:
        """Raise `FullError` if too much is held and none of it can be given back."""
        if self._measure() > self._limit:
            self.tidy()
            if self._measure() > self._limit:
                raise FullError

    def tidy_after_training(self) -> None:
        """Give back what is free, with what refers to itself; that takes a tenth of a second."""
        gc.collect()
        self.tidy()

    def tidy(self) -> None:
        """Give back what is free; while that is not enough, let go of half of the programs.

        At last, JAX is told to forget how it came to the programs, which takes memory, too.
        """
        _trim()
        while self._measure() > self._limit and len(PROGRAMS):
            PROGRAMS.shrink()
            gc.collect()
            _trim()
        if self._measure() > self._limit:
            jax.clear_caches()
            gc.collect()
            _trim()


def use_few_arenas() -> None:
    """Have the C library keep the memory of all threads in few places, from now on.

    It would have one place for each of many threads, and each of them would keep some that is free.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(M_ARENA_MAX, ARENAS)


def _trim() -> None:
    """Have the C library return free memory to the system, which it would keep for later."""
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):  # that of GNU
        library.malloc_trim(0)
