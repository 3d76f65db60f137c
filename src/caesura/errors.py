"""Errors and warnings for users; each message is one sentence."""

import difflib
import operator
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

START, END = 400, 200  # characters of a sentence that is too long to be read


class CaesuraError(ValueError):
    """An error in what the user gave; its message is one sentence that says what to change."""

    def __init__(self, sentence: str) -> None:
        super().__init__(one_line(sentence))


class FileMissingError(CaesuraError, FileNotFoundError):
    """A file or directory that does not exist."""


class ExtraMissingError(CaesuraError, ImportError):
    """An optional dependency that is not installed; the sentence says how to install it."""


class CaesuraWarning(UserWarning):
    """A warning about what the user gave, in one sentence; the work continues."""


@contextmanager
def extra(name: str, sentence: str) -> Iterator[None]:
    """Import optional packages inside this context; a missing one raises an `ExtraMissingError`.

    Parameters
    ----------
    name
        The extra that installs them, as in `pip install 'caesura[name]'`.
    sentence
        What needs them, such as "Pictures need matplotlib".
    """
    try:
        yield
    except ImportError:
        raise ExtraMissingError(
            f"{sentence}: install it with `pip install 'caesura[{name}]'`."
        ) from None


def one_line(text: str) -> str:
    """What is quoted from a file or a user may be long, or hold line ends and worse."""
    return _shortened("".join(c if c.isprintable() else ascii(c)[1:-1] for c in _shortened(text)))


def _shortened(text: str) -> str:
    return text if len(text) <= START + END else f"{text[:START]} … {text[-END:]}"


def lookup(registry: Mapping[str, T], name: Any, what: str) -> T:
    """Return the entry called `name`, or raise an error with a near name or all known names."""
    if isinstance(name, str) and name in registry:
        return registry[name]
    typed = str(name).lower()
    near = difflib.get_close_matches(typed, registry, n=1, cutoff=0.6)
    if len(typed) > 2:  # the beginning of a long name
        near += [known for known in registry if known.startswith(typed)]
    known = (
        f"did you mean '{near[0]}'?" if near else f"choose one of {', '.join(sorted(registry))}."
    )
    raise CaesuraError(f"There is no {what} called '{name}': {known}")


def whole_number(name: str, value: Any, least: int, most: int | None = None) -> int:
    """The value as an integer in its range, or one sentence."""
    try:
        number = operator.index(value)
    except TypeError:
        raise CaesuraError(f"The option '{name}' must be a whole number, not {value!r}.") from None
    if number < least:
        raise CaesuraError(f"The option '{name}' must be at least {least}, not {number}.")
    if most is not None and number > most:
        raise CaesuraError(f"The option '{name}' must be at most {most}, not {number}.")
    return number
