"""Progress on stderr: live bars in a terminal, otherwise a line from time to time."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import ProgressColumn, TaskID

    from caesura.training.loop import Progress

SECONDS = 15.0  # between lines, if stderr is not a terminal
READYING = "getting ready"  # before the first update, data is read and programs are compiled
Report = Callable[[str, "Progress"], None]


class Count(Protocol):
    """A function that shows how much of some work is done."""

    def __call__(self, done: int, total: int | None = None, note: str = "") -> None: ...


class Display:
    """Shows several works by their names: each as a bar, or all as lines if there are no bars."""

    def __init__(self, bars: "Bars | None") -> None:
        self.bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._last = time.monotonic()
        self._line = self._printed = ""

    def show(self, name: str, done: int, total: int | None, numbers: str) -> None:
        """Show that `done` of `total` is done; a line is printed when it is due."""
        if self.bars is not None:
            if name not in self._tasks:
                self._tasks[name] = self.bars.add_task(name, total=None, numbers="")
            self.bars.update(self._tasks[name], completed=done, total=total, numbers=numbers)
        else:
            self._line = f"{name} {numbers}"
            if time.monotonic() - self._last >= SECONDS:
                self.print_line()

    def print_line(self) -> None:
        """Print the last line now, unless it was printed before."""
        if self._line != self._printed:
            print(self._line, file=sys.stderr, flush=True)
            self._last, self._printed = time.monotonic(), self._line

    def hide(self, name: str) -> None:
        """Remove a bar."""
        if self.bars is not None:
            self.bars.update(self._tasks[name], visible=False)


@contextmanager
def showing() -> Iterator[Report]:
    """Give the function to report a training to, which shows it until the `with` ends."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.table import Column

    numbers = TextColumn("{task.fields[numbers]}", table_column=Column(no_wrap=False))
    wide = Console(file=sys.stderr).width >= 120  # else the numbers need the space of the bar
    validations: dict[str, list[float]] = {}  # of each net
    with _display(READYING, *[BarColumn(bar_width=24)] * wide, numbers) as display:

        def report(net: str, progress: "Progress") -> None:
            display.hide(READYING)
            known = validations.setdefault(net, [])
            if progress.validation is not None:
                known.append(progress.validation)
            numbers = _line(progress, known) if display.bars is None else _bar(progress, known)
            display.show(net, progress.step, progress.steps, numbers)
            if progress.validation is not None:
                display.print_line()

        try:
            yield report
        finally:
            display.hide(READYING)


def _line(progress: "Progress", validations: list[float]) -> str:
    parts = [f"update {progress.step}/{progress.steps}", f"loss {progress.loss:.4f}"]
    if progress.validation is not None:
        parts.append(f"validation {progress.validation:.4f} (best {_best(validations):.4f})")
    parts += [f"{progress.steps_a_second:.0f} steps/s", f"{_duration(progress)} left"]
    parts += [f"{progress.skipped} updates skipped"] if progress.skipped else []
    return " " + "  ".join(parts)


def _bar(progress: "Progress", validations: list[float]) -> str:
    parts = [f"{progress.step}/{progress.steps}", f"loss [cyan]{progress.loss:.3f}[/]"]
    if validations:
        last, best = validations[-1], _best(validations)
        parts.append(f"valid [cyan]{last:.3f}[/] (best [green]{best:.3f}[/])")
    pace = progress.steps_a_second
    short = f"{pace / 1000:.0f}k" if pace >= 10_000 else f"{pace:.0f}"
    parts += [f"{short} steps/s", f"{_duration(progress)} left"]
    parts += [f"[yellow]{progress.skipped} skipped[/]"] if progress.skipped else []
    return "  ".join(parts)


def _best(validations: list[float]) -> float:
    return min((nll for nll in validations if nll == nll), default=validations[-1])


def _duration(progress: "Progress") -> timedelta:
    return timedelta(seconds=round(progress.seconds_left))


@contextmanager
def counting(name: str, unit: str = "") -> Iterator[Count]:
    """Show a count until the `with` ends: a bar in a terminal, else a line now and then.

    Parameters
    ----------
    name : str
        What is counted.
    unit : str
        `"bytes"` for numbers such as `1.2 MB`.

    Yields
    ------
    Count
        To be called with what is done, the total if it is known, and perhaps a note.

    Examples
    --------
    >>> with counting("nade: gaps") as count:
    ...     for done in range(100):
    ...         count(done + 1, 100)
    """
    from rich.filesize import decimal
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

    numbers = TextColumn("{task.fields[numbers]}", markup=False)
    with _display(name, BarColumn(bar_width=24), numbers, TimeRemainingColumn()) as display:

        def count(done: int, total: int | None = None, note: str = "") -> None:
            known = [number for number in (done, total) if number is not None]
            shown = "/".join(decimal(n) if unit == "bytes" else f"{n:,}" for n in known)
            display.show(name, done, total, f"{shown}, {note}" if note else shown)

        try:
            yield count
        finally:
            display.print_line()


@contextmanager
def _display(first: str, *columns: "ProgressColumn") -> Iterator[Display]:
    """Show bars, at once that of the first work; or lines, if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield Display(None)
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    with Progress(
        SpinnerColumn(finished_text="[green]✓"),
        TextColumn("{task.description}", style="bold", markup=False),
        *columns,
        console=Console(file=sys.stderr),
        refresh_per_second=8,
    ) as bars:
        display = Display(bars)
        display.show(first, 0, None, "")
        yield display
