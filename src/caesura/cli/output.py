"""Answers on stdout or in files, and notes on stderr."""

import json
import math
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from caesura.errors import CaesuraError, CaesuraWarning


def in_terminal() -> bool:
    """Return whether a person reads stdout, and not another program."""
    return sys.stdout.isatty()


def note(sentence: str) -> None:
    """Print a sentence that is not part of the answer."""
    print(sentence, file=sys.stderr, flush=True)


def percent(probability: float) -> str:
    """Return a probability in words that people understand.

    Examples
    --------
    >>> [percent(one) for one in (0.826, 0.004, 0.9999)]
    ['83 %', 'less than 1 %', 'more than 99 %']
    """
    if probability < 0.01:
        return "less than 1 %"
    if 0.99 < probability < 1:
        return "more than 99 %"
    return f"{100 * probability:.0f} %"


@contextmanager
def noted_warnings() -> Iterator[None]:
    """Show the library's warnings as notes."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", CaesuraWarning)
        show = warnings.showwarning

        def tell(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, CaesuraWarning):
                note(str(message))
            else:
                show(message, category, *place, **more)

        warnings.showwarning = tell
        yield


@contextmanager
def no_answers_yet() -> Iterator[None]:
    """Send to stderr what compiled libraries print meanwhile: it is not part of the answer."""
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


def answer_json(document: Any) -> None:
    """Print one JSON document; a number that JSON cannot hold is null."""
    print(json.dumps(_finite(document), ensure_ascii=False, allow_nan=False))


def answer_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> None:
    """Print a table whose first `left` columns hold words and the others numbers."""
    if in_terminal():
        _rich_table(header, rows, left)
        return
    columns = list(zip(header, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    for row in (header, *rows):
        cells = [
            cell.ljust(width) if number < left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def _rich_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for number, name in enumerate(header):
        table.add_column(name, justify="left" if number < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))  # literally: brackets in it are not markup
    Console().print(table)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check_output(output: Path, inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Raise an error if the file cannot be written, or is one of the inputs."""
    if os.path.isdir(output):
        raise CaesuraError(f"The output '{output}' is a directory, but must be a file.")
    directory = output.parent
    if not os.path.isdir(directory):
        raise CaesuraError(f"There is no directory '{directory}' to write '{output.name}' into.")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise CaesuraError(f"The directory '{directory}' is not writable.")
    try:
        os.lstat(output)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise CaesuraError(f"Cannot write '{output}': {(error.strerror or '').lower()}.") from error
    for given in inputs:
        if os.path.exists(given) and os.path.exists(output) and os.path.samefile(given, output):
            raise CaesuraError(f"The output '{output}' is also an input: choose another file.")
