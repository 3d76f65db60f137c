"""A filled piano roll: old and new notes, and the confidence in each new note."""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from caesura.plots.figure import add_confidence_bar, colour_map, make_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AROUND = 48  # steps that are shown on either side of the gaps
LOWEST_KEY = 21  # the MIDI number of a piano's first key
NAMED_KEYS = {0: "C", 4: "E", 8: "G♯"}  # by their place in an octave: enough to find the others


def plot_roll(
    values: Shaped[np.ndarray, "T D"],
    places: Int[np.ndarray, "places 2"],
    confidence: Float[np.ndarray, " places"],
) -> "Figure":
    """Draw the piano roll around the gaps: old notes grey, new ones coloured by their confidence.

    Parameters
    ----------
    values : array [T, D]
        The filled roll: 1 where a key sounds.
    places : array [places, 2]
        Step and key of each value that was missing.
    confidence : array [places]
        The probability of each of these values.

    Returns
    -------
    Figure
        One panel, with 48 steps on either side of the gaps.
    """
    from matplotlib.ticker import MaxNLocator

    steps = places[:, 0] if len(places) else np.arange(len(values))
    first, stop = max(0, int(steps.min()) - AROUND), min(len(values), int(steps.max()) + 1 + AROUND)
    sure = np.full(values.shape, np.nan)
    sure[tuple(places.T)] = confidence
    on, sure = values[first:stop].T == 1, sure[first:stop].T
    keys = np.flatnonzero(on.any(axis=1))
    low, high = (int(keys[0]), int(keys[-1])) if len(keys) else (0, len(on) - 1)
    edges = (first - 0.5, stop - 0.5, LOWEST_KEY - 0.5, LOWEST_KEY + len(on) - 0.5)
    figure, (axes,) = make_panels(7.0, 3.4)

    def draw(image: Float[np.ndarray, "D W"], colours: Any) -> Any:
        drawn = {"origin": "lower", "aspect": "auto", "interpolation": "nearest"}
        return axes.imshow(image, cmap=colours, vmin=0, vmax=1, extent=edges, **drawn)

    draw(np.where(np.isnan(sure), np.nan, 0.06), "Greys")  # the gaps
    draw(np.where(on & np.isnan(sure), 0.65, np.nan), "Greys")
    image = draw(np.where(on, sure, np.nan), colour_map("Oranges", 0.3, 1.0))
    named = [key for key in range(LOWEST_KEY, LOWEST_KEY + len(on)) if key % 12 in NAMED_KEYS]
    axes.set_yticks(named, [f"{NAMED_KEYS[key % 12]}{key // 12 - 1}" for key in named], fontsize=8)
    axes.set_ylim(LOWEST_KEY + low - 2.5, LOWEST_KEY + high + 2.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("step")
    axes.set_ylabel("key")
    add_confidence_bar(figure, image, axes)
    return figure
