"""EM for a covariance of every two numbers of a window, against its likelihood and the truth."""

import numpy as np
import pytest

from caesura.kinds.series.covariance import Covariance, inverse
from caesura.kinds.series.factors import WindowModel
from caesura.training.covariance import expect, fitting_rows, rounds
from test_factors import LINE, C, W, likelihood, random_covariance, some_windows, whole


def as_model(covariance: np.ndarray) -> Covariance:
    return Covariance(covariance.reshape(C, W, C, W))


def test_with_all_windows_each_round_makes_what_is_seen_more_probable():
    windows = some_windows(random_covariance(), 200)
    covariance = whole(random_covariance(seed=5))
    found = [likelihood(as_model(covariance), windows)]
    for _ in range(8):
        covariance = expect(covariance, windows)
        found.append(likelihood(as_model(covariance), windows))
    assert (np.diff(found) > 0).all()
    assert found[-1] - found[0] > 100


def test_the_covariance_of_the_data_is_nearly_a_fixed_point():
    truth = whole(random_covariance())
    again = expect(truth, some_windows(random_covariance(), 20_000))
    assert np.abs(again - truth).max() < 0.05 * np.abs(truth).max()


def test_it_fills_a_table_about_as_well_as_can_be():
    """Two columns that follow a third one, two rows later; a fifth of the numbers is missing."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=3002)
    table = np.stack([noise[2:], noise[:-2], -noise[:-2]], axis=1)
    table += 0.1 * rng.normal(size=table.shape)
    holes = rng.random(table.shape) < 0.2
    models = rounds([np.where(holes, np.nan, table)], W, seed=0)
    model = [next(models) for _ in range(20)][-1]
    assert model.whole.shape == (C, W, C, W)
    said = WindowModel([LINE] * C, model).say(np.where(holes, 0, table), ~holes)
    error = np.abs(said.mean - table)[holes].mean()
    assert error < 0.3  # lines have 1.0; if none of three copies is seen, nothing is known
    of_rest = np.concatenate([np.diagonal(block, axis1=1, axis2=2).T for _, block in said.blocks])
    size = np.mean((said.mean - table)[holes] ** 2)
    assert of_rest[holes].mean() == pytest.approx(size, rel=0.15)


def test_an_inverse_is_that_of_numpy():
    covariance = whole(random_covariance())
    assert inverse(covariance) == pytest.approx(np.linalg.inv(covariance))
    assert inverse(np.zeros((0, 0))).shape == (0, 0)
    with pytest.raises(np.linalg.LinAlgError):
        inverse(-covariance)


@pytest.mark.parametrize(
    ("longest", "total", "columns", "rows"),
    [
        (9000, 9000, 1, 96),
        (9000, 9000, 10, 40),
        (9000, 9000, 50, 8),
        (9000, 9000, 51, 0),
        (12, 4800, 13, 12),
        (300, 300, 2, 15),
        (5, 5, 2, 5),
    ],
)
def test_windows_have_a_limited_size(longest, total, columns, rows):
    assert fitting_rows(longest, total, columns) == rows
