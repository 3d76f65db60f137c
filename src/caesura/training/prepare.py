"""Data for a training: its items as numbers, split into training and validation data."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int64, Shaped

from caesura.errors import CaesuraError
from caesura.kinds import Kind, Text
from caesura.nets.frames import Continuous, Frame, make_frame
from caesura.nets.rnn import Net, count, onegram, onegram_of
from caesura.training.corpus.packed import Packed, check_fields, is_packed, open_packed
from caesura.training.corpus.stored import Stored, lengths_of, smallest_type
from caesura.training.loop import Data
from caesura.training.recipe import Chosen, Recipe

Pieces = Sequence[Shaped[np.ndarray, "_ D"]]
FEW = 5  # with fewer pieces than this, no whole piece is held out for validation


class Prepared(NamedTuple):
    """Everything that trainings on the same data share."""

    kind: Kind
    data: Data
    onegram: Net
    record: dict[str, Any]  # the sizes of the data and its fingerprint, for the model file


def prepare(
    data: object,
    valid: object,
    kind: type[Kind],
    chosen: Chosen,
    seed: int,
    given: Kind | None = None,
) -> Prepared:
    """Return the data as numbers, with its kind and its one-gram.

    The kind is learnt from the data, unless it is given.
    """
    items = as_list(data)
    packed = _find_packed(kind, items)
    if packed:
        check_fields(packed, chosen.kind_fields if given is None else asdict(given))
        learnt: Kind = packed.kind
        pieces: Pieces = packed.pieces
    else:
        raw = _raw_items(kind, items)
        learnt = kind.learn(raw, **chosen.kind_fields) if given is None else given
        pieces = _read(learnt, raw, "training data")
    if valid is None:
        split = hold_out(pieces, chosen.recipe.held_out, seed)
    else:
        raw = _raw_items(kind, as_list(valid))
        split = Data(pieces, _read(learnt, raw, "validation data"))
    frame = make_frame(learnt.frame)
    known = (
        _onegram_of_packed(packed, frame, split.valid)
        if packed
        else onegram(frame, np.concatenate(split.train))
    )
    return Prepared(learnt, split, known, record_of_data(split))


def fitted(recipe: Recipe, lengths: Int64[np.ndarray, " pieces"]) -> Recipe:
    """Return the recipe with the batch and the length that its `points` ask for.

    The longest piece decides the length, so little is padded. The batch is even, so that two
    devices can share it. Without `points`, the recipe is returned as it is.
    """
    if not recipe.points:
        return recipe
    length = max(2, min(recipe.length, int(lengths.max())))
    # A piece is drawn in proportion to its length (`Corpus.crop`).
    mean = np.sum(lengths * np.minimum(lengths, length)) / np.sum(lengths)
    return replace(recipe, length=length, batch=2 * max(1, round(recipe.points / mean / 2)))


def as_list(data: object) -> list[Any]:
    """Return the data as a list of items and paths."""
    if isinstance(data, str):
        raise CaesuraError("Data to learn from must be a list, not one string.")
    if isinstance(data, Path) or getattr(data, "ndim", 0) == 2:  # one path, array or table
        return [data]
    if not isinstance(data, Iterable):
        raise CaesuraError(f"Data to learn from must be a list, not {type(data).__name__}.")
    return list(data)


def hold_out(pieces: Pieces, share: float, seed: int) -> Data:
    """Hold out a share for validation: whole pieces if there are enough, else the end of each."""
    lengths = lengths_of(pieces)
    if len(pieces) < FEW:
        cuts = (lengths * (1 - share)).astype(np.int64)
        if not cuts.any():
            raise CaesuraError("There is too little data to hold any of it out for validation.")
        return Data(_parts(pieces, np.zeros_like(cuts), cuts), _parts(pieces, cuts, lengths))
    order = np.random.default_rng(seed).permutation(len(pieces))
    sums = np.cumsum(lengths[order])
    few = int(np.clip(np.searchsorted(sums, share * sums[-1]) + 1, 1, len(pieces) - 1))
    chosen = np.zeros(len(pieces), bool)
    chosen[order[:few]] = True
    nothing = np.zeros_like(lengths)
    return Data(
        _parts(pieces, nothing, np.where(chosen, 0, lengths)),
        _parts(pieces, nothing, np.where(chosen, lengths, 0)),
    )


def _find_packed(kind: type[Kind], data: list[Any]) -> Packed | None:
    """Return the packed texts, if that is what the data is."""
    directories = [d for d in data if isinstance(d, Path) and is_packed(d)]
    if not directories:
        return None
    if kind is not Text:
        raise CaesuraError(
            f"The folder '{directories[0]}' holds packed texts: use them with kind 'text'."
        )
    if len(data) > 1:
        raise CaesuraError(
            f"The packed texts in '{directories[0]}' cannot be combined with other data."
        )
    return open_packed(directories[0])


def _raw_items(kind: type[Kind], data: list[Any]) -> list[Any]:
    items = kind.items(data)
    if not items:
        raise CaesuraError("There is nothing to learn from.")
    return items


def _read(kind: Kind, items: list[Any], what: str) -> list[Shaped[np.ndarray, "_ D"]]:
    """Return the items as arrays of a small type, since all of them are put on the device."""
    frame = make_frame(kind.frame)
    dtype = np.float32 if isinstance(frame, Continuous) else smallest_type(frame.cardinality)
    pieces = []
    for number, item in enumerate(items):
        sequence = kind.open(item).complete
        if sequence.missing.any():
            raise CaesuraError(f"Item {number} of the {what} has missing values.")
        pieces.append(frame.check(sequence.values, sequence.missing).astype(dtype))
    return pieces


def _parts(
    pieces: Pieces, begins: Int64[np.ndarray, " pieces"], ends: Int64[np.ndarray, " pieces"]
) -> Pieces:
    """Return a stretch of each piece, without those that are empty."""
    numbers = np.flatnonzero(ends > begins)
    if isinstance(pieces, Stored):
        return pieces.part(numbers, begins[numbers], ends[numbers])
    return [pieces[n][begins[n] : ends[n]] for n in numbers.tolist()]


def _onegram_of_packed(packed: Packed, frame: Frame, valid: Pieces) -> Net:
    """Subtract what is held out from the counts of the packed texts, so that little is read."""
    counts = packed.counts[None]
    if isinstance(valid, Stored):
        for block in valid.blocks():
            counts = counts - count(frame, block)
    return onegram_of(frame, counts)


def record_of_data(data: Data) -> dict[str, Any]:
    """Return the sizes of the data and its fingerprint, for the model file."""
    content = hashlib.sha256()
    for part in data:
        if isinstance(part, Stored):
            content.update(part.fingerprint.encode())
            content.update(part.starts.tobytes() + part.lengths.tobytes())
        else:
            for piece in part:
                content.update(str(piece.shape).encode())
                content.update(piece.tobytes())
        content.update(b"|")
    return {
        "fingerprint": content.hexdigest(),
        "pieces": len(data.train),
        "steps": int(lengths_of(data.train).sum()),
        "valid_pieces": len(data.valid),
        "valid_steps": int(lengths_of(data.valid).sum()),
    }
