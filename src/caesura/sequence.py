"""A sequence of frames, some of whose values are missing."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int8, Shaped

from caesura.errors import CaesuraError, whole_number

# The value of what is observed but not among those the model knows: a letter outside its alphabet.
# For real numbers it is NaN (`Frame.unknown`). A net sees it as if it were missing; it is never
# filled, never a target, and never lost.
UNKNOWN = -1
LONGEST_GAP = 64  # steps of a gap whose length is not known: each length is searched by itself


class Span(NamedTuple):
    """A run of missing steps: the first, and the one after the last."""

    start: int
    stop: int


class Gap(NamedTuple):
    """A gap whose length is not known.

    Parameters
    ----------
    at
        How many steps of the sequence are before the gap. The gap itself has no steps there.
    shortest, longest
        The lengths that it may have, in steps: from `shortest`, which may be 0 if perhaps nothing
        is missing, to `longest`, which is at most 64.
    prior
        A weight for each length from `shortest` to `longest`, relative to the others. By default
        all lengths have the same weight.

    Examples
    --------
    >>> from caesura import Gap
    >>> gap = Gap(at=4, shortest=2, longest=4, prior=(1, 2, 1))
    >>> list(gap.lengths)
    [2, 3, 4]
    >>> gap.weights
    array([0.25, 0.5 , 0.25])
    """

    at: int
    shortest: int
    longest: int
    prior: tuple[float, ...] | None = None

    @property
    def lengths(self) -> range:
        """The lengths that the gap may have."""
        return range(self.shortest, self.longest + 1)

    @property
    def weights(self) -> Float[np.ndarray, " lengths"]:
        """The prior probability of each length."""
        prior = [1.0] * len(self.lengths) if self.prior is None else self.prior
        return np.array(prior, float) / np.sum(prior, dtype=float)

    def check(self, steps: int) -> "Gap":
        """Return the gap with plain numbers as fields, if it fits into a sequence of `steps` steps.

        Raises
        ------
        CaesuraError
            If the place, the lengths or the prior are wrong.
        """
        at = whole_number("at", self.at, 0, steps)
        shortest = whole_number("shortest", self.shortest, 0)
        longest = whole_number("longest", self.longest, 1, LONGEST_GAP)
        if longest < shortest:
            raise CaesuraError(
                f"The longest length of a gap, {longest}, is less than its shortest, {shortest}."
            )
        gap = Gap(at, shortest, longest)
        return gap if self.prior is None else gap._replace(prior=_check_prior(self.prior, gap))


def _check_prior(prior: object, gap: Gap) -> tuple[float, ...]:
    try:
        weights = np.asarray(prior, float)
    except (TypeError, ValueError):
        raise CaesuraError(
            "The prior of a gap must have a number for each of its lengths."
        ) from None
    if weights.shape != (count := len(gap.lengths),):
        raise CaesuraError(
            f"The prior of a gap of {gap.shortest} to {gap.longest} steps must have {count} "
            f"weights, but this one has the shape {list(weights.shape)}."
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all() and 0 < weights.sum() < np.inf):
        raise CaesuraError(
            "The weights of a prior must be 0 or more, and their sum must be positive."
        )
    return tuple(weights.tolist())


def runs(on: Bool[np.ndarray, " T"]) -> list[Span]:
    """Return the runs of True, from left to right."""
    around = np.zeros(len(on) + 2, bool)
    around[1:-1] = on
    edges = np.flatnonzero(around[1:] != around[:-1])
    return [Span(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


@dataclass(frozen=True)
class FrameSpec:
    """What a frame holds: a kind makes it, a net is built for it, a model file stores it.

    Parameters
    ----------
    name
        A key of `caesura.nets.frames.FRAMES`: "categorical", "binary", "keys" or
        "continuous".
    size
        The size of the alphabet, or the number of components.
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


class Line(NamedTuple):
    """A part of music among others, which is filled alone: what a fill of it must be like.

    Parameters
    ----------
    known
        The part's own keys where it is known: 0 is silent or not known. If a model tells held from
        struck keys, 1 is held and 2 is struck; otherwise 1 sounds.
    rests
        At which steps the part may be silent.
    sings
        Whether it has one note at a time. If so, at most one of the missing keys sounds at a step,
        and none if the part already has a note there.
    """

    known: Int8[np.ndarray, "T D"]
    rests: Bool[np.ndarray, " T"]
    sings: bool = True

    def cut(self, first: int, stop: int) -> "Line":
        """Return the line from one step to before another."""
        return Line(self.known[first:stop], self.rests[first:stop], self.sings)


@dataclass(frozen=True, eq=False)
class Sequence:
    """T frames of D values each; `missing` is True where a value is unknown, to be filled.

    What is observed may be `UNKNOWN`: it is there, but not among the values that the model knows. A
    step is missing if any value of its frame is; in the paper's gaps, whole frames are. If all that
    is missing belongs to one line, `line` says what it may be.
    """

    values: Shaped[np.ndarray, "T D"]
    missing: Bool[np.ndarray, "T D"]
    line: Line | None = None

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
