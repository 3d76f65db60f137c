"""The distribution at each missing place by itself."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from caesura.filler.fill import finite


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
        The log-probability of each symbol at each place, in nats, and its standard error.

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
        """Return everything as values that JSON can hold."""
        return finite(
            {
                "places": self.places.tolist(),
                "symbols": self.symbols,
                "log_probs": self.log_probs.tolist(),
                "standard_errors": self.standard_errors.tolist(),
            }
        )
