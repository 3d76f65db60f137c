"""Who looks at the work while it goes on, and may stop it."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from caesura.training.loop import Progress


class Watch:
    """Shows nothing and never stops; the command line has one that does both."""

    def note(self, sentence: str) -> None:
        """Something to know."""

    def training(self, name: str) -> "AbstractContextManager[Callable[[str, Progress], None]]":
        """What a training reports to."""
        return nullcontext(lambda net, progress: None)

    def scoring(self, name: str) -> AbstractContextManager[Callable[[int, int], None]]:
        """What an evaluation reports to: the gaps that are done, and all of them."""
        return nullcontext(lambda done, gaps: None)

    def stopped(self) -> bool:
        """Whether the work should end as soon as it can go on from there."""
        return False
