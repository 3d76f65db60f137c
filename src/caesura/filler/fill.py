"""The answers of a filler."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import starmap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from caesura.kinds.base import Item, Kind, Written
from caesura.kinds.text.automaton import Automaton
from caesura.plots.html import page
from caesura.sequence import Sequence as Steps
from caesura.sequence import Span

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        Distinct fills, most probable first. For music, the first is the fill whose notes agree
        best with those of all draws, or an echo: what sounds elsewhere in the piece, where all
        around is alike.
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


@dataclass(frozen=True, eq=False, repr=False)
class Fill:
    """Completed sequences in the user's own form, and how sure the model is of them.

    Attributes
    ----------
    item : Item
        The user's data, as the kind has opened it.
    kind : Kind
        The kind of the model.
    sequence : Sequence
        The data as the nets see it, and what was missing. A gap of unknown length has its most
        probable length.
    confidence : array of shape (places,)
        For each missing place, the probability of the value that `best` has there.
    log_prob : LogProb
        Nats of `best`: of all missing values together, given what is observed.
    log_probs, standard_errors : arrays of shape (samples,)
        Nats of each of `samples`, and their standard errors, which are zero if they are exact.
    strategy : str
        The name of the strategy.
    seed : int
        The seed; the same seed gives the same fill.
    ended : str
        How the work ended: "finished", or, if its time was limited, "settled" if the ranking did
        not change any more and "out of time" otherwise.
    completions, sampled, readings
        The candidates, the samples and the gaps, as the nets see them.

    Examples
    --------
    >>> import caesura
    >>> fill = caesura.load("text").fill("The qu___ brown fox")
    >>> fill.best
    'The quick brown fox'
    >>> len(fill.confidence)
    3
    """

    item: Item
    kind: Kind
    sequence: Steps
    confidence: Float[np.ndarray, " places"]
    log_prob: LogProb
    log_probs: Float[np.ndarray, " samples"]
    standard_errors: Float[np.ndarray, " samples"]
    strategy: str
    seed: int
    ended: str
    between: tuple[int, ...]  # how many observed steps stand before each gap, after the one before
    unknown: tuple[int, ...]  # the numbers of the gaps whose lengths are not known
    completions: list[Completion]  # the best first
    sampled: list[Completion]
    readings: list[Readings]

    @cached_property
    def best(self) -> Any:
        """The best completion that was found, which is the most probable one.

        For music it is the draw whose notes agree best with those of all draws, and for series it
        has the medians of the draws.
        """
        return self._best.sequence

    def with_alternatives(self, most: int | None = None) -> Any:
        """Return `best` with other readings of each gap, if its format has a place for them.

        EpiDoc can: each gap has an `<app>` with a `<rdg>` for each reading. Other texts, music and
        series come back as `best`.

        Parameters
        ----------
        most
            How many other readings of each gap to write at most; by default all that were found.
        """
        return self._written(self.completions[0], most).sequence

    @cached_property
    def samples(self) -> list[Any]:
        """The random completions that were asked for."""
        return [self._write(one) for one in self.sampled]

    @cached_property
    def candidates(self) -> list[Candidate]:
        """Distinct completions, `best` first, then by probability; none for real numbers.

        Those of music are in the order of how well their notes agree with those of all draws.
        """
        return [self._candidate(one) for one in self.completions]

    @cached_property
    def gaps(self) -> list[GapFill]:
        """What is said of each gap, from left to right; none for real numbers."""
        found = []
        spans = map(self._best.span, spans_of(self.between, self.completions[0].lengths))
        for span, parts, one in zip(spans, self._parts, self.readings, strict=False):
            frames, lengths, asked, matching = one
            covered = min(1.0, sum(one.probability for one in parts))
            ranked = [self._asked(one, frames) for one in asked]
            found.append(GapFill(span, parts, covered, lengths, ranked, matching))
        return found

    @cached_property
    def _best(self) -> Written:
        return self._written(self.completions[0])

    @cached_property
    def _parts(self) -> list[list[Reading]]:
        """The readings of each gap."""
        return [self._readings(one.frames) for one in self.readings]

    def _asked(self, own: Weighed, frames: list[tuple[Shaped[np.ndarray, "_ D"], float]]) -> Asked:
        others = [one for one in frames if not own.letters.accepts(one[0][:, 0].tolist())]
        better = sum(one.probability > own.probability for one in self._readings(others))
        return Asked(own.text, own.probability, 1 + better)

    def _readings(self, frames: list[tuple[Shaped[np.ndarray, "_ D"], float]]) -> list[Reading]:
        """Return the readings of a gap; those that are written alike are one."""
        parts = [self.item.part(values, Span(0, len(values))) for values, _ in frames]
        readings = [Reading(part, chance) for part, (_, chance) in zip(parts, frames, strict=True)]
        if not all(isinstance(part, str) for part in parts) or len(set(parts)) == len(parts):
            return readings
        chances: dict[str, float] = {}
        for part, chance in readings:
            chances[part] = chances.get(part, 0.0) + chance
        return sorted(starmap(Reading, chances.items()), key=lambda one: -one.probability)

    @property
    def covered(self) -> float | None:
        """The share of the probability that the candidates have; None for real numbers."""
        return min(1.0, float(sum(np.exp(one.log_prob) for one in self.completions)))

    @property
    def places(self) -> Int[np.ndarray, "places 2"]:
        """The place of each missing value in `best`, and its component.

        A place is a step; for a text, the number of the character.
        """
        return self._best.places

    @property
    def values(self) -> Shaped[np.ndarray, "T D"]:
        """`best` as the model sees it."""
        return self._values(self.completions[0])

    @property
    def missing(self) -> Bool[np.ndarray, "T D"]:
        """True where a value was missing."""
        return self.sequence.missing

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON can hold.

        A text is a string, a MIDI or MusicXML file its bytes in base64, an array a list of lists,
        and a table an object of columns, index and data. A number that is not finite is None.
        """
        candidates = [
            {"sequence": self.item.plain(one.sequence), "log_prob": one.log_prob}
            for one in self.candidates
        ]
        document = {
            "best": self.item.plain(self.best),
            "gaps": [_gap_as_json(gap) for gap in self.gaps],
            "log_prob": float(self.log_prob),
            "standard_error": self.log_prob.standard_error,
            "candidates": candidates,
            "covered": self.covered,
            "samples": [self.item.plain(sample) for sample in self.samples],
            "log_probs": self.log_probs.tolist(),
            "standard_errors": self.standard_errors.tolist(),
            "places": self.places.tolist(),
            "confidence": self.confidence.tolist(),
            "strategy": self.strategy,
            "seed": self.seed,
            "ended": self.ended,
        }
        return finite(document)

    def to_json(self) -> str:
        """Return `to_dict` as one JSON document."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def plot(self) -> "Figure":
        """Return a matplotlib figure of `best`: what is new in it, and how sure the model is."""
        return self.kind.plot(self)

    def __repr__(self) -> str:
        count = f"{self.missing.sum()} missing values"
        return f"<{type(self).__name__}: {count}, {self.log_prob!r} nats by '{self.strategy}'>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the filled places, shaded by how sure the model is of them."""
        error = self.log_prob.standard_error
        nats = f"{float(self.log_prob):.2f}" + (f" ± {error:.2f}" if error else "")
        count = f"{len(self.places)} missing values"
        title = f"{type(self).__name__}: {count}, {nats} nats by '{self.strategy}'"
        return page(title, self.kind.html(self))

    def _opened(self, one: Completion) -> tuple[Item, Steps]:
        """The data with gaps of these lengths."""
        if not self.unknown:
            return self.item, self.sequence
        item = self.item.with_lengths([one.lengths[number] for number in self.unknown])
        return item, item.sequence

    def _values(self, one: Completion) -> Shaped[np.ndarray, "T D"]:
        """The whole sequence with these values; what is observed cannot change."""
        sequence = self._opened(one)[1]
        values = sequence.values.copy()
        values[sequence.missing] = one.values
        return values

    def _write(self, one: Completion) -> Any:
        return self._written(one).sequence

    def _written(self, one: Completion, others: int | None = 0) -> Written:
        item, sequence = self._opened(one)
        parts = [part for part, length in zip(self._parts, one.lengths, strict=False) if length]
        return item.written(self._values(one), sequence.missing, parts, others)

    def _candidate(self, one: Completion) -> Candidate:
        values = self._values(one)
        parts = tuple(self.item.part(values, span) for span in spans_of(self.between, one.lengths))
        return Candidate(self._write(one), one.log_prob, parts)


def spans_of(between: Sequence[int], lengths: Sequence[int]) -> list[Span]:
    """Return the steps of gaps of some lengths, with so many observed steps before each."""
    spans, at = [], 0
    for observed, length in zip(between, lengths, strict=True):
        spans.append(Span(at + observed, at + observed + length))
        at += observed + length
    return spans


def _gap_as_json(gap: GapFill) -> dict[str, Any]:
    candidates = [
        {"part": part.tolist() if isinstance(part, np.ndarray) else part, "probability": chance}
        for part, chance in gap.candidates
    ]
    return {
        "start": gap.span.start,
        "stop": gap.span.stop,
        "covered": gap.covered,
        "lengths": {str(length): chance for length, chance in gap.lengths.items()},
        "candidates": candidates,
        "asked": [one._asdict() for one in gap.asked],
        "matching": gap.matching,
    }


def finite(value: Any) -> Any:
    """The value with None for numbers that JSON cannot hold."""
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
