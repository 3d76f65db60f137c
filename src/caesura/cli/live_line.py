"""A line on stderr that changes while something is counted, in a terminal alone."""

import sys
from types import TracebackType


class LiveLine:
    """Inside the `with`, each text takes the place of the one before; the last one stays."""

    def __init__(self) -> None:
        self._shown = 0  # characters of the line

    def __enter__(self) -> "LiveLine":
        return self

    def __exit__(
        self,
        error: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            print(file=sys.stderr)

    def show(self, text: str) -> None:
        """The text now, if anyone looks."""
        if sys.stderr.isatty():
            print(f"\r{text:{self._shown}}", end="", file=sys.stderr, flush=True)
            self._shown = len(text)
