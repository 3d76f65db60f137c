"""Compiled programs are kept on disk, so that only the first of like commands compiles."""

import hashlib
import os
import platform
import warnings
from contextlib import suppress
from pathlib import Path

from caesura.cache_folder import cache_folder

MOST = 64 << 20  # bytes; a program has some 100 kB


def keep_compiled() -> None:
    """Have JAX keep what it compiles, unless the user has told it where to keep it, or not to.

    Where the folder cannot be written, JAX compiles as it would without.
    """
    # XLA reports tuning hints of the processor as missing features, at every program it loads.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import jax

    told = jax.config.values
    if told["jax_compilation_cache_dir"] is not None or not told["jax_enable_compilation_cache"]:
        return
    warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation")
    folder = cache_folder() / "compiled"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # whoever writes there runs code here
    except OSError:
        return
    remove_oldest(folder, MOST)
    jax.config.update("jax_compilation_cache_dir", str(folder / _machine()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def compile_quickly() -> None:
    """For a short piece of work: programs that are ready in 2/3 of the time and half as fast."""
    import jax

    jax.config.update("jax_disable_most_optimizations", True)


def remove_oldest(folder: Path, most: int) -> None:
    """Make the files of a folder hold at most so many bytes."""
    with suppress(OSError):  # another process does the same
        files = [(f.stat().st_mtime, f.stat().st_size, f) for f in folder.rglob("*-cache")]
        total = sum(size for _, size, _ in files)
        for _, size, file in sorted(files):
            if total <= most:
                break
            file.unlink(missing_ok=True)
            total -= size


def _machine() -> str:
    """What tells processors apart: a home may be shared, and one's programs kill another's."""
    told = [platform.machine(), platform.processor()]
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        told += sorted({line for line in lines if line.startswith(("model name", "flags"))})
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]
