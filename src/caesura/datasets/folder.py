"""The data directory: list, verify, fetch and load the sets in it."""

import hashlib
import os
import shlex
from pathlib import Path
from typing import Any, Literal, NamedTuple

from caesura.datasets import papyri, rolls, texts
from caesura.datasets.download import Progress, download
from caesura.datasets.registry import DATASETS, Dataset, StoredFile
from caesura.datasets.splits import SPLITS
from caesura.errors import CaesuraError, lookup, whole_number
from caesura.files import cache_directory, cannot_read, make_folder, write_bytes

Folder = str | os.PathLike[str] | None  # None: the user's own, see `data_folder`
State = Literal["ok", "missing", "altered"]


class Row(NamedTuple):
    """A data set, and whether it is present; `size` is that of its files, in bytes."""

    name: str
    kind: str
    description: str
    licence: str
    source: str
    present: bool
    size: int


def data_folder(folder: Folder = None) -> Path:
    """Return the directory given, or the one that CAESURA_DATA names, or the cache directory."""
    if chosen := folder or os.environ.get("CAESURA_DATA"):
        return Path(chosen).expanduser()
    return cache_directory()


def listing(folder: Folder = None) -> list[Row]:
    """Return a row for every known set, whether or not it is in the data directory."""
    place = data_folder(folder)
    rows = []
    for name, dataset in DATASETS.items():
        sizes = [_size(place / file.path) for file in dataset.files]
        url = dataset.source.url if dataset.source else "no public address"
        about = (name, dataset.kind, dataset.description, dataset.licence, url)
        rows.append(Row(*about, present=None not in sizes, size=sum(size or 0 for size in sizes)))
    return rows


def verify(name: Any, folder: Folder = None) -> dict[str, State]:
    """Return for each file of a set whether it is present and has the expected content."""
    dataset, place = lookup(DATASETS, name, "data set"), data_folder(folder)
    return {file.path: _state(place, file) for file in dataset.files}


def fetch(
    name: Any, folder: Folder = None, *, timeout: float = 30.0, progress: Progress | None = None
) -> bool:
    """Download a set into the data directory; return False if it was there already, unaltered.

    Nothing is written unless the download and the files made of it have the expected hashes.
    """
    dataset, place = lookup(DATASETS, name, "data set"), data_folder(folder)
    if set(verify(name, folder).values()) == {"ok"}:
        return False
    if (source := dataset.source) is None:
        raise CaesuraError(_by_hand(name, dataset, place))
    made = source.convert(download(source, timeout, progress))
    for file, content in zip(dataset.files, made, strict=True):
        if (found := _sha256(file, content)) != file.sha256:
            raise CaesuraError(
                f"The files made from {source.url} are not the data set '{name}': "
                f"the sha256 of '{file.path}' should be {file.sha256}, not {found}."
            )
    for file, content in zip(dataset.files, made, strict=True):
        make_folder((place / file.path).parent)
        write_bytes(place / file.path, content)
    return True


def load(name: Any, split: Any, folder: Folder = None, *, limit: int | None = None) -> list[Any]:
    """Return the items of a split: arrays [T, 88] of 0 and 1 for music, strings for text.

    Parameters
    ----------
    name : str
        The name of the set; `listing` gives all names.
    split : str
        `"train"`, `"valid"` or `"test"`. The splits are those of the publication. `sotu` has none,
        so there it depends on the year: years that end in 3 are for validation, those that end in
        8 for testing, all others for training.
    folder : path, optional
        The data directory; by default the one that CAESURA_DATA names, or the cache directory.
    limit : int, optional
        Take whole items, in order, until they have this many steps (characters, for text).

    Raises
    ------
    CaesuraError
        If the set is not in the data directory, or is damaged.

    Examples
    --------
    The first chorales, up to a thousand steps::

        songs = caesura.datasets.load("jsb_chorales", "train", limit=1000)
    """
    dataset, place = lookup(DATASETS, name, "data set"), data_folder(folder)
    lookup(dict.fromkeys(SPLITS), split, "split")
    if limit is not None:
        limit = whole_number("limit", limit, least=1)
    path = place / dataset.holding[split].path
    command = f"caesura data fetch {name}"
    if folder:
        command += f" --data {shlex.quote(os.fspath(folder))}"
    content = _read(path)
    if content is None and dataset.source is None:
        raise CaesuraError(_by_hand(name, dataset, place))
    if content is None:
        raise CaesuraError(f"The data set '{name}' is not in '{place}': get it with `{command}`.")
    try:
        if dataset.kind == "music":
            return rolls.read(content, split, limit)
        if path.name.endswith(".jsonl.xz"):
            return papyri.read(content, limit)
        return texts.read(content, limit)
    except Exception as error:  # parsers of a damaged file raise almost anything
        again = f": replace it with `{command}`" if dataset.source else ""
        raise CaesuraError(f"The file '{path}' is damaged{again}.") from error


def _state(place: Path, file: StoredFile) -> State:
    content = _read(place / file.path)
    if content is None:
        return "missing"
    try:
        return "ok" if _sha256(file, content) == file.sha256 else "altered"
    except Exception:  # parsers of a damaged file raise almost anything
        return "altered"


def _sha256(file: StoredFile, content: bytes) -> str:
    if file.of == "bytes":
        return hashlib.sha256(content).hexdigest()
    return (rolls if file.path.endswith(".npz") else texts).digest(content)


def _size(path: Path) -> int | None:
    """Return the size of a file, or None if there is none."""
    try:
        return path.stat().st_size if path.is_file() else None
    except OSError:
        return None


def _read(path: Path) -> bytes | None:
    """Return the content of a file, or None if there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise cannot_read(path, error) from error


def _by_hand(name: str, dataset: Dataset, place: Path) -> str:
    files = ", ".join(file.path for file in dataset.files)
    return f"The data set '{name}' cannot be downloaded: put {files} into '{place}' yourself."
