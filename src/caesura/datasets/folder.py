"""The data folder: what is in it, whether it is what it should be, and how it gets there."""

import hashlib
import os
import shlex
from pathlib import Path
from typing import Any, Literal, NamedTuple

from caesura.datasets import rolls, texts
from caesura.datasets.download import Progress, download
from caesura.datasets.registry import DATASETS, Dataset, StoredFile
from caesura.datasets.splits import SPLITS
from caesura.errors import CaesuraError, lookup, whole_number
from caesura.files import cache_directory, make_folder, write_bytes

Folder = str | os.PathLike[str] | None  # None: the user's own, see `data_folder`
State = Literal["ok", "missing", "altered"]


class Row(NamedTuple):
    """What there is to say about a set; `size` is in bytes, of what is in the data folder."""

    name: str
    kind: str
    description: str
    licence: str
    source: str
    present: bool
    size: int


def data_folder(folder: Folder = None) -> Path:
    """The folder given, or that in CAESURA_DATA, or else a cache folder."""
    if chosen := folder or os.environ.get("CAESURA_DATA"):
        return Path(chosen).expanduser()
    return cache_directory()


def listing(folder: Folder = None) -> list[Row]:
    """A row for every set, in the data folder or not."""
    place = data_folder(folder)
    rows = []
    for name, dataset in DATASETS.items():
        sizes = [_size(place / file.path) for file in dataset.files]
        rows.append(
            Row(
                name,
                dataset.kind,
                dataset.description,
                dataset.licence,
                dataset.source.url if dataset.source else "no public address",
                present=None not in sizes,
                size=sum(size or 0 for size in sizes),
            )
        )
    return rows


def verify(name: Any, folder: Folder = None) -> dict[str, State]:
    """For each file of a set whether it is there and holds what it should."""
    place = data_folder(folder)
    return {file.path: _state(place, file) for file in _dataset(name).files}


def fetch(
    name: Any, folder: Folder = None, *, timeout: float = 30.0, progress: Progress | None = None
) -> bool:
    """Download a set into the data folder; False where it was there already, whole and unaltered.

    Nothing is written before the download and what is made of it have the hashes they should.
    """
    dataset, place = _dataset(name), data_folder(folder)
    if set(verify(name, folder).values()) == {"ok"}:
        return False
    if (source := dataset.source) is None:
        raise CaesuraError(_by_hand(name, dataset, place))
    made = source.convert(download(source, timeout, progress))
    for file, content in zip(dataset.files, made, strict=True):
        if (found := _sha256(file, content)) != file.sha256:
            raise CaesuraError(
                f"What was made of {source.url} is not the set '{name}': "
                f"the sha256 of '{file.path}' should be {file.sha256}, not {found}."
            )
    for file, content in zip(dataset.files, made, strict=True):
        make_folder((place / file.path).parent)
        write_bytes(place / file.path, content)
    return True


def load(name: Any, split: Any, folder: Folder = None, *, limit: int | None = None) -> list[Any]:
    """The items of a split: arrays [T, 88] of 0 and 1 for music, strings for text.

    `limit` is in steps, which for text are characters: items are whole and come in their order,
    and no more are taken once they hold that many.

    The splits are those of the publication. `sotu` has none, so the year of an address decides:
    years that end in 3 are for validation, those in 8 for testing, all others for training.
    """
    dataset, place = _dataset(name), data_folder(folder)
    lookup(dict.fromkeys(SPLITS), split, "split")
    if limit is not None:
        limit = whole_number("limit", limit, least=1)
    path = place / dataset.holding[split].path
    content = _read(path)
    if content is None:
        if dataset.source is None:
            raise CaesuraError(_by_hand(name, dataset, place))
        raise CaesuraError(
            f"The set '{name}' is not in '{place}': `{_command(name, folder)}` puts it there."
        )
    try:
        if dataset.kind == "music":
            return rolls.read(content, split, limit)
        return texts.read(content, limit)
    except Exception as error:  # a damaged file has its readers raise almost anything
        again = f": `{_command(name, folder)}` replaces it" if dataset.source else ""
        raise CaesuraError(f"The file '{path}' is damaged{again}.") from error


def _dataset(name: Any) -> Dataset:
    return lookup(DATASETS, name, "data set")


def _state(place: Path, file: StoredFile) -> State:
    content = _read(place / file.path)
    if content is None:
        return "missing"
    try:
        return "ok" if _sha256(file, content) == file.sha256 else "altered"
    except Exception:  # a damaged file has its readers raise almost anything
        return "altered"


def _sha256(file: StoredFile, content: bytes) -> str:
    if file.of == "bytes":
        return hashlib.sha256(content).hexdigest()
    return (rolls if file.path.endswith(".npz") else texts).digest(content)


def _size(path: Path) -> int | None:
    """The size of a file, or None where there is none to be seen."""
    try:
        return path.stat().st_size if path.is_file() else None
    except OSError:
        return None


def _read(path: Path) -> bytes | None:
    """The bytes of a file, or None where there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CaesuraError(f"Cannot read '{path}': {reason}.") from error


def _by_hand(name: str, dataset: Dataset, place: Path) -> str:
    files = ", ".join(file.path for file in dataset.files)
    return f"The set '{name}' has no public address: put {files} into '{place}' yourself."


def _command(name: str, folder: Folder) -> str:
    """What a user types to get a set into the folder in question."""
    where = f" --data {shlex.quote(os.fspath(folder))}" if folder else ""
    return f"caesura data fetch {name}{where}"
