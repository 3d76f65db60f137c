"""Files that are written completely or not at all: to a temporary file, which is then renamed."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from caesura.errors import CaesuraError, FileMissingError


def cache_directory() -> Path:
    """Return the directory for compiled programs and downloaded data sets.

    It is `caesura` in the user's cache directory, or the one that CAESURA_CACHE names.
    """
    if chosen := os.environ.get("CAESURA_CACHE"):
        return Path(chosen).expanduser()
    import platformdirs  # only who needs the default needs it

    return Path(platformdirs.user_cache_dir("caesura", appauthor=False))


def cannot_read(path: str | os.PathLike[str], error: OSError) -> CaesuraError:
    """Return the error to raise if a file cannot be opened or read."""
    if isinstance(error, FileNotFoundError):
        return FileMissingError(f"There is no file or directory '{os.fspath(path)}'.")
    reason = (error.strerror or str(error)).lower()
    return CaesuraError(f"Cannot read '{os.fspath(path)}': {reason}.")


def read_small(path: str | os.PathLike[str], most: int) -> bytes:
    """Return the content of a file that has `most` bytes at most.

    Raises
    ------
    CaesuraError
        If it has more, or is no file but a device or a pipe, which may have no end.
    """
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # to open a pipe would wait for it
            raise CaesuraError(f"Cannot read '{os.fspath(path)}': it is not a file.")
        with open(path, "rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise cannot_read(path, error) from error
    if len(content) > most:
        raise CaesuraError(f"The file '{os.fspath(path)}' holds more than {most} bytes.")
    return content


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file to write to, which takes the place of `path` once all went well.

    Whatever happens in between, `path` is what it was or what it should become.
    """
    place = Path(path)
    prefix = f".{place.name[:32]}."  # a name that is as long as may be has no room for more
    try:
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=prefix, suffix=".part")
    except OSError as error:
        raise _cannot_write(place, error) from error
    os.close(handle)
    try:
        yield Path(name)
        os.chmod(name, 0o666 & ~_umask())  # mkstemp's are for the owner alone
        with open(name, "rb") as written:
            os.fsync(written.fileno())
        os.replace(name, place)
        _flush_folder(place.parent)
    except OSError as error:
        raise _cannot_write(place, error) from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def make_folder(folder: Path) -> None:
    """Make the directory and those above it, if they do not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CaesuraError(f"Cannot make the directory '{folder}': {reason}.") from error


def lock(folder: Path) -> IO[Any]:
    """A file that keeps other processes from locking the folder, until it is closed or we end."""
    try:
        file = open(folder / "lock", "w")  # noqa: SIM115
    except OSError as error:
        raise _cannot_write(folder / "lock", error) from error
    if sys.platform != "win32":  # which has other locks, and no one who asked for them
        import fcntl

        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise CaesuraError(f"Another process is using '{folder}'.") from None
    return file


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """The whole content, or nothing."""
    with replacing(path) as part:
        part.write_bytes(content)


def write_text(path: str | os.PathLike[str], content: str) -> None:
    """The whole text as UTF-8, its line ends as they are, or nothing."""
    write_bytes(path, content.encode("utf-8"))


def _cannot_write(path: Path, error: OSError) -> CaesuraError:
    return CaesuraError(f"Cannot write '{path}': {(error.strerror or str(error)).lower()}.")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _flush_folder(folder: Path) -> None:
    """Make the rename itself last; some systems cannot open a folder, and need not."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
