"""What a filler answers with."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from numpy.typing import DTypeLike

from caesura.filler.passes import Filled, quantile_of
from caesura.filler.running import Opened
from caesura.kinds.base import Item, Kind
from caesura.sequence import Sequence as Steps

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
    """One possible completion.

    Attributes
    ----------
    sequence
        The completed sequence in the user's own form.
    log_prob
        Nats of all missing values together, given what is observed.
    parts
        What stands in each gap, from left to right: strings for text, frames for music.
    """

    sequence: Any
    log_prob: float
    parts: tuple[Any, ...]


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
        The data as the nets see it, with all that was missing.
    places : array of shape (places, 2)
        The step and the component of each missing value.
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
    chosen : array of shape (places,)
        The values of `best`, as the nets see them.
    drawn : array of shape (draws, places)
        The random fills that the answer is made of, as the nets see them.
    scores : array of shape (draws,)
        Nats of each of `drawn`; empty for real numbers.

    Examples
    --------
    >>> import caesura
    >>> fill = caesura.load("text").fill("The qu___ brown fox", strategy="nade")
    >>> fill.best
    'The quick brown fox'
    >>> len(fill.confidence)
    3
    """

    item: Item
    kind: Kind
    sequence: Steps
    places: Int[np.ndarray, "places 2"]
    confidence: Float[np.ndarray, " places"]
    log_prob: LogProb
    log_probs: Float[np.ndarray, " samples"]
    standard_errors: Float[np.ndarray, " samples"]
    strategy: str
    seed: int
    chosen: Shaped[np.ndarray, " places"]  # the values of `best`
    drawn: Shaped[np.ndarray, "draws places"]
    scores: Float[np.ndarray, " scored"]  # of all draws; empty for real numbers

    @cached_property
    def best(self) -> Any:
        """The best completion that was found, which is the most probable one.

        For music it is the draw whose notes agree best with those of all draws, and for series it
        has the medians of the draws.
        """
        return self._write(self.values)

    @cached_property
    def samples(self) -> list[Any]:
        """The random completions that were asked for."""
        return [self._write(self._with(row)) for row in self.drawn[: len(self.log_probs)]]

    @cached_property
    def candidates(self) -> list[Candidate]:
        """Distinct completions, `best` first, then by probability; none for real numbers.

        Those of music are in the order of how well their notes agree with those of all draws.
        """
        if not len(self.scores):
            return []
        found = {self.chosen.tobytes(): (self.chosen, float(self.log_prob))}
        for n in self.kind.rank(self.drawn, self.scores):
            found.setdefault(self.drawn[n].tobytes(), (self.drawn[n], float(self.scores[n])))
        return [self._candidate(row, score) for row, score in found.values()]

    @property
    def covered(self) -> float | None:
        """The share of the probability that the candidates have; None for real numbers."""
        if not len(self.scores):
            return None
        return min(1.0, float(sum(np.exp(one.log_prob) for one in self.candidates)))

    @property
    def values(self) -> Shaped[np.ndarray, "T D"]:
        """`best` as the model sees it."""
        return self._with(self.chosen)

    @property
    def missing(self) -> Bool[np.ndarray, "T D"]:
        """True where a value was missing."""
        return self.sequence.missing

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it.

        A text is a string, a MIDI file its bytes in base64, an array a list of lists, and a table
        an object of columns, index and data. A number that is not finite is None.
        """
        candidates = [
            {"sequence": self.item.plain(one.sequence), "log_prob": one.log_prob}
            for one in self.candidates
        ]
        document = {
            "best": self.item.plain(self.best),
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
        }
        return _finite(document)

    def to_json(self) -> str:
        """Return `to_dict` as one JSON document."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def plot(self) -> "Figure":
        """Return a matplotlib figure of `best`: what is new in it, and how sure the model is."""
        return self.kind.plot(self)

    def __repr__(self) -> str:
        count = f"{len(self.places)} missing values"
        return f"<{type(self).__name__}: {count}, {self.log_prob!r} nats by '{self.strategy}'>"

    def _with(self, row: Shaped[np.ndarray, " places"]) -> Shaped[np.ndarray, "T D"]:
        """The whole sequence with these values; what is observed cannot change."""
        values = self.sequence.values.copy()
        values[tuple(self.places.T)] = row
        return values

    def _write(self, values: Shaped[np.ndarray, "T D"]) -> Any:
        return self.item.write(values, self.missing)

    def _candidate(self, row: Shaped[np.ndarray, " places"], log_prob: float) -> Candidate:
        values = self._with(row)
        parts = tuple(self.item.part(values, gap) for gap in self.sequence.gaps)
        return Candidate(self._write(values), log_prob, parts)


class SeriesFill(Fill):
    """A filled table: `best` has the medians of the draws, and the likeliest levels of categories.

    Examples
    --------
    >>> import numpy as np, caesura
    >>> table = np.sin(np.arange(300.0))[:, None]
    >>> table[40:43] = np.nan
    >>> small = {"hidden": 8, "head_hidden": 8, "batch": 4, "steps": 20}
    >>> filler = caesura.train([table], kind="series", validate_every=10, **small)
    >>> fill = filler.fill(table)
    >>> low, high = fill.quantile([0.05, 0.95])
    >>> bool(np.all(low[40:43] <= fill.best[40:43]) and np.all(fill.best[40:43] <= high[40:43]))
    True
    """

    def quantile(self, q: float | Sequence[float]) -> Any:
        """Return the table with quantiles of the draws in its gaps.

        Parameters
        ----------
        q
            A level between 0 and 1, or several.

        Returns
        -------
        table or list of tables
            In the user's own form; a list if `q` is one. Categories have no quantiles: they are
            filled as in `best`.
        """
        levels = np.atleast_1d(q).tolist()
        spec, values = self.kind.frame, self.sequence.values
        tables = [
            self._write(quantile_of(spec, self.places, values, self.drawn, level))
            for level in levels
        ]
        return tables if np.ndim(q) else tables[0]

    def probabilities(self) -> dict[str, Any]:
        """Return, by the name of each category, how often each of its levels was drawn.

        Returns
        -------
        dict of tables
            A column for each level; in the form of the user's table. What is observed has
            probability 1.
        """
        return self.item.probabilities(self._with(self.drawn.mean(axis=0)))


def assemble(kind: Kind, opened: Opened, parts: Sequence[Filled]) -> Fill:
    """Return the fill of a whole sequence from those of its stretches.

    Stretches are independent given what is observed, so log-probabilities add up, and the best
    completion has the best fill of every stretch.
    """
    sequence, samples = opened.sequence, opened.request.samples
    scale, numbers = kind.log_scale(sequence.missing), kind.symbols() is None
    if not parts:
        parts = [_nothing(samples, sequence.values.dtype)]
    scores = np.sum([part.log_probs for part in parts], axis=0) - scale
    errors = np.sum([part.errors**2 for part in parts], axis=0) ** 0.5
    best_error = sum(part.best_error**2 for part in parts) ** 0.5
    return (SeriesFill if numbers else Fill)(
        item=opened.item,
        kind=kind,
        sequence=sequence,
        places=np.concatenate([part.places for part in parts]),
        confidence=np.concatenate([part.confidence for part in parts]),
        log_prob=LogProb(sum(part.best_log_prob for part in parts) - scale, best_error),
        log_probs=scores[:samples],
        standard_errors=errors[:samples],
        strategy=opened.method.name,
        seed=opened.request.seed,
        chosen=np.concatenate([part.best for part in parts]),
        drawn=np.concatenate([part.drawn for part in parts], axis=1),
        scores=np.zeros(0) if numbers else scores,
    )


def _nothing(samples: int, dtype: DTypeLike) -> Filled:
    """What becomes of a sequence in which nothing is missing."""
    sure, draws = np.zeros(max(samples, 1)), np.zeros((max(samples, 1), 0), dtype)
    places = np.zeros((0, 2), int)
    return Filled(places, draws, sure, sure, draws[0], 0.0, 0.0, np.zeros(0))


@dataclass(frozen=True, eq=False)
class Marginals:
    """The distribution at each missing place by itself.

    Attributes
    ----------
    places : array of shape (places, 2)
        The step and the component of each.
    symbols : list
        What the K columns stand for; for series, standardised numbers, one in each of the bins in
        which the distribution is given.
    log_probs, standard_errors : arrays of shape (places, K)

    Examples
    --------
    >>> import caesura
    >>> caesura.load("text").marginals("The qu_ck brown fox", strategy="nade").top(1)[0][0][0]
    'i'
    """

    places: Int[np.ndarray, "places 2"]
    symbols: list[Any]
    log_probs: Float[np.ndarray, "places K"]
    standard_errors: Float[np.ndarray, "places K"]

    def top(self, n: int) -> list[list[tuple[Any, float]]]:
        """Return the `n` most probable symbols at each place, with their probabilities."""
        order = np.argsort(-self.log_probs, axis=1)[:, :n]
        return [
            [(self.symbols[k], float(np.exp(row[k]))) for k in likeliest]
            for row, likeliest in zip(self.log_probs, order, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return _finite(
            {
                "places": self.places.tolist(),
                "symbols": self.symbols,
                "log_probs": self.log_probs.tolist(),
                "standard_errors": self.standard_errors.tolist(),
            }
        )


def _finite(value: Any) -> Any:
    """The value with None for numbers that JSON cannot hold."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
