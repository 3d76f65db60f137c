"""The set of papyri: one JSON document a line, with the text in a notation like that of Leiden."""

import io
import json
import lzma
from collections.abc import Iterator
from typing import NamedTuple


class Papyrus(NamedTuple):
    """A document of the Duke Databank of Documentary Papyri."""

    id: str  # its name there
    tm: str  # its numbers in Trismegistos, with blanks between
    text: str  # in the notation "leiden" of the kind text


def documents(content: bytes) -> Iterator[Papyrus]:
    """Yield the documents of a file, one at a time."""
    with (
        lzma.LZMAFile(io.BytesIO(content)) as unpacked,
        io.TextIOWrapper(unpacked, encoding="utf-8", newline="\n") as lines,
    ):
        for line in lines:
            record = json.loads(line)
            yield Papyrus(*(str(record[name]) for name in Papyrus._fields))


def read(content: bytes, limit: int | None) -> list[str]:
    """Return the texts in order, until they have `limit` characters."""
    items, steps = [], 0
    for papyrus in documents(content):
        items.append(papyrus.text)
        steps += len(papyrus.text)
        if limit is not None and steps >= limit:
            break
    return items
