"""Frames of keys that are silent, held or struck, and what fills of them must be like."""

import numpy as np
from jaxtyping import Bool, Int8, Shaped

from caesura.kinds.music.notes import Grid, Lane, make_roll

SILENT, HELD, STRUCK = 0, 1, 2


def make_frames(lanes: list[Lane], grid: Grid) -> Int8[np.ndarray, "T 88"]:
    """Return the keys of each step: struck if a note begins there in any voice."""
    frames = make_roll(lanes, grid)
    for lane in lanes:
        frames[[note.first for note in lane.notes], lane.key] = STRUCK
    return frames


def begin(
    frames: Shaped[np.ndarray, "*n T D"],
    where: Bool[np.ndarray, "T D"],
    own: Shaped[np.ndarray, "T D"] | None = None,
) -> Shaped[np.ndarray, "*n T D"]:
    """Return the frames with keys struck that would be held after silence.

    Parameters
    ----------
    frames
        The keys of each step.
    where
        The keys and steps that may change.
    own
        What is known of the part that all of this belongs to: it cannot hold a note of another.

    Examples
    --------
    >>> begin(np.array([[1], [1], [0], [1]]), np.ones((4, 1), bool))[:, 0].tolist()
    [2, 1, 0, 2]
    """
    sounds = frames > SILENT
    if own is not None:
        sounds = np.where(where, sounds, own > SILENT)
    silent_before = np.ones_like(sounds)
    silent_before[..., 1:, :] = ~sounds[..., :-1, :]
    return np.where(where & (frames == HELD) & silent_before, STRUCK, frames).astype(frames.dtype)


def settle(
    frames: Shaped[np.ndarray, "*n T D"],
    missing: Bool[np.ndarray, "T D"],
    own: Shaped[np.ndarray, "T D"] | None = None,
) -> Shaped[np.ndarray, "*n T D"]:
    """Return the frames with what no notes can be like changed where `missing`.

    A key that is held after a gap must sound at the end of the gap, for no note may begin outside:
    if it does not, it is struck there. A key that would be held after silence is struck. If only
    one part is filled, `own` is what is known of it.

    Examples
    --------
    >>> settle(np.array([[0], [1], [0], [1]]), np.array([[False], [True], [True], [False]]))[:, 0]
    array([0, 2, 2, 1])
    """
    last = np.zeros_like(missing)
    last[:-1] = missing[:-1] & ~missing[1:]
    held_after = np.zeros(frames.shape, bool)
    held_after[..., :-1, :] = frames[..., 1:, :] == HELD
    ended = np.where(last & held_after & (frames == SILENT), STRUCK, frames).astype(frames.dtype)
    return begin(ended, missing, own)
