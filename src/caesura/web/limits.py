"""What one request may ask of the machine, known before the work begins.

A program that runs on the model cannot be interrupted, so that its size has to be bounded instead.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from caesura.errors import CaesuraError
from caesura.kinds.roll import runs
from caesura.strategies import GSN, NADE, SIR, Strategy
from caesura.strategies.base import LANES

CHARACTERS = 10_000  # of a text
SPANS = 2_000  # that name what is missing, or pinned
SAMPLES = 64
MIDI_BYTES = 1 << 20
STEPS = 10_000  # of a song
CSV_CHARACTERS = 1 << 20  # of a table
ROWS = 20_000
COLUMNS = 30
MISSING = 10_000  # numbers that are drawn for a table
BODY_BYTES = 2 << 20  # a song in base64, and the spans


@dataclass(frozen=True)
class Limits:
    """What a server can bear."""

    waiting: int = 64  # requests, beyond which more are sent away
    together: int = 8  # fills of like texts that are done at once
    seconds: float = 120.0  # until an answer, waiting included
    states: int = 1 << 16  # of the nets, held at once; those of the text model have 14 kB each
    fits_waiting: int = 4
    fit_seconds: float = 1800.0  # until a table is filled, waiting included
    updates: int = 10_000  # in the training of a fit, where the recipe has more


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


def check_work(
    strategy: Strategy, missing_steps: Bool[np.ndarray, " T"], samples: int, limits: Limits
) -> None:
    """One sentence if the fill would need more memory and time than a request may have."""
    if count_states(strategy, measure_work(strategy, missing_steps), samples) > limits.states:
        raise CaesuraError(
            f"That is too much for one request by '{type(strategy).__name__.lower()}': ask for "
            "fewer samples, for shorter gaps, or for gaps that lie closer together."
        )


def count_states(strategy: Strategy, work: Work, samples: int) -> int:
    """How many steps the lanes of a strategy hold at once, in its most expensive verb."""
    if isinstance(strategy, NADE):
        if work.longest_gap <= strategy.exact_up_to:
            return samples * max(work.width, 1 << work.longest_gap)  # one for each set of steps
        return samples * work.width * strategy.orders
    if isinstance(strategy, GSN):
        return samples * work.width * strategy.chains
    if isinstance(strategy, SIR):
        return work.width * max(samples * strategy.replicas, LANES)  # so many propose at once
    return samples * work.width
