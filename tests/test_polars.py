"""Tables of polars, in and out of the imputer."""

from datetime import datetime, timedelta

import numpy as np
import pytest

from caesura.kinds.series.foreign import like, to_pandas
from caesura.sklearn import SeriesImputer

pl = pytest.importorskip("polars")
pytestmark = pytest.mark.usefixtures("few_rounds")

SMALL = {"hidden": 4, "head_hidden": 4, "batch": 4, "steps": 4, "validate_every": 2}
STEPS = 240


def table():
    steps = np.arange(STEPS)
    at = [datetime(2024, 1, 1) + timedelta(hours=n) for n in range(STEPS)]
    big = 2**53 + 1 + steps  # more digits than a real number holds
    frame = pl.DataFrame(
        {
            "time": at,
            "wave": np.sin(steps),
            "thin": pl.Series(np.cos(steps), dtype=pl.Float32),
            "count": pl.Series((steps % 7).tolist(), dtype=pl.Int16),
            "whole": pl.Series(big.tolist(), dtype=pl.Int64),
            "wet": [bool(n % 3) for n in steps],
            "sky": pl.Series([["sun", "rain"][n % 2] for n in steps], dtype=pl.Categorical),
            "wind": pl.Series(
                [["north", "south"][n % 2] for n in steps], dtype=pl.Enum(["north", "south"])
            ),
            "note": [f"word {n}" for n in steps],
        }
    )
    gaps = pl.int_range(STEPS, eager=True).is_between(50, 53)
    lost = [
        pl.when(~gaps).then(pl.col(name)).alias(name)
        for name in ("thin", "count", "wet", "sky", "wind")
    ]
    lost.append(pl.when(gaps).then(float("nan")).otherwise("wave").alias("wave"))
    return frame.with_columns(*lost)


@pytest.fixture(scope="module")
def fitted():
    return SeriesImputer(adapt="full", settings=SMALL, random_state=0, samples=3).fit(table())


def test_only_the_missing_cells_are_replaced():
    given = table()
    filled = to_pandas(given)
    filled["wave"] = filled["wave"].fillna(0.5)
    filled["sky"] = filled["sky"].fillna("rain")
    full = like(given, filled)
    assert full["wave"][50] == 0.5
    assert full["sky"][51] == "rain"
    assert full["count"].null_count() == 4  # not filled, so it is as it was
    assert full["whole"].equals(given["whole"])
    assert full.schema == given.schema


@pytest.mark.slow
def test_a_polars_frame_comes_back_as_one(fitted):
    given, full = table(), fitted.transform(table())
    assert isinstance(full, pl.DataFrame)
    assert full.schema == given.schema | {"count": pl.Float64}
    assert full.null_count().sum_horizontal().item() == 0
    assert not full["wave"].is_nan().any()
    seen = pl.int_range(STEPS, eager=True).is_between(50, 53) == False  # noqa: E712
    assert full.filter(seen).cast({"count": pl.Int16}).equals(given.filter(seen))
    assert fitted.feature_names_in_.tolist() == given.columns


@pytest.mark.slow
def test_it_is_filled_as_pandas_is(fitted):
    from_pandas = fitted.transform(table().to_pandas())
    assert fitted.transform(table())["wave"].to_list() == from_pandas["wave"].tolist()


@pytest.mark.slow
def test_other_answers_are_polars_too(fitted):
    low, high = fitted.quantile(table(), [0.25, 0.75])
    assert (low["wave"] <= high["wave"]).all()
    assert [type(one) for one in fitted.sample(table(), 2)] == [pl.DataFrame] * 2
    shares = fitted.probabilities(table())["sky"]
    assert isinstance(shares, pl.DataFrame)
    assert sorted(shares.columns) == ["rain", "sun"]
    assert isinstance(fitted.transform([table(), table().head(100)])[1], pl.DataFrame)


@pytest.mark.slow
def test_absent_rows_are_added_to_a_polars_frame():
    given = table().select("time", "wave").filter(pl.col("time").dt.hour() != 3)
    imputer = SeriesImputer(adapt="full", settings=SMALL, random_state=0, samples=2, add_rows=True)
    full = imputer.fit_transform(given)
    assert isinstance(full, pl.DataFrame)
    assert len(full) == STEPS - 1 or len(full) == STEPS
    assert full["wave"].is_nan().sum() == 0


@pytest.mark.slow
def test_an_arrow_table_comes_back_as_one(fitted):
    pa = pytest.importorskip("pyarrow")
    words = table().cast({"sky": pl.String, "wind": pl.String})
    assert isinstance(fitted.transform(words.to_arrow()), pa.Table)
