"""Ctrl-C and `kill`, which stop a training between two updates."""

import signal
from types import FrameType
from typing import Any

from caesura.cli.output import note

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Inside the `with`, the first signal is recorded, and the next one ends the process."""

    def __init__(self) -> None:
        self.signal = 0  # none yet
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Interruption":
        self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def asked(self) -> bool:
        """Return whether there was a signal."""
        return self.signal != 0

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        for each in SIGNALS:  # the system's own handlers, which do not wait for Python
            signal.signal(each, signal.SIG_DFL)
        note("Stopping as soon as a checkpoint is saved; a second signal ends it at once.")
