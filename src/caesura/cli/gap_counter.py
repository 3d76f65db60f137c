"""How a running evaluation shows itself: the gaps that are done, of all that there are."""

import sys

from caesura.cli.live_line import LiveLine
from caesura.cli.output import note


class GapCounter(LiveLine):
    """Counts gaps: on one line in a terminal, else at each quarter of them."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.quarters = 0

    def __enter__(self) -> "GapCounter":
        return self

    def count(self, done: int, gaps: int) -> None:
        """What an evaluation calls after some gaps."""
        text = f"{self.name}: {done}/{gaps} gaps"
        self.show(text)
        if 4 * done // gaps > self.quarters and not sys.stderr.isatty():
            self.quarters = 4 * done // gaps
            note(text)
