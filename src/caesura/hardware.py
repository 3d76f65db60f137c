"""Settings for the machine: cores, memory, precision, and every size that arrays are padded to.

JAX compiles a program for each shape of its arrays, so all shapes come from here: there are few.
"""

import ctypes
import hashlib
import os
import platform
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Shaped
from threadpoolctl import ThreadpoolController

from caesura.errors import CaesuraError
from caesura.files import cache_directory
from caesura.later import Array, jax, jnp

LANES = 128  # side by side, beyond which more lanes at once are not faster
SEARCHED_LANES = 4096  # beginnings of fills that a search holds at once when there are many
DRAWN_LANES = 512  # fills that are drawn at once when there are many
STATES = 1 << 16  # of a net, in memory at once: those of the embedded text model take 14 kB each
NUMBERS = 1 << 25  # of 4 bytes, in the answers of one batch
SETS = 1 << 16  # of filled steps, when `nade` averages over all orders
# Batch sizes of an evaluation; each is compiled.
EVALUATION_SIZES = (1, 4, 16, 64, 256, 1024, 2048, 4096, 8192, 12288, 16384)
AVX512 = ("SkylakeX", "Cooperlake", "SapphireRapids")  # kernels of OpenBLAS, by their names
CACHE_BYTES = 64 << 20  # of compiled programs on disk; one takes about 100 kB
# Options of glibc's `mallopt`, by the names of malloc.h, and values that have it keep all memory.
KEEPING = {"M_ARENA_MAX": (-8, 1), "M_MMAP_MAX": (-4, 0), "M_TRIM_THRESHOLD": (-1, 2**31 - 1)}


def bucket(n: int) -> int:
    """Return the smallest 2^k or 3·2^k that holds `n`."""
    power = 1 << max(n - 1, 0).bit_length()
    return power * 3 // 4 if power >= 4 and n <= power * 3 // 4 else power


def sequence_length(n: int) -> int:
    """Return the padded length of a sequence of `n` steps, of which a window is filled.

    There are few of them: to read twice as much takes less time than to compile another program.
    """
    return max(64, 1 << (n - 1).bit_length())


def window_width(n: int) -> int:
    """Return the width of a padded window of `n` steps.

    There are fewer of them than of `bucket`, because more is compiled for windows.
    """
    return max(8, 1 << (n - 1).bit_length())


def gap_length(n: int) -> int:
    """Return the padded length of a gap of `n` steps, of which `nade` averages over all orders.

    Few lengths mean few compilations, but one step more doubles the work.
    """
    return n if n <= 6 else n + n % 2


def power_of_four(n: int) -> int:
    """Return the smallest power of four that holds `n`: for corpora and batches of gaps."""
    return int(4 ** np.ceil(np.log2(max(n, 1)) / 2))


def pad(
    array: Shaped[np.ndarray, "T ..."], length: int, value: int = 0
) -> Shaped[np.ndarray, "length ..."]:
    """Return the array with its first axis padded to `length`."""
    widths = [(0, length - len(array))] + [(0, 0)] * (array.ndim - 1)
    return np.pad(array, widths, constant_values=value)


@cache
def _blas_libraries(with_scipy: bool) -> ThreadpoolController:
    """Return what is loaded now; to look for it takes a millisecond."""
    return ThreadpoolController().select(user_api="blas")


class _Blas:
    """Limits the threads of NumPy's and SciPy's matrix products while anyone asks for it."""

    def __init__(self) -> None:
        self.lock, self.users = Lock(), 0
        self.limit: Any = None

    @property
    def controller(self) -> ThreadpoolController:
        return _blas_libraries("scipy.linalg" in sys.modules)  # SciPy brings one of its own

    def enter(self) -> None:
        with self.lock:
            if not self.users:
                now = [library.num_threads for library in self.controller.lib_controllers]
                self.limit = self.controller.limit(limits=min([max(1, cores() // 2), *now]))
                self.limit.__enter__()
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                self.limit.__exit__(None, None, None)


_BLAS = _Blas()


@contextmanager
def few_blas_threads() -> Iterator[None]:
    """Have each matrix product use half of the cores at most, until the last user ends.

    It knows NumPy's products, and SciPy's if `scipy.linalg` is loaded. A search multiplies in two
    threads of its own. If a product were shared by more threads than there are free cores, they
    would wait for each other, many times as long as they compute.
    """
    _BLAS.enter()
    try:
        yield
    finally:
        _BLAS.leave()


@cache
def multiplies_small() -> bool:
    """Return whether NumPy multiplies small matrices without copying them first.

    OpenBLAS does so where it uses AVX-512.
    """
    found = [getattr(one, "architecture", None) for one in _BLAS.controller.lib_controllers]
    return any(name in AVX512 for name in found)


class Room(NamedTuple):
    """How much an evaluation does at a time."""

    gaps: int
    state_bytes: int  # for the states of the sequences that are passed over


def room() -> Room:
    """Return what the memory of the device has room for."""
    if jax.default_backend() != "gpu":
        return Room(gaps=64, state_bytes=2**29)
    memory = jax.local_devices()[0].memory_stats()["bytes_limit"]
    return Room(gaps=EVALUATION_SIZES[-1], state_bytes=memory // 4)


class Tuning(NamedTuple):
    """How to compute a batch on the device; the mathematics is the same."""

    dtype: Any = np.float32  # of what is multiplied and kept; weights and sums are float32
    unroll: int = 1  # steps of the scan in one turn of its loop
    width: int = 1  # units and inputs are padded to a multiple of it, with such as stay at zero
    ways: str = ""  # the axis of two devices that run one direction each; without, all run both

    def einsum(self, subscripts: str, a: Array, b: Array) -> Array:
        """Multiply in the chosen precision, sum in float32."""
        a, b = a.astype(self.dtype), b.astype(self.dtype)
        return jnp.einsum(subscripts, a, b, preferred_element_type=jnp.float32)


def tuning_for(precision: str) -> Tuning:
    """Return what is fast on the device, in the precision that a recipe asks for."""
    if jax.default_backend() != "gpu":
        if precision == "bfloat16":
            raise CaesuraError("The precision 'bfloat16' needs a GPU; try 'auto'.")
        return Tuning()
    dtype: Any = np.float32 if precision == "float32" else jnp.bfloat16
    return Tuning(dtype=dtype, unroll=5, width=64)


def cores() -> int:
    """Return how many cores of the CPU this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def use_all_cores() -> None:
    """Make every core of the CPU a device of JAX: devices share batches and draws.

    A GPU takes precedence. Nothing changes if the number of devices was set before, or if JAX has
    already run in this process.
    """
    if jax.config.jax_num_cpu_devices < 0:  # type: ignore[attr-defined]
        with suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", cores())


def keep_memory() -> None:
    """Have the process keep memory that was freed, for its next arrays.

    By default, large arrays go back to the system, and their pages are new when they are needed
    again: a sixth of the time of a training on a CPU (docs/performance.md). This is for commands,
    since it holds for all of the process. Call it before JAX runs. Without glibc nothing changes.
    """
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        for option, value in KEEPING.values():
            libc.mallopt(option, value)


def sharing(batch: int) -> "list[jax.Device]":
    """Return as many devices as share a batch evenly, equally many of each process."""
    each: list[list[jax.Device]] = [[] for _ in range(jax.process_count())]
    for device in jax.devices():
        each[device.process_index].append(device)
    for count in range(min(map(len, each)), 0, -1):
        if batch % (count * len(each)) == 0:
            return [device for devices in each for device in devices[:count]]
    raise CaesuraError(f"A batch of {batch} cannot be shared evenly by {len(each)} processes.")


def keep_compiled() -> None:
    """Have JAX keep compiled programs in the cache directory, unless it was configured before.

    If the directory cannot be written, JAX compiles as it would without it.
    """
    # XLA reports tuning hints of the processor as missing features, at every program it loads.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    set_already = jax.config.values["jax_compilation_cache_dir"] is not None
    if set_already or not jax.config.values["jax_enable_compilation_cache"]:
        return
    warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation")
    directory = cache_directory() / "compiled"
    try:
        # Whoever writes there runs code here.
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return
    remove_oldest(directory, CACHE_BYTES)
    jax.config.update("jax_compilation_cache_dir", str(directory / _processor()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def remove_oldest(directory: Path, most: int) -> None:
    """Remove the oldest cache files until the directory holds at most `most` bytes."""
    with suppress(OSError):  # another process may do the same
        files = [(f.stat().st_mtime, f.stat().st_size, f) for f in directory.rglob("*-cache")]
        total = sum(size for _, size, _ in files)
        for _, size, file in sorted(files):
            if total <= most:
                break
            file.unlink(missing_ok=True)
            total -= size


def _processor() -> str:
    """Tell processors apart: a home may be shared, and one's programs crash on another."""
    facts = [platform.machine(), platform.processor()]
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        facts += sorted({line for line in lines if line.startswith(("model name", "flags"))})
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
