"""The choice of the best among random fills of music.

The most probable piano roll is nearly silent, as the most probable toss of a biased coin is the
same side every time. So the likeliest of many fills is the thinnest, and not what music is like.
"""

import numpy as np
from jaxtyping import Float, Int, Shaped

RECALL = 1.25  # how much more a note that is lacking counts than one that is too many


def agreement(
    drawn: Shaped[np.ndarray, "draws places"], recall: float = RECALL
) -> Float[np.ndarray, " draws"]:
    """Return how well the notes of each fill agree with those of all fills: the mean of F_β.

    F_β of a fill, if another one is taken for the truth, is a mean of its precision and its recall
    in which recall counts β = `recall` times as much. Two fills without notes agree.

    Examples
    --------
    >>> agreement(np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]])).round(2)
    array([0.59, 0.61, 0.33])
    """
    notes = (drawn > 0).astype(np.float64)  # struck or held
    both, counts = notes @ notes.T, notes.sum(axis=1)
    total = counts[:, None] + recall**2 * counts
    each = np.where(total > 0, (1 + recall**2) * both / np.maximum(total, 1), 1.0)
    return np.asarray(each.mean(axis=1))


def by_agreement(
    drawn: Shaped[np.ndarray, "draws places"], scores: Float[np.ndarray, " draws"]
) -> Int[np.ndarray, " draws"]:
    """Return the numbers of the fills, the one that agrees best with all of them first.

    This is the fill of minimum Bayes risk: the draws stand for what the truth may be. Of fills that
    agree equally well, the likelier one is first.
    """
    return np.lexsort((-scores, -agreement(drawn).round(9)))
