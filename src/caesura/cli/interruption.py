"""Ctrl-C and `kill`, as a question that a training asks itself between its updates."""

import signal
from types import FrameType, TracebackType
from typing import Any

from caesura.cli.output import note

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Inside the `with`, the first signal is only noted, and the next one ends the process."""

    def __init__(self) -> None:
        self.signal = 0  # none yet
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Interruption":
        self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(
        self,
        error: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def asked(self) -> bool:
        """Whether there was a signal."""
        return self.signal != 0

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        for each in SIGNALS:  # the system's own: it does not wait for Python to have its turn
            signal.signal(each, signal.SIG_DFL)
        note("Stopping as soon as a checkpoint is saved; once more, and it ends at once.")
