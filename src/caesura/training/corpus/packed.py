"""Texts packed once into a folder of numbers, from which any number of trainings can read.

`values` holds the numbers of all characters, text after text, `ends` where each text ends, and
`packed.json`, which is written last, what they mean.
"""

import hashlib
import json
import mmap
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from jaxtyping import Int64

from caesura.errors import CaesuraError, lookup
from caesura.files import make_folder, replacing, write_text
from caesura.kinds.text.files import find_files, read_parts
from caesura.kinds.text.text import Text
from caesura.sequence import UNKNOWN
from caesura.training.corpus.stored import Stored, smallest_type

ENDS = np.dtype("<i8")
ADVISED = hasattr(mmap.mmap, "madvise")  # Windows knows no such advice, and does without


class Packed(NamedTuple):
    """A packed folder, of which nothing but the ends has been read."""

    kind: Text
    fields: dict[str, Any]  # what was said of the kind when it was packed
    pieces: Stored
    counts: Int64[np.ndarray, " K"]  # how often each symbol occurs


def is_packed(path: Path) -> bool:
    """Whether a folder is one of these, and not one of texts."""
    return (path / "packed.json").is_file()


def pack(
    data: Sequence[Path | str],
    folder: Path,
    fields: Mapping[str, Any],
    *,
    progress: Callable[[str, int], None] = lambda work, characters: None,
) -> Packed:
    """Pack texts, files and folders of texts; the fields are those that `Text.learn` takes.

    They are read twice, a little at a time: for the alphabet, and for the numbers.
    """
    for name in fields:
        lookup(dict.fromkeys(Text.options), name, "field of a text")
    if os.path.isdir(folder) and os.listdir(folder):
        raise CaesuraError(f"The folder '{folder}' is not empty: choose another one to pack into.")
    make_folder(folder)
    kind = Text.learn(_told(progress, "counted", _all_parts(data)), **fields)
    numbers = smallest_type(kind.size)
    counts, digest, ends, steps = np.zeros(kind.size, np.int64), hashlib.sha256(), 0, 0
    with (
        replacing(folder / "values") as values_path,
        replacing(folder / "ends") as ends_path,
        open(values_path, "wb") as values_file,
        open(ends_path, "wb") as ends_file,
    ):
        for text in _texts(data):
            for part in _told(progress, "packed", text, steps):
                values = kind.read_complete(part).values[:, 0]
                counts += np.bincount(values[values != UNKNOWN], minlength=kind.size)
                _write(values_file, values.astype(numbers), digest)
                steps += len(values)
            _write(ends_file, np.array([steps], ENDS), digest)
            ends += 1
    told = {"kind": asdict(kind), "fields": dict(fields), "steps": steps, "pieces": ends}
    told |= {"counts": counts.tolist(), "sha256": digest.hexdigest()}
    write_text(folder / "packed.json", json.dumps(told))
    return open_packed(folder)


def open_packed(folder: Path) -> Packed:
    """The texts of a packed folder, mapped into memory: pages of them are read when needed."""
    try:
        told = json.loads((folder / "packed.json").read_text(encoding="utf-8"))
        kind = Text(**told["kind"])
        counts = np.array(told["counts"], np.int64)
        shape = (int(told["steps"]), 1)
        mapped = _map(folder / "values")
        values = np.frombuffer(mapped, smallest_type(kind.size))[:, None]
        ends = np.fromfile(folder / "ends", ENDS).astype(np.int64)
        lengths = np.diff(ends, prepend=0)
        whole = (
            values.shape == shape
            and len(ends) == told["pieces"]
            and ends[-1] == told["steps"]
            and bool((lengths > 0).all())
            and counts.shape == (kind.size,)
        )
        let_go = partial(mapped.madvise, mmap.MADV_DONTNEED) if ADVISED else lambda: None
        pieces = Stored(values, ends - lengths, lengths, str(told["sha256"]), let_go)
        fields = dict(told["fields"])
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CaesuraError(f"Cannot read '{folder}': {reason}.") from error
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise CaesuraError(f"The packed texts in '{folder}' are damaged.") from error
    if not whole:
        raise CaesuraError(f"The packed texts in '{folder}' are damaged.")
    return Packed(kind, fields, pieces, counts)


def _map(path: Path) -> mmap.mmap:
    with open(path, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if ADVISED:
        mapped.madvise(mmap.MADV_RANDOM)  # or the system would read 128 kB for each stretch
    return mapped


def check_fields(packed: Packed, wanted: Mapping[str, Any]) -> None:
    """One sentence if a training wants the texts packed otherwise."""
    for name, value in wanted.items():
        if packed.fields.get(name) != value:
            raise CaesuraError(
                f"The texts were not packed with {name}={value}, as this training wants them: "
                f"pack them anew with `--set {name}={value}`."
            )


def _texts(data: Sequence[Path | str]) -> Iterator[Iterator[str]]:
    """The parts of each text in turn."""
    for item in data:
        if isinstance(item, str):
            yield iter([item])
        else:
            yield from map(read_parts, find_files(item))


def _all_parts(data: Sequence[Path | str]) -> Iterator[str]:
    for text in _texts(data):
        yield from text


def _told(
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
