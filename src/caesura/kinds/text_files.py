"""Texts in files and folders: UTF-8, plain or packed with xz, their line ends as they are."""

import lzma
import os
import stat
from collections.abc import Iterable
from io import BufferedIOBase
from pathlib import Path

from caesura.errors import CaesuraError

SUFFIXES = (".txt", ".txt.xz")  # what is taken for a text in a folder
MOST_BYTES = 1 << 30  # of what does not say how long it is: a packed file, or a device


def find_texts(paths: Iterable[Path]) -> list[str]:
    """The texts of files, whatever their names, and of all text files inside folders."""
    return [read_text(file) for path in paths for file in find_files(path)]


def read_text(path: Path) -> str:
    """The whole text of a file."""
    content = _content(path)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CaesuraError(
            f"The file '{path}' is not UTF-8 text: its byte {error.start} cannot be read."
        ) from error
    text = text.removeprefix("\N{BYTE ORDER MARK}")  # a mark of the encoding, no part of the text
    if not text:
        raise CaesuraError(f"The file '{path}' is empty.")
    return text


def find_files(path: Path) -> list[Path]:
    """The file itself, or all text files inside a folder, in an order of their names alone."""
    if not os.path.isdir(path):
        return [path]
    files = [p for p in path.rglob("*") if p.name.lower().endswith(SUFFIXES) and p.is_file()]
    if not files:
        raise CaesuraError(f"The folder '{path}' holds no text files, whose names end in '.txt'.")
    return sorted(files, key=lambda file: file.relative_to(path).as_posix())


def _content(path: Path) -> bytes:
    try:
        if path.suffix.lower() == ".xz":
            with lzma.open(path) as unpacked:
                return _bounded(unpacked, path)
        with open(path, "rb") as file:
            whole = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            return file.read() if whole else _bounded(file, path)
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


def _bounded(file: BufferedIOBase, path: Path) -> bytes:
    content = bytearray()
    while piece := file.read(1 << 20):
        content += piece
        if len(content) > MOST_BYTES:
            raise CaesuraError(f"The file '{path}' holds more than {MOST_BYTES} bytes.")
    return bytes(content)
