"""Piano rolls: which of the 88 keys sound at each step, as an array of zeros and ones."""

from typing import Any

import numpy as np

from caesura.errors import CaesuraError
from caesura.sequence import Sequence

KEYS = 88
MOST_STEPS = 1_000_000  # one wrong number in a file must not fill the memory
LOWEST_KEY = 21  # the MIDI number of a piano's first key; its last is 108


def read_roll(data: Any, name: str = "The roll", struck: bool = False) -> Sequence:
    """Return an array [steps, 88] of 0 and 1 as a sequence; NaN is missing.

    With `struck`, a key may also be 2.
    """
    numbers = "0, 1, 2 and NaN" if struck else "0, 1 and NaN"
    try:
        roll = np.asarray(data)
    except (TypeError, ValueError):
        raise CaesuraError(f"{name} is not an array of numbers.") from None
    if roll.dtype.kind not in "biuf":
        raise CaesuraError(f"{name} holds {numbers}, not {roll.dtype}.")
    if roll.ndim != 2 or roll.shape[1] != KEYS:
        raise CaesuraError(f"{name} has the shape [steps, {KEYS}], not {list(roll.shape)}.")
    if not len(roll):
        raise CaesuraError(f"{name} is empty.")
    if len(roll) > MOST_STEPS:
        raise CaesuraError(f"{name} is longer than {MOST_STEPS} steps.")
    missing = np.isnan(roll)
    strange = ~missing & (roll != 0) & (roll != 1) & ((roll != 2) | (not struck))
    if strange.any():
        step, key = np.argwhere(strange)[0]
        raise CaesuraError(
            f"{name} holds {numbers}, not {roll[step, key]} at step {step}, key {key}."
        )
    return Sequence(np.where(missing, 0, roll).astype(np.int8), missing)
