"""The safetensors container, read so that no file can cause more work than its size."""

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy
from jaxtyping import Num

from caesura.errors import CaesuraError
from caesura.files import cannot_read
from caesura.modelfile.strict_json import parse

KEY = "caesura"  # the key of our document in the header's metadata
MOST_HEADER = 2**24  # bytes: room for an alphabet of all Unicode
DTYPES = {
    "F32": np.dtype(np.float32),
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "I8": np.dtype(np.int8),
}


@dataclass(frozen=True)
class Container:
    """An open file whose header was read, but not its tensors."""

    file: BinaryIO
    size: int  # bytes of the whole file
    data_size: int  # bytes after the header
    text: str  # our configuration
    entries: dict[str, Any]  # what the header says of each tensor, unchecked

    def tensors(self) -> dict[str, Num[np.ndarray, "..."]]:
        """Return all tensors in the dtypes of the file; call `check_entries` first."""
        self.file.seek(0)
        try:
            found = safetensors.deserialize(self.file.read(self.size))  # type: ignore[no-untyped-call]
        except safetensors.SafetensorError:
            raise CaesuraError("The tensors do not match their offsets in the header.") from None
        return {
            name: np.frombuffer(tensor["data"], DTYPES[tensor["dtype"]]).reshape(tensor["shape"])
            for name, tensor in found
        }


def pack(text: str, tensors: dict[str, Num[np.ndarray, "..."]]) -> bytes:
    """Return the content of the file; equal arguments give equal bytes."""
    content = safetensors.numpy.save(tensors, {KEY: text})
    if int.from_bytes(content[:8], "little") > MOST_HEADER:
        raise CaesuraError("The training record is too long for a model file.")
    return content


@contextmanager
def opened(path: Path) -> Iterator[Container]:
    """Open a container; every error names the file."""
    try:
        # Checked before opening it: a pipe would wait for a writer.
        if not stat.S_ISREG((status := path.stat()).st_mode):
            raise CaesuraError("It is not a file.")
        with open(path, "rb") as file:
            yield _contained(file, status.st_size)
    except OSError as error:
        raise cannot_read(path, error) from error
    except CaesuraError as error:
        why = str(error)
        raise CaesuraError(f"Cannot read '{path}': {why[0].lower()}{why[1:]}") from None


def _contained(file: BinaryIO, size: int) -> Container:
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or length > MOST_HEADER:
        raise CaesuraError("It is not in the safetensors format.")
    if length > size - 8:
        raise CaesuraError("It is cut short, or not in the safetensors format.")
    header = parse(file.read(length), "header")
    if not isinstance(header, dict):
        raise CaesuraError("It is not in the safetensors format.")
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get(KEY), str):
        raise CaesuraError("It is a safetensors file, but not one that caesura wrote.")
    return Container(file, size, size - 8 - length, metadata[KEY], header)
