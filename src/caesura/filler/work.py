"""What it takes to fill a sequence, known before it begins, and which ones can be filled as one."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from caesura.hardware import LANES, bucket
from caesura.kinds.music.roll import runs
from caesura.strategies import GSN, NADE, SIR, Strategy


class Work(NamedTuple):
    """What a strategy has to go through."""

    width: int  # of the window, as it is padded; 0 where nothing is missing
    longest_gap: int


def measure_work(strategy: Strategy, missing_steps: Bool[np.ndarray, " T"]) -> Work:
    """The window that the strategy would take, and the longest gap in it."""
    gaps = runs(missing_steps)
    if not gaps:
        return Work(0, 0)
    window = strategy.stop(gaps[-1][1], len(missing_steps)) - gaps[0][0]
    return Work(max(8, 1 << (window - 1).bit_length()), max(stop - start for start, stop in gaps))


def count_states(strategy: Strategy, missing_steps: Bool[np.ndarray, " T"], samples: int) -> int:
    """How many steps the lanes of a strategy hold at once, in its most expensive verb."""
    work = measure_work(strategy, missing_steps)
    if isinstance(strategy, NADE):
        if work.longest_gap <= strategy.exact_up_to:
            return samples * max(work.width, 1 << work.longest_gap)  # one for each set of steps
        return samples * work.width * strategy.orders
    if isinstance(strategy, GSN):
        return samples * work.width * strategy.chains
    if isinstance(strategy, SIR):
        return work.width * max(samples * strategy.replicas, LANES)  # so many propose at once
    return samples * work.width


def likeness(strategy: Strategy, missing_steps: Bool[np.ndarray, " T"]) -> tuple[int, int] | None:
    """What sequences must share for `Filler.fill_together`, or None for one that is filled alone.

    They meet the same compiled programs then, whose sizes are those of buckets.
    """
    work = measure_work(strategy, missing_steps)
    exact = isinstance(strategy, NADE) and work.longest_gap <= NADE().exact_up_to
    return (bucket(len(missing_steps)), work.width) if exact and work.width else None
