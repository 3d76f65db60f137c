"""Filled tables in files keep what was read."""

from dataclasses import replace

import pandas as pd
import pytest

from caesura.cli.fill_series import stack, write_table
from caesura.errors import CaesuraError
from caesura.kinds import Series
from caesura.kinds.series import parse_csv, read_table
from caesura.kinds.series import table as tables
from small_tables import learn

CSV = 'day,"a, b",word\n2024-01-01,1.50,x\n2024-01-02,,"y, z"\n2024-01-03,1e3,\n2024-01-04,+7,NA\n'


@pytest.fixture
def source(tmp_path):
    (tmp_path / "in.csv").write_text(CSV)
    return tmp_path / "in.csv"


def opened(text: str, **fields):
    """The item of a CSV text."""
    return learn([parse_csv(text)], **fields).open_content(text)


def lines(item, filled) -> list[str]:
    return item.content(filled).splitlines()


def test_other_cells_of_a_csv_file_keep_their_characters(source):
    item = learn([read_table(source)], columns=["a, b"]).open(source)
    source.unlink()  # it has been read
    filled = item.original.copy()
    filled.loc[1, "a, b"] = 1 / 3
    assert lines(item, filled.assign(q=[1.5, 1 / 3, 1e3, 7.0])) == [
        'day,"a, b",word,q',
        "2024-01-01,1.50,x,1.5",
        '2024-01-02,0.33,"y, z",0.333333333',
        "2024-01-03,1e3,,1000",
        "2024-01-04,+7,NA,7",
    ]


@pytest.mark.parametrize(
    ("cells", "value", "word"),
    [
        (["1", "", "3"], 2.5001, "3"),
        (["1", "", "3"], -0.2, "0"),
        (["1", "", "30000000000"], 20000000000.4, "20000000000"),
        (["1.0", "", "3"], 2.25001, "2.3"),
        (["1.25", "", "3"], 2.0, "2.00"),
        (["1.25", "", "3"], -0.001, "0.00"),
        (["1.25", "NA", "3.5000"], 2.123456, "2.1235"),
        (["1e3", "", "2e-3"], 4.0, "4.000"),
        (["1.5E+02", "", " 2"], 4.4, "4"),
        (["0.1", "", "0.30000000000000004"], 1 / 3, "0.333333333"),  # printed, and not measured
        (["1e-20", "", "3e-20"], 2e-20, "2e-20"),
    ],
)
def test_a_new_number_has_the_decimals_of_its_column(cells, value, word):
    item = opened("t,a\n" + "".join(f"w{n},{cell}\n" for n, cell in enumerate(cells)))
    filled = item.original.assign(a=[1.0, value, 3.0])
    assert [line.split(",")[1] for line in lines(item, filled)] == ["a", cells[0], word, cells[2]]


def test_quantiles_have_two_more_decimals_than_their_column():
    item = opened("a,n,big\n1.5,1,1\n,,\n2.5,3,9\n")
    filled = item.original.fillna(2.0)
    beside = {
        "a_q0.05": 1.23456,
        "n_q0.9": 2.5,
        "big_q1e-05": 7.0,
        "a_quiet": 0.123456,
        "c_q0.5": 1,
    }
    assert lines(item, filled.assign(**beside))[2] == "2.0,2,2,1.235,2.50,7.00,0.123456,1"


def test_levels_are_written_as_the_file_writes_them():
    item = opened("a,flag,on,of\n1.5,TRUE,1.0,0\n2.0,,,\n2.5,FALSE,0.0,1\n")
    assert item.original["flag"].isna().tolist() == [False, True, False]
    filled = item.original.fillna({"flag": True, "on": 1.0, "of": 1.0})
    assert lines(item, filled)[2] == "2.0,TRUE,1.0,1"


def test_a_column_of_which_nothing_is_observed_gets_all_digits():
    kind = learn([parse_csv("a,b\n1,2\n3,4\n5,7\n")])
    item = kind.open_content("a,b\n1,\n3,\n")
    assert lines(item, item.original.fillna(1 / 3)) == ["a,b", "1,0.333333333", "3,0.333333333"]


def test_an_empty_line_of_a_single_column_is_a_missing_cell():
    item = opened("a\n1.0\n\n3.0\n")
    assert item.missing[:, 0].tolist() == [False, True, False]
    assert item.content(item.original.fillna(2.5)) == "a\n1.0\n2.5\n3.0\n"


def test_a_comma_at_the_end_of_a_row_is_no_cell():
    item = opened("a,b\n1,2,\n,5,\n4,7,\n")
    assert lines(item, item.original.fillna(2)) == ["a,b", "1,2", "2,5", "4,7"]


def test_rows_that_are_added_stand_among_those_of_the_file():
    text = "when,a,c\n2024-03-01 00:00,1.50,x\n2024-03-01 01:00,,y\n2024-03-01 03:00,+2,y\n"
    item = opened(text, columns=["a"], freq="h", calendar=None, add_rows=True)
    assert lines(item, item.write(item.sequence.values, item.missing)) == [
        "when,a,c",
        "2024-03-01 00:00:00,1.50,x",
        "2024-03-01 01:00:00,1.75,y",
        "2024-03-01 02:00:00,1.75,",
        "2024-03-01 03:00:00,+2,y",
    ]


def test_a_table_file_can_stand_for_its_table(source, monkeypatch):
    file = read_table(source)
    [same] = Series.items(file)
    assert same is file
    monkeypatch.setattr(tables, "read_table", None)
    kind = learn([file], columns=["a, b"])
    item = kind.open(file)
    assert item.original is file.table
    assert "1e3" in item.content(item.original)
    assert "1e3" in replace(kind, add_rows=True).open(item).content(item.original)
    assert "1e3" not in kind.open(file.table).content(file.table)


def test_a_wrong_csv_file_gets_one_sentence(tmp_path):
    wrong = {
        "latin.csv": ("größe\n1\n".encode("latin-1"), "is not UTF-8 text: its byte 2 cannot"),
        "twice.csv": (b"a,a\n1,2\n", "cannot be used: The table has two columns called 'a'"),
        "long.csv": (
            b"a,b\n1,2,3\n",
            "cannot be used: A row has more cells than the header, which has 2",
        ),
        "empty.csv": (b"", "is not a table|cannot be used"),
    }
    for name, (content, sentence) in wrong.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(CaesuraError, match=sentence) as caught:
            read_table(tmp_path / name)
        assert f"'{tmp_path / name}'" in str(caught.value)
    (tmp_path / "mark.csv").write_bytes(b"\xef\xbb\xbfa,b\r\n1,2\r\n")
    assert read_table(tmp_path / "mark.csv").table.columns.tolist() == ["a", "b"]


def test_tables_go_from_each_format_to_each(source, tmp_path):
    item = learn([read_table(source)], columns=["a, b"]).open(source)
    filled = item.original.fillna({"a, b": 2.5})
    write_table(tmp_path / "out.parquet", item, filled)
    pd.testing.assert_frame_equal(read_table(tmp_path / "out.parquet").table, filled)
    timed = filled.set_index(pd.DatetimeIndex(filled["day"], name="t")).drop(columns="day")
    write_table(tmp_path / "timed.parquet", item, timed)
    pd.testing.assert_index_equal(read_table(tmp_path / "timed.parquet").table.index, timed.index)
    back = learn([timed], columns=["a, b"]).open(tmp_path / "timed.parquet")
    write_table(tmp_path / "back.csv", back, timed)
    assert (tmp_path / "back.csv").read_text().startswith('t,"a, b",word\n2024-01-01,1.5,x\n')


def test_samples_stand_one_below_the_other(tmp_path):
    tables = [pd.DataFrame({"a": [1.0, n]}) for n in (5.0, 6.0)]
    item = learn(tables).open(tables[0])
    write_table(tmp_path / "s.csv", item, stack(tables))
    assert pd.read_csv(tmp_path / "s.csv").to_numpy().tolist() == [[1, 1], [5, 1], [1, 2], [6, 2]]
