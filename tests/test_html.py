"""What notebooks show of fills and fillers: whole HTML, escaped, and for every kind."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import caesura
from caesura.filler.candidates import LogProb
from caesura.plots.html import chart_html, readings_html, roll_html, text_html
from caesura.plots.series import Filled
from small_fillers import greek_filler, music_filler, text_filler

VOID = {"br", "hr", "img"}


class Checked(HTMLParser):
    """Every element is closed in its turn, and none of them can run or load anything."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.text = [], [], ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert tag not in ("script", "style", "link", "iframe", "img")
        assert not any(name.startswith("on") or name in ("href", "src") for name, _ in attrs)
        self.seen.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_a_filled_text_is_shaded_and_escaped():
    fill = text_filler().fill("<b>&amp; a_c </b><script>x</script>")
    checked = Checked(fill._repr_html_())
    assert fill.best in checked.text
    assert "gap 1" in checked.text
    assert checked.text.startswith("Fill: 1 missing value, ")


def test_of_a_long_text_what_is_near_the_gaps_is_shown():
    text = "a" * 5000 + "XY" + "b" * 5000
    shown = Checked(text_html(text, np.array([5000, 5001]), np.array([0.5, 1.0]))).text
    assert shown.startswith("… " + "a" * 80 + "XY" + "b" * 80 + " …The stronger")
    assert len(Checked(text_html(text, np.zeros(0, int), np.zeros(0))).text) < 2100


def test_readings_are_escaped_and_few():
    checked = Checked(readings_html([[("<i>", 0.9)] * 9] * 10))
    assert checked.text.count("<i> 90 %") == 8 * 5
    assert "and 2 more" in checked.text
    assert readings_html([]) == ""


def test_no_reading_is_shown_as_certain_or_impossible():
    shown = Checked(readings_html([[("a", 0.9999), ("b", 0.0001)], [("c", 1.0)]])).text
    assert shown == "gap 1a >99 %b <1 %gap 2c 100 %"


def test_an_edition_is_shown_as_its_editor_wrote_it():
    fill = greek_filler().fill("[.]λευσεν τοὺς καμήλους")
    shown = fill._repr_html_()
    assert fill.best in Checked(shown).text
    (place,) = fill.places[:, 0].tolist()
    assert re.findall(r'title="[^"]+">(.)</span>', shown)[0] == fill.best[place]


def test_a_filled_roll_has_old_and_new_notes():
    roll = np.zeros((40, 88), int)
    roll[:, 40] = 1
    checked = Checked(music_filler().fill(roll, missing=slice(10, 14), draws=2)._repr_html_())
    assert "svg" in checked.seen
    drawn = roll_html(roll, np.array([[3, 40]]), np.array([0.5]))
    assert drawn.count("rgba(213,94,0,0.62)") == 1
    assert drawn.count("rgba(128,128,128,0.80)") == 39
    Checked(roll_html(np.zeros((4, 88), int), np.zeros((0, 2), int), np.zeros(0)))


def test_an_estimate_that_may_be_far_off_says_so():
    fill = text_filler().fill("a_c", strategy="nade")
    unsure = replace(fill, log_prob=LogProb(-2.0, np.inf))
    assert "very roughly -2.00 nats" in Checked(unsure._repr_html_()).text


def test_a_column_is_drawn_with_its_interval():
    wave = np.sin(np.arange(900.0))
    missing = np.arange(900) // 10 == 60
    column = Filled("<sea>", np.arange(900), missing, wave, wave - 0.1, wave + 0.1)
    checked = Checked(chart_html([column] * 5, "90 % interval"))
    assert checked.seen.count("polygon") == 4
    assert checked.seen.count("circle") == 4 * 590
    assert "<sea>" in checked.text
    nothing = column._replace(median=wave * np.nan, low=wave * np.nan, high=wave * np.nan)
    assert "svg" not in Checked(chart_html([nothing], "")).seen


def test_a_filled_table_says_nothing_of_nats_that_were_not_computed():
    table = np.sin(np.arange(40.0))[:, None]
    table[10:13] = np.nan
    fill = caesura.load("series").fill(table)
    title = "SeriesFill: 3 missing values by 'one pass'"
    assert repr(fill) == f"<{title}>"
    assert Checked(fill._repr_html_()).text.startswith(title)


@pytest.mark.parametrize("make", [text_filler, music_filler])
def test_a_filler_shows_its_nets(make):
    shown = Checked(make()._repr_html_()).text
    assert "bidirectional net1 layer of 5 tanh units" in shown
