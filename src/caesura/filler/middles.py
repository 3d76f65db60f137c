"""The middle of random fills of tables: medians and quantiles of numbers, the likeliest levels."""

import numpy as np
from jaxtyping import Bool, Int, Shaped

from caesura.scoring.scores import quantiles
from caesura.sequence import FrameSpec


def medians(
    spec: FrameSpec, missing: Bool[np.ndarray, "B W D"], drawn: Shaped[np.ndarray, "B S W D"]
) -> Shaped[np.ndarray, "B W D"]:
    """Return the medians of the draws where `missing`, and what is observed elsewhere."""
    middle = np.median(drawn, axis=1).astype(drawn.dtype)
    return np.where(missing, likeliest_levels(spec, middle, drawn.mean(axis=1)), drawn[:, 0])


def likeliest_levels(
    spec: FrameSpec, values: Shaped[np.ndarray, "*n D"], means: Shaped[np.ndarray, "*n D"]
) -> Shaped[np.ndarray, "*n D"]:
    """Return the values with the level that was drawn most often for each category.

    `means` are those of the draws: the mean of a switch is how often it was on.
    """
    likeliest = values.copy()
    first = spec.size - spec.informing - sum(levels - 1 for levels in spec.categories)
    for levels in spec.categories:
        inside = slice(first, first + levels - 1)
        switches = means[..., inside]
        shares = np.concatenate([1 - switches.sum(axis=-1, keepdims=True), switches], axis=-1)
        likeliest[..., inside] = shares.argmax(axis=-1)[..., None] == np.arange(1, levels)
        first += levels - 1
    return likeliest


def quantile_of(
    spec: FrameSpec,
    places: Int[np.ndarray, "places 2"],
    values: Shaped[np.ndarray, "T D"],
    drawn: Shaped[np.ndarray, "draws places"],
    level: float,
) -> Shaped[np.ndarray, "T D"]:
    """Return `values` with a quantile of the draws at the missing places.

    A category has no quantiles: it gets the level that was drawn most often.
    """
    filled, means = values.copy(), np.zeros(values.shape)
    filled[tuple(places.T)] = quantiles(drawn, [level])[0]
    means[tuple(places.T)] = drawn.mean(axis=0)
    chosen = likeliest_levels(spec, filled, means)
    filled[tuple(places.T)] = chosen[tuple(places.T)]
    return filled
