"""All cores of a CPU, for the commands that train."""

import os
from contextlib import suppress


def use_all_cores() -> None:
    """Every core as a device of its own, since a training shares its batch between devices.

    A GPU takes precedence over them. In a process where JAX has run before, they stay as they are.
    """
    import jax

    with suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", os.cpu_count() or 1)
