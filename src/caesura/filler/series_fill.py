"""The answers of a filler for series: draws of real numbers, their medians and quantiles."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Shaped

from caesura.filler.candidates import Candidate
from caesura.filler.fill import Fill
from caesura.filler.middles import quantile_of


class SeriesFill(Fill):
    """A filled table: `best` has the medians of the draws, and the most frequent levels.

    Attributes
    ----------
    drawn : array of shape (draws, places)
        The random fills that the answer is computed from, as the nets see them.

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

    @property
    def drawn(self) -> Shaped[np.ndarray, "draws places"]:
        """The random fills that the answer is computed from, as the nets see them."""
        return np.stack([one.values for one in self.completions[1:]])

    @property
    def candidates(self) -> list[Candidate]:
        """None: two draws of real numbers are never equal."""
        return []

    @property
    def covered(self) -> None:
        """None, since there are no candidates."""
        return None

    def quantile(self, q: float | Sequence[float]) -> Any:
        """Return the table with quantiles of the draws in its gaps.

        Parameters
        ----------
        q
            A level between 0 and 1, or several.

        Returns
        -------
        table or list of tables
            In the user's own form; a list if `q` is a list. Categories have no quantiles: they are
            filled as in `best`.
        """
        levels = np.atleast_1d(q).tolist()
        spec, values = self.kind.frame, self.sequence.values
        tables = [
            self.item.write(quantile_of(spec, self.places, values, self.drawn, level), self.missing)
            for level in levels
        ]
        return tables if np.ndim(q) else tables[0]

    def probabilities(self) -> dict[str, Any]:
        """Return a dict: for each category, how often each of its levels was drawn.

        Returns
        -------
        dict of tables
            Each table has a column for each level, in the form of the user's table. Observed levels
            have probability 1.
        """
        means = self.sequence.values.copy()
        means[self.missing] = self.drawn.mean(axis=0)
        return self.item.probabilities(means)
