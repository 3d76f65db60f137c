"""The possible fills of a sequence and of its gaps, as the user and as the nets see them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Shaped

from caesura.kinds.text.automaton import Automaton
from caesura.sequence import Span


class LogProb(float):
    """A log-probability in nats that knows its standard error.

    Attributes
    ----------
    standard_error : float
        Zero if the log-probability is exact. Infinite if a single chain or order makes up more than
        half of the average: then the log-probability is a lower bound at best.

    Examples
    --------
    >>> from caesura import LogProb
    >>> LogProb(-2.5, 0.125)
    -2.5 ± 0.12
    >>> LogProb(-2.5, 0.0) + 1
    -1.5
    """

    standard_error: float

    def __new__(cls, log_prob: float, standard_error: float) -> "LogProb":
        """A float with one more number."""
        number = super().__new__(cls, log_prob)
        number.standard_error = standard_error
        return number

    def __getnewargs__(self) -> tuple[float, float]:  # type: ignore[override]
        return float(self), self.standard_error

    def __repr__(self) -> str:
        error = f" ± {self.standard_error:.2g}" if self.standard_error else ""
        return f"{float(self):.6g}{error}"


class Candidate(NamedTuple):
    """One possible completion of a whole sequence.

    Attributes
    ----------
    sequence
        The completed sequence in the user's own form.
    log_prob
        Nats of all missing values together, given what is observed.
    parts
        The content of each gap, from left to right: strings for text, frames for music.
    """

    sequence: Any
    log_prob: float
    parts: tuple[Any, ...]


class Reading(NamedTuple):
    """One possible fill of a single gap.

    Attributes
    ----------
    part
        The content of the gap: a string for text, frames for music.
    probability
        Given everything observed, averaged over the possible fills of the gaps close by. With the
        strategy `search`, gaps that are farther away have their best fills. With other strategies
        they are unknown. If there are other gaps close by, these strategies estimate the
        probability from how often the reading was drawn, and leave a share for readings that were
        not drawn.
    """

    part: Any
    probability: float


class Asked(NamedTuple):
    """A reading that the user asked about, with its probability and rank.

    Attributes
    ----------
    part
        The reading as it was given.
    probability
        Given everything observed, and the patterns that were asked for, as for a candidate. It
        is averaged over all fills of the gaps close by; the candidates are averaged only over the
        fills that were found there, so their probability may be a little smaller. If the model
        marks the starts of words and the reading has a blank, even at its end, then words start
        after its blanks and nowhere else (the first letter may start a word or not). A reading
        without a blank has the sum over all its divisions into words.
    rank
        1 if no candidate is more probable, 2 if one is, and so on. There are at most 100
        candidates, so 101 means that all of them are more probable.
    """

    part: str
    probability: float
    rank: int


@dataclass(frozen=True)
class GapFill:
    """The answer for one gap: its readings, and their probabilities.

    Attributes
    ----------
    span : Span
        Its first step in `Fill.best`, and the step after its last; for a text, its characters.
    candidates : list of Reading
        Distinct fills, most probable first. For music, the first is a copy of a similar place of
        the piece if there is one, and then the fill whose notes agree best with those of all draws.
    covered : float
        The share of the probability that the candidates have together; the rest belongs to fills
        that were not found.
    lengths : dict
        The probability of each length, most probable first. A known length has probability 1.
    asked : list of Asked
        The readings that were asked for, in their order.
    matching : float or None
        The probability that the pattern of this gap holds, without patterns of gaps close by; None
        if there is no pattern.

    Examples
    --------
    >>> import caesura
    >>> gap = caesura.load("text").fill("The qu___ brown fox").gaps[0]
    >>> gap.span
    Span(start=6, stop=9)
    >>> gap.candidates[0].part
    'ick'
    >>> gap.lengths
    {3: 1.0}
    """

    span: Span
    candidates: list[Reading]
    covered: float
    lengths: dict[int, float]
    asked: list[Asked] = field(default_factory=list)
    matching: float | None = None


class Completion(NamedTuple):
    """A fill of all gaps, as the nets see it."""

    values: Shaped[np.ndarray, " places"]  # at the missing places, step by step
    lengths: tuple[int, ...]  # of all gaps
    log_prob: float


class Weighed(NamedTuple):
    """A reading of the user's own, with its probability."""

    text: str
    letters: Automaton
    probability: float


class Readings(NamedTuple):
    """The fills of one gap, as the nets see them: whole frames, with their probabilities."""

    frames: list[tuple[Shaped[np.ndarray, "_ D"], float]]
    lengths: dict[int, float]
    asked: Sequence[Weighed] = ()
    matching: float | None = None
