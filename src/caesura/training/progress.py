"""How running work shows itself on stderr: live bars in a terminal, else a line now and then."""

import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import ProgressColumn, TaskID

    from caesura.training.loop import Progress

SECONDS = 15.0  # between lines, if stderr is not a terminal
Report = Callable[[str, "Progress"], None]


class Clock:
    """Says when the next line is due."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def is_due(self) -> bool:
        """Return whether `SECONDS` have passed since the last line."""
        return time.monotonic() - self._last >= SECONDS

    def restart(self) -> None:
        """Note that a line was printed now."""
        self._last = time.monotonic()


class View(ABC):
    """Shows the progress of one net after the other."""

    def __init__(self) -> None:
        self._net = ""
        self._last = self._best = math.nan

    def report(self, net: str, progress: "Progress") -> None:
        """Show the progress; `caesura.train` calls this about once a second."""
        if net != self._net:
            self._net, self._last, self._best = net, math.nan, math.nan
        if progress.validation is not None:
            self._last = progress.validation
            self._best = min(self._last, self._best) if self._best == self._best else self._last
        self.show(progress)

    @abstractmethod
    def show(self, progress: "Progress") -> None:
        """Show the progress of `self._net`."""


class Lines(View):
    """For a file or a pipe."""

    def __init__(self) -> None:
        super().__init__()
        self._clock = Clock()

    def show(self, progress: "Progress") -> None:
        """Print a line for each validation, and every 15 seconds between validations."""
        if progress.validation is None and not self._clock.is_due():
            return
        self._clock.restart()
        parts = [self._net, f"update {progress.step}/{progress.steps}", f"loss {progress.loss:.4f}"]
        if progress.validation is not None:
            parts.append(f"validation {self._last:.4f} (best {self._best:.4f})")
        parts += [
            f"{progress.steps_a_second:.0f} steps/s",
            f"{_duration(progress.seconds_left)} left",
        ]
        if progress.skipped:
            parts.append(f"{progress.skipped} updates skipped")
        print("  ".join(parts), file=sys.stderr, flush=True)


class Live(View):
    """For a terminal: a bar for each net, followed by its numbers."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.table import Column

        super().__init__()
        numbers = TextColumn("{task.fields[numbers]}", table_column=Column(no_wrap=False))
        wide = Console(file=sys.stderr).width >= 120  # else the numbers need the space of the bar
        self.bars = _bars(BarColumn(bar_width=24), numbers) if wide else _bars(numbers)
        self._tasks: dict[str, TaskID] = {}
        # Before the first update, data is read and programs are compiled.
        self._waiting = self.bars.add_task("getting ready", total=None, numbers="")

    def is_ready(self) -> None:
        """Stop showing that the training is getting ready."""
        self.bars.update(self._waiting, visible=False)

    def show(self, progress: "Progress") -> None:
        """Update the bar of the net."""
        self.is_ready()
        if self._net not in self._tasks:
            self._tasks[self._net] = self.bars.add_task(self._net, total=None, numbers="")
        parts = [f"{progress.step}/{progress.steps}", f"loss [cyan]{progress.loss:.3f}[/]"]
        if self._last == self._last:
            parts.append(f"valid [cyan]{self._last:.3f}[/] (best [green]{self._best:.3f}[/])")
        parts += [
            f"{_short(progress.steps_a_second)} steps/s",
            f"{_duration(progress.seconds_left)} left",
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
def showing() -> Iterator[Report]:
    """Give the function to report a training to, which shows it until the `with` ends."""
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
def nothing_shown() -> Iterator[Report]:
    """Give a function that shows nothing, for all processes but the one that reports."""
    yield lambda net, progress: None


class Counter:
    """Counts other work: gaps scored, rows filled, bytes fetched; `counting` makes one."""

    def __init__(self, name: str, unit: str, bars: "Bars | None") -> None:
        self._name = name
        self._unit = unit
        self._bars = bars
        self._task = bars.add_task(name, total=None, numbers="") if bars else None
        self._clock = Clock()
        self._text = self._printed = ""

    def __call__(self, done: int, total: int | None = None, note: str = "") -> None:
        """Show that `done` of `total` is done; `total` is None if it is unknown."""
        numbers = "/".join(self._number(n) for n in (done, total) if n is not None)
        self._text = f"{numbers}, {note}" if note else numbers
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, completed=done, total=total, numbers=self._text)
        elif self._clock.is_due():
            self._clock.restart()
            self.print_line()

    def print_line(self) -> None:
        """Print the count as a line, unless it was printed before."""
        if self._bars is None and self._text != self._printed:
            self._printed = self._text
            print(f"{self._name} {self._text}", file=sys.stderr, flush=True)

    def _number(self, number: int) -> str:
        from rich.filesize import decimal

        return decimal(number) if self._unit == "bytes" else f"{number:,}"


@contextmanager
def counting(name: str, unit: str = "") -> Iterator[Counter]:
    """Show a count until the `with` ends: a bar in a terminal, else a line now and then.

    Parameters
    ----------
    name : str
        What is counted.
    unit : str
        `"bytes"` for numbers such as `1.2 MB`.

    Yields
    ------
    Counter
        To be called with what is done, the total if it is known, and perhaps a note.

    Examples
    --------
    >>> with counting("nade: gaps") as count:
    ...     for done in range(100):
    ...         count(done + 1, 100)
    """
    if not sys.stderr.isatty():
        counter = Counter(name, unit, None)
        try:
            yield counter
        finally:
            counter.print_line()
        return
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

    numbers = TextColumn("{task.fields[numbers]}", markup=False)
    with _bars(BarColumn(bar_width=24), numbers, TimeRemainingColumn()) as bars:
        yield Counter(name, unit, bars)


def _bars(*columns: "ProgressColumn") -> "Bars":
    """Return bars on stderr, each after a spinner and its name."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    return Progress(
        SpinnerColumn(finished_text="[green]✓"),
        TextColumn("{task.description}", style="bold", markup=False),
        *columns,
        console=Console(file=sys.stderr),
        refresh_per_second=8,
    )


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def _short(number: float) -> str:
    return f"{number / 1000:.0f}k" if number >= 10_000 else f"{number:.0f}"
