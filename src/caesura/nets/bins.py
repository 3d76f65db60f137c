"""The bins in which the distribution of a number is given: fine around zero, open at both ends.

Numbers are standardised (mean 0, scale 1 in the training data), so one set of bins is enough.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

BINS = 200
FARTHEST = 20.0  # the distance of the outermost edges from zero

# Bins are wider farther away from zero.
EDGES: Float[np.ndarray, " BINS-1"] = np.sinh(np.linspace(-1, 1, BINS - 1) * np.arcsinh(FARTHEST))
CENTRES: Float[np.ndarray, " BINS"] = np.concatenate(
    [EDGES[:1], (EDGES[:-1] + EDGES[1:]) / 2, EDGES[-1:]]
)


def find_bin(values: Shaped[np.ndarray, "*shape"]) -> Int[np.ndarray, "*shape"]:
    """Return the bin of each number; an edge belongs to the bin above it."""
    return np.searchsorted(EDGES, values, side="right")


OFF, ON = find_bin(np.array([0.0, 1.0])).tolist()  # the bins of a switch


def share_below(
    log_probs: Float[np.ndarray, "*shape BINS"], values: Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """Return the probability below each number: linear inside a bin, half of an open one."""
    bins = find_bin(values)[..., None]
    mass = np.exp(log_probs.astype(np.float64))
    mass /= mass.sum(axis=-1, keepdims=True)
    upto, own = (np.take_along_axis(a, bins, axis=-1)[..., 0] for a in (mass.cumsum(-1), mass))
    left, right = EDGES[np.maximum(bins[..., 0] - 1, 0)], EDGES[np.minimum(bins[..., 0], BINS - 2)]
    inside = right > left
    place = np.divide(values - left, right - left, out=np.full(values.shape, 0.5), where=inside)
    return np.asarray(upto - own * (1 - place))


def quantile(log_probs: Float[np.ndarray, "*shape BINS"], q: float) -> Float[np.ndarray, "*shape"]:
    """Return the q-quantile: linear inside a bin, and at the edge of an open one."""
    below: Any = np.cumsum(np.exp(log_probs.astype(np.float64)), axis=-1)
    below /= below[..., -1:]
    bins = np.clip(np.sum(below[..., :-1] < q, axis=-1), 1, BINS - 2)[..., None]
    low, high = (np.take_along_axis(below, b, axis=-1)[..., 0] for b in (bins - 1, bins))
    share = np.clip((q - low) / np.maximum(high - low, 1e-12), 0, 1)
    left, right = EDGES[bins[..., 0] - 1], EDGES[bins[..., 0]]
    return np.asarray(left + share * (right - left))


def crps(
    log_probs: Float[np.ndarray, "*shape BINS"], values: Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """Return the continuous ranked probability score of each number: ∫ (F(x) − [x ≥ value])² dx.

    F is linear inside a bin, and all mass of an open bin lies at its edge. So between two edges, or
    an edge and the value, the integrand is the square of a linear function.
    """
    mass = np.exp(log_probs.astype(np.float64))
    below = np.cumsum(mass, axis=-1)[..., :-1] / mass.sum(axis=-1, keepdims=True)  # at each edge
    value = np.clip(values, EDGES[0], EDGES[-1])[..., None]
    at_value = share_below(log_probs, value[..., 0])[..., None]
    left, right = np.minimum(EDGES, value), np.maximum(EDGES, value)
    under = np.where(value > EDGES, below, at_value)
    over = 1 - np.where(value < EDGES, below, at_value)
    beyond = np.abs(values - value[..., 0])  # beyond the edges F is 0 or 1
    return _squares(left, under) + _squares(right, over) + beyond


def _squares(
    x: Float[np.ndarray, "*shape n"], y: Float[np.ndarray, "*shape n"]
) -> Float[np.ndarray, "*shape"]:
    """Return ∫ y² dx along the lines between points."""
    a, b = y[..., :-1], y[..., 1:]
    return np.asarray(((a * a + a * b + b * b) / 3 * np.diff(x, axis=-1)).sum(axis=-1))
