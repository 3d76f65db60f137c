"""Sets of piano rolls: from MATLAB files to a small .npz, and from there to arrays [T, 88].

For each split a file holds `<split>_len`, the number of steps of each piece; `<split>_cnt`, the
number of notes at each step of all pieces; and `<split>_pitch`, the MIDI numbers of those notes,
ascending within a step.
"""

import hashlib
import io

import numpy as np
from jaxtyping import Integer, Shaped, UInt8

from caesura.datasets.splits import SPLITS
from caesura.errors import CaesuraError

LOWEST, KEYS = 21, 88  # of a piano; 21 is the MIDI number of the lowest key


def from_matlab(content: bytes) -> list[bytes]:
    """Convert a MATLAB v5 file with a cell array of 0/1 matrices [T, 88] per split to one .npz.

    SciPy parses the format itself, and nothing is unpickled.
    """
    from scipy.io import loadmat  # takes half a second to import, and only a download needs it

    cells = loadmat(io.BytesIO(content), variable_names=[f"{split}data" for split in SPLITS])
    arrays: dict[str, Shaped[np.ndarray, " n"]] = {}
    for split in SPLITS:
        pieces = list(cells[f"{split}data"].ravel())
        for piece in pieces:
            if piece.ndim != 2 or piece.shape[1] != KEYS:
                shape = list(piece.shape)
                raise CaesuraError(f"A piece has the shape [steps, {KEYS}], not {shape}.")
        roll = np.concatenate(pieces) != 0
        arrays[f"{split}_len"] = np.array([len(piece) for piece in pieces], np.int32)
        arrays[f"{split}_cnt"] = roll.sum(axis=1).astype(np.uint8)
        arrays[f"{split}_pitch"] = (np.nonzero(roll)[1] + LOWEST).astype(np.uint8)
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    return [packed.getvalue()]


def digest(content: bytes) -> str:
    """Return the sha256 of the numbers, which does not depend on compression or integer types."""
    total = hashlib.sha256()
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        for key in sorted(arrays.files):
            numbers = _whole_numbers(arrays[key])
            total.update(f"{key} {numbers.shape}\n".encode())
            total.update(numbers.astype("<i8").tobytes())
    return total.hexdigest()


def read(content: bytes, split: str, limit: int | None) -> list[UInt8[np.ndarray, "T 88"]]:
    """Return the pieces of a split as rolls, until they have `limit` steps."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        lengths, counts, pitches = (
            _whole_numbers(arrays[f"{split}_{part}"]).astype(np.int64)
            for part in ("len", "cnt", "pitch")
        )
    if limit is not None:
        lengths = lengths[: np.searchsorted(np.cumsum(lengths), limit) + 1]
        counts = counts[: lengths.sum()]
        pitches = pitches[: counts.sum()]
    keys = pitches - LOWEST
    if lengths.sum() != len(counts) or counts.sum() != len(keys):
        raise ValueError("lengths, counts and pitches do not fit together")
    if np.any(lengths < 1) or np.any((keys < 0) | (keys >= KEYS)):
        raise ValueError("a piece without steps, or a note that no piano has")
    roll = np.zeros((len(counts), KEYS), np.uint8)
    roll[np.repeat(np.arange(len(roll)), counts), keys] = 1
    return np.split(roll, np.cumsum(lengths)[:-1])


def _whole_numbers(array: Shaped[np.ndarray, "..."]) -> Integer[np.ndarray, " n"]:
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError("not a list of whole numbers")
    return array
