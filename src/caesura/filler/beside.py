"""Two opinions about the numbers of a column, pooled: that of a net and that of a Gaussian model.

With a probability that is chosen for the column, its fill is drawn from the Gaussian model, else
from the net. So the density of a fill is the weighted mean of two densities, and the same holds for
each of its numbers by itself.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr

from caesura.kinds.series.curves import Curve
from caesura.nets.heads.logistics import Logistics
from caesura.sequence import Span

LEAST = 1e-8  # variance: a column that the others determine has none


class Beside(NamedTuple):
    """What a Gaussian model says about one column: means and covariances of scores."""

    share: float  # how probable it is that the Gaussian model is asked
    curve: Curve  # from the numbers of the column to their scores
    mean: Float[np.ndarray, " W"]
    blocks: list[tuple[Span, Float[np.ndarray, "n n"]]]  # rows that depend on each other

    @property
    def deviation(self) -> Float[np.ndarray, " W"]:
        parts = [np.diagonal(covariance) for _, covariance in self.blocks]
        return np.sqrt(np.maximum(np.concatenate(parts), LEAST))

    def draw(
        self, rng: np.random.Generator, rows: Int[np.ndarray, " n"], count: int
    ) -> Float[np.ndarray, "count n"]:
        """Return random numbers for some rows."""
        parts = []
        for mean, root in self._parts(rows):
            parts.append(mean + rng.normal(size=(count, len(mean))) @ root.T)
        return self.curve.to_numbers(np.concatenate(parts, axis=1))

    def log_prob(
        self, rows: Int[np.ndarray, " n"], numbers: Float[np.ndarray, "count n"]
    ) -> Float[np.ndarray, " count"]:
        """Return the log-density of numbers in some rows."""
        scores, at = self.curve.to_scores(numbers), 0
        total = self.curve.log_slope(numbers).sum(axis=1)
        for mean, root in self._parts(rows):
            off = (scores[:, at : at + len(mean)] - mean).T
            total -= 0.5 * (np.linalg.solve(root, off) ** 2).sum(axis=0)
            total -= np.log(np.diagonal(root)).sum() + 0.5 * len(mean) * np.log(2 * np.pi)
            at += len(mean)
        return total

    def _parts(
        self, rows: Int[np.ndarray, " n"]
    ) -> list[tuple[Float[np.ndarray, " m"], Float[np.ndarray, "m m"]]]:
        """Return the means of rows that depend on each other, and a root of their covariance."""
        parts = []
        for (start, stop), covariance in self.blocks:
            at = rows[(rows >= start) & (rows < stop)]
            if len(at):
                block = covariance[np.ix_(at - start, at - start)].astype(np.float64)
                parts.append((self.mean[at], _root(block)))
        return parts


def _root(covariance: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """Return the lower root of a covariance, whose variances are not below `LEAST`."""
    values, vectors = np.linalg.eigh(covariance)
    return np.linalg.cholesky((vectors * np.maximum(values, LEAST)) @ vectors.T)


class Part(NamedTuple):
    """Some numbers of one column, as a slice of all, and where the units of the net have zero."""

    at: slice
    curve: Curve | None  # None if the Gaussian model has nothing to say
    base: Float[np.ndarray, " n"]
    scale: float


class Pooled(NamedTuple):
    """A mixture of logistic distributions and what a Gaussian model says, for some numbers."""

    logistics: Logistics
    share: Float[np.ndarray, " n"]  # of the Gaussian model
    mean: Float[np.ndarray, " n"]  # of the scores
    deviation: Float[np.ndarray, " n"]
    parts: list[Part]

    def below(self, x: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n m"]:
        """Return the probability of a value below x."""
        wide = Logistics(*(a[:, None] for a in self.logistics)).below(x)
        normal = np.zeros_like(wide)
        for at, curve, base, scale in self.parts:
            if curve is not None:
                scores = curve.to_scores(base[:, None] + scale * x[at])
                normal[at] = ndtr((scores - self.mean[at, None]) / self.deviation[at, None])
        return (1 - self.share[:, None]) * wide + self.share[:, None] * normal

    def points(self, grid: Float[np.ndarray, " m"]) -> Float[np.ndarray, "n M"]:
        """Return points around the middles of all parts, in units of their scales."""
        of_net = points_of(self.logistics, grid)
        other = np.zeros((len(of_net), len(grid)))
        for at, curve, base, scale in self.parts:
            if curve is not None:
                scores = self.mean[at, None] + self.deviation[at, None] * grid
                other[at] = (curve.to_numbers(scores) - base[:, None]) / scale
        return np.concatenate([of_net, other], axis=1)


def points_of(found: Logistics, grid: Float[np.ndarray, " m"]) -> Float[np.ndarray, "n M"]:
    """Return points around the middles of the parts of mixtures, in units of their scales."""
    points = found.means[..., None] + found.scales[..., None] * grid
    return points.reshape(len(found.means), -1)
