"""Series: tables read and written again, their columns, and what is refused."""

import json
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest

from caesura.errors import CaesuraError, CaesuraWarning, FileMissingError
from caesura.kinds import KINDS, Column, Series
from caesura.kinds.series import item as items
from caesura.modelfile.upgrades import columns_of_format_1
from caesura.sequence import FrameSpec
from small_tables import NAN, filled, frame, hours, learn, names

# What is read.


def test_columns_are_standardised_by_what_is_observed():
    table = frame(a=[1.0, NAN, 3.0, NAN, 8.0], b=[-1e6, 1e6, 0.0, 2e6, NAN])
    kind = learn([table])
    np.testing.assert_allclose([c.location for c in kind.columns], [4.0, 5e5])
    np.testing.assert_allclose(
        [c.scale for c in kind.columns], [np.std([1, 3, 8]), np.std([-1e6, 1e6, 0, 2e6])]
    )
    sequence = kind.open(table).sequence
    assert sequence.values.dtype == np.float32
    np.testing.assert_array_equal(sequence.missing, table.isna())
    assert np.all(sequence.values[sequence.missing] == 0)
    expected = (table - table.mean()) / table.std(ddof=0)
    known = ~sequence.missing
    np.testing.assert_allclose(sequence.values[known], expected.to_numpy()[known], rtol=1e-6)


def test_what_training_reads_has_holes_that_are_unknown():
    table = frame(a=[1.0, NAN, 3.0])
    sequence = learn([table]).open(table).complete
    assert not sequence.missing.any()
    assert np.isnan(sequence.values[:, 0]).tolist() == [False, True, False]


@pytest.mark.parametrize("nothing", [NAN, None, pd.NA, pd.NaT])
def test_all_words_for_nothing_are_missing(nothing):
    table = frame(a=np.array([1.5, nothing, 2.5], object))
    assert learn([table]).open(table).sequence.missing[:, 0].tolist() == [False, True, False]


def test_arrays_lists_and_tables_are_items():
    array = np.arange(24.0).reshape(2, 6, 2)
    assert [len(i) for i in Series.items(array)] == [6, 6]
    assert len(Series.items(array[0])) == 1
    assert [len(i) for i in Series.items([array[0], array[1, :3]])] == [6, 3]
    table = frame(a=[1.0, 2.0])
    assert Series.items(table)[0] is table
    kind = learn(Series.items([array[0], array[1, :3]]))
    np.testing.assert_allclose(
        kind.columns[0].location, np.append(array[0, :, 0], array[1, :3, 0]).mean()
    )
    assert names(kind) == ["x0", "x1"]


def test_files_are_found_and_read(tmp_path):
    table = frame(a=[0.1, NAN, 0.3], b=["x", "y", "z"])
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_parquet(tmp_path / "b.parquet")
    (tmp_path / "notes.txt").write_text("no table")
    paths = Series.find([tmp_path])
    assert [path.name for path in paths] == ["a.csv", "b.parquet"]
    items = Series.items([str(tmp_path)])
    for item in items:
        pd.testing.assert_frame_equal(item, table, check_dtype=False)
    kind = learn(items)
    for item in items:
        pd.testing.assert_frame_equal(
            filled(kind, item, 0.0), table.assign(a=[0.1, 0.2, 0.3]), check_dtype=False
        )
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(CaesuraError, match=r"broken.parquet' is not a table"):
        kind.open(tmp_path / "broken.parquet")
    with pytest.raises(FileMissingError, match="There is no file or directory"):
        kind.open(tmp_path / "absent.csv")


def test_an_item_is_a_table_on_its_grid_that_is_found_once(monkeypatch):
    table = hours(6, a=[1.0, NAN, 3.0, 4.0, 5.0, 6.0], w=list("xyzxyz")).drop(
        index=pd.Timestamp("2024-03-01 03:00")
    )
    kind = learn([table], columns=["a"])
    item = kind.open(table)
    monkeypatch.setattr(items, "even_grid", None)  # it is known already
    assert kind.open(item) is item
    assert item.original is table
    assert item.rows.tolist() == item.written_rows.tolist() == [0, 1, 2, 4, 5]
    assert item.sequence.gaps == [(1, 2), (3, 4)]
    view = item.view(item.original)
    start = pd.Timestamp("2024-03-01").timestamp()
    assert view == {
        "time": None,
        "x": [start + 3600 * n for n in (0, 1, 2, 4, 5)],
        "others": ["w"],
        "columns": [{"name": "a", "values": [1.0, None, 3.0, 5.0, 6.0]}],
    }
    monkeypatch.undo()
    more = replace(kind, add_rows=True).open(item)  # other fields, the same table
    assert more.written_rows.tolist() == list(range(6))
    assert more.x[3] == np.datetime64("2024-03-01T03:00")
    assert item.content(item.original).startswith(",a,w\n2024-03-01 00:00:00,1.0,x\n")


def test_arrays_have_views_and_contents_too():
    array = np.array([[1.5, 2.0], [NAN, 4.0]])
    item = learn([array]).open(array)
    assert item.view(array)["columns"][0] == {"name": "x0", "values": [1.5, None]}
    assert item.plain(array) == [[1.5, 2.0], [None, 4.0]]
    table = {"columns": ["a"], "index": [0, 1], "data": [[1.0], [None]]}
    assert item.plain(frame(a=[1.0, NAN])) == table
    assert item.content(array) == "x0,x1\n1.5,2.0\n,4.0\n"


# What is written.


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "float16", "Float64", "Float32", "float64[pyarrow]", "object"]
)
def test_observed_values_come_back_bit_for_bit(dtype):
    draw = np.random.default_rng(0)
    numbers = pd.Series(draw.normal(size=50) * 10.0 ** draw.integers(-3, 3, 50))
    column = numbers.astype("float16" if dtype == "float16" else "float64").astype(dtype)
    column[[3, 4, 20]] = None
    table = pd.DataFrame({"a": column, "word": "w"}).set_index(pd.Index(range(100, 150), name="i"))
    before = table.copy(deep=True)
    answer = filled(learn([table]), table, 0.5)
    assert answer["a"].dtype == dtype
    known = table["a"].notna().to_numpy()
    assert known.sum() == 47
    given, back = (t["a"][known].to_numpy(np.float64).tobytes() for t in (table, answer))
    assert given == back
    assert answer["a"].notna().all()
    pd.testing.assert_index_equal(answer.index, table.index)
    pd.testing.assert_series_equal(answer["word"], table["word"])
    pd.testing.assert_frame_equal(table, before)


def test_whole_numbers_with_gaps_become_real_ones():
    table = frame(a=pd.array([1, None, 4], "Int64"), b=pd.array([5, 6, 8], "Int64"))
    answer = filled(learn([table]), table, 0.0)
    assert answer.dtypes.astype(str).tolist() == ["Float64", "Int64"]
    assert answer["a"].tolist() == [1, 2.5, 4]
    large = frame(a=pd.array([1, None, 2**53 + 2], "Int64"))
    with pytest.raises(CaesuraError, match=r"beyond 2\^53"):
        filled(learn([large]), large, 0.0)


def test_an_array_gives_an_array_of_its_type():
    array = np.array([[1.0, 2.0], [NAN, 4.0], [3.0, 9.0]], np.float32)
    answer = filled(learn([array]), array, 0.0)
    assert answer.dtype == np.float32
    np.testing.assert_array_equal(answer, [[1, 2], [2, 4], [3, 9]])
    assert np.isnan(array[1, 0])


def test_a_fill_is_read_as_it_was_drawn():
    table = frame(a=[1.0, NAN, 3.0, 9.0])
    kind = learn([table])
    np.testing.assert_allclose(
        kind.open(filled(kind, table, 0.7)).sequence.values[1, 0], 0.7, rtol=1e-6
    )


# Bounds, constants, columns.


def test_what_is_drawn_keeps_within_bounds():
    table = frame(rain=[0.0, NAN, 3.0], wind=[-5.0, NAN, 5.0])
    kind = learn([table], bounds={"rain": (0, None)})
    assert filled(kind, table, -9.0)["rain"][1] == 0
    assert filled(kind, table, -9.0)["wind"][1] < -5
    assert filled(kind, table, 9.0)["rain"][1] > 3
    assert [c.highest for c in learn([table], bounds=(-5, 5)).columns] == [5.0, 5.0]


def test_quantiles_of_bounded_draws_are_bounded_quantiles():
    """Why draws are moved to the bounds: in whichever order, the answer is the same."""
    table = frame(a=[0.0, 1.0, 5.0])
    free, bound = learn([table]), learn([table], bounds=(0, 4))
    draws = np.random.default_rng(0).normal(size=(101, 3, 1)).astype(np.float32)
    levels = [0.05, 0.5, 0.95]
    of_bounded = np.quantile(bound.to_units(draws), levels, axis=0, method="nearest")
    bounded = np.clip(np.quantile(free.to_units(draws), levels, axis=0, method="nearest"), 0, 4)
    np.testing.assert_array_equal(of_bounded, bounded)


def test_a_column_that_never_varies_is_filled_as_it_was():
    table = frame(a=[0.1, NAN, 0.1, 0.1], b=[1.0, 2.0, 3.0, NAN])
    kind = learn([table])
    assert filled(kind, table, 3.0)["a"].tolist() == [0.1] * 4
    assert kind.open(table).sequence.values[:, 0].tolist() == [0] * 4


def test_a_column_without_numbers_is_kept_and_said():
    table = frame(a=[1.0, NAN, 4.0], b=[NAN] * 3)
    with pytest.warns(CaesuraWarning, match="'b' holds no number at all: it is left as it is"):
        kind = learn([table])
    assert names(kind) == ["a"]
    answer = filled(kind, table, 0.0)
    assert answer["a"].tolist() == [1, 2.5, 4]
    assert answer["b"].isna().all()
    with pytest.warns(CaesuraWarning, match="'x1'"):
        kind = learn([table.to_numpy()])
    assert np.isnan(filled(kind, table.to_numpy(), 0.0)).sum() == 3


@pytest.mark.parametrize("code", [-200.0, 9999.0])
def test_a_number_that_may_be_a_code_is_named(code):
    table = frame(a=np.r_[np.arange(40.0), [code] * 5], b=np.arange(45.0))
    with pytest.warns(CaesuraWarning, match=f"'a' has {code:g} in 5 rows, far from all its other"):
        learn([table])


@pytest.mark.parametrize(
    "numbers",
    [
        np.r_[np.arange(100.0, 140), [0] * 5],  # a machine that is off
        np.r_[np.arange(40.0), [-200] * 4],  # too rare
        np.r_[np.arange(40.0), [-200.5] * 5],
        np.r_[np.arange(40.0), [60] * 5],  # not far away
        np.r_[[1.0] * 20, [2] * 20, [99] * 5],  # levels
        np.r_[[7.0] * 60, np.arange(8.0), [99] * 5],  # hardly any spread to compare with
    ],
)
def test_other_numbers_are_no_codes(numbers, recwarn):
    learn([frame(a=numbers)])
    assert not recwarn.list


def test_columns_that_are_not_numbers_come_through():
    table = frame(
        a=[1.0, NAN],
        word=["x", None],
        flag=[True, False],
        day=pd.to_datetime(["2020-01-01", None]),
        level=pd.Categorical([1, None]),
    )
    answer = filled(learn([table]), table, 0.0)
    pd.testing.assert_frame_equal(answer.drop(columns="a"), table.drop(columns="a"))


def test_words_among_numbers_are_said():
    table = frame(a=[1.0, 2.0, 4.0], b=["1.5", "error", "2"])
    with pytest.warns(CaesuraWarning, match="'b' mixes numbers with words such as 'error'"):
        assert names(learn([table])) == ["a"]


def test_columns_can_be_chosen():
    table = frame(a=[1.0, 2.0, 4.0], b=[1.0, NAN, 3.0], c=[0.0, 1.0, 1.0])
    kind = learn([table], columns=["b"], covariates=["c", "a"])
    assert names(kind) == ["b", "c", "a"]
    assert [c.name for c in kind.filled] == ["b"]
    assert (kind.numbers, kind.frame) == (1, FrameSpec("continuous", 3, 2))
    assert filled(kind, table, 0.0)["b"].tolist() == [1, 2, 3]
    by_number = learn([table.to_numpy()], columns=[1], covariates=[2, 0])
    assert [[c.place for c in k.columns] for k in (by_number, kind)] == [[1, 2, 0]] * 2
    np.testing.assert_array_equal(
        by_number.open(table.to_numpy()).sequence.values, kind.open(table).sequence.values
    )
    shuffled = table[["c", "b", "a"]]  # names count in a table, not places
    np.testing.assert_array_equal(
        kind.open(shuffled).sequence.values, kind.open(table).sequence.values
    )


# The kind and its mistakes.


def test_series_is_a_kind_that_a_model_file_can_hold():
    assert KINDS["series"] is Series
    table = hours(60, a=np.arange(60.0), c=np.arange(60.0) % 7)
    kind = learn([table], covariates="c", bounds=(0, None))
    told = json.loads(json.dumps(asdict(kind)))
    assert told["columns"][1] == {
        "name": "c",
        "place": 1,
        "location": kind.columns[1].location,
        "fills": False,
        "scale": kind.columns[1].scale,
        "levels": [],
        "lowest": None,
        "highest": None,
    }
    columns = tuple(Column(**c | {"levels": tuple(c["levels"])}) for c in told["columns"])
    assert Series(**told | {"columns": columns, "calendar": tuple(told["calendar"])}) == kind


A, B, C = Column("a", 0), Column("b", 1, levels=(0, 1)), Column("c", 2, fills=False)


@pytest.mark.parametrize(
    "columns",
    [
        (),
        (C,),
        (B, A),
        (C, A),
        (A, replace(A, place=1)),
        (replace(A, place=3),),
        (replace(A, scale=-1.0),),
        (replace(A, location=NAN),),
        (replace(A, lowest=2.0, highest=1.0),),
        (replace(B, lowest=2.0),),
        (A, replace(C, highest=1.0)),
        (A, replace(B, levels=(0,))),
        (A, replace(B, levels=(0, 0))),
    ],
)
def test_columns_that_do_not_fit_together_are_refused(columns):
    assert Series((A, B, C), 3).frame == FrameSpec("continuous", 3, 1, (2,))
    with pytest.raises(CaesuraError, match="columns of the series do not agree with each other"):
        Series(columns, 3)


def test_the_columns_of_the_first_format_are_understood():
    fields = {
        "names": ["t", "sky", "load"],
        "places": [0, 2, 1],
        "width": 4,
        "filled": 2,
        "locations": [10.0, 0.0, 0.5],
        "scales": [2.0, 1.0, 0.25],
        "lowest": [0.0],
        "levels": [[], ["clear", "rain"], []],
        "highest": [None],
        "calendar": ["hour"],
        "freq": "h",
        "time": "",
        "add_rows": False,
    }
    told = columns_of_format_1(json.loads(json.dumps(fields)))
    columns = [Column(**c | {"levels": tuple(c["levels"])}) for c in told.pop("columns")]
    assert columns == [
        Column("t", 0, 10.0, 2.0, lowest=0.0),
        Column("sky", 2, levels=("clear", "rain")),
        Column("load", 1, 0.5, 0.25, fills=False),
    ]
    assert told == {"width": 4, "calendar": ["hour"], "freq": "h", "time": "", "add_rows": False}
    for wrong in ({"scales": [1.0]}, {"lowest": 3}, {"places": None}, {"highest": [1.0] * 9}):
        with pytest.raises(CaesuraError, match="do not agree with each other"):
            columns_of_format_1(fields | wrong)
    with pytest.raises(CaesuraError, match="do not agree with each other"):
        columns_of_format_1({})


def test_densities_are_of_the_units_of_the_user():
    table = frame(a=[1.0, 3.0], b=[10.0, 50.0])
    missing = np.array([[True, False], [True, True]])
    np.testing.assert_allclose(learn([table]).log_scale(missing), np.log(1 * 1 * 20))


def test_too_little_is_said_with_its_numbers():
    table = frame(a=np.arange(200.0), b=[1.0, 2.0, 5.0] + [NAN] * 197)
    with pytest.raises(
        CaesuraError, match=r"'b' has 3 observed numbers, .* 100 are needed \(least_observed\)"
    ):
        Series.learn([table])
    assert names(Series.learn([table], columns=["a"])) == ["a"]


COMPLETE = frame(a=[1.0, 2.0, 4.0], b=[3.0, 5.0, 4.0])
TIMED = hours(5, a=np.arange(5.0) + 0.5)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: learn([frame(w=["x", "x"])]), "no column to fill"),
        (lambda: learn([frame(w=pd.to_datetime(["2020", "2021"]))]), "no column to fill"),
        (lambda: learn([frame(a=[1.0, np.inf])]), "'a' is infinite in row 1"),
        (lambda: learn([frame(a=[1e308, -1e308])]), "too large or too small"),
        (lambda: learn([COMPLETE], colums=["a"]), "did you mean 'columns'"),
        (lambda: learn([COMPLETE], columns=["c"]), "no column called 'c'"),
        (lambda: learn([COMPLETE], columns=[2]), "no column 2: columns are numbered from 0 to 1"),
        (lambda: learn([COMPLETE], columns=["a", "a"]), "twice among the columns"),
        (
            lambda: learn([COMPLETE], columns=["a"], covariates=["a"]),
            "be a covariate and be filled",
        ),
        (lambda: learn([frame(a=[1.0, 2], w=["x", "x"])], columns=["w"]), "holds neither numbers"),
        (lambda: learn([frame(a=[1.0, 2], w=["x", "x"])], covariates=["w"]), "holds neither num"),
        (lambda: learn([COMPLETE], bounds={"c": (0, 1)}), "no column to fill called 'c'"),
        (lambda: learn([COMPLETE], bounds=3), "Bounds must be a lower and an upper"),
        (lambda: learn([COMPLETE], bounds=(5, 1)), "below its upper"),
        (lambda: learn([COMPLETE], freq="h"), "if the rows have times"),
        (lambda: learn([COMPLETE], calendar=["hour"]), "if the rows have times"),
        (lambda: learn([TIMED], calendar=["hours"]), "did you mean 'hour'"),
        (lambda: learn([TIMED], freq="fortnight"), "A frequency must be written as in pandas"),
        (lambda: learn([TIMED], freq="2h").open(TIMED), "01:00:00 is not on the grid"),
        (lambda: learn([TIMED], freq="ms").open(TIMED), "too few for the frequency 'ms'"),
        (lambda: learn([TIMED[::-1]]), r"row 1 \(2024-03-01 03:00:00\) goes back"),
        (lambda: learn([TIMED.iloc[[0, 1, 1]]]), "row 2 .* has the time of the row before"),
        (lambda: learn([TIMED.set_axis([*TIMED.index[:4], pd.NaT])]), "Row 4 has no time"),
        (lambda: learn([TIMED.to_period()]), "to_timestamp"),
        (lambda: learn([COMPLETE], time="a"), "'a' holds numbers, but times"),
        (lambda: learn([frame(a=[1.0], t=["soon"])], time="t"), "something that is not a time"),
        (lambda: learn([COMPLETE, frame(a=[1.0])]), "Table 1 does not have the columns"),
        (lambda: learn([COMPLETE.set_axis(["a", "a"], axis=1)]), "two columns called 'a'"),
        (lambda: learn([COMPLETE[:0]]), "no rows"),
        (lambda: learn([COMPLETE]).open(frame(a=[1.0])), "no column called 'b'"),
        (lambda: learn([COMPLETE]).open(np.zeros((3, 3))), "3 columns, but .* knows 2"),
        (lambda: learn([COMPLETE]).open(np.zeros(3)), r"\[steps, columns\], not \[3\]"),
        (lambda: learn([COMPLETE]).open([[1, 2], [1]]), "rows of equal length"),
        (lambda: learn([COMPLETE]).open([["x", "y"]]), "holds numbers, not <U1"),
        (lambda: learn([TIMED]).open(np.zeros((3, 1))), "but these rows have none"),
        (
            lambda: learn([COMPLETE], bounds=(0, 9)).open(frame(a=[1.0, -1], b=[1.0, 1])),
            "'a' has -1 in row 1, which is outside its bounds",
        ),
        (
            lambda: learn([COMPLETE], covariates="b").open(frame(a=[1.0], b=[NAN])),
            "covariate 'b' is missing in row 0",
        ),
    ],
)
def test_a_mistake_gets_one_sentence(ask, sentence):
    with pytest.raises(CaesuraError, match=sentence) as caught:
        ask()
    assert "\n" not in str(caught.value)


def test_one_row_can_be_read():
    table = frame(a=[2.0], b=[NAN])
    with pytest.warns(CaesuraWarning, match="'b' holds no number"):
        kind = learn([table])
    assert kind.open(table).sequence.values.tolist() == [[0.0]]


def test_a_million_rows_are_read_and_written():
    draw = np.random.default_rng(0)
    table = pd.DataFrame(
        {"a": draw.normal(size=10**6)}, index=pd.date_range("2000", periods=10**6, freq="min")
    )
    table.loc[draw.random(10**6) < 0.1, "a"] = NAN
    kind = learn([table])
    item = kind.open(table)
    answer = item.write(item.sequence.values, item.missing)
    assert answer["a"].notna().all()
    assert kind.calendar == ("hour", "weekday")
