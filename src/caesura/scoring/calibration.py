"""Calibration: how often stated probabilities come true, counted by position in the gap.

A tally counts over a batch of gaps. Tallies of several batches can be added, for more gaps than
fit into memory.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from caesura.nets.bins import crps, quantile, share_below
from caesura.nets.frames import Binary, Categorical, Continuous, Frame, Keys
from caesura.scoring.scores import COVERAGES

BINS = 10  # of equal width, from 0 to 1
TOP = 5


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts over gaps of g steps; a subclass defines what a statement is and when it is true.

    Statements are counted in bins of their probability. If a model is calibrated, the share of true
    statements in a bin equals the mean of their probabilities.
    """

    columns: ClassVar[dict[str, str]]  # the rates by position, and their titles in a table

    gaps: int
    statements: Int[np.ndarray, "g bins"]
    stated: Float[np.ndarray, "g bins"]  # the sum of the statements' probabilities
    true: Int[np.ndarray, "g bins"]  # how many statements were true

    def __add__(self, other: Any) -> Any:
        """Return the tally over the gaps of both."""
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        return type(self)(**sums)

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: the mean of |stated − true| over all statements."""
        return float(_error(*(a.sum(axis=0) for a in (self.statements, self.stated, self.true))))

    @property
    def calibration_error_by_position(self) -> Float[np.ndarray, " g"]:
        """The expected calibration error of the statements about each step."""
        return _error(self.statements, self.stated, self.true)

    def to_dict(self) -> dict[str, Any]:
        """Return the rates as values that JSON can hold; None in a bin without statements."""
        counts = self.statements.sum(axis=0)
        rates = (_rate(sums.sum(axis=0), counts) for sums in (self.stated, self.true))
        bins = [
            {"statements": int(n), "stated": s if n else None, "true": t if n else None}
            for n, s, t in zip(counts, *(rate.tolist() for rate in rates), strict=True)
        ]
        by_position = {name: getattr(self, name).tolist() for name in self.columns}
        return {
            "gaps": self.gaps,
            "by_position": by_position,
            "calibration_error": self.calibration_error,
            "reliability": bins,
        }


@dataclass(frozen=True, eq=False)
class SymbolTally(Tally):
    """Counts for one of K symbols per step; the statement is: it is the likeliest symbol."""

    columns: ClassVar[dict[str, str]] = {
        "top_1": "top 1",
        "top_5": "top 5",
        "confidence": "stated for top 1",
        "calibration_error_by_position": "calibration error",
    }

    in_top: Int[np.ndarray, " g"]  # how often the true symbol is among the TOP likeliest

    @property
    def top_1(self) -> Float[np.ndarray, " g"]:
        """How often the likeliest symbol is the true one."""
        return self.true.sum(axis=1) / self.gaps

    @property
    def top_5(self) -> Float[np.ndarray, " g"]:
        """How often the true symbol is among the five likeliest."""
        return self.in_top / self.gaps

    @property
    def confidence(self) -> Float[np.ndarray, " g"]:
        """The mean probability of the likeliest symbol."""
        return self.stated.sum(axis=1) / self.gaps


@dataclass(frozen=True, eq=False)
class KeyTally(Tally):
    """Counts for keys that sound or not; there is one statement per key: it sounds."""

    columns: ClassVar[dict[str, str]] = {
        "precision": "precision",
        "recall": "recall",
        "whole_frames": "whole frames",
        "notes": "notes",
        "expected_notes": "notes expected",
        "calibration_error_by_position": "calibration error",
    }

    chosen: Int[np.ndarray, " g"]  # keys with a probability above 1/2
    right: Int[np.ndarray, " g"]  # chosen keys that sound
    frames: Int[np.ndarray, " g"]  # in which every key is right

    @property
    def precision(self) -> Float[np.ndarray, " g"]:
        """The share of the chosen keys (probability above 1/2) that sound."""
        return _rate(self.right, self.chosen)

    @property
    def recall(self) -> Float[np.ndarray, " g"]:
        """The share of the sounding keys that were chosen."""
        return _rate(self.right, self.true.sum(axis=1))

    @property
    def whole_frames(self) -> Float[np.ndarray, " g"]:
        """The share of steps in which every key is right."""
        return self.frames / self.gaps

    @property
    def notes(self) -> Float[np.ndarray, " g"]:
        """The mean number of keys that sound in a step."""
        return self.true.sum(axis=1) / self.gaps

    @property
    def expected_notes(self) -> Float[np.ndarray, " g"]:
        """The number of keys in a step that should sound by the stated probabilities."""
        return self.stated.sum(axis=1) / self.gaps


@dataclass(frozen=True, eq=False)
class NumberTally(Tally):
    """Counts for real numbers; there are ten statements per number, one for each tenth of its
    distribution: the number lies there. Their reliability is the histogram of the PIT.
    """

    columns: ClassVar[dict[str, str]] = {
        "coverage_50": "in 50 %",
        "coverage_80": "in 80 %",
        "coverage_95": "in 95 %",
        "median_error": "|median − truth|",
        "crps": "CRPS",
        "calibration_error_by_position": "calibration error",
    }

    inside: Int[np.ndarray, "3 g"]  # how many numbers are inside the central intervals
    error: Float[np.ndarray, " g"]  # the sum of |median − truth|, in standardised units
    ranked: Float[np.ndarray, " g"]  # the sum of the CRPS, in standardised units

    @property
    def coverage(self) -> dict[float, Float[np.ndarray, " g"]]:
        """For each of `COVERAGES`, the share of the numbers inside the central interval."""
        numbers = self.true.sum(axis=1)
        return {c: _rate(row, numbers) for c, row in zip(COVERAGES, self.inside, strict=True)}

    @property
    def coverage_50(self) -> Float[np.ndarray, " g"]:
        """The share of the numbers inside the central interval of 50 %."""
        return self.coverage[0.5]

    @property
    def coverage_80(self) -> Float[np.ndarray, " g"]:
        """The share of the numbers inside the central interval of 80 %."""
        return self.coverage[0.8]

    @property
    def coverage_95(self) -> Float[np.ndarray, " g"]:
        """The share of the numbers inside the central interval of 95 %."""
        return self.coverage[0.95]

    @property
    def pit(self) -> Float[np.ndarray, " bins"]:
        """The density of the probability integral transform; 1 everywhere if calibrated."""
        counts = self.true.sum(axis=0)
        return BINS * counts / max(1, counts.sum())

    @property
    def median_error(self) -> Float[np.ndarray, " g"]:
        """The mean distance of the median from the truth."""
        return _rate(self.error, self.true.sum(axis=1))

    @property
    def crps(self) -> Float[np.ndarray, " g"]:
        """The mean continuous ranked probability score: the error of the whole distribution."""
        return _rate(self.ranked, self.true.sum(axis=1))


def tally_symbols(
    log_probs: Float[np.ndarray, "n g 1 K"], truth: Int[np.ndarray, "n g 1"]
) -> SymbolTally:
    """Return the tally of marginal distributions of symbols against the true symbols."""
    order = np.argsort(-log_probs[:, :, 0], axis=-1, kind="stable")
    hits = order == truth
    stated = np.exp(log_probs[:, :, 0].max(axis=-1))
    return SymbolTally(
        len(truth),
        *_in_bins(stated[..., None], hits[..., :1]),
        in_top=hits[..., :TOP].any(axis=-1).sum(axis=0),
    )


def tally_keys(
    log_probs: Float[np.ndarray, "n g D K"], truth: Int[np.ndarray, "n g D"]
) -> KeyTally:
    """Return the tally of marginal distributions of keys against the keys that sound."""
    stated, sounds = np.exp(log_probs[..., 1:]).sum(axis=-1), truth > 0
    chosen = stated > 0.5
    return KeyTally(
        len(truth),
        *_in_bins(stated, sounds),
        chosen=chosen.sum(axis=(0, 2)),
        right=(chosen & sounds).sum(axis=(0, 2)),
        frames=(chosen == sounds).all(axis=2).sum(axis=0),
    )


def tally_numbers(
    log_probs: Float[np.ndarray, "n g D K"], truth: Float[np.ndarray, "n g D"]
) -> NumberTally:
    """Return the tally of marginal distributions of numbers against the true numbers."""
    below = share_below(log_probs, truth)
    tenth = np.minimum((below * BINS).astype(int), BINS - 1)
    true = (tenth[..., None] == np.arange(BINS)).sum(axis=(0, 2))
    each = np.repeat(true.sum(axis=1, keepdims=True), BINS, axis=1)
    off_centre = 2 * np.abs(below - 0.5)
    return NumberTally(
        len(truth),
        statements=each,
        stated=each / BINS,
        true=true,
        inside=np.stack([(off_centre <= share).sum(axis=(0, 2)) for share in COVERAGES]),
        error=np.abs(quantile(log_probs, 0.5) - truth).sum(axis=(0, 2)),
        ranked=crps(log_probs, truth).sum(axis=(0, 2)),
    )


TALLIES: dict[type[Frame], Callable[..., Tally]] = {
    Categorical: tally_symbols,
    Binary: tally_keys,
    Keys: tally_keys,
    Continuous: tally_numbers,
}


def make_tally(
    frame: Frame, log_probs: Float[np.ndarray, "n g D K"], truth: Shaped[np.ndarray, "n g D"]
) -> Tally:
    """Return the tally that suits the frame: of symbols, of keys or of numbers."""
    return TALLIES[type(frame)](log_probs, truth)


def _in_bins(
    stated: Float[np.ndarray, "n g s"], true: Bool[np.ndarray, "n g s"]
) -> tuple[Int[np.ndarray, "g bins"], Float[np.ndarray, "g bins"], Int[np.ndarray, "g bins"]]:
    """Return the fields `statements`, `stated` and `true` of a tally."""
    g = stated.shape[1]
    number = np.minimum((stated * BINS).astype(int), BINS - 1) + BINS * np.arange(g)[:, None]

    def sums(weights: np.ndarray) -> Float[np.ndarray, "g bins"]:
        return np.bincount(number.ravel(), weights.ravel(), g * BINS).reshape(g, BINS)

    ones = np.ones(stated.shape)
    return sums(ones).astype(int), sums(stated), sums(true).astype(int)


def _error(
    statements: Int[np.ndarray, "*g bins"],
    stated: Float[np.ndarray, "*g bins"],
    true: Int[np.ndarray, "*g bins"],
) -> Any:
    return np.abs(stated - true).sum(axis=-1) / np.maximum(statements.sum(axis=-1), 1)


def _rate(part: np.ndarray, whole: np.ndarray) -> Float[np.ndarray, " n"]:
    """Return part / whole, or zero for zero of zero."""
    return part / np.maximum(whole, 1)
