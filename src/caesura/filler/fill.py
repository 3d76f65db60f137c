"""`Fill`: the answer of a filler, in the form of the user's data."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from caesura.filler.candidates import (
    Asked,
    Candidate,
    Completion,
    GapFill,
    LogProb,
    Reading,
    Readings,
    Weighed,
)
from caesura.kinds.base import Item, Kind, Written
from caesura.plots.html import page
from caesura.sequence import Sequence as Steps
from caesura.sequence import Span

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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

        For music it is a copy of a similar place of the piece, if one is similar enough, and
        otherwise the draw whose notes agree best with those of all draws. For series it has the
        medians of the draws.
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
        return self.top(len(self.completions))

    def top(self, most: int) -> list[Candidate]:
        """Return the first of the `candidates`; the others, of which there may be many, are not
        written."""
        return [self._candidate(one) for one in self.completions[:most]]

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
        return f"<{self._title(int(self.missing.sum()), repr(self.log_prob))}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the filled places, shaded by how sure the model is of them."""
        error = self.log_prob.standard_error
        nats = f"{float(self.log_prob):.2f}" + (f" ± {error:.2f}" if error else "")
        if np.isinf(error):
            nats = f"very roughly {float(self.log_prob):.2f}"
        return page(self._title(len(self.places), nats), self.kind.html(self))

    def _title(self, count: int, nats: str) -> str:
        """One line; medians of one pass have no log-probability, so there it says nothing of it."""
        places = "1 missing value" if count == 1 else f"{count} missing values"
        known = "" if np.isnan(self.log_prob) else f", {nats} nats"
        return f"{type(self).__name__}: {places}{known} by '{self.strategy}'"

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
