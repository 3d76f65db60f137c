"""Columns of levels beside numbers: how they are found, read and written."""

import numpy as np
import pandas as pd
import pytest

from caesura.errors import CaesuraError, CaesuraWarning
from caesura.kinds.series.levels import FEW, MOST
from caesura.sequence import FrameSpec
from small_tables import NAN, filled, frame, learn, names

FLAGS = np.array([True, None, False, True], object)
WEATHER = ["rain", None, "sun", "fog"]


def levels_of(kind):
    return [column.levels for column in kind.columns]


# What is read and written.


@pytest.mark.parametrize(
    ("column", "levels", "first"),
    [
        (pd.Series(FLAGS), (False, True), False),
        (pd.Series(FLAGS, dtype="boolean"), (False, True), False),
        (pd.Series(WEATHER, dtype="str"), ("fog", "rain", "sun"), "fog"),
        (pd.Series(WEATHER, dtype="object"), ("fog", "rain", "sun"), "fog"),
        (pd.Series(WEATHER, dtype="string[pyarrow]"), ("fog", "rain", "sun"), "fog"),
        (
            pd.Series(pd.Categorical(WEATHER, ["sun", "snow", "rain", "fog"])),
            ("sun", "rain", "fog"),
            "sun",
        ),
        (pd.Series(pd.Categorical([3, None, 1, 2])), (1, 2, 3), 1),
        (pd.Series([1.0, NAN, 0.0, 1.0]), (0, 1), 0),
        (pd.Series([1, None, 0, 1], dtype="Int64"), (0, 1), 0),
        (pd.Series([1, None, 0, 1], dtype="float32"), (0, 1), 0),
    ],
)
def test_levels_are_found_and_columns_keep_their_types(column, levels, first):
    table = frame(a=[1.0, 2.0, NAN, 4.0], c=column)
    before = table.copy(deep=True)
    kind = learn([table])
    assert [(c.name, c.levels) for c in kind.columns] == [("a", ()), ("c", levels)]
    assert (kind.numbers, kind.frame.categories) == (1, (len(levels),))
    item = kind.open(table)
    sequence = item.sequence
    assert sequence.missing[:, 1:].all(axis=1).tolist() == [False, True, False, False]
    assert sequence.missing[:, 1:].any(axis=1).tolist() == [False, True, False, False]
    for row in (0, 2, 3):
        on = [float(level == column[row]) for level in levels[1:]]
        assert sequence.values[row, 1:].tolist() == on
    answer = filled(kind, table, 0.0)  # all switches off
    assert answer["c"].dtype == column.dtype
    assert answer["c"][1] == first
    pd.testing.assert_series_equal(answer["c"].drop(1), table["c"].drop(1))
    values = np.where(sequence.missing, 0, sequence.values)
    values[1, -1] = 1
    assert item.write(values, item.missing)["c"][1] == levels[-1]
    pd.testing.assert_frame_equal(table, before)


def test_an_array_may_hold_levels_too():
    array = np.array([[1.5, 1, 4], [2.5, NAN, 7], [3.0, 0, NAN], [1.0, 1, 9]], np.float32)
    kind = learn([array], categorical=[2])
    assert names(kind) == ["x0", "x1", "x2"]
    assert levels_of(kind) == [(), (0, 1), (4.0, 7.0, 9.0)]
    answer = filled(kind, array, 0.0)
    assert answer.dtype == np.float32
    assert (answer[1, 1], answer[2, 2]) == (0, 4)


def test_a_covariate_may_be_a_category():
    table = frame(a=[1.0, NAN, 4.0], place=["quay", "pier", "moor"], open=[True, False, True])
    kind = learn([table], covariates=["place", "open"])
    assert (len(kind.filled), kind.frame) == (1, FrameSpec("continuous", 4, 3))
    assert kind.open(table).sequence.values[:, 1:].tolist() == [[0, 1, 1], [1, 0, 0], [0, 0, 1]]
    with pytest.raises(CaesuraError, match="covariate 'place' is missing in row 1"):
        kind.open(table.assign(place=["quay", None, "moor"]))


def test_many_words_one_word_and_few_cells_are_left_alone_unless_asked_for():
    words = [f"w{number}" for number in range(FEW + 1)]
    table = frame(a=np.arange(len(words)) / 2, many=words, one="x", few=["y", "z", *[None] * 19])
    kind = learn([table], least_observed=3)
    assert names(kind) == ["a"]
    assert learn([table], categorical="many").frame.categories == (FEW + 1, 2)
    pd.testing.assert_frame_equal(filled(kind, table, 0.0), table)
    for name, sentence in [("one", "nor a category of 2 to 100 levels"), ("few", "2 observed lev")]:
        with pytest.raises(CaesuraError, match=f"'{name}' .*{sentence}"):
            learn([table], columns=[name], least_observed=3)
    codes = frame(a=[0.5] * (MOST + 1), code=range(MOST + 1))
    with pytest.raises(
        CaesuraError, match="'code' holds neither numbers nor a category of 2 to 100"
    ):
        learn([codes], categorical="code")
    assert levels_of(learn([codes])) == [(), ()]


def test_words_among_numbers_are_a_category_only_if_named():
    table = frame(a=[1.5, 2.0, 4.0], b=["1.5", "error", "2"])
    with pytest.warns(CaesuraWarning, match="'b' mixes numbers with words"):
        assert names(learn([table])) == ["a"]
    assert levels_of(learn([table], categorical=["b"])) == [(), ("1.5", "2", "error")]


KNOWN = frame(a=[1.5, 2.5, 4.0], c=["x", "y", None])


@pytest.mark.parametrize(
    ("do", "sentence"),
    [
        (
            lambda: learn([KNOWN]).open(KNOWN.assign(c=["x", "z", None])),
            "'c' has 'z' in row 1, which is not one of the 2 levels that the model knows",
        ),
        (
            lambda: learn([KNOWN]).open(KNOWN.assign(c=[["x"], "x", None])),
            "something that is no",
        ),
        (lambda: learn([KNOWN], categorical=["d"]), "no column called 'd'"),
        (
            lambda: learn([KNOWN], categorical=["c"], columns=["a"]),
            "neither filled nor a covariate",
        ),
        (lambda: learn([KNOWN], bounds={"c": (0, 1)}), "no column to fill called 'c'"),
        (
            lambda: learn([KNOWN.assign(c=[["x"], ["y"], None])], columns=["c"]),
            "holds neither numbers",
        ),
    ],
)
def test_a_mistake_gets_one_sentence(do, sentence):
    with pytest.raises(CaesuraError, match=sentence):
        do()


def test_a_table_whose_column_has_no_room_for_a_level_gets_it_all_the_same():
    kind = learn([KNOWN])
    narrow = KNOWN.assign(c=pd.Categorical(["y", None, "y"]))
    assert filled(kind, narrow, 0.0)["c"].tolist() == ["y", "x", "y"]
    nothing = KNOWN.assign(c=[NAN] * 3)
    assert filled(kind, nothing, 0.0)["c"].tolist() == ["x"] * 3
    assert nothing["c"].isna().all()


@pytest.mark.parametrize("add_rows", [False, True])
def test_probabilities_are_the_shares_of_levels(add_rows):
    index = pd.date_range("2024-03-01", periods=4, freq="h").delete(1)
    timed = KNOWN.set_axis(index)
    item = learn([timed], calendar=None, freq="h", add_rows=add_rows).open(timed)
    means = np.array([[0, 0.25], [0, 0.5], [0, 1], [0, 0.75]], np.float32)
    shares = item.probabilities(means)["c"]
    rows = [0, 1, 2, 3] if add_rows else [0, 2, 3]
    expected = pd.DataFrame({"x": 1 - means[rows, 1], "y": means[rows, 1]}, dtype=float)
    expected.index = pd.date_range("2024-03-01", periods=4, freq="h")[rows]
    pd.testing.assert_frame_equal(shares, expected, check_freq=False)
    array = np.array([[1.5, 0], [2.5, 1], [NAN, NAN]])
    [share] = learn([array]).open(array).probabilities(means[:3]).values()
    np.testing.assert_allclose(share, [[0.75, 0.25], [0.5, 0.5], [0, 1]])
