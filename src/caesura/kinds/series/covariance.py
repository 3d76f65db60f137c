"""A Gaussian model of some rows of a table, with a covariance for every two of their numbers.

It has no assumptions, so it needs many rows and few columns: `caesura.kinds.series.factors` is for
the others. Whether the numbers that are seen or those that are not are fewer decides which of two
formulas is used, since either needs the inverse of a matrix of that size.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int


class Given(NamedTuple):
    """The distribution of what is not seen in a window, given what is."""

    places: Int[np.ndarray, " u"]
    mean: Float[np.ndarray, " u"]
    covariance: Float[np.ndarray, "u u"]


class Covariance(NamedTuple):
    """The covariance of all numbers of a window; they have a mean of zero."""

    whole: Float[np.ndarray, "C W C W"]

    @property
    def rows(self) -> int:
        """The length of a window."""
        return self.whole.shape[1]

    @property
    def flat(self) -> Float[np.ndarray, "n n"]:
        """The covariance as a matrix, column by column.

        It has double precision, since the numbers of a table may nearly determine each other.
        """
        size = self.whole.shape[0] * self.whole.shape[1]
        return self.whole.reshape(size, size).astype(np.float64)

    def condition(
        self, x: Float[np.ndarray, "B C W"], seen: Bool[np.ndarray, "B C W"]
    ) -> tuple[Float[np.ndarray, "B C W"], Float[np.ndarray, "B C W W"]]:
        """Return the means of windows given what is seen, and the covariances of each column.

        x must be zero where nothing is seen.
        """
        mean, blocks = x.copy(), np.zeros((*x.shape, self.rows), x.dtype)
        each, spread = np.arange(x.shape[1]), np.zeros(self.whole.shape)
        for number, given in enumerate(self.given(x, seen)):
            at = np.unravel_index(given.places, x.shape[1:])
            mean[number][at] = given.mean
            spread[:] = 0
            spread[*(part[:, None] for part in at), *at] = given.covariance
            blocks[number] = spread[each, :, each]
        return mean, blocks

    def given(self, x: Float[np.ndarray, "B C W"], seen: Bool[np.ndarray, "B C W"]) -> list[Given]:
        """Return what windows tell about the numbers that are not seen in them."""
        covariance, count = self.flat, len(x)
        precision = inverse(covariance)
        numbers, known = x.reshape(count, -1).astype(np.float64), seen.reshape(count, -1)
        weighted, found = numbers @ precision, []
        for row in range(count):
            here, rest = np.flatnonzero(known[row]), np.flatnonzero(~known[row])
            if len(rest) < len(here):
                spread = inverse(precision[np.ix_(rest, rest)])
                mean = -spread @ weighted[row, rest]
            else:
                across = covariance[np.ix_(rest, here)]
                gain = across @ inverse(covariance[np.ix_(here, here)])
                mean = gain @ numbers[row, here]
                spread = covariance[np.ix_(rest, rest)] - gain @ across.T
            found.append(Given(rest, mean, spread))
        return found

    def draw(
        self,
        rng: np.random.Generator,
        x: Float[np.ndarray, "C W"],
        seen: Bool[np.ndarray, "C W"],
        count: int,
    ) -> Float[np.ndarray, "C W count"]:
        """Return random courses of a window, given what is seen of it."""
        (given,) = self.given(x[None], seen[None])
        free = np.linalg.cholesky(given.covariance) @ rng.normal(size=(len(given.places), count))
        drawn = np.repeat(x.reshape(-1, 1), count, axis=1)
        drawn[given.places] = given.mean[:, None] + free
        return drawn.reshape(*x.shape, count)

    def log_density(
        self, x: Float[np.ndarray, "n C W"], seen: Bool[np.ndarray, "C W"]
    ) -> Float[np.ndarray, " n"]:
        """Return the log-density of what is seen; x is zero elsewhere."""
        at = np.flatnonzero(seen)
        root = np.linalg.cholesky(self.flat[np.ix_(at, at)])
        off = np.linalg.solve(root, x.reshape(len(x), -1)[:, at].T)
        size = 2 * np.log(np.diagonal(root)).sum() + len(at) * np.log(2 * np.pi)
        return -0.5 * ((off**2).sum(axis=0) + size)


def inverse(matrix: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """Return the inverse of a covariance, in a third of the time that NumPy takes."""
    from scipy.linalg import lapack  # here, since a model of text is read without SciPy

    if not len(matrix):
        return matrix
    root, failed = lapack.dpotrf(matrix, lower=1)
    if failed:
        raise np.linalg.LinAlgError("The matrix is not positive definite.")
    half = np.tril(lapack.dpotri(root, lower=1, overwrite_c=1)[0])
    return half + np.tril(half, -1).T
