"""Frames that a head scores, all at once, and all frames that can stand in a gap."""

from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from caesura.nets.heads.base import Head, Query


def fillings(frame: np.ndarray, missing: np.ndarray, cardinality: int) -> np.ndarray:
    """All frames that agree with this one where nothing is missing."""
    filled = np.repeat(frame[None], cardinality ** missing.sum(), axis=0)
    filled[:, missing] = list(product(range(cardinality), repeat=missing.sum()))
    return filled


@eqx.filter_jit
def _scores(head, context, frames, missing):
    return jax.vmap(head.log_prob, in_axes=(Query(None, 0, 0),))(Query(context, frames, missing))


def scores(head: Head, context, frames: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """log p of each frame, where it is missing."""
    wide = np.broadcast_to(missing, frames.shape)
    return np.asarray(_scores(head, context, jnp.asarray(frames), jnp.asarray(wide)), np.float64)
