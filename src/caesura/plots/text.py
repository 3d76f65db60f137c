"""A filled text: the new characters, and the confidence in each."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from caesura.plots.figure import add_confidence_bar, colour_map, make_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINE = 64  # characters per line
MOST_LINES = 40
LEAST_LINES = 3  # a picture of fewer lines has no room for the label of the confidence
SHOWN_AS = {"\n": "↵", "\t": "→"}


def plot_text(
    text: str, steps: Int[np.ndarray, " places"], confidence: Float[np.ndarray, " places"]
) -> "Figure":
    """Draw the lines of a text that have new characters, on a ground as dark as the confidence.

    A text of at most 3 lines is drawn as a whole.

    Parameters
    ----------
    text : str
        The filled text.
    steps : array of int
        The places of the new characters.
    confidence : array of float
        The probability of each new character.

    Returns
    -------
    Figure
        At most 40 lines of 64 characters.
    """
    lines = sorted({step // LINE for step in steps.tolist()} or {0})[:MOST_LINES]
    if len(text) <= LEAST_LINES * LINE:
        lines = list(range(max(1, -(-len(text) // LINE))))
    rows = max(len(lines), LEAST_LINES)
    figure, (axes,) = make_panels(7.0, 0.5 + 0.26 * rows)
    sure = dict(zip(steps.tolist(), confidence.tolist(), strict=True))
    ground = np.full((len(lines), LINE), np.nan)
    for row, line in enumerate(lines):
        for column, character in enumerate(text[line * LINE : (line + 1) * LINE]):
            step = line * LINE + column
            ground[row, column] = sure.get(step, np.nan)
            axes.text(
                column,
                row,
                SHOWN_AS.get(character, character),
                family="monospace",
                fontsize=9,
                ha="center",
                va="center",
                color="black" if step in sure else "0.45",
                parse_math=False,
            )
    image = axes.imshow(ground, cmap=colour_map("Blues", 0.1, 0.6), vmin=0, vmax=1, aspect="auto")
    axes.set_yticks(range(len(lines)), [str(line * LINE) for line in lines])
    axes.set_xticks([])
    axes.set_xlim(-1.5, LINE - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.tick_params(length=0, labelsize=8)
    axes.spines[:].set_visible(False)
    add_confidence_bar(figure, image, axes)
    return figure
