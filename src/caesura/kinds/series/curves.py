"""Curves that turn the numbers of a column into scores, whose distribution is nearly normal.

A curve goes up through some knots and is straight between them and beyond. Either there are two
knots, and the scores are the numbers in standard deviations, or there are many, and the scores are
those of a normal distribution with the same ranks: rain and the dust in the air have heavy tails.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

KNOTS = 33
CLOSEST = 1e-3  # knots, in standard deviations: a curve that goes up at once would have no slope


class Curve(NamedTuple):
    """The curve of one column: both rise."""

    knots: Float[np.ndarray, " N"]
    scores: Float[np.ndarray, " N"]

    def to_scores(self, x: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
        """Return the scores of numbers."""
        return _through(x, self.knots, self.scores)

    def to_numbers(self, scores: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
        """Return the numbers that have some scores."""
        return _through(scores, self.scores, self.knots)

    def log_slope(self, x: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
        """Return the log of how fast the scores rise, which makes densities of numbers."""
        slopes = np.diff(self.scores) / np.diff(self.knots)
        return np.log(slopes)[np.searchsorted(self.knots[1:-1], x, side="right")]


def _through(
    x: Float[np.ndarray, "*n"], a: Float[np.ndarray, " N"], b: Float[np.ndarray, " N"]
) -> Float[np.ndarray, "*n"]:
    y = np.interp(x, a, b)
    y = np.where(x < a[0], b[0] + (x - a[0]) * (b[1] - b[0]) / (a[1] - a[0]), y)
    return np.where(x > a[-1], b[-1] + (x - a[-1]) * (b[-1] - b[-2]) / (a[-1] - a[-2]), y)


def straight(numbers: Float[np.ndarray, " n"]) -> Curve:
    """Return the curve whose scores are numbers in standard deviations from their mean."""
    known = numbers[~np.isnan(numbers)]
    mean, scale = (known.mean(), known.std()) if len(known) else (0.0, 0.0)
    scale = scale if scale > CLOSEST else 1.0
    return Curve(np.array([mean - scale, mean + scale], float), np.array([-1.0, 1.0]))


def by_rank(numbers: Float[np.ndarray, " n"]) -> Curve:
    """Return the curve whose scores are normal; a straight one if there are too few numbers."""
    from scipy.special import ndtri  # here, since a model of text is read without SciPy

    known = np.sort(numbers[~np.isnan(numbers)]).astype(float)
    line = straight(numbers)
    if len(known) < 4 * KNOTS:
        return line
    ranks = np.unique(np.linspace(0, len(known) - 1, KNOTS).round().astype(int))
    least = CLOSEST * np.diff(line.knots)[0]
    knots: list[float] = []
    scores: list[float] = []
    for value in known[ranks]:
        if knots and value - knots[-1] < least:
            continue
        # The middle of those that are equal.
        first, last = (np.searchsorted(known, value, side=side) for side in ("left", "right"))
        score = float(ndtri((first + last) / 2 / len(known)))
        if not scores or score > scores[-1]:
            knots.append(float(value))
            scores.append(score)
    return Curve(np.array(knots), np.array(scores)) if len(knots) > 2 else line
