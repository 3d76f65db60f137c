"""A net pooled with a Gaussian model of windows: against SciPy, direct formulas and frequencies."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import caesura
from caesura.errors import CaesuraError
from caesura.filler import Filler
from caesura.kinds import Series
from caesura.kinds.series import joint
from caesura.kinds.series.covariance import Covariance
from caesura.kinds.series.curves import Curve
from caesura.kinds.series.factors import Factors, WindowModel, windows, with_type
from caesura.kinds.series.pool import Gap, Pool
from caesura.nets.bins import EDGES, find_bin
from caesura.nets.frames import make_frame
from caesura.nets.rnn import bidirectional
from caesura.sklearn import SeriesImputer
from caesura.training.pooling import Drawn, choose_share, hold_numbers
from caesura.training.prepare import prepare
from caesura.training.recipe import choose
from test_factors import BENT, LINE, C, W, random_covariance, random_model, whole

pytestmark = pytest.mark.usefixtures("few_rounds")

FAR, NEAR = 1000.0, 10.0  # standard deviations: where the Gaussian model puts its numbers
TINY = {"steps": 2, "hidden": 4, "head_hidden": 4, "batch": 2, "length": 8}
TINY |= {"validate_every": 2, "valid_steps": 20, "least_observed": 1}


def given_seen(model: WindowModel, table: np.ndarray, missing: np.ndarray) -> tuple:
    """The mean and covariance of the missing scores, column by column, and the log-slopes."""
    covariance = whole(model.gaussian)
    columns = list(zip(model.curves, table.T, missing.T, strict=True))
    scores = np.concatenate([curve.to_scores(column) for curve, column, _ in columns])
    asked = missing.T.reshape(-1)
    seen = ~asked
    gain = covariance[np.ix_(asked, seen)] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
    rest = covariance[np.ix_(asked, asked)] - gain @ covariance[np.ix_(seen, asked)]
    slopes = sum(float(curve.log_slope(column[at]).sum()) for curve, column, at in columns)
    return gain @ scores[seen], rest, scores[asked], slopes


def some_table(rows: int = W) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.normal(size=(rows, C)), rng.random((rows, C)) < 0.4


def direct(model: WindowModel, table: np.ndarray, missing: np.ndarray) -> float:
    """The log-density of what a table of one window has where it is missing."""
    mean, covariance, truth, slopes = given_seen(model, table, missing)
    return float(multivariate_normal.logpdf(truth, mean, covariance)) + slopes


GAUSSIANS = pytest.mark.parametrize("gaussian", [random_model(), random_covariance()])


@GAUSSIANS
def test_densities_of_all_columns_together_are_those_of_the_formula(gaussian):
    model = WindowModel([LINE, BENT, LINE], gaussian)
    table, missing = some_table()
    found = joint.log_prob(model, table, ~missing, missing, np.stack([table, table + 1]))
    expected = [direct(model, np.where(missing, table + more, table), missing) for more in (0, 1)]
    assert found == pytest.approx(expected)


@GAUSSIANS
def test_rows_of_different_windows_are_independent(gaussian):
    model = WindowModel([LINE] * C, gaussian)
    table, missing = some_table(9)
    expected = 0.0
    for start, kept in windows(9, W):
        here = np.zeros_like(missing)
        here[slice(*kept)] = missing[slice(*kept)]
        at = slice(start, start + W)
        unseen, asked = missing[at], here[at]
        # What is missing elsewhere in the window is not seen: it is integrated out.
        mean, covariance, truth, _ = given_seen(model, table[at], unseen)
        own = asked.T.reshape(-1)[unseen.T.reshape(-1)]
        if own.any():
            part = mean[own], covariance[np.ix_(own, own)]
            expected += multivariate_normal.logpdf(truth[own], *part)
    found = joint.log_prob(model, table, ~missing, missing, table[None])
    assert found == pytest.approx([expected])


@GAUSSIANS
def test_draws_have_the_mean_and_covariance_of_the_formula(gaussian):
    model, count = WindowModel([LINE, BENT, LINE], gaussian), 20_000
    table, missing = some_table()
    drawn = joint.draw(model, np.random.default_rng(0), table, ~missing, count)
    assert np.allclose(drawn[:, ~missing], table[~missing])
    scores = [curve.to_scores(drawn[..., n]) for n, curve in enumerate(model.curves)]
    scores = np.stack(scores, axis=1).reshape(count, -1)[:, missing.T.reshape(-1)]
    mean, covariance, *_ = given_seen(model, table, missing)
    variance = np.diagonal(covariance)
    assert (np.abs(scores.mean(axis=0) - mean) < 5 * np.sqrt(variance / count)).all()
    error = np.sqrt((np.outer(variance, variance) + covariance**2) / count)
    assert (np.abs(np.cov(scores.T) - covariance) < 5 * error).all()


def pool(share: float, columns: int = C, away: float = 0.0) -> Pool:
    factors = random_model()
    size = (columns, *factors.own.shape[1:])
    curve = Curve(np.array([away - 1.0, away + 1.0]), np.array([-1.0, 1.0]))
    factors = Factors(np.resize(factors.loadings, (columns, W, 2)), np.resize(factors.own, size))
    factors = Factors(*(part.astype(np.float32) for part in factors))
    return Pool(WindowModel([curve] * columns, factors), share, C)


def covariance_pool(share: float) -> Pool:
    one = pool(share)
    gaussian = with_type(random_covariance(), np.float32)
    return one._replace(model=one.model._replace(gaussian=gaussian))


@pytest.fixture(scope="module")
def filler() -> Filler:
    rng = np.random.default_rng(0)
    return series_filler(Series.learn([5 + 2 * rng.normal(size=(60, C))], least_observed=1))


def series_filler(kind: Series) -> Filler:
    net = bidirectional(
        jax.random.key(0), make_frame(kind.frame), head="mixture", hidden=4, head_hidden=4
    )
    return Filler(kind, {"bidirectional": net}, "bothways")


def numbers() -> tuple[np.ndarray, np.ndarray]:
    """A table in its own units, of one window, and what is missing in it."""
    table, missing = some_table()
    return 5 + 2 * table, missing


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_log_probabilities_are_those_of_the_mixture(filler, share):
    table, missing = numbers()
    both = replace(filler, pool=pool(share))
    of_net = filler.log_prob(table, missing=missing)
    kind = filler.kind
    standard = kind.open(table).complete.values.astype(float)
    own = direct(both.pool.model, standard, missing) - kind.log_scale(missing)
    parts = [np.log(share) + own] + ([np.log(1 - share) + of_net] if share < 1 else [])
    assert both.log_prob(table, missing=missing) == pytest.approx(
        np.logaddexp.reduce(parts), abs=1e-3
    )


def test_samples_are_scored_as_log_prob_scores_them(filler):
    table, missing = numbers()
    both = replace(filler, pool=pool(0.5))
    fill = both.fill(np.where(missing, np.nan, table), samples=4, draws=20)
    scores = [both.log_prob(sample, missing=missing) for sample in fill.samples]
    assert fill.log_probs == pytest.approx(scores, abs=1e-3)


def test_all_answers_are_of_the_one_mixture(filler):
    table, missing = numbers()
    given = np.where(missing, np.nan, table)
    far_away = pool(0.25, away=FAR)
    own = np.repeat(np.eye(W, dtype=np.float32)[None], C, axis=0)
    alone = Factors(0 * far_away.model.gaussian.loadings, own)  # whatever is observed
    both = replace(filler, pool=far_away._replace(model=far_away.model._replace(gaussian=alone)))
    fill = both.fill(given, samples=4, draws=20)
    far = fill.drawn > FAR / 2
    assert (far == far[:, :1]).all()  # a fill comes from one of the two
    assert far[:, 0].sum() == 5
    middle = 5 + 2 * FAR / 2
    best, low, high = (np.asarray(one)[missing] for one in (fill.best, *fill.quantile([0.7, 0.8])))
    assert (best < middle).all()
    assert (low < middle).all()
    assert (high > middle).all()


def test_marginals_and_confidence_are_of_the_mixture(filler):
    table, missing = numbers()
    given = np.where(missing, np.nan, table)
    both = replace(filler, pool=pool(0.25, away=NEAR))
    standard = filler.kind.open(table).complete.values.astype(float)
    mean, covariance, *_ = given_seen(both.pool.model, standard, missing)
    found, of_net = both.marginals(given), np.exp(filler.marginals(given).log_probs)
    below = norm.cdf((EDGES[:, None] - NEAR - mean) / np.sqrt(np.diagonal(covariance))).T
    own = np.diff(below, axis=1, prepend=0, append=1)
    in_rows = np.argsort(np.argwhere(missing.T)[:, 1], kind="stable")  # from column by column
    assert np.exp(found.log_probs) == pytest.approx(0.75 * of_net + 0.25 * own[in_rows], abs=1e-3)
    fill = both.fill(given, samples=4, draws=20)
    chosen = find_bin(fill.completions[0].values)
    assert fill.confidence == pytest.approx(np.exp(found.log_probs)[np.arange(len(chosen)), chosen])


def test_each_draw_is_replaced_with_the_same_probability():
    table, missing = some_table()
    one, rng, times = pool(0.25), np.random.default_rng(0), 2000
    fills = np.full((3, int(missing.sum())), np.nan)
    replaced = [~np.isnan(one.mix(rng, Gap(table, missing), fills)[:, 0]) for _ in range(times)]
    deviation = np.sqrt(0.25 * 0.75 / times)
    assert (np.abs(np.mean(replaced, axis=0) - 0.25) < 5 * deviation).all()


def test_where_a_category_is_missing_the_net_fills_alone():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=(60, C)), rng.integers(0, 2, 60)])
    net = series_filler(Series.learn([table], least_observed=1))
    both = replace(net, pool=pool(0.5, columns=C + 1))
    missing = np.zeros(table.shape, bool)
    missing[10, 0] = True
    assert both.log_prob(table, missing=missing) != net.log_prob(table, missing=missing)
    missing[11, C] = True
    assert both.log_prob(table, missing=missing) == net.log_prob(table, missing=missing)


@pytest.mark.parametrize("make", [pool, covariance_pool])
def test_a_saved_pool_is_the_same(filler, tmp_path, make):
    table, missing = numbers()
    given = np.where(missing, np.nan, table)
    both = replace(filler, pool=make(0.25))
    both.save(tmp_path / "a.model", dtype="float32")
    again = caesura.load(tmp_path / "a.model")
    fills = [one.fill(given, samples=2, draws=20) for one in (both, again)]
    assert (fills[0].best == fills[1].best).all()
    assert (fills[0].log_probs == fills[1].log_probs).all()
    both.save(tmp_path / "b.model", dtype="float16")  # the pool keeps its precision
    small = caesura.load(tmp_path / "b.model").pool
    kept = zip(small.model.gaussian, both.pool.model.gaussian, strict=True)
    assert all((a == b).all() for a, b in kept)


def not_positive(one: Pool) -> Pool:
    factors = one.model.gaussian
    return one._replace(model=one.model._replace(gaussian=factors._replace(own=-factors.own)))


def no_covariance(one: Pool) -> Pool:
    bad = Covariance(-random_covariance().whole.astype(np.float32))
    return one._replace(model=one.model._replace(gaussian=bad))


def falling(one: Pool) -> Pool:
    curves = [curve._replace(knots=curve.knots[::-1]) for curve in one.model.curves]
    return one._replace(model=one.model._replace(curves=curves))


@pytest.mark.parametrize("spoil", [not_positive, no_covariance, falling])
def test_a_pool_of_bad_numbers_is_refused(filler, tmp_path, spoil):
    replace(filler, pool=spoil(pool(0.25))).save(tmp_path / "a.model")
    with pytest.raises(CaesuraError, match="numbers that no Gaussian model has"):
        caesura.load(tmp_path / "a.model")


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (pool(0.25, columns=C + 1), "does not have the columns"),
        (pool(1.5), "a share that cannot be"),
        (pool(float("nan")), "not finite|share"),
    ],
)
def test_a_pool_that_does_not_fit_is_not_written(filler, tmp_path, bad, sentence):
    with pytest.raises(CaesuraError, match=sentence):
        replace(filler, pool=bad).save(tmp_path / "a.model")


def test_a_pool_is_not_evaluated_as_if_it_were_a_net(filler):
    with pytest.raises(CaesuraError, match="pools one with a Gaussian model"):
        replace(filler, pool=pool(0.25)).evaluate([np.zeros((40, C))])


@pytest.mark.parametrize(
    ("net", "gaussian", "share"), [(0.0, 1.0, 0.0), (1.0, 0.0, 1.0), (1.0, -1.0, 0.5)]
)
def test_the_share_with_the_least_error_is_chosen(net, gaussian, share):
    truth = np.random.default_rng(0).normal(size=50)
    wide = np.random.default_rng(1).permutation(np.linspace(-2, 2, 100))[:, None]
    drawn = Drawn(np.zeros(50, int), truth, truth, truth + net + wide, truth + gaussian + wide)
    assert choose_share(drawn) == share


def walks(rows: int = 300) -> np.ndarray:
    rng = np.random.default_rng(0)
    table = np.cumsum(rng.normal(size=(rows, 2)), axis=0)
    return np.where(rng.random(table.shape) < 0.1, np.nan, table)


def test_numbers_that_choose_the_share_are_hidden_from_both():
    chosen = choose("series", "series", Series.options, {"least_observed": 1})
    prepared = prepare([walks()], None, Series, chosen, 0)
    data, parts = hold_numbers(prepared)[0].data, hold_numbers(prepared)[1]
    hidden = np.concatenate([part.hidden for part in parts])
    truth = np.concatenate([part.table for part in parts])
    assert 0 < hidden.sum() < 0.5 * np.isfinite(truth).sum()
    assert np.isfinite(truth[hidden]).all()
    valid = np.concatenate(data.valid)
    assert np.isnan(valid[hidden]).all()
    assert valid[~hidden] == pytest.approx(truth[~hidden], nan_ok=True)
    assert data.train == prepared.data.train


@pytest.mark.slow
def test_the_imputer_reports_what_the_pool_was_chosen_by(tmp_path):
    table = walks()
    imputer = SeriesImputer(adapt="full", settings=TINY, samples=19, random_state=0, budget=60)
    report = imputer.fit(table).report_
    record = imputer.filler_.training["pool"]
    assert report["hidden"].sum() > 0
    errors = report.mul(report["hidden"], axis=0).select_dtypes("number").sum()
    # A half is chosen if it is hardly worse than the better of the two.
    assert errors["error"] <= 1.1 * errors[["net_error", "gaussian_error"]].min()
    assert record["rounds"] == 3
    assert (imputer.filler_.pool is None) == (record["share"] == 0)
    imputer.filler_.save(tmp_path / "a.model")
    assert caesura.load(tmp_path / "a.model").training["pool"] == record
    assert not np.isnan(imputer.transform(table)).any()


def test_a_pool_is_for_series():
    with pytest.raises(CaesuraError, match="A pool is for series"):
        caesura.train(["a text"] * 9, kind="text", pool=1.0)
