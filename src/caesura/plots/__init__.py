"""Pictures, one file each, drawn with matplotlib, which is imported when the first one is drawn."""

from caesura.plots.calibration import plot_calibration
from caesura.plots.figure import COLOURS, check_picture, make_panels, save_picture
from caesura.plots.positions import (
    Curve,
    draw_curves,
    draw_positions,
    label_positions,
    plot_positions,
)
from caesura.plots.roll import plot_roll
from caesura.plots.series import Filled, plot_filled
from caesura.plots.text import plot_text

__all__ = [
    "COLOURS",
    "Curve",
    "Filled",
    "check_picture",
    "draw_curves",
    "draw_positions",
    "label_positions",
    "make_panels",
    "plot_calibration",
    "plot_filled",
    "plot_positions",
    "plot_roll",
    "plot_text",
    "save_picture",
]
