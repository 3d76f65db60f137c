"""Sequences in one array on disk, of which only the parts in use are read."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int, Int64, Shaped

BLOCK = 1 << 20  # steps in memory at a time, if all of them are read


class Stored(Sequence[Any]):
    """Pieces [T, D], each a view into the file that `values` maps.

    `fingerprint` is that of the whole file. Pages that were read count as memory of this process
    until `let_go` is called, since the system only takes them back when it runs out.
    """

    def __init__(
        self,
        values: Shaped[np.ndarray, "N D"],
        starts: Int64[np.ndarray, " pieces"],
        lengths: Int64[np.ndarray, " pieces"],
        fingerprint: str,
        let_go: Callable[[], None],
    ):
        self.values = values
        self.starts = starts
        self.lengths = lengths
        self.fingerprint = fingerprint
        self.let_go = let_go

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, number: Any) -> Any:
        start = self.starts[number]
        return self.values[start : start + self.lengths[number]]

    def part(
        self,
        numbers: Int[np.ndarray, " some"],
        begins: Int64[np.ndarray, " some"],
        ends: Int64[np.ndarray, " some"],
    ) -> "Stored":
        """Return a stretch of each of some pieces."""
        starts = self.starts[numbers] + begins
        return Stored(self.values, starts, ends - begins, self.fingerprint, self.let_go)

    def blocks(self) -> Iterator[Shaped[np.ndarray, "_ D"]]:
        """Yield all steps in order, in blocks, since one piece may be as long as the file."""
        for piece in self:
            for step in range(0, len(piece), BLOCK):
                yield piece[step : step + BLOCK]
                self.let_go()


def lengths_of(pieces: Sequence[Shaped[np.ndarray, "_ D"]]) -> Int64[np.ndarray, " pieces"]:
    """Return the number of steps of each piece."""
    if isinstance(pieces, Stored):
        return pieces.lengths
    return np.array([len(piece) for piece in pieces], np.int64)


def smallest_type(cardinality: int) -> type[np.signedinteger[Any]]:
    """Return the smallest integer type that holds 0 to K − 1 and `UNKNOWN`."""
    return np.int8 if cardinality <= 128 else np.int16 if cardinality <= 2**15 else np.int32
