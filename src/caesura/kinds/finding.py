"""Files in directories, found in an order that does not depend on the machine."""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from caesura.errors import CaesuraError
from caesura.files import cannot_read


def find_files(
    paths: Iterable[str | os.PathLike[str]], suffixes: tuple[str, ...]
) -> Iterator[Path]:
    """Yield the files that are named, and those with one of the suffixes inside directories.

    Paths are taken in the order given, and the files of a directory in the order of their paths.
    Hidden files and directories, whose names start with a dot, are left out. One directory is
    listed at a time, so a million files need not be known at once.
    """
    for path in map(Path, paths):
        try:
            is_directory = stat.S_ISDIR(os.stat(path).st_mode)
        except OSError as error:
            raise cannot_read(path, error) from error
        except ValueError as error:  # a null character
            raise CaesuraError(f"Cannot read '{path}': {error}.") from error
        if not is_directory:
            yield path
            continue
        file = None
        for file in _walk(path, suffixes):
            yield file
        if file is None:
            *some, last = (f"*{suffix}" for suffix in suffixes)
            endings = f"{', '.join(some)} or {last}" if some else last
            raise CaesuraError(f"The directory '{path}' has no {endings} files.")


def _walk(directory: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    try:
        with os.scandir(directory) as entries:
            # With a slash after its name, a directory comes where its files do in path order.
            names = sorted(e.name + "/" * e.is_dir(follow_symlinks=False) for e in entries)
    except OSError as error:
        raise cannot_read(directory, error) from error
    for name in names:
        if name.startswith("."):
            continue
        if name.endswith("/"):
            yield from _walk(directory / name, suffixes)
        elif name.lower().endswith(suffixes) and (directory / name).is_file():
            yield directory / name
