"""A sequence of frames, some of whose values are missing."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Shaped

from caesura.errors import CaesuraError

# The value of what is observed but not among those the model knows: a letter outside its alphabet.
# Among numbers, it is NaN (`Frame.unknown`).
# A net is shown it as if it were missing; it is never filled, never a target, and never lost.
UNKNOWN = -1


class Gap(NamedTuple):
    """A run of missing steps: the first, and the one after the last."""

    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class Sequence:
    """T frames of D values each; `missing` is True where a value is unknown, to be filled.

    What is observed may be `UNKNOWN`: there, but not among the values that the model knows.
    A step is missing when any value of its frame is; in the paper's gaps, whole frames are.
    """

    values: Shaped[np.ndarray, "T D"]
    missing: Bool[np.ndarray, "T D"]

    def __post_init__(self) -> None:
        if self.values.ndim != 2:
            raise CaesuraError(
                f"A sequence has the shape [steps, components], not {list(self.values.shape)}."
            )
        if self.values.size == 0:
            raise CaesuraError("The sequence is empty.")
        if self.missing.dtype != bool:
            raise CaesuraError(f"`missing` holds True and False, not {self.missing.dtype}.")
        if self.missing.shape != self.values.shape:
            raise CaesuraError(
                f"`missing` has the shape {list(self.missing.shape)}, "
                f"but the values have {list(self.values.shape)}."
            )

    def __len__(self) -> int:
        return len(self.values)

    @property
    def missing_steps(self) -> Bool[np.ndarray, " T"]:
        """Which steps have something to fill."""
        return np.any(self.missing, axis=1)

    @property
    def gaps(self) -> list[Gap]:
        """The runs of missing steps, from left to right."""
        edges = np.flatnonzero(np.diff(self.missing_steps, prepend=False, append=False))
        return [Gap(int(a), int(b)) for a, b in edges.reshape(-1, 2)]
