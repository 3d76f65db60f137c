"""What the processes of one training, on one machine or many, must agree on."""

import hashlib

import jax
import numpy as np
from jax.experimental import multihost_utils

from caesura.errors import CaesuraError


def is_first() -> bool:
    """Whether this is the process that writes and speaks for all."""
    return jax.process_index() == 0


def largest(*numbers: int) -> list[int]:
    """The largest that any process says, of each number."""
    return _said(np.array(numbers, np.int32)).max(axis=0).tolist()


def check_alike(told: str, sentence: str) -> None:
    """The sentence as an error in every process, unless all of them tell the same.

    None goes on before all have come here.
    """
    digest = np.frombuffer(hashlib.sha256(told.encode()).digest(), np.uint8)
    said = _said(digest)
    if (said != said[0]).any():
        raise CaesuraError(sentence)


def _said(mine: np.ndarray) -> np.ndarray:
    """A row for each process."""
    if jax.process_count() == 1:
        return mine[None]
    return np.asarray(multihost_utils.process_allgather(mine))
