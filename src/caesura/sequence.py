"""A sequence of frames, some of whose values are missing."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Shaped

from caesura.errors import CaesuraError

# The value of what is observed but not among those the model knows: a letter outside its alphabet.
# For real numbers it is NaN (`Frame.unknown`). A net sees it as if it were missing; it is never
# filled, never a target, and never lost.
UNKNOWN = -1


class Span(NamedTuple):
    """A run of missing steps: the first, and the one after the last."""

    start: int
    stop: int


def runs(on: Bool[np.ndarray, " T"]) -> list[Span]:
    """Return the runs of True, from left to right."""
    edges = np.flatnonzero(np.diff(on, prepend=False, append=False))
    return [Span(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


@dataclass(frozen=True)
class FrameSpec:
    """What a frame holds: a kind makes it, a net is built for it, a model file stores it.

    Parameters
    ----------
    name
        A key of `caesura.nets.frames.FRAMES`: "categorical", "binary" or "continuous".
    size
        The size of the alphabet or keyboard, or the number of real components.
    informing
        How many components, the last ones, only inform and are never filled.
    categories
        The number of levels of each categorical column. A category of K levels is K − 1 switches,
        which stand before the components that inform.
    """

    name: str
    size: int
    informing: int = 0
    categories: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Sequence:
    """T frames of D values each; `missing` is True where a value is unknown, to be filled.

    What is observed may be `UNKNOWN`: it is there, but not among the values that the model knows. A
    step is missing if any value of its frame is; in the paper's gaps, whole frames are.
    """

    values: Shaped[np.ndarray, "T D"]
    missing: Bool[np.ndarray, "T D"]

    def __post_init__(self) -> None:
        if self.values.ndim != 2:
            raise CaesuraError(
                f"A sequence must have the shape [steps, components], not "
                f"{list(self.values.shape)}."
            )
        if self.values.size == 0:
            raise CaesuraError("The sequence is empty.")
        if self.missing.dtype != bool:
            raise CaesuraError(
                f"`missing` must hold True and False, not values of type {self.missing.dtype}."
            )
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
    def gaps(self) -> list[Span]:
        """The runs of missing steps, from left to right."""
        return runs(self.missing_steps)
