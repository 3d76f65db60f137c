"""Packed texts: a directory of texts as numbers, from which any number of trainings can read.

The file `values` holds the numbers of all characters, text after text, and `ends` the place where
each text ends. `packed.json`, written last, holds the alphabet and the sizes.
"""

import hashlib
import json
import mmap
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from jaxtyping import Int64

from caesura.errors import CaesuraError, lookup
from caesura.files import cannot_read, make_folder, replacing, write_text
from caesura.kinds.finding import find_files
from caesura.kinds.text.files import read_parts
from caesura.kinds.text.text import Text
from caesura.sequence import UNKNOWN
from caesura.training.corpus.stored import Stored, smallest_type

ENDS = np.dtype("<i8")
ADVISED = hasattr(mmap.mmap, "madvise")  # Windows has no madvise


class Packed(NamedTuple):
    """An open directory of packed texts; only the ends of the texts have been read."""

    kind: Text
    fields: dict[str, Any]  # of the kind, as given to `pack`
    pieces: Stored
    counts: Int64[np.ndarray, " K"]  # how often each symbol occurs


def is_packed(path: Path) -> bool:
    """Return whether a directory holds packed texts."""
    return (path / "packed.json").is_file()


def pack(
    data: Sequence[Path | str],
    directory: Path,
    fields: Mapping[str, Any],
    *,
    progress: Callable[[str, int], None] = lambda work, characters: None,
) -> Packed:
    """Pack texts, files and directories of texts; the fields are those that `Text.learn` takes.

    The data is read twice, a little at a time: to learn the alphabet, and to write the numbers.
    `progress` is called with "counted" or "packed" and the number of characters so far.
    """
    for name in fields:
        lookup(dict.fromkeys(Text.options), name, "field of a text")
    if os.path.isdir(directory) and os.listdir(directory):
        raise CaesuraError(f"The directory '{directory}' is not empty: choose another one.")
    make_folder(directory)
    # A part of a text may end inside a bracket, so a text with a notation is read as a whole.
    texts = partial(_texts, data, whole=bool({"notation", "normalise"} & fields.keys()))
    kind = Text.learn(_counted(progress, "counted", chain.from_iterable(texts())), **fields)
    numbers = smallest_type(kind.frame.size)
    counts, digest, ends, steps = np.zeros(kind.frame.size, np.int64), hashlib.sha256(), 0, 0
    with (
        replacing(directory / "values") as values_path,
        replacing(directory / "ends") as ends_path,
        open(values_path, "wb") as values_file,
        open(ends_path, "wb") as ends_file,
    ):
        for text in texts():
            for part in _counted(progress, "packed", text, steps):
                values = kind.open(part).complete.values[:, 0]
                counts += np.bincount(values[values != UNKNOWN], minlength=kind.frame.size)
                _write(values_file, values.astype(numbers), digest)
                steps += len(values)
            _write(ends_file, np.array([steps], ENDS), digest)
            ends += 1
    header = {"kind": asdict(kind), "fields": dict(fields), "steps": steps, "pieces": ends}
    header |= {"counts": counts.tolist(), "sha256": digest.hexdigest()}
    write_text(directory / "packed.json", json.dumps(header))
    return open_packed(directory)


def open_packed(directory: Path) -> Packed:
    """Open packed texts; they are mapped into memory, so pages are read when they are needed."""
    damaged = CaesuraError(f"The packed texts in '{directory}' are damaged: pack them again.")
    try:
        header = json.loads((directory / "packed.json").read_text(encoding="utf-8"))
        kind = Text(**header["kind"])
        counts = np.array(header["counts"], np.int64)
        shape = (int(header["steps"]), 1)
        mapped = _map(directory / "values")
        values = np.frombuffer(mapped, smallest_type(kind.frame.size))[:, None]
        ends = np.fromfile(directory / "ends", ENDS).astype(np.int64)
        lengths = np.diff(ends, prepend=0)
        whole = (
            values.shape == shape
            and len(ends) == header["pieces"]
            and ends[-1] == header["steps"]
            and bool((lengths > 0).all())
            and counts.shape == (kind.frame.size,)
        )
        let_go = partial(mapped.madvise, mmap.MADV_DONTNEED) if ADVISED else lambda: None
        pieces = Stored(values, ends - lengths, lengths, str(header["sha256"]), let_go)
        fields = dict(header["fields"])
    except OSError as error:
        raise cannot_read(error.filename or directory, error) from error
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise damaged from error
    if not whole:
        raise damaged
    return Packed(kind, fields, pieces, counts)


def _map(path: Path) -> mmap.mmap:
    with open(path, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if ADVISED:
        mapped.madvise(mmap.MADV_RANDOM)  # else the system reads 128 kB for each stretch
    return mapped


def check_fields(packed: Packed, wanted: Mapping[str, Any]) -> None:
    """Raise an error if a training specifies fields that the texts were not packed with."""
    for name, value in wanted.items():
        if packed.fields.get(name) != value:
            raise CaesuraError(
                f"The texts were packed without {name}={value!r}: pack them again with it, or "
                "train without it."
            )


def _texts(data: Sequence[Path | str], whole: bool) -> Iterator[Iterator[str]]:
    """Yield an iterator over the parts of each text, or over the text alone."""
    for item in data:
        if isinstance(item, str):
            yield iter([item])
        else:
            for parts in map(read_parts, find_files([item], Text.suffixes)):
                yield iter(["".join(parts)]) if whole else parts


def _counted(
    progress: Callable[[str, int], None], work: str, parts: Iterator[str], done: int = 0
) -> Iterator[str]:
    for part in parts:
        yield part
        done += len(part)
        progress(work, done)


def _write(file: IO[bytes], numbers: np.ndarray, digest: Any) -> None:
    content = numbers.tobytes()
    digest.update(content)
    file.write(content)
