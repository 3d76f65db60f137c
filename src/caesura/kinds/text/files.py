"""Texts in files and folders: UTF-8, plain or packed with xz, their line ends as they are."""

import codecs
import lzma
import os
import stat
from collections.abc import Iterable, Iterator
from io import BufferedIOBase
from itertools import chain
from pathlib import Path

from caesura.errors import CaesuraError

SUFFIXES = (".txt", ".txt.xz")  # what is taken for a text in a folder
MOST_BYTES = 1 << 30  # of what does not say how long it is: a packed file, or a device


def find_texts(paths: Iterable[Path]) -> list[str]:
    """The texts of files, whatever their names, and of all text files inside folders."""
    return [read_text(file) for path in paths for file in find_files(path)]


def find_files(path: Path) -> Iterator[Path]:
    """The file, or the text files inside a folder, in the order of their paths."""
    if not os.path.isdir(path):
        yield path
        return
    files = _walk(path)
    first = next(files, None)
    if first is None:
        raise CaesuraError(f"The folder '{path}' holds no text files, whose names end in '.txt'.")
    yield first
    yield from files


def read_text(path: Path) -> str:
    """The whole text of a file."""
    return "".join(read_parts(path))


def read_parts(path: Path) -> Iterator[str]:
    """The text of a file, piece by piece: it may be larger than memory."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    empty, done = True, 0
    for block in chain(_blocks(path), [b""]):
        kept, _ = decoder.getstate()  # the beginning of a character, from the block before
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            byte = done - len(kept) + error.start
            raise CaesuraError(
                f"The file '{path}' is not UTF-8 text: its byte {byte} cannot be read."
            ) from error
        done += len(block)
        if empty:  # the mark of the encoding is no part of the text
            text = text.removeprefix("\N{BYTE ORDER MARK}")
        if text:
            empty = False
            yield text
    if empty:
        raise CaesuraError(f"The file '{path}' is empty.")


def _walk(folder: Path) -> Iterator[Path]:
    """Folder by folder, so that a million files need not be known at once."""
    try:
        with os.scandir(folder) as entries:
            # With its slash behind it, a folder stands where its files do in the order of paths.
            found = sorted((e.name + "/" * e.is_dir(follow_symlinks=False)) for e in entries)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CaesuraError(f"Cannot read the folder '{folder}': {reason}.") from error
    for name in found:
        if name.endswith("/"):
            yield from _walk(folder / name)
        elif name.lower().endswith(SUFFIXES) and (folder / name).is_file():
            yield folder / name


def _blocks(path: Path) -> Iterator[bytes]:
    try:
        if path.suffix.lower() == ".xz":
            with lzma.open(path) as unpacked:
                yield from _bounded(unpacked, path)
        else:
            with open(path, "rb") as file:
                whole = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
                yield from _read(file) if whole else _bounded(file, path)
    except CaesuraError:
        raise
    except FileNotFoundError as error:
        raise CaesuraError(f"There is no file or folder '{path}'.") from error
    except IsADirectoryError as error:
        raise CaesuraError(f"The path '{path}' is a folder, where one file is needed.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CaesuraError(f"Cannot read '{path}': {reason.lower()}.") from error
    except (lzma.LZMAError, EOFError) as error:
        raise CaesuraError(f"The file '{path}' is not a whole xz file.") from error


def _read(file: BufferedIOBase) -> Iterator[bytes]:
    while block := file.read(1 << 20):
        yield block


def _bounded(file: BufferedIOBase, path: Path) -> Iterator[bytes]:
    size = 0
    for block in _read(file):
        size += len(block)
        if size > MOST_BYTES:
            raise CaesuraError(f"The file '{path}' holds more than {MOST_BYTES} bytes.")
        yield block
