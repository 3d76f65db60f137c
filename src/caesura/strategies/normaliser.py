"""The normaliser of a search: a sum over all fills, of which some are known."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

ROUNDING = 1e-5  # of a share: less of the probability is outside of a beam that holds all fills


class Summed(NamedTuple):
    """A sum over all fills, some of which were found."""

    log_weight: Float[np.ndarray, " N"]  # the share of each fill; a random one stands for others
    log_total: float
    standard_error: float  # of `log_total`


def outside(log_drawn: Float[np.ndarray, " beam"]) -> float:
    """Return the probability that a random fill is none of the beam's, from theirs to be drawn."""
    share = float(np.clip(-np.expm1(np.logaddexp.reduce(log_drawn)), 0, 1))
    return 0.0 if share < ROUNDING else share


def sum_over_fills(
    log_value: Float[np.ndarray, " n"],
    log_drawn: Float[np.ndarray, " n"],
    beam: Int[np.ndarray, " width"],
    drawn: Int[np.ndarray, " draws"],
) -> Summed:
    """Sum a value over all fills.

    The values of the beam are known. How probable it is that a random fill is outside of the beam
    is known too, so the sum over the others is this share times the mean of value / probability
    over the random fills outside. If there are none, the mean over the beam stands for it.

    A few random fills may be too much alike to tell the variance of that mean. So one more is
    counted, with the highest value / probability of the beam. With less than two of them, the error
    is at least as large as the sum over the others.

    Parameters
    ----------
    log_value, log_drawn
        Of some fills: the log of the value, and of the probability to be drawn.
    beam, drawn
        Which of them are in the beam, and which were drawn.
    """
    share, log_ratio = outside(log_drawn[beam]), log_value - log_drawn
    log_beam = np.logaddexp.reduce(log_value[beam])
    others = ~np.isin(drawn, beam)
    count = int(others.sum())
    if not share:
        nothing = np.full(len(drawn), -np.inf)
        return Summed(np.concatenate([log_value[beam] - log_beam, nothing]), log_beam, 0.0)
    log_each = np.where(others, log_ratio[drawn], -np.inf) + np.log(share)
    log_held = np.logaddexp.reduce(log_drawn[beam])
    log_mean = np.logaddexp.reduce(log_each) - np.log(max(count, 1))
    log_rest = log_mean if count else log_beam - log_held + np.log(share)
    log_total = np.logaddexp(log_beam, log_rest)
    log_highest = np.max(log_ratio[beam]) + np.log(share)
    rest, highest = np.exp(log_rest - log_total), np.exp(log_highest - log_total)
    squares = np.sum((np.exp(log_each[others] - log_total) - rest) ** 2)
    squares += max(abs(highest - rest), 0.0 if count > 1 else rest) ** 2
    weights = np.concatenate([log_value[beam], log_each - np.log(max(count, 1))])
    error = float(np.sqrt(squares) / max(count, 1))
    return Summed(weights - np.logaddexp.reduce(weights), float(log_total), error)
