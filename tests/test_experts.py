"""What simple methods say about tables: against scikit-learn and NumPy; JAX says the same."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import Ridge

from caesura.kinds.series import experts
from caesura.kinds.series.experts import NAMES, between, consult, learn_prior, no_prior, standardise


def made(rows: int = 90, columns: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    hidden = np.cumsum(rng.normal(size=(rows, 2)), axis=0)
    table = hidden @ rng.normal(size=(2, columns)) + 0.3 * rng.normal(size=(rows, columns))
    return table, rng.random(table.shape) > 0.25


def asked(table: np.ndarray, observed: np.ndarray) -> experts.Experts:
    known = np.where(observed, table, 0)
    standard = standardise(known, observed, no_prior(known))
    return consult(standard.x, observed, np.ones((len(table), 1), bool))


def test_the_line_is_that_of_numpy():
    table, observed = made()
    line = between(np.where(observed, table, 0), observed)
    at = np.arange(len(table))
    for column in range(table.shape[1]):
        known = observed[:, column]
        wanted = np.interp(at, at[known], table[known, column])
        np.testing.assert_allclose(line[:, column], wanted, atol=1e-9)
    assert not between(table, np.zeros_like(observed)).any()


def test_tables_are_standardised_by_what_is_observed():
    table, observed = made()
    standard = standardise(table, observed, no_prior(table))
    for column in range(table.shape[1]):
        own = table[observed[:, column], column]
        assert standard.location[0, column] == pytest.approx(own.mean())
        assert standard.scale[0, column] == pytest.approx(own.std())
    assert not standard.x[~observed].any()
    still = standardise(np.full((9, 1), 7.3), np.ones((9, 1), bool), no_prior(np.zeros((9, 1))))
    assert still.scale[0, 0] == 0 == np.abs(still.x).max()


def test_a_regression_is_that_of_scikit_learn(monkeypatch):
    """With one round and no season, it is a ridge on the other columns, filled by lines."""
    monkeypatch.setattr(experts, "ROUNDS", 1)
    monkeypatch.setattr(experts, "_seasonal", lambda x, valid: (0 * x, 0 * x[:1]))
    table, observed = made()
    x = standardise(np.where(observed, table, 0), observed, no_prior(table)).x
    found, line = asked(table, observed), between(x, observed)
    for column in range(table.shape[1]):
        rows, others = observed[:, column], np.arange(table.shape[1]) != column
        for penalty, wanted in ((0.01, found.base), (0.1, found.base + found.offsets[..., 0])):
            ridge = Ridge(alpha=penalty * rows.sum() + 0.5, fit_intercept=False)
            ridge.fit(line[rows][:, others], x[rows, column])
            said = ridge.predict(line[:, others])
            np.testing.assert_allclose(wanted[:, column], said, atol=1e-9)


def test_other_rows_count_for_some_in_the_mean_and_the_scale():
    rng = np.random.default_rng(3)
    before, table = 5 + rng.normal(size=(200, 1)), np.array([[7.0], [9.0]])
    prior = learn_prior(before, np.ones(before.shape, bool))
    standard = standardise(table, np.ones(table.shape, bool), prior)
    # Eight rows with the mean and the scale of the others, and two of its own.
    mean = (8 * before.mean() + 16) / 10
    square = 8 * (before.var() + (before.mean() - mean) ** 2) + ((table - mean) ** 2).sum()
    assert standard.location[0, 0] == pytest.approx(mean)
    assert standard.scale[0, 0] == pytest.approx((square / 10) ** 0.5)


def test_a_season_is_found_without_the_value_itself():
    rows = np.arange(240)
    table = np.sin(2 * np.pi * rows / 24)[:, None]
    observed = np.ones(table.shape, bool)
    observed[100:112] = False
    found = asked(table, observed)
    standard = standardise(np.where(observed, table, 0), observed, no_prior(table))
    season = standard.location + standard.scale * (found.base + found.offsets[..., 2])
    assert np.abs(season - table)[100:112].max() < 0.15
    other = table.copy()
    other[50] += 5  # the season at a step must not know the step's own value
    moved = standardise(other, observed, no_prior(table))
    away = asked(other, observed)
    season_of = moved.location + moved.scale * (away.base + away.offsets[..., 2])
    assert abs(season_of[50, 0] - table[50, 0]) < 1.5


@pytest.mark.slow
def test_jax_says_the_same():
    table, observed = made(seed=5)
    found = asked(table.astype(np.float32), observed)
    with jax.default_matmul_precision("highest"):
        known = jnp.where(observed, table, 0).astype(jnp.float32)
        standard = standardise(known, jnp.asarray(observed), no_prior(known))
        again = consult(standard.x, jnp.asarray(observed), jnp.ones((len(table), 1), bool))
    assert found.informing.shape == (*table.shape, len(NAMES))
    for mine, other in zip(found, again, strict=True):
        np.testing.assert_allclose(mine, np.asarray(other), atol=2e-3)
