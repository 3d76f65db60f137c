"""Filled tables in files keep what was read."""

import pandas as pd
import pytest

from caesura.cli.table_files import write_samples, write_table
from caesura.kinds.series.table import read_table

CSV = 'day,"a, b",word\n2024-01-01,1.50,x\n2024-01-02,,"y, z"\n2024-01-03,1e3,\n2024-01-04,+7,NA\n'


@pytest.fixture
def source(tmp_path):
    (tmp_path / "in.csv").write_text(CSV)
    return tmp_path / "in.csv"


def test_other_cells_of_a_csv_file_keep_their_characters(source, tmp_path):
    given = read_table(source)
    filled = given.copy()
    filled.loc[1, "a, b"] = 1 / 3
    write_table(tmp_path / "out.csv", source, given, filled.assign(q=[1.5, 0.25, 1e3, 7.0]))
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == 'day,"a, b",word,q'
    assert lines[1] == "2024-01-01,1.50,x,1.5"
    assert lines[2] == '2024-01-02,0.333333333,"y, z",0.25'
    assert lines[3] == "2024-01-03,1e3,,1000"
    assert lines[4] == "2024-01-04,+7,NA,7"


def test_an_empty_line_of_a_single_column_is_a_missing_cell(tmp_path):
    (tmp_path / "in.csv").write_text("a\n1\n\n3\n")
    given = read_table(tmp_path / "in.csv")
    assert given["a"].isna().tolist() == [False, True, False]
    write_table(tmp_path / "out.csv", tmp_path / "in.csv", given, given.fillna(2.5))
    assert (tmp_path / "out.csv").read_text() == "a\n1\n2.5\n3\n"


def test_tables_go_from_each_format_to_each(source, tmp_path):
    given = read_table(source)
    filled = given.fillna({"a, b": 2.5})
    write_table(tmp_path / "out.parquet", source, given, filled)
    pd.testing.assert_frame_equal(read_table(tmp_path / "out.parquet"), filled)
    timed = filled.set_index(pd.DatetimeIndex(filled["day"], name="t")).drop(columns="day")
    write_table(tmp_path / "timed.parquet", tmp_path / "out.parquet", timed, timed)
    pd.testing.assert_index_equal(read_table(tmp_path / "timed.parquet").index, timed.index)
    write_table(tmp_path / "back.csv", tmp_path / "timed.parquet", timed, timed)
    assert (tmp_path / "back.csv").read_text().startswith('t,"a, b",word\n2024-01-01,1.5,x\n')


def test_samples_stand_one_below_the_other(tmp_path):
    tables = [pd.DataFrame({"a": [1.0, n]}) for n in (5.0, 6.0)]
    write_samples(tmp_path / "s.csv", tables)
    assert (tmp_path / "s.csv").read_text() == "a,sample\n1.0,1\n5.0,1\n1.0,2\n6.0,2\n"
