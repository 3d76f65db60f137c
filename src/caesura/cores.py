"""All cores of a CPU, for what trains and what draws much."""

import os
from contextlib import suppress


def use_all_cores() -> None:
    """Every core as a device of its own: devices share the batches of a training, and the draws for
    series.

    A GPU takes precedence over them. In a process that has told JAX how many there are, or where it
    has run before, they stay as they are.
    """
    import jax

    if jax.config.jax_num_cpu_devices < 0:  # type: ignore[attr-defined]
        with suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", os.cpu_count() or 1)
