"""DATA on the command line: files, directories, and public sets by name."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from caesura.errors import CaesuraError, lookup


class Source(NamedTuple):
    """A path, or a split of a public set."""

    name: str
    split: str | None  # None: a path

    def items(self, folder: Path | None) -> list[Any]:
        """Return what `Kind.items` accepts: the path, or the items of the set."""
        from caesura import datasets

        if self.split is None:
            return [Path(self.name)]
        return datasets.load(self.name, self.split, folder)


def parse_sources(names: Sequence[str], kind: str, split: str) -> list[Source]:
    """Return what the names stand for; an existing path wins over the name of a set.

    `split` is used for a set that is not named as `name:split`.
    """
    return [_parse(name, kind, split) for name in names]


def load_sources(sources: Sequence[Source], folder: Path | None) -> Iterator[Any]:
    """Yield all items, each loaded when it is needed, so that other mistakes are found before."""
    for source in sources:
        yield from source.items(folder)


def _parse(name: str, kind: str, split: str) -> Source:
    from caesura.datasets import DATASETS
    from caesura.datasets.splits import SPLITS

    if os.path.exists(name):
        return Source(name, None)
    known, _, chosen = name.partition(":")
    if known not in DATASETS and not _is_word(known):
        raise CaesuraError(f"There is no file or directory '{name}'.")
    dataset = lookup(DATASETS, known, "file, directory or public set")
    if dataset.kind != kind:
        raise CaesuraError(f"The set '{known}' is {dataset.kind}, not {kind}.")
    chosen = chosen or split
    lookup(dict.fromkeys(SPLITS), chosen, "split")
    return Source(known, chosen)


def _is_word(name: str) -> bool:
    """Return whether it looks like the name of a set, and not like a path."""
    return name.replace("_", "").isalnum()
