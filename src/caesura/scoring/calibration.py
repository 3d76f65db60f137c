"""Whether stated probabilities can be believed: counts of hits, by position in the gap.

A tally counts over a batch of gaps; tallies of several batches are added, so that a measurement
may go over more gaps than fit into memory.
"""

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from caesura.nets.bins import crps, quantile, share_below
from caesura.scoring.scores import COVERAGES

BINS = 10  # of equal width, from 0 to 1
TOP = 5


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums over gaps of g steps; what a statement is, and when it comes true, a subclass says.

    The reliability is that of statements in bins of their probability: where they can be believed,
    a bin's statements come true as often as they say on average.
    """

    columns: ClassVar[dict[str, str]]  # the rates by position, and what a table calls them

    gaps: int
    statements: Int[np.ndarray, "g bins"]
    stated: Float[np.ndarray, "g bins"]  # the sum of the statements' probabilities
    true: Int[np.ndarray, "g bins"]  # how many statements came true

    def __add__(self, other: Any) -> Any:
        """The tally over the gaps of both."""
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        return type(self)(**sums)

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: |stated − true|, averaged over all statements."""
        return float(_error(*(a.sum(axis=0) for a in (self.statements, self.stated, self.true))))

    @property
    def calibration_error_by_position(self) -> Float[np.ndarray, " g"]:
        """The same, of the statements about each step."""
        return _error(self.statements, self.stated, self.true)

    def told(self) -> dict[str, Any]:
        """Everything, as JSON can hold it; the rates of a bin without statements are null."""
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
    """Of one of K symbols a step; the statement is that it is the likeliest one."""

    columns: ClassVar[dict[str, str]] = {
        "top_1": "top 1",
        "top_5": "top 5",
        "confidence": "stated for top 1",
        "calibration_error_by_position": "calibration error",
    }

    in_top: Int[np.ndarray, " g"]  # how often the truth is among the TOP likeliest

    @property
    def top_1(self) -> Float[np.ndarray, " g"]:
        """How often the likeliest symbol is the right one."""
        return self.true.sum(axis=1) / self.gaps

    @property
    def top_5(self) -> Float[np.ndarray, " g"]:
        """How often the right symbol is among the five likeliest."""
        return self.in_top / self.gaps

    @property
    def confidence(self) -> Float[np.ndarray, " g"]:
        """The probability of the likeliest symbol, on average."""
        return self.stated.sum(axis=1) / self.gaps


@dataclass(frozen=True, eq=False)
class KeyTally(Tally):
    """Of keys that sound or not; the statements are that a key sounds, one for each of them."""

    columns: ClassVar[dict[str, str]] = {
        "precision": "precision",
        "recall": "recall",
        "whole_frames": "whole frames",
        "notes": "notes",
        "expected_notes": "notes expected",
        "calibration_error_by_position": "calibration error",
    }

    chosen: Int[np.ndarray, " g"]  # keys that sound more likely than not
    right: Int[np.ndarray, " g"]  # those of them that do sound
    frames: Int[np.ndarray, " g"]  # without any mistake

    @property
    def precision(self) -> Float[np.ndarray, " g"]:
        """Of the keys that sound more likely than not, the share that do."""
        return _rate(self.right, self.chosen)

    @property
    def recall(self) -> Float[np.ndarray, " g"]:
        """Of the keys that do sound, the share that was held for more likely than not."""
        return _rate(self.right, self.true.sum(axis=1))

    @property
    def whole_frames(self) -> Float[np.ndarray, " g"]:
        """How often every key of a step is right at once."""
        return self.frames / self.gaps

    @property
    def notes(self) -> Float[np.ndarray, " g"]:
        """How many keys sound in a step."""
        return self.true.sum(axis=1) / self.gaps

    @property
    def expected_notes(self) -> Float[np.ndarray, " g"]:
        """How many should, by the stated probabilities."""
        return self.stated.sum(axis=1) / self.gaps


@dataclass(frozen=True, eq=False)
class NumberTally(Tally):
    """Of real numbers; the statements are that one lies in a tenth of its distribution.

    There are ten for each number, so that their reliability is the histogram of the PIT.
    """

    columns: ClassVar[dict[str, str]] = {
        "coverage_50": "in 50 %",
        "coverage_80": "in 80 %",
        "coverage_95": "in 95 %",
        "median_error": "|median − truth|",
        "crps": "CRPS",
        "calibration_error_by_position": "calibration error",
    }

    inside: Int[np.ndarray, "3 g"]  # how many numbers lie in the central intervals
    error: Float[np.ndarray, " g"]  # the sum of |median − truth|, in standardised units
    ranked: Float[np.ndarray, " g"]  # the sum of the CRPS, in the same

    @property
    def coverage_50(self) -> Float[np.ndarray, " g"]:
        """The share of the numbers that lie in the central interval of 50 %."""
        return _rate(self.inside[0], self.true.sum(axis=1))

    @property
    def coverage_80(self) -> Float[np.ndarray, " g"]:
        """The same, of 80 %."""
        return _rate(self.inside[1], self.true.sum(axis=1))

    @property
    def coverage_95(self) -> Float[np.ndarray, " g"]:
        """The same, of 95 %."""
        return _rate(self.inside[2], self.true.sum(axis=1))

    @property
    def median_error(self) -> Float[np.ndarray, " g"]:
        """How far the median is from the truth, on average."""
        return _rate(self.error, self.true.sum(axis=1))

    @property
    def crps(self) -> Float[np.ndarray, " g"]:
        """The continuous ranked probability score: the error of a distribution, not of a number."""
        return _rate(self.ranked, self.true.sum(axis=1))


def tally_symbols(
    log_probs: Float[np.ndarray, "n g 1 K"], truth: Int[np.ndarray, "n g 1"]
) -> SymbolTally:
    """What marginals say of symbols, against what they are."""
    order = np.argsort(-log_probs[:, :, 0], axis=-1, kind="stable")
    hits = order == truth
    stated = np.exp(log_probs[:, :, 0].max(axis=-1))
    return SymbolTally(
        len(truth),
        *_in_bins(stated[..., None], hits[..., :1]),
        in_top=hits[..., :TOP].any(axis=-1).sum(axis=0),
    )


def tally_keys(
    log_probs: Float[np.ndarray, "n g D 2"], truth: Int[np.ndarray, "n g D"]
) -> KeyTally:
    """What marginals say of keys, against what sounds."""
    stated, sounds = np.exp(log_probs[..., 1]), truth == 1
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
    """What marginals say of numbers, against what they are."""
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


def _in_bins(
    stated: Float[np.ndarray, "n g s"], true: Bool[np.ndarray, "n g s"]
) -> tuple[Int[np.ndarray, "g bins"], Float[np.ndarray, "g bins"], Int[np.ndarray, "g bins"]]:
    """By position and bin: how many statements, the sum of their probabilities, how many true."""
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
    """Zero of zero is zero."""
    return part / np.maximum(whole, 1)
