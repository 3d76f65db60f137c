"""Text files: UTF-8, plain or packed with xz, their line ends as they are."""

import codecs
import lzma
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from caesura.errors import CaesuraError
from caesura.files import cannot_read

MOST_BYTES = 1 << 30  # of what does not say how long it is: a packed file, or a device


SIGNATURE = "\N{BYTE ORDER MARK}"  # some editors put it before a text; it is no part of it


class FileText(str):
    """The text of a file, which is named if something is wrong with the text."""

    path: Path

    @staticmethod
    @contextmanager
    def named(text: object) -> Iterator[None]:
        """Add the name of the file, if the text is that of one, to what is raised meanwhile."""
        try:
            yield
        except CaesuraError as error:
            if not isinstance(text, FileText):
                raise
            reason = str(error)
            raise CaesuraError(
                f"The text of '{text.path}' cannot be read: {reason[0].lower()}{reason[1:]}"
            ) from error


def read_text(path: Path) -> FileText:
    """Return the whole text of a file."""
    text = FileText("".join(read_parts(path)))
    text.path = path
    return text


def read_signed(path: Path) -> str:
    """Return the whole text of a file, after the mark of the encoding if it has one."""
    return "".join(read_parts(path, signed=True))


def read_parts(path: Path, signed: bool = False) -> Iterator[str]:
    """Yield the text of a file piece by piece, since it may be larger than memory.

    The mark of the encoding is left out unless the text is `signed`.
    """
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
        if empty and not signed:
            text = text.removeprefix(SIGNATURE)
        if text:
            empty = False
            yield text
    if empty:
        raise CaesuraError(f"The file '{path}' is empty.")


def _blocks(path: Path) -> Iterator[bytes]:
    packed, size = path.suffix.lower() == ".xz", 0
    try:
        with lzma.open(path) if packed else open(path, "rb") as file:
            bounded = packed or not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            while block := file.read(1 << 20):
                size += len(block)
                if bounded and size > MOST_BYTES:
                    raise CaesuraError(f"The file '{path}' holds more than {MOST_BYTES} bytes.")
                yield block
    except CaesuraError:
        raise
    except OSError as error:
        raise cannot_read(path, error) from error
    except ValueError as error:  # a null character in the path
        raise CaesuraError(f"Cannot read '{path}': {error}.") from error
    except (lzma.LZMAError, EOFError) as error:
        raise CaesuraError(f"The file '{path}' is not a complete xz file.") from error
