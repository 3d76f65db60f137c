"""A picture of how well numbers are known, and whether the stated intervals can be believed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from caesura.plots.plot import Curve, draw_curves, draw_positions, label_positions, make_panels
from caesura.scoring.calibration import BINS, NumberTally
from caesura.scoring.scores import COVERAGES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_calibration(
    nll: Mapping[str, Float[np.ndarray, " g"]], tallies: Mapping[str, NumberTally]
) -> "Figure":
    """NLL and CRPS by position, the coverage of the central intervals, and the PIT.

    Where a strategy can be believed, its coverages lie on the dashed lines, and its PIT is level.
    """
    figure, (left, crps, coverage, pit) = make_panels(13.0, 3.4, 4)
    draw_positions(left, {name: _by_position(curve) for name, curve in nll.items()})
    draw_curves(crps, {name: _by_position(tally.crps) for name, tally in tallies.items()})
    label_positions(crps, "CRPS (standardised units)")
    for number, stated in enumerate(COVERAGES):
        coverage.axhline(stated, color="0.6", linestyle="--", linewidth=1)
        draw_curves(coverage, {n: _by_position(_coverage(t)[number]) for n, t in tallies.items()})
    label_positions(coverage, "share inside 50, 80 and 95 %")
    coverage.set_ylim(0, 1)
    tenths = (np.arange(BINS) + 0.5) / BINS
    draw_curves(pit, {name: Curve(tenths, _pit(tally)) for name, tally in tallies.items()})
    pit.axhline(1, color="0.6", linestyle="--", linewidth=1)
    pit.set_ylim(bottom=0)
    pit.set_xlabel("share of the distribution below the truth")
    pit.set_ylabel("density")
    pit.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _by_position(y: Float[np.ndarray, " g"]) -> Curve:
    return Curve(np.arange(1, len(y) + 1), y)


def _coverage(tally: NumberTally) -> tuple[Float[np.ndarray, " g"], ...]:
    return tally.coverage_50, tally.coverage_80, tally.coverage_95


def _pit(tally: NumberTally) -> Float[np.ndarray, " bins"]:
    counts = tally.true.sum(axis=0)
    return BINS * counts / max(1, counts.sum())
