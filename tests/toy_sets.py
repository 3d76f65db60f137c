"""A small set in the form of the large ones, and a registry that holds it."""

import hashlib
import io

import numpy as np
from scipy.io import savemat

from caesura.datasets import rolls
from caesura.datasets.download import Source
from caesura.datasets.registry import DATASETS, Dataset, StoredFile

SPLITS = ("train", "valid", "test")
NPZ = "music/toy.npz"


def toy_pieces():
    generator = np.random.default_rng(0)
    return {
        split: [(generator.random((steps, 88)) < 0.04).astype(np.uint8) for steps in lengths]
        for split, lengths in zip(SPLITS, [(5, 1, 7), (3,), (4, 2)], strict=True)
    }


def toy_matlab(dtype="f8", pieces=None):
    cells = {}
    for split, rows in (pieces or toy_pieces()).items():
        cell = np.empty((1, len(rows)), object)
        for i, piece in enumerate(rows):
            cell[0, i] = piece.astype(dtype)
        cells[f"{split}data"] = cell
    file = io.BytesIO()
    savemat(file, cells, do_compression=True)
    return file.getvalue()


def toy_arrays():
    """What the conversion should arrive at, written down by another hand, in 64 bits."""
    arrays = {}
    for split, pieces in toy_pieces().items():
        frames = [np.flatnonzero(frame) + 21 for piece in pieces for frame in piece]
        arrays[f"{split}_len"] = np.array([len(piece) for piece in pieces])
        arrays[f"{split}_cnt"] = np.array([len(frame) for frame in frames])
        arrays[f"{split}_pitch"] = np.concatenate(frames)
    return arrays


def plain_npz(arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def offer(monkeypatch, server, answer, content, **changes):
    """Have the registry hold one more set, which the server offers as `answer` says."""
    server.content = content
    about = {
        "url": f"{server.url}/{answer}",
        "sha256": hashlib.sha256(content).hexdigest(),
        "limit": 1 << 20,
        "convert": rolls.from_matlab,
    }
    stored = StoredFile(NPZ, rolls.digest(plain_npz(toy_arrays())), "content")
    toy = Dataset(
        "music", "a toy", "CC0", Source(**(about | changes)), dict.fromkeys(SPLITS, stored)
    )
    monkeypatch.setitem(DATASETS, "toy", toy)
