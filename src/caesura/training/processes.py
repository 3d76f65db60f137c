"""Agreement between the processes of one training, on one machine or many."""

import hashlib

import jax
import numpy as np
from jax.experimental import multihost_utils

from caesura.errors import CaesuraError


def is_first() -> bool:
    """Return whether this is the process that writes and reports for all."""
    return jax.process_index() == 0


def largest(*numbers: int) -> list[int]:
    """Return the largest value of each number over all processes."""
    return _gather(np.array(numbers, np.int32)).max(axis=0).tolist()


def check_alike(state: str, sentence: str) -> None:
    """Raise the sentence as an error in every process, unless `state` is the same in all of them.

    This waits until all processes have called it.
    """
    digest = np.frombuffer(hashlib.sha256(state.encode()).digest(), np.uint8)
    digests = _gather(digest)
    if (digests != digests[0]).any():
        raise CaesuraError(sentence)


def _gather(mine: np.ndarray) -> np.ndarray:
    """Return a row for each process."""
    if jax.process_count() == 1:
        return mine[None]
    return np.asarray(multihost_utils.process_allgather(mine))
