"""What one request may ask of the machine, known before the work begins.

A program that runs on the model cannot be interrupted, so that its size has to be bounded instead.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from caesura.errors import CaesuraError
from caesura.filler.work import count_states
from caesura.strategies import Strategy

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


def check_work(
    strategy: Strategy, missing_steps: Bool[np.ndarray, " T"], samples: int, limits: Limits
) -> None:
    """One sentence if the fill would need more memory and time than a request may have."""
    if count_states(strategy, missing_steps, samples) > limits.states:
        raise CaesuraError(
            f"That is too much for one request by '{type(strategy).__name__.lower()}': ask for "
            "fewer samples, for shorter gaps, or for gaps that lie closer together."
        )
