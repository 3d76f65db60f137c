"""The choice of the best among random fills of music.

The most probable piano roll is nearly silent, as the most probable toss of a biased coin is the
same side every time. So the likeliest of many fills is the thinnest, and not what music is like.
"""

import numpy as np
from jaxtyping import Float, Int, Shaped

from caesura.kinds.music.struck import HELD, STRUCK

MORE = 1.05  # the notes of music are so many times those of the mean draw, about
TYPICAL = 2 / 3  # of the draws, those with the most usual numbers of notes, may be the best


def agreement(drawn: Shaped[np.ndarray, "draws places"]) -> Float[np.ndarray, " draws"]:
    """Return how well the notes of each fill agree with those of all fills: the mean of F1.

    It counts the keys that sound, and, if the fills say it, those that are struck. Two fills
    without notes agree.

    Examples
    --------
    >>> agreement(np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]])).round(2)
    array([0.6 , 0.6 , 0.33])
    """
    notes = _notes(drawn)
    both, counts = notes @ notes.T, notes.sum(axis=1)
    total = counts[:, None] + counts
    each = np.where(total > 0, 2 * both / np.maximum(total, 1), 1.0)
    return np.asarray(each.mean(axis=1))


def by_agreement(
    drawn: Shaped[np.ndarray, "draws places"], scores: Float[np.ndarray, " draws"]
) -> Int[np.ndarray, " draws"]:
    """Return the numbers of the fills, the one that agrees best with all of them first.

    This is the fill of minimum Bayes risk: the draws stand for what the truth may be. Of fills that
    agree equally well, the likelier one is first. Of many draws, those with too many notes agree
    best with all: so a third of the draws, whose numbers of notes are the least usual, come last.
    """
    notes = _notes(drawn).sum(axis=1)
    by_number = np.argsort(np.abs(notes - MORE * notes.mean()), kind="stable")
    unusual = np.zeros(len(drawn), bool)
    unusual[by_number[int(np.ceil(TYPICAL * len(drawn))) :]] = True
    return np.lexsort((-scores, -agreement(drawn).round(9), unusual))


def _notes(drawn: Shaped[np.ndarray, "draws places"]) -> Float[np.ndarray, "draws both"]:
    """Return which keys sound, and which are struck; if only the former counted, long chords would
    be preferred to melodies."""
    return np.concatenate([drawn >= HELD, drawn == STRUCK], axis=1).astype(np.float64)
