"""A Gaussian model of windows, pooled with a net that was trained on the same tables.

With a certain probability, all that is missing in a stretch of a table comes from the Gaussian
model, else from the net. So the density of a fill is the weighted mean of two densities, and the
same holds for each number by itself. A Gaussian model knows no levels: where a category is missing,
the net fills the stretch alone.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from caesura.kinds.series import joint
from caesura.kinds.series.factors import WindowModel

LEAST = 1e-4  # of a deviation: a number that the others determine has none
TINY = np.finfo(np.float32).tiny


class Gap(NamedTuple):
    """Some rows of a table, and what is to be filled in them."""

    values: Float[np.ndarray, "T C"]  # NaN where nothing is known
    missing: Bool[np.ndarray, "T C"]

    @property
    def seen(self) -> Bool[np.ndarray, "T C"]:
        return ~self.missing & ~np.isnan(self.values)


class Pool(NamedTuple):
    """A Gaussian model, and how probable it is that this one is asked.

    Arrays of fills have a column for each missing place, row by row.
    """

    model: WindowModel
    share: float
    numbers: int  # how many columns, the first, hold numbers

    def share_in(self, gap: Gap) -> float:
        """Return how probable it is that the Gaussian model fills a gap."""
        return 0.0 if gap.missing[:, self.numbers :].any() else self.share

    def draw(
        self, rng: np.random.Generator, gap: Gap, count: int
    ) -> Float[np.ndarray, "count places"]:
        """Return random fills of the Gaussian model alone."""
        return joint.draw(self.model, rng, gap.values, gap.seen, count)[:, gap.missing]

    def mix(
        self, rng: np.random.Generator, gap: Gap, fills: Float[np.ndarray, "n places"]
    ) -> Float[np.ndarray, "n places"]:
        """Return random fills of the net, some of them replaced by those of the Gaussian model.

        Each is replaced with the same probability; of all, as many are as this promises.
        """
        evenly = (rng.permutation(len(fills)) + rng.random()) / len(fills)
        chosen = evenly < self.share_in(gap)
        mixed = fills.copy()
        if chosen.any():
            mixed[chosen] = self.draw(rng, gap, int(chosen.sum()))
        return mixed

    def log_prob(
        self,
        gap: Gap,
        fills: Float[np.ndarray, "n places"],
        of_net: Float[np.ndarray, " n"],
        errors: Float[np.ndarray, " n"],
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Return the log-density of fills, with standard errors, from that of the net."""
        share = self.share_in(gap)
        if not share:
            return of_net, errors
        numbers = np.zeros((len(fills), *gap.missing.shape))
        numbers[:, gap.missing] = fills
        own = joint.log_prob(self.model, gap.values, gap.seen, gap.missing, numbers)
        return _pooled(share, own, of_net, errors)

    def marginals(
        self,
        gap: Gap,
        edges: Float[np.ndarray, " edges"],
        of_net: Float[np.ndarray, "places bins"],
        errors: Float[np.ndarray, "places bins"],
    ) -> tuple[Float[np.ndarray, "places bins"], Float[np.ndarray, "places bins"]]:
        """Return the log-probability of each bin at each missing place, from that of the net."""
        from scipy.special import ndtr  # here, since a model of text is read without SciPy

        share = self.share_in(gap)
        if not share:
            return of_net, errors
        said = self.model.say(np.nan_to_num(gap.values), gap.seen)
        variances = [np.diagonal(block, axis1=1, axis2=2).T for _, block in said.blocks]
        deviation = np.maximum(np.sqrt(np.maximum(np.concatenate(variances), 0)), LEAST)
        scores = np.stack([curve.to_scores(edges) for curve in self.model.curves])
        mean, deviation = (part[gap.missing][:, None] for part in (said.mean, deviation))
        below = ndtr((scores[np.nonzero(gap.missing)[1]] - mean) / deviation)
        mass = np.diff(below, axis=1, prepend=0.0, append=1.0)
        return _pooled(share, np.log(np.maximum(mass, TINY)), of_net, errors)


def _pooled(
    share: float,
    own: Float[np.ndarray, "*n"],
    of_net: Float[np.ndarray, "*n"],
    errors: Float[np.ndarray, "*n"],
) -> tuple[Float[np.ndarray, "*n"], Float[np.ndarray, "*n"]]:
    """Return the log of the weighted mean, and its standard error."""
    if share == 1:
        return own, np.zeros_like(errors)
    net = np.log(1 - share) + of_net
    total = np.logaddexp(np.log(share) + own, net)
    return total, errors * np.exp(net - total)
