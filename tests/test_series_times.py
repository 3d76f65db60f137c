"""Series: the times of rows, the grid that they lie on, and the calendar."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from caesura.errors import CaesuraWarning
from caesura.kinds.series.times import calendar_features, check_frequency
from small_tables import NAN, filled, hours, learn


def test_rows_that_are_absent_are_steps():
    table = hours(8, a=np.arange(8.0), c=np.arange(8.0)).drop(
        index=pd.to_datetime(["2024-03-01 02:00", "2024-03-01 03:00"])
    )
    kind = learn([table], covariates="c", calendar=["hour"])
    assert kind.freq == "h"
    sequence = kind.open(table).sequence
    assert sequence.missing[:, 0].tolist() == [False] * 2 + [True] * 2 + [False] * 4
    assert not sequence.missing[:, 1:].any()
    assert np.isnan(sequence.values[:, 1]).tolist() == sequence.missing[:, 0].tolist()
    assert np.isfinite(sequence.values[:, 2:]).all()
    pd.testing.assert_frame_equal(filled(kind, table, 0.0), table)
    more = filled(replace(kind, add_rows=True), table, 0.0)
    assert len(more) == 8
    assert more["a"].tolist() == [0, 1, table["a"].mean(), table["a"].mean(), 4, 5, 6, 7]
    assert more["c"].isna().sum() == 2


def test_times_may_be_a_column():
    table = hours(6, a=np.arange(6.0)).rename_axis("when").reset_index()
    table = table.assign(when=table["when"].astype(str)).drop(index=3).reset_index(drop=True)
    kind = learn([table], time="when")
    assert kind.open(table).sequence.missing[:, 0].tolist() == [False] * 3 + [True] + [False] * 2
    pd.testing.assert_frame_equal(filled(kind, table, 0.0), table)
    more = filled(replace(kind, add_rows=True), table, 0.0)
    assert str(more["when"][3]) == "2024-03-01 03:00:00"


def test_a_first_column_of_times_is_taken_for_what_it_is():
    table = hours(6, a=np.arange(6.0)).rename_axis("when").reset_index()
    assert learn([table]).time == "when"
    assert learn([table.assign(when=table["when"].astype(str))]).time == "when"
    assert learn([table], time="").time == ""
    assert learn([table.assign(when=list("abcdef"))]).time == ""
    assert learn([table.assign(when=range(6))], columns=["a"]).time == ""
    assert learn([table.set_index("when").assign(b=2.0)]).time == ""


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("old", "name"), [("w", "W-SUN"), ("d", "D"), ("15min", "15min")])
def test_old_spellings_of_frequencies_are_understood(old, name):
    assert check_frequency(old) == name


@pytest.mark.parametrize("freq", ["h", "15min", "7D", "D", "B", "MS", "ME", "QS-OCT", "YS-JAN"])
def test_frequencies_are_found_though_rows_are_absent(freq):
    index = pd.date_range("2019-07-01", periods=60, freq=freq)
    table = pd.DataFrame({"a": np.arange(60.0)}, index=index)
    for kept in (index, index.delete([10, 11, 30]), pd.DatetimeIndex(index.tolist())):
        part = table.loc[kept]
        assert len(learn([part], calendar=None).open(part).sequence) == 60


def test_local_days_are_days_though_the_clock_changes():
    index = pd.date_range("2024-03-25", periods=14, freq="D", tz="Europe/Berlin").delete([3])
    table = pd.DataFrame({"a": np.arange(13.0)}, index=index)
    kind = learn([table])
    assert kind.open(table).sequence.missing.sum() == 1


def test_uneven_times_are_said_and_taken_as_they_come():
    index = pd.to_datetime(
        ["2024-01-01 00:00", "2024-01-02 03:07", "2024-01-05 00:00", "2024-01-05 11:11"]
    )
    table = pd.DataFrame({"a": [1.0, NAN, 2.0, 5.0]}, index=index)
    with pytest.warns(CaesuraWarning, match="not evenly spaced"):
        kind = learn([table], calendar=["hour"])
    assert len(kind.open(table).sequence) == 4
    assert kind.freq == ""


def test_the_calendar_is_where_in_its_period_a_moment_is():
    days = ["2024-01-01T00:00:00", "2024-01-01T06:00:00", "2024-07-01T12:00:00"]
    moments = np.array(days, "datetime64[s]")
    found = calendar_features(moments, ("hour", "weekday", "yearday"))
    part = np.array([[0, 0, 0], [1 / 4, 1 / 28, 1 / 4 / 366], [1 / 2, 1 / 14, 182.5 / 366]])
    turn = np.stack([np.sin(2 * np.pi * part), np.cos(2 * np.pi * part)], axis=2).reshape(3, 6)
    np.testing.assert_allclose(found, turn, atol=1e-6)  # 1 January and 1 July are Mondays


@pytest.mark.parametrize(
    ("freq", "count", "calendar"),
    [
        ("h", 24, ()),
        ("h", 24 * 3, ("hour",)),
        ("h", 24 * 15, ("hour", "weekday")),
        ("D", 800, ("weekday", "yearday")),
        ("MS", 60, ("yearday",)),
        ("YS", 60, ()),
    ],
)
def test_the_calendar_has_what_can_be_learnt(freq, count, calendar):
    index = pd.date_range("2019-01-01", periods=count, freq=freq)
    assert learn([pd.DataFrame({"a": np.arange(count)}, index=index)]).calendar == calendar
