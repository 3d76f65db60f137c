"""The picture of the calibration of numbers."""

import json

import numpy as np
import pytest

from caesura.nets.bins import EDGES
from caesura.plots import plot_calibration
from caesura.scoring.calibration import tally_numbers
from command_line import ask
from model_files import make_filler

pytest.importorskip("matplotlib")


def test_it_shows_the_counts():
    draw = np.random.default_rng(0)
    below = np.linspace(0, 1, len(EDGES) + 1)
    log_probs = np.log(np.diff(below, append=1 + below[1]))
    truth = draw.normal(size=(50, 4, 2)).astype(np.float32)
    stated = np.broadcast_to(log_probs, (*truth.shape, len(log_probs))).astype(np.float32)
    tally = tally_numbers(stated, truth)
    figure = plot_calibration(
        {"nade": np.arange(4.0)},
        {"nade": tally.crps},
        {"nade": tally.coverage},
        {"nade": tally.pit},
    )
    nll, crps, coverage, pit = figure.axes

    def curves(axes):
        return [line.get_ydata() for line in axes.lines if line.get_label() == "nade"]

    np.testing.assert_array_equal(curves(nll), [np.arange(4)])
    np.testing.assert_array_equal(curves(crps), [tally.crps])
    shown = [tally.coverage_50, tally.coverage_80, tally.coverage_95]
    np.testing.assert_array_equal(curves(coverage), shown)
    assert np.mean(curves(pit)) == pytest.approx(1)
    np.testing.assert_allclose(curves(pit)[0] * tally.true.sum() / 10, tally.true.sum(axis=0))


def test_evaluate_draws_it_for_series(tmp_path):
    make_filler("mixture").save(tmp_path / "series.model")
    rows = np.random.default_rng(1).normal(size=(40, 3)).tolist()
    (tmp_path / "table.csv").write_text("\n".join(["x0,x1,x2"] + [str(r)[1:-1] for r in rows]))
    words = ("evaluate", tmp_path / "series.model", tmp_path / "table.csv", "--gap", 2)
    picture = tmp_path / "calibration.png"
    told = json.loads(
        ask(*words, "--strategy", "onegram", "--limit", 4, "--picture", picture, "--json")
    )
    rates = told["results"][0]["calibration"]["by_position"]
    assert len(rates["crps"]) == len(rates["coverage_80"]) == 2
    assert picture.read_bytes().startswith(b"\x89PNG")
