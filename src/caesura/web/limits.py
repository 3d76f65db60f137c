"""What one request may ask of the machine, checked before the work begins.

A program that runs on the model cannot be interrupted, so its size has to be bounded instead.
"""

from dataclasses import dataclass

STEPS = 10_000  # of a sequence
CHARACTERS = (1 << 20) * 4 // 3 + 4  # of a sequence as it is sent: a file of 1 MB in base64
BOXES = 2_000  # that say what is missing, or pinned
DRAWS = 64
WISHES = 100  # pitches or ranges that are kept, forced or forbidden
WISH = 20  # characters of one
SECONDS = 10.0  # that a search may be told to take
LACUNAE = 2_000  # that are accepted or asked about
READINGS = 200  # of one lacuna
PART = 1_000  # characters of a reading, or of a pattern
CSV_CHARACTERS = 1 << 20  # of a table to train on
ROWS = 20_000
COLUMNS = 30
MISSING = 10_000  # values that are drawn for a table
BODY_BYTES = 2 << 20


@dataclass(frozen=True)
class Limits:
    """What a server can bear.

    Parameters
    ----------
    waiting
        How many requests may wait; more are refused.
    together
        How many requests are filled in one pass.
    seconds
        How long a client waits for an answer at most.
    states
        How many states of the nets a request may need at once; those of the text model have 14 kB.
    memory
        How many bytes the server may have in memory: above it, compiled programs are let go, and
        then new work is refused.
    fits_waiting, fit_seconds
        The same for tables that are trained on.
    updates
        How many updates a training on a table has at most.
    """

    waiting: int = 64
    together: int = 16
    seconds: float = 120.0
    states: int = 1 << 16
    memory: int = 2 * 10**9
    fits_waiting: int = 4
    fit_seconds: float = 1800.0
    updates: int = 10_000
