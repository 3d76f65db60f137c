"""The calibration of numbers: how well they are known, and whether stated intervals are right."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from caesura.plots.figure import add_legend, make_panels
from caesura.plots.positions import (
    Curve,
    draw_curves,
    draw_positions,
    label_positions,
    over_positions,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_calibration(
    nll: Mapping[str, Float[np.ndarray, " g"]],
    crps: Mapping[str, Float[np.ndarray, " g"]],
    coverage: Mapping[str, Mapping[float, Float[np.ndarray, " g"]]],
    pit: Mapping[str, Float[np.ndarray, " bins"]],
) -> "Figure":
    """Draw the NLL, the CRPS and the coverage by position in the gap, and the PIT.

    If a strategy is calibrated, its coverages are on the dashed lines and its PIT is flat.

    Parameters
    ----------
    nll, crps : mapping of arrays [g]
        By the name of the strategy, a value for each position in the gap.
    coverage : mapping of mappings of arrays [g]
        By the name of the strategy and by the stated probability of a central interval, the share
        of the true values inside.
    pit : mapping of arrays [bins]
        By the name of the strategy, the density of the probability integral transform in bins of
        equal width from 0 to 1.

    Returns
    -------
    Figure
        Four panels side by side.
    """
    figure, (left, second, third, right) = make_panels(13.0, 3.4, 4)
    draw_positions(left, over_positions(nll))
    draw_curves(second, over_positions(crps))
    label_positions(second, "CRPS (standardised units)")
    levels = sorted({level for of_one in coverage.values() for level in of_one})
    for level in levels:
        third.axhline(level, color="0.6", linestyle="--", linewidth=1)
        draw_curves(third, over_positions({n: of_one[level] for n, of_one in coverage.items()}))
    label_positions(third, f"share inside {', '.join(f'{100 * level:g}' for level in levels)} %")
    third.set_ylim(0, 1)
    draw_curves(right, {name: _over_bins(density) for name, density in pit.items()})
    right.axhline(1, color="0.6", linestyle="--", linewidth=1)
    right.set_ylim(bottom=0)
    right.set_xlabel("share of the distribution below the truth")
    right.set_ylabel("density")
    add_legend(right)
    return figure


def _over_bins(density: Float[np.ndarray, " bins"]) -> Curve:
    return Curve((np.arange(len(density)) + 0.5) / len(density), density)
