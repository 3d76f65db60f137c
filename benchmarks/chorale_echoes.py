"""Echoes: where a chorale sounds as something did that was heard before, what followed there.

There are three kinds of echoes of a step. All are found from the steps before it alone:

- of the chorale itself: the earlier step whose past has the most in common with this one's;
- of the training chorales, transposed: the same, among all their steps;
- of the training chorales, transposed: the same, but only the sopranos are compared.
"""

from collections.abc import Iterator

import numpy as np
from chorale_nets import ECHOES, PITCHES, REST
from jaxtyping import Int

LEAST_BACK = 8  # steps, so that a chord that is held is no echo of itself
BEAT = 4  # steps: only steps at the same place in the beat are compared
NEVER = -1  # a symbol that is equal to none


def echoes(
    pieces: list[np.ndarray], bank: list[np.ndarray]
) -> Iterator[tuple[Int[np.ndarray, "T E 4"], Int[np.ndarray, "T E"]]]:
    """Yield the echoes of each piece and their lengths, which are 0 where there is none.

    A piece that is in the bank itself is no echo of itself there.
    """
    banks = [Bank(bank, whole) for whole in (True, False)]
    numbers = {piece.tobytes(): number for number, piece in enumerate(bank)}
    for piece in pieces:
        number = numbers.get(piece.tobytes())
        found = [own_echoes(piece), *(one.echoes(piece, number) for one in banks)]
        assert len(found) == ECHOES
        yield tuple(np.stack(arrays, axis=1) for arrays in zip(*found, strict=True))


def own_echoes(piece: Int[np.ndarray, "T 4"]) -> tuple[np.ndarray, np.ndarray]:
    """Return what followed the longest common past in the piece itself, and how long it is.

    Of several, the last is taken. It is at least `LEAST_BACK` steps back.
    """
    T = len(piece)
    echo, length = np.full_like(piece, REST), np.zeros(T, np.int32)
    alike = np.all(piece[:, None] == piece[None], axis=-1)
    common = np.zeros(T, np.int32)  # with the past of every earlier step
    for t in range(1, T):
        common = np.concatenate([[0], np.where(alike[t - 1, :-1], common[:-1] + 1, 0)])
        far = common[: max(0, t - LEAST_BACK + 1)]
        if len(far) and (longest := far.max()) > 0:
            echo[t], length[t] = piece[np.flatnonzero(far == longest)[-1]], longest
    return echo, length


class Bank:
    """Chorales to find echoes in, by all voices (`whole`) or by the soprano."""

    def __init__(self, pieces: list[np.ndarray], whole: bool):
        self.whole = whole
        self.names: dict[bytes, int] = {}
        self.steps = np.concatenate(pieces)
        self.starts = np.cumsum([0, *map(len, pieces)])
        self.symbols = np.concatenate([self._symbols(piece, learn=True) for piece in pieces])

    def _symbols(self, piece: Int[np.ndarray, "T 4"], learn: bool) -> Int[np.ndarray, " T"]:
        """Return a number for each step: its chord, how it was reached, and its place in the beat.

        It is the same in every key. The first step was not reached from anywhere.
        """
        voices = piece if self.whole else piece[:, :1]
        reference = voices[:, -1:]
        shape = np.where(voices < REST, voices - np.where(reference < REST, reference, 0), 99)
        moved = np.diff(piece[:, -1 if self.whole else 0], prepend=REST)
        moments = np.arange(len(piece)) % BEAT
        rows = np.column_stack([shape, moved, moments]).astype(np.int16)
        numbers = [
            self.names.setdefault(row.tobytes(), len(self.names))
            if learn
            else self.names.get(row.tobytes(), NEVER - 1)
            for row in rows
        ]
        return np.array([NEVER if learn else NEVER - 1, *numbers[1:]], np.int32)

    def echoes(
        self, piece: Int[np.ndarray, "T 4"], number: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what most often followed the longest common past, and how long it is."""
        symbols = self._symbols(piece, learn=False)
        echo, length = np.full_like(piece, REST), np.zeros(len(piece), np.int32)
        common = np.zeros(len(self.steps), np.int16)
        voice = -1 if self.whole else 0
        for t in range(1, len(piece)):
            longer = common[:-1] + np.int16(1)
            longer *= self.symbols[:-1] == symbols[t - 1]
            common[1:] = longer
            common[self.starts[:-1]] = 0  # what follows the end of a chorale is another
            if number is not None:
                common[self.starts[number] : self.starts[number + 1]] = 0
            if (longest := common.max()) == 0:
                continue
            places = np.flatnonzero(common == longest)[-64:]
            here, there = piece[t - 1, voice], self.steps[places - 1, voice]
            shift = np.where((here < REST) & (there < REST), here - there, 0)[:, None]
            followed = self.steps[places]
            moved = np.where(followed < REST, followed + shift, REST)
            moved = np.where((moved >= 0) & (moved < PITCHES), moved, REST)
            compared = moved if self.whole else moved[:, :1]
            _, which, counts = np.unique(compared, axis=0, return_inverse=True, return_counts=True)
            echo[t] = moved[np.flatnonzero(which.reshape(-1) == counts.argmax())[-1]]
            length[t] = longest
        return echo, length
