"""A Gaussian model of some rows of a table: shared factors, and an own course of each column.

The numbers of a window, x, are normal. Column c has the W numbers x_c = L_c z + e_c, where z are K
factors that all columns share, and e_c is what the column has of its own, with a covariance of W
times W numbers. So every pair of numbers has a covariance, but a table of many columns does not
need all of them as parameters. Given what is observed, the rest is normal again: everything here
follows from the usual formulas, with the inverse of K times K numbers instead of all. The numbers
are scores, which the curve of each column makes of what the table has.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from caesura.kinds.series.covariance import Covariance
from caesura.kinds.series.curves import Curve
from caesura.sequence import Span

AT_ONCE = 64  # windows


class Reading(NamedTuple):
    """What is known of the factors in some windows, given what is observed."""

    precision: Float[np.ndarray, "B C W W"]  # of what is observed in a column, given the factors
    weighted: Float[np.ndarray, "B C W K"]  # that, times the loadings
    covariance: Float[np.ndarray, "B K K"]  # of the factors
    factors: Float[np.ndarray, "B K"]  # their means
    residual: Float[np.ndarray, "B C W"]  # precision times what the means do not explain


class Said(NamedTuple):
    """The distributions of the scores of a table, column by column."""

    mean: Float[np.ndarray, "T C"]
    blocks: list[tuple[Span, Float[np.ndarray, "C n n"]]]  # rows, and their covariances


class Factors(NamedTuple):
    """The parameters; the numbers have a mean of zero."""

    loadings: Float[np.ndarray, "C W K"]
    own: Float[np.ndarray, "C W W"]

    @property
    def rows(self) -> int:
        """The length of a window."""
        return self.own.shape[-1]

    def read(self, x: Float[np.ndarray, "B C W"], seen: Bool[np.ndarray, "B C W"]) -> Reading:
        """Return what windows tell about their factors; x must be zero where nothing is seen."""
        count, (_, rows, factors) = len(x), self.loadings.shape
        both = seen[..., :, None] & seen[..., None, :]
        one = np.eye(rows, dtype=x.dtype)
        # Ones in place of what is not seen: the inverse of the rest stays what it is.
        precision = np.linalg.inv(np.where(both, self.own, one * ~seen[..., None])) * both
        weighted = precision @ self.loadings
        flat, every = self.loadings.reshape(-1, factors), weighted.reshape(count, -1, factors)
        covariance = np.linalg.inv(np.eye(factors, dtype=x.dtype) + flat.T @ every)
        sums = (precision @ x[..., None])[..., 0]
        right = sums.reshape(count, -1) @ flat
        means = (covariance @ right[..., None])[..., 0]
        residual = sums - (weighted @ means[:, None, :, None])[..., 0]
        return Reading(precision, weighted, covariance, means, residual)

    def condition(
        self, x: Float[np.ndarray, "B C W"], seen: Bool[np.ndarray, "B C W"]
    ) -> tuple[Float[np.ndarray, "B C W"], Float[np.ndarray, "B C W W"]]:
        """Return the means of windows given what is seen, and the covariances of each column."""
        count, factors = len(x), self.loadings.shape[-1]
        found = self.read(x, seen)
        mean = (self.loadings @ found.factors[:, None, :, None])[..., 0]
        mean += (self.own @ found.residual[..., None])[..., 0]
        left = self.loadings - self.own @ found.weighted
        spread = (left.reshape(count, -1, factors) @ found.covariance).reshape(left.shape)
        covariance = self.own - self.own @ found.precision @ self.own
        return mean, covariance + spread @ np.swapaxes(left, -1, -2)

    def draw(
        self,
        rng: np.random.Generator,
        x: Float[np.ndarray, "C W"],
        seen: Bool[np.ndarray, "C W"],
        count: int,
    ) -> Float[np.ndarray, "C W count"]:
        """Return random courses of a window, given what is seen of it."""
        found = self.read(x[None], seen[None])
        free = rng.normal(size=(len(found.factors[0]), count))
        shared = found.factors[0][:, None] + np.linalg.cholesky(found.covariance[0]) @ free
        course = self.loadings @ shared
        course += np.linalg.cholesky(self.own) @ rng.normal(size=(*x.shape, count))
        # A draw of all numbers, moved by what it lacks of those that are seen (Matheron's rule).
        return course + self.own @ (found.precision[0] @ (x[..., None] - course))

    def log_density(
        self, x: Float[np.ndarray, "n C W"], seen: Bool[np.ndarray, "C W"]
    ) -> Float[np.ndarray, " n"]:
        """Return the log-density of what is seen; x is zero elsewhere."""
        found = self.read(np.zeros_like(x[:1]), seen[None])
        both = seen[:, :, None] & seen[:, None, :]
        own = np.where(both, self.own, np.eye(self.rows) * ~seen[:, :, None])
        # The determinant of the whole covariance, from those of its parts.
        size = np.linalg.slogdet(own)[1].sum() - np.linalg.slogdet(found.covariance[0])[1]
        weighted = (found.precision[0] @ x[..., None])[..., 0]
        explained = weighted.reshape(len(x), -1) @ self.loadings.reshape(-1, len(found.factors[0]))
        squares = (weighted * x).sum(axis=(1, 2))
        squares -= ((explained @ found.covariance[0]) * explained).sum(axis=1)
        return -0.5 * (squares + size + seen.sum() * np.log(2 * np.pi))


Gaussian = Factors | Covariance


def with_type(gaussian: Gaussian, dtype: type[np.floating]) -> Gaussian:
    """Return the parameters in another precision."""
    return type(gaussian)(*(part.astype(dtype) for part in gaussian))


class WindowModel(NamedTuple):
    """A Gaussian model of the scores of a table."""

    curves: list[Curve]
    gaussian: Gaussian

    def scores_of(self, table: Float[np.ndarray, "T C"]) -> Float[np.ndarray, "T C"]:
        return scores_of(self.curves, table)

    def say(self, table: Float[np.ndarray, "T C"], seen: Bool[np.ndarray, "T C"]) -> Said:
        """Return what the model says about a table of any length, window by window.

        Of each window, the rows in the middle are kept.
        """
        return self.say_each([table], [seen])[0]

    def say_each(
        self,
        tables: Sequence[Float[np.ndarray, "_ C"]],
        seen: Sequence[Bool[np.ndarray, "_ C"]],
    ) -> list[Said]:
        """Return what the model says about each of some tables."""
        rows, dtype = self.gaussian.rows, self.gaussian[0].dtype
        spans = [(n, *span) for n, table in enumerate(tables) for span in windows(len(table), rows)]
        scores = self.scores_of(np.concatenate(tables)).astype(dtype)
        ends = np.cumsum([len(table) for table in tables])[:-1]
        short = [[(0, max(0, rows - len(table))), (0, 0)] for table in tables]
        known = [np.pad(part, by) for part, by in zip(seen, short, strict=True)]
        x = [np.pad(part, by) for part, by in zip(np.split(scores, ends), short, strict=True)]
        found = [Said(np.empty(table.shape, dtype), []) for table in tables]
        for first in range(0, len(spans), AT_ONCE):
            some = spans[first : first + AT_ONCE]
            here, there = (
                np.stack([of[number][start : start + rows].T for number, start, _ in some])
                for of in (known, x)
            )
            means, covariances = self.gaussian.condition(np.where(here, there, 0), here)
            for (number, start, kept), mean, spread in zip(some, means, covariances, strict=True):
                inside = slice(kept.start - start, kept.stop - start)
                found[number].mean[slice(*kept)] = mean[:, inside].T
                found[number].blocks.append((kept, spread[:, inside, inside]))
        return found


def scores_of(curves: list[Curve], table: Float[np.ndarray, "T C"]) -> Float[np.ndarray, "T C"]:
    """Return the scores of a table; NaN stays."""
    columns = zip(curves, table.T, strict=True)
    return np.stack([curve.to_scores(column) for curve, column in columns], axis=1)


def windows(length: int, rows: int) -> Iterator[tuple[int, Span]]:
    """Yield where each window starts, and which rows of the table are filled there."""
    start, done = 0, 0
    while done < length:
        last = start + rows >= length
        start = max(0, min(start, length - rows))
        stop = length if last else start + rows - rows // 4
        yield start, Span(done, stop)
        start, done = start + max(1, rows // 2), stop
