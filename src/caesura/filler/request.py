"""One request for a fill, and which values are missing in it."""

from collections import abc
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool

from caesura.errors import CaesuraError
from caesura.sequence import Gap, Sequence
from caesura.strategies import Strategy

Missing = slice | abc.Sequence[int | Gap] | Gap | np.ndarray
# By the numbers of gaps from left to right, or for the only gap.
Patterns = abc.Mapping[int, str] | str
Readings = abc.Mapping[int, abc.Sequence[str]] | abc.Sequence[str]


@dataclass(frozen=True, eq=False)
class Request:
    """The arguments of `Filler.fill` as an object, one of many for `Filler.fill_many`.

    Parameters
    ----------
    data
        The sequence in the user's own form, the path of a file, or an item that the kind has
        opened.
    missing
        What is missing, in addition to what the data itself marks: a slice, a list of steps, a mask
        over steps or values, or, for text, a `Gap` of unknown length or a list of them.
    samples
        How many random fills to return.
    draws
        How many random fills the answer is computed from; the default depends on the kind.
    strategy
        The name of a strategy or a strategy with its options; by default the model's own.
    seed
        The seed of the random numbers.
    seconds
        How long to search for better fills; by default as long as the strategy takes.
    patterns
        For text: a regular expression that the content of a gap must match, by the gap's number.
    readings
        For text: your own readings, by the gap's number. The answer has the probability and the
        rank of each.

    Examples
    --------
    >>> from caesura import Request
    >>> Request("The qu___ brown fox", seed=1).seed
    1
    """

    data: Any
    missing: Missing | None = None
    samples: int = 0
    draws: int | None = None
    strategy: str | Strategy | None = None
    seed: int = 0
    seconds: float | int | None = None
    patterns: Patterns | None = None
    readings: Readings | None = None

    @property
    def asks(self) -> bool:
        """Whether something is asked about single gaps."""
        return bool(self.readings) or self.patterns not in (None, {})


def split_missing(missing: Missing | None) -> tuple[Missing | None, list[Gap]]:
    """Return what is missing of the steps, as `mask_of` takes it, and the gaps of unknown length.

    Examples
    --------
    >>> from caesura import Gap
    >>> split_missing(slice(2, 4))
    (slice(2, 4, None), [])
    >>> split_missing(Gap(4, 1, 3))
    (None, [Gap(at=4, shortest=1, longest=3, prior=None)])
    """
    if isinstance(missing, Gap):  # which is a tuple itself
        return None, [missing]
    if not isinstance(missing, list | tuple):
        return missing, []
    gaps = [one for one in missing if isinstance(one, Gap)]
    steps = [one for one in missing if not isinstance(one, Gap)]
    return (missing, []) if not gaps else (steps or None, gaps)


def mask_of(missing: Missing, sequence: Sequence) -> Bool[np.ndarray, "T D"]:
    """Return `missing`, in any of its forms, as a mask over values."""
    if split_missing(missing)[1]:
        raise CaesuraError("A gap of unknown length has no steps: here, `missing` must name steps.")
    steps = np.zeros(len(sequence), bool)
    wrong = CaesuraError("`missing` must be a slice, a list of steps, or a mask of True and False.")
    try:
        given = np.arange(len(sequence))[missing] if isinstance(missing, slice) else missing
        given = np.asarray(given)
    except (TypeError, ValueError):
        raise wrong from None
    if isinstance(missing, slice) and not given.size:
        raise CaesuraError(f"`missing` marks none of the {len(sequence)} steps.")
    if given.dtype == bool:
        if given.shape == sequence.values.shape:
            return given
        if given.shape != steps.shape:
            raise CaesuraError(
                f"`missing` has the shape {list(given.shape)}, but the sequence has "
                f"{len(sequence)} steps."
            )
        steps = given
    elif given.size:
        if given.dtype.kind not in "iu" or given.ndim != 1:
            raise wrong
        if given.min() < 0 or given.max() >= len(sequence):
            raise CaesuraError(f"`missing` names a step outside 0 to {len(sequence) - 1}.")
        steps[given] = True
    return np.repeat(steps[:, None], sequence.values.shape[1], axis=1)
