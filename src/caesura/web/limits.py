"""What one request may ask of the machine, known before the work begins.

A program that runs on the model cannot be interrupted, so that its size has to be bounded instead.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from caesura.errors import CaesuraError
from caesura.strategies import GSN, NADE, SIR, Strategy

CHARACTERS = 10_000  # of a text
SPANS = 2_000  # that name what is missing, or pinned
SAMPLES = 64
MIDI_BYTES = 1 << 20
STEPS = 10_000  # of a song
BODY_BYTES = 2 << 20  # a song in base64, and the spans


@dataclass(frozen=True)
class Limits:
    """What a server can bear."""

    waiting: int = 64  # requests, beyond which more are sent away
    together: int = 8  # fills of like texts that are done at once
    seconds: float = 120.0  # until an answer, waiting included
    states: int = 1 << 16  # of the nets, held at once; those of the text model have 14 kB each


def check_work(
    strategy: Strategy, missing_steps: Bool[np.ndarray, " T"], samples: int, limits: Limits
) -> None:
    """One sentence if the fill would need more memory and time than a request may have."""
    places = np.flatnonzero(missing_steps)
    if not places.size:
        return
    stop = strategy.stop(int(places[-1]) + 1, len(missing_steps))
    longest = max(len(run) for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1))
    if count_states(strategy, stop - int(places[0]), longest, samples) > limits.states:
        raise CaesuraError(
            f"That is too much for one request by '{type(strategy).__name__.lower()}': ask for "
            "fewer samples, for shorter gaps, or for gaps that lie closer together."
        )


def count_states(strategy: Strategy, window: int, longest_gap: int, samples: int) -> int:
    """How many steps the lanes of a strategy hold at once, in its most expensive verb."""
    width = max(8, 1 << (window - 1).bit_length())  # as windows are padded
    if isinstance(strategy, NADE):
        if longest_gap <= strategy.exact_up_to:
            return samples * max(width, 1 << longest_gap)  # a state for each set of filled steps
        return samples * width * strategy.orders
    if isinstance(strategy, GSN):
        return samples * width * strategy.chains
    if isinstance(strategy, SIR):
        return width * max(samples * strategy.replicas, 128)  # LANES of them propose at once
    return samples * width
