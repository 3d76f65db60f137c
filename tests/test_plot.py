"""Pictures show what they are given; how they look is for the eye."""

import sys

import numpy as np
import pytest

from caesura.errors import CaesuraError, ExtraMissingError
from caesura.plots import (
    Filled,
    check_picture,
    plot_filled,
    plot_positions,
    plot_roll,
    plot_text,
    save_picture,
)
from caesura.plots.series import MOST_STEPS
from model_files import make_filler
from small_fillers import music_filler, text_filler


def words_of(figure):
    return "".join(text.get_text() for text in figure.axes[0].texts)


def grounds_of(figure):
    return [image.get_array().filled(np.nan) for image in figure.axes[0].images]


def test_a_text_shows_the_lines_with_gaps_and_how_sure_each_character_is():
    text = "x" * 64 + "costs $5 and $6\n" + "y" * 200
    figure = plot_text(text, np.array([70, 71]), np.array([0.25, 0.75]))
    assert words_of(figure) == text[64:128].replace("\n", "↵")
    (ground,) = grounds_of(figure)
    assert ground[0, 6:8].tolist() == [0.25, 0.75]
    assert np.isnan(ground).sum() == 64 - 2


def test_a_roll_shows_old_notes_and_new_ones_apart():
    values = np.zeros((6, 88), np.int8)
    values[1, 40] = values[3, 40] = 1
    places = np.array([(3, key) for key in range(88)])
    confidence = np.linspace(0, 1, 88)
    gaps, old, new = grounds_of(plot_roll(values, places, confidence))
    assert np.argwhere(~np.isnan(old)).tolist() == [[40, 1]]
    assert np.argwhere(~np.isnan(new)).tolist() == [[40, 3]]
    assert new[40, 3] == confidence[40]
    assert set(np.argwhere(~np.isnan(gaps))[:, 1]) == {3}


def test_nothing_new_and_nothing_at_all_can_be_drawn():
    nothing = np.zeros((0, 2), int)
    plot_text("abc", nothing[:, 0], np.zeros(0))
    plot_roll(np.zeros((5, 88), np.int8), nothing, np.zeros(0))


@pytest.mark.slow
def test_a_fill_draws_itself():
    text = text_filler().fill("a_c", strategy="onegram")
    assert words_of(text.plot()) == text.best.replace("\n", "↵")
    roll = np.zeros((3, 88))
    roll[1] = np.nan
    music = music_filler().fill(roll, strategy="onegram")
    assert len(grounds_of(music.plot())) == 3
    table = np.arange(12.0).reshape(4, 3) ** 2
    table[1, 0] = table[2, 1] = np.nan
    series = make_filler("mixture").fill(table, strategy="onegram", draws=40)
    assert [axes.get_ylabel() for axes in series.plot().axes] == ["x0", "x1"]


@pytest.mark.parametrize("name", ["a.png", "a.SVG", "a.pdf"])
def test_pictures_are_saved_in_the_format_of_their_names(tmp_path, name):
    figure = plot_positions({"nade": np.array([1.0, 2.0]), "gsn": np.array([3.0, 1.0])})
    assert [line.get_label() for line in figure.axes[0].lines] == ["nade", "gsn"]
    save_picture(figure, tmp_path / name)
    assert (tmp_path / name).stat().st_size > 1000
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_mistakes_get_one_sentence(tmp_path, monkeypatch):
    with pytest.raises(CaesuraError, match=r"There is no format for pictures called '\.bmp'"):
        check_picture(tmp_path / "a.bmp")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ExtraMissingError, match="Pictures need matplotlib"):
        plot_positions({"nade": np.ones(3)})


def test_keys_have_the_names_that_musicians_use():
    axes = plot_roll(np.ones((2, 88), np.int8), np.zeros((0, 2), int), np.zeros(0)).axes[0]
    names = dict(zip(axes.get_yticks().tolist(), axes.get_yticklabels(), strict=True))
    assert names[60].get_text() == "C4"
    assert names[68].get_text() == "G♯4"


def column(length, *gaps):
    missing = np.zeros(length, bool)
    for start, stop in gaps:
        missing[start:stop] = True
    middle = np.arange(length) / 10
    return Filled("level", np.arange(length), missing, middle, middle - missing, middle + missing)


def test_a_picture_has_points_where_something_was_observed_and_a_line_in_the_gaps():
    axes = plot_filled([column(50, (10, 13), (40, 41))], "90 % interval").axes[0]
    points, line = axes.lines
    assert np.flatnonzero(np.isnan(points.get_ydata())).tolist() == [10, 11, 12, 40]
    drawn = np.flatnonzero(~np.isnan(line.get_ydata()))
    assert drawn.tolist() == [9, 10, 11, 12, 13, 39, 40, 41]
    assert [text.get_text() for text in axes.get_legend().get_texts()][2] == "90 % interval"
    assert axes.get_ylabel() == "level"


def test_a_long_column_is_shown_around_its_longest_gap():
    gaps = [(100, 120), (50_000, 50_200), (90_000, 90_010)]
    points = plot_filled([column(10**5, *gaps)], "interval").axes[0].lines[0]
    assert len(points.get_xdata()) == MOST_STEPS
    assert points.get_xdata()[0] < 50_000 < 50_200 < points.get_xdata()[-1]


def test_columns_are_below_each_other_and_at_most_eight():
    columns = [column(20, (n + 1, n + 3))._replace(name=f"column {n}") for n in range(10)]
    panels = plot_filled(columns, "interval").axes
    assert [axes.get_ylabel() for axes in panels] == [f"column {n}" for n in range(8)]
    assert [axes.get_legend() is not None for axes in panels] == [True] + 7 * [False]
    with pytest.raises(CaesuraError, match="nothing to draw"):
        plot_filled([], "interval")
