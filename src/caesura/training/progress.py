"""How a running training shows itself: a live line in a terminal, else a line a validation."""

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caesura.training.loop import Progress


class View(ABC):
    """Shows the progress of one net after the other."""

    def __init__(self) -> None:
        self._net = ""
        self._last = self._best = math.nan

    def report(self, net: str, progress: "Progress") -> None:
        """What `caesura.train` calls after some updates."""
        if net != self._net:
            self._net, self._last, self._best = net, math.nan, math.nan
        if progress.validation is not None:
            self._last = progress.validation
            self._best = min(self._last, self._best) if self._best == self._best else self._last
        self.show(progress)

    @abstractmethod
    def show(self, progress: "Progress") -> None:
        """The progress of `self._net`."""


class Lines(View):
    """For a file or a pipe."""

    def show(self, progress: "Progress") -> None:
        """One line for a validation, and none for what lies between."""
        if progress.validation is None:
            return
        parts = [
            f"{self._net}",
            f"update {progress.step}/{progress.steps}",
            f"loss {progress.loss:.4f}",
            f"validation {self._last:.4f} (best {self._best:.4f})",
            f"{progress.steps_a_second:.0f} steps/s",
            f"{_clock(progress.seconds_left)} left",
        ]
        if progress.skipped:
            parts.append(f"{progress.skipped} updates skipped")
        print("  ".join(parts), file=sys.stderr, flush=True)


class Live(View):
    """For a terminal: a bar for each net, with its numbers behind it."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
        from rich.table import Column

        super().__init__()
        console = Console(file=sys.stderr)
        roomy = console.width >= 120  # else the numbers need the place of the bar
        self.bars = Progress(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("[bold]{task.description}"),
            *([BarColumn(bar_width=24)] if roomy else []),
            TextColumn("{task.fields[numbers]}", table_column=Column(no_wrap=False)),
            console=console,
            refresh_per_second=8,
        )
        self._tasks: dict[str, Any] = {}
        # Until the first update is done, data is read and programs are compiled.
        self._waiting = self.bars.add_task("getting ready", total=None, numbers="")

    def is_ready(self) -> None:
        """There is no more waiting to be shown."""
        self.bars.update(self._waiting, visible=False)

    def show(self, progress: "Progress") -> None:
        """The bar of the net, moved on."""
        self.is_ready()
        if self._net not in self._tasks:
            self._tasks[self._net] = self.bars.add_task(self._net, total=None, numbers="")
        parts = [f"{progress.step}/{progress.steps}", f"loss [cyan]{progress.loss:.3f}[/]"]
        if self._last == self._last:
            parts.append(f"valid [cyan]{self._last:.3f}[/] (best [green]{self._best:.3f}[/])")
        parts += [
            f"{_short(progress.steps_a_second)} steps/s",
            f"{_clock(progress.seconds_left)} left",
        ]
        if progress.skipped:
            parts.append(f"[yellow]{progress.skipped} skipped[/]")
        self.bars.update(
            self._tasks[self._net],
            total=progress.steps,
            completed=progress.step,
            numbers="  ".join(parts),
        )


@contextmanager
def showing() -> Iterator[Callable[[str, "Progress"], None]]:
    """What to report to; it shows itself as suits stderr until the `with` ends."""
    if not sys.stderr.isatty():
        yield Lines().report
        return
    live = Live()
    with live.bars:
        try:
            yield live.report
        finally:
            live.is_ready()


@contextmanager
def nothing_shown() -> Iterator[Callable[[str, "Progress"], None]]:
    """For a process beside the one that speaks for all."""
    yield lambda net, progress: None


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def _short(number: float) -> str:
    return f"{number / 1000:.0f}k" if number >= 10_000 else f"{number:.0f}"
