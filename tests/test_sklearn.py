"""The imputer keeps scikit-learn's promises and ours, on nets that have learnt nearly nothing."""

import pickle
import sys

import jax
import numpy as np
import pandas as pd
import pytest
from jax.experimental.compilation_cache.compilation_cache import reset_cache
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from caesura.errors import CaesuraError, CaesuraWarning
from caesura.sklearn import SeriesImputer

pytestmark = pytest.mark.usefixtures("kept_programs", "few_rounds")

NAN = np.nan
TINY = {"steps": 2, "hidden": 4, "head_hidden": 4, "batch": 2, "length": 8}
TINY |= {"validate_every": 2, "valid_steps": 20}

FOLDER = "jax_compilation_cache_dir"
KEEPING = {FOLDER: "", "jax_enable_compilation_cache": True}
KEEPING |= {"jax_persistent_cache_min_compile_time_secs": 0.0}


@pytest.fixture(scope="module")
def kept_programs(tmp_path_factory):
    """Every fit compiles the same programs anew, which takes longer than all else here."""
    told = {name: jax.config.values[name] for name in KEEPING}
    for name, value in (KEEPING | {FOLDER: str(tmp_path_factory.mktemp("programs"))}).items():
        jax.config.update(name, value)
    reset_cache()
    yield
    for name, value in told.items():
        jax.config.update(name, value)
    reset_cache()


def imputer(**options) -> SeriesImputer:
    given = {"adapt": "full", "settings": TINY, "samples": 9, "random_state": 0}
    given["least_observed"] = 1
    return SeriesImputer(**given | options)


def walk(steps: int, columns: int, seed: int = 0, share: float = 0.2) -> np.ndarray:
    draw = np.random.default_rng(seed)
    values = np.cumsum(draw.normal(size=(steps, columns)), axis=0) + 10
    return np.where(draw.random(values.shape) < share, NAN, values)


def table(steps: int = 60) -> pd.DataFrame:
    index = pd.date_range("2024-01-01", periods=steps, freq="h")
    values = pd.DataFrame(walk(steps, 2), index=index, columns=["a", "b"])
    return values.assign(word="w", count=np.arange(steps) % 5)


@pytest.fixture(scope="module")
def fitted() -> SeriesImputer:
    return imputer(calendar=None, covariates=["count"]).fit(table())


@pytest.mark.slow
@parametrize_with_checks([imputer()])  # none is exempted
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


# What goes in and what comes out.


def test_a_table_gives_a_table(fitted):
    given = table()
    before = given.copy(deep=True)
    answer = fitted.transform(given)
    pd.testing.assert_frame_equal(given, before)
    pd.testing.assert_index_equal(answer.index, given.index)
    assert answer.index.freq == given.index.freq
    assert answer.dtypes.tolist() == given.dtypes.tolist()
    assert not answer.isna().any(axis=None)
    known = given.notna()
    assert answer[known].equals(given[known])
    assert fitted.get_feature_names_out().tolist() == ["a", "b", "word", "count"]


def test_the_median_is_a_quantile_and_lies_between_the_others(fitted):
    given = table()
    missing = given[["a", "b"]].isna().to_numpy()
    low, middle, high = (q[["a", "b"]].to_numpy() for q in fitted.quantile(given, [0.1, 0.5, 0.9]))
    assert np.all(low[missing] < middle[missing])
    assert np.all(middle[missing] < high[missing])
    assert np.array_equal(low[~missing], high[~missing])
    pd.testing.assert_frame_equal(fitted.quantile(given, 0.5), fitted.transform(given))
    with pytest.raises(CaesuraError, match=r"level 0.05 needs at least 19 samples, not 9"):
        fitted.quantile(given, 0.05)


def test_quantiles_are_those_of_the_samples(fitted):
    """Both are made of the same draws, since the seed is the same."""
    given = table()
    drawn = np.stack([one[["a", "b"]].to_numpy() for one in fitted.sample(given, 9)])
    middle = fitted.transform(given)[["a", "b"]].to_numpy()
    np.testing.assert_allclose(np.median(drawn, axis=0), middle, rtol=1e-5)
    missing = given[["a", "b"]].isna().to_numpy()
    assert np.all(drawn[:, missing].std(axis=0) > 0)
    assert np.all(drawn[:, ~missing] == given[["a", "b"]].to_numpy()[~missing])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_of_several_series_give_arrays(dtype):
    given = np.stack([walk(30, 2, seed) for seed in range(6)]).astype(dtype)
    answer = imputer().fit_transform(given)
    assert answer.shape == given.shape
    assert answer.dtype == dtype
    known = ~np.isnan(given)
    assert not np.isnan(answer).any()
    assert np.array_equal(answer[known], given[known])


@pytest.mark.slow
def test_series_may_differ_in_length():
    given = [walk(length, 2, length) for length in (30, 7, 300)]
    model = imputer().fit(given)
    answer = model.transform(given)
    assert [len(one) for one in answer] == [30, 7, 300]
    for one, filled in zip(given, answer, strict=True):
        known = ~np.isnan(one)
        assert np.array_equal(filled[known], one[known])
        assert not np.isnan(filled).any()
    assert len(model.sample(given, 2)) == 2
    assert model.n_features_in_ == 2


@pytest.mark.slow
def test_absent_rows_are_added_if_asked_for():
    given = table().drop(columns=["word", "count"])
    given = given.drop(index=given.index[20:23])
    assert len(imputer(calendar=None).fit_transform(given)) == 57
    whole = imputer(calendar=None, add_rows=True).fit_transform(given)
    assert len(whole) == 60
    assert not whole.isna().any(axis=None)


@pytest.mark.slow
def test_bounds_hold_for_all_that_is_drawn():
    given = walk(60, 2)
    low, high = np.nanmin(given), np.nanmax(given)
    model = imputer(bounds=(low, high)).fit(given)
    for answer in (*model.sample(given, 9), *model.quantile(given, [0.1, 0.9])):
        assert answer.min() >= low
        assert answer.max() <= high


@pytest.mark.slow
def test_a_column_without_numbers_is_left_as_it_is():
    given = walk(40, 3)
    given[:, 1] = NAN
    with pytest.warns(CaesuraWarning, match="'x1' holds no number at all"):
        answer = imputer().fit_transform(given)
    assert np.isnan(answer[:, 1]).all()
    assert not np.isnan(answer[:, [0, 2]]).any()


@pytest.mark.slow
def test_log_prob_is_a_density_in_the_units_of_the_data():
    """Of numbers a thousand times as large, it is less by ln 1000 for each."""
    given = walk(40, 2, share=0.0)
    missing = np.zeros(given.shape, bool)
    missing[5:7, 0] = missing[20, 1] = True
    model = imputer().fit(given)
    score = model.log_prob(given, missing)
    large = imputer().fit(1000 * given).log_prob(1000 * given, missing)
    np.testing.assert_allclose(large, score - 3 * np.log(1000), rtol=1e-3)
    several = model.log_prob([given, given], [missing, missing])
    np.testing.assert_allclose(several, 2 * score, rtol=1e-6)
    with pytest.raises(CaesuraError, match=r"in the shape \[40, 2\]"):
        model.log_prob(given, missing[:3])
    holes = given.copy()
    holes[5, 0] = NAN
    with pytest.raises(CaesuraError, match="places that hold nothing"):
        model.log_prob(holes, missing)


# Among scikit-learn's own.


def test_a_constructor_only_stores():
    options = {"columns": ["a"], "settings": {"steps": 3}, "bounds": {"a": (0, None)}}
    model = SeriesImputer(**options)
    for name, value in options.items():
        assert model.get_params()[name] is value
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert not hasattr(again, "filler_")


@pytest.mark.slow
def test_pipelines_outputs_and_cross_validation():
    given = walk(60, 2)
    model = make_pipeline(imputer(), Ridge())
    target = np.nan_to_num(given[:, 0])
    assert np.isfinite(cross_val_score(model, given, target, cv=KFold(2))).all()
    framed = imputer().set_output(transform="pandas").fit_transform(given)
    assert framed.columns.tolist() == ["x0", "x1"]


@pytest.mark.slow
def test_the_same_random_state_gives_the_same_answer():
    given = walk(40, 2)
    first, again = (imputer().fit(given) for _ in range(2))
    assert np.array_equal(first.transform(given), again.transform(given))
    assert np.array_equal(first.transform(given), first.transform(given))
    assert not np.array_equal(first.transform(given), imputer(random_state=1).fit_transform(given))
    kept = pickle.loads(pickle.dumps(first))
    assert np.array_equal(first.transform(given), kept.transform(given))


@pytest.mark.slow
def test_progress_goes_to_stderr_if_asked_for(capsys):
    imputer().fit(walk(40, 2))
    assert capsys.readouterr() == ("", "")
    imputer(verbose=True).fit(walk(40, 2))
    told = capsys.readouterr()
    assert told.out == ""
    assert "bidirectional  update 2/2" in told.err


def test_too_little_is_refused_with_numbers():
    with pytest.raises(CaesuraError, match=r"'x0' has \d\d observed numbers, .* least 100 are"):
        SeriesImputer(adapt="full").fit(walk(40, 1))
    with pytest.raises(ValueError, match="1 sample"):
        SeriesImputer().fit(np.ones((1, 3)))


def test_without_scikit_learn_a_sentence_says_so(monkeypatch):
    monkeypatch.delitem(sys.modules, "caesura.sklearn")
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(CaesuraError, match=r"pip install 'caesura\[sklearn\]'"):
        import caesura.sklearn  # noqa: F401
