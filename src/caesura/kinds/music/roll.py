"""Piano rolls: which of the 88 keys sound at each step, as an array of zeros and ones."""

from typing import Any

import numpy as np

from caesura.errors import CaesuraError
from caesura.sequence import Sequence

KEYS = 88
MOST_STEPS = 1_000_000  # one wrong number in a file must not fill the memory
LOWEST_KEY = 21  # the MIDI number of a piano's first key; its last is 108


def read_roll(data: Any, name: str = "The roll") -> Sequence:
    """Return an array [steps, 88] of 0 and 1 as a sequence; NaN is missing."""
    try:
        roll = np.asarray(data)
    except (TypeError, ValueError):
        raise CaesuraError(f"{name} is not an array of numbers.") from None
    if roll.dtype.kind not in "biuf":
        raise CaesuraError(f"{name} holds 0, 1 and NaN, not {roll.dtype}.")
    if roll.ndim != 2 or roll.shape[1] != KEYS:
        raise CaesuraError(f"{name} has the shape [steps, {KEYS}], not {list(roll.shape)}.")
    if not len(roll):
        raise CaesuraError(f"{name} is empty.")
    if len(roll) > MOST_STEPS:
        raise CaesuraError(f"{name} is longer than {MOST_STEPS} steps.")
    missing = np.isnan(roll)
    strange = ~missing & (roll != 0) & (roll != 1)
    if strange.any():
        step, key = np.argwhere(strange)[0]
        raise CaesuraError(
            f"{name} holds 0, 1 and NaN, not {roll[step, key]} at step {step}, key {key}."
        )
    return Sequence((roll == 1).astype(np.int8), missing)
