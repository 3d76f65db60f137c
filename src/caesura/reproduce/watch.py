"""How a run reports its progress, and how it is stopped."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from caesura.training.loop import Progress


class Watch:
    """Shows nothing and never stops; the command line has a subclass that does both."""

    def note(self, sentence: str) -> None:
        """Show a sentence."""

    def training(self, name: str) -> "AbstractContextManager[Callable[[str, Progress], None]]":
        """Return a context whose value is called with the progress of a training."""
        return nullcontext(lambda net, progress: None)

    def scoring(self, name: str) -> AbstractContextManager[Callable[[int, int], None]]:
        """Return a context whose value is called with the number of gaps done, and of all gaps."""
        return nullcontext(lambda done, gaps: None)

    def stopped(self) -> bool:
        """Return whether the work should stop as soon as it can be continued later."""
        return False
