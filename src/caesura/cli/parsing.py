"""What users type: gaps such as 8:12, DATA to read, and fields given with --set."""

import inspect
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from caesura.errors import CaesuraError, lookup


class Span(NamedTuple):
    """The first place, and the one after the last."""

    first: int
    stop: int

    def __str__(self) -> str:
        return str(self.first) if self.stop == self.first + 1 else f"{self.first}:{self.stop}"


def parse_span(text: str) -> Span:
    """Return the gap that is written so."""
    found = re.fullmatch(r"\s*(\d{1,9})\s*(?::\s*(\d{1,9})\s*)?", text, re.ASCII)
    if found is None:
        raise CaesuraError(f"A gap is written as 8 or as 8:12, not as '{text}'.")
    first = int(found[1])
    stop = int(found[2]) if found[2] else first + 1
    if stop <= first:
        raise CaesuraError(f"The gap '{text}' is empty: its second number must be larger.")
    return Span(first, stop)


def steps_in(spans: Sequence[Span], length: int, unit: str) -> list[int] | None:
    """Return the steps of gaps in a sequence, which are counted from 0; None without gaps."""
    for span in spans:
        if span.stop > length:
            raise CaesuraError(f"The gap {span} ends after the last of {length} {unit}.")
    return [step for span in spans for step in range(*span)] or None


def parse_numbered(given: Sequence[str], option: str, gaps: int) -> dict[int, list[str]]:
    """Return what was given for each gap as N=TEXT, by the gap's number from 0.

    People count the gaps from 1, and may leave the number out if there is one gap.
    """
    found: dict[int, list[str]] = {}
    for text in given:
        match = re.match(r"\s*(\d{1,9})=", text, re.ASCII)
        if match is None and gaps > 1:
            raise CaesuraError(
                f"The text has {gaps} gaps: say for which one '{text}' is, as in "
                f"{option} '1={text}'."
            )
        number = int(match[1]) if match else 1
        if not 1 <= number <= gaps:
            has = "has no gap" if not gaps else f"has {gaps}, counted from 1"
            raise CaesuraError(f"{option} '{text}' names the gap {number}, but the text {has}.")
        found.setdefault(number - 1, []).append(text[match.end() :] if match else text)
    return found


class Source(NamedTuple):
    """A path, or a split of a public set."""

    name: str
    split: str | None  # None: a path


def parse_source(name: str, kind: str, split: str) -> Source:
    """Return what a name stands for; an existing path wins over the name of a set.

    `split` is used for a set that is not named as `name:split`.
    """
    from caesura.datasets import DATASETS
    from caesura.datasets.splits import SPLITS

    if os.path.exists(name):
        return Source(name, None)
    known, _, chosen = name.partition(":")
    looks_like_path = not known.replace("_", "").isalnum()
    if known not in DATASETS and looks_like_path:
        raise CaesuraError(f"There is no file or directory '{name}'.")
    dataset = lookup(DATASETS, known, "file, directory or public set")
    if dataset.kind != kind:
        raise CaesuraError(f"The set '{known}' is {dataset.kind}, not {kind}.")
    lookup(dict.fromkeys(SPLITS), chosen or split, "split")
    return Source(known, chosen or split)


def load_sources(sources: Sequence[Source], folder: Path | None) -> Iterator[Any]:
    """Yield all items, each loaded when it is needed, so that other mistakes are found before."""
    from caesura import datasets

    for name, split in sources:
        yield from [Path(name)] if split is None else datasets.load(name, split, folder)


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """Return the fields by name; an argument of `caesura.train` is not one of them."""
    from caesura.training.recipe import parse_setting
    from caesura.training.train import train

    fields = dict(parse_setting(setting) for setting in settings)
    for name in fields.keys() & inspect.signature(train).parameters.keys():
        raise CaesuraError(
            f"The setting '{name}' cannot be given with --set, which is for fields of a recipe or "
            "of a kind; see --help for the other options."
        )
    return fields
