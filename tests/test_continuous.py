"""Frames of numbers: what they take, how they are shown, and the bins in which they are told."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from caesura.errors import CaesuraError
from caesura.nets import bins
from caesura.nets.architecture import describe
from caesura.nets.frames import Continuous
from caesura.nets.heads.base import Query
from caesura.nets.rnn import onegram, unidirectional
from caesura.sequence import FrameSpec

FRAME = Continuous(3)
NOTHING = np.zeros((2, 3), bool)


def test_minus_one_is_known_and_nan_is_not():
    values = np.array([[-1.0, np.nan, 0.0]], np.float32)
    assert FRAME.unknown(values).tolist() == [[False, True, False]]
    checked = FRAME.check(values, np.zeros((1, 3), bool))
    assert checked.dtype == np.float32
    assert np.array_equal(checked, values, equal_nan=True)


def test_what_is_missing_is_zero_whatever_stood_there():
    missing = np.array([[True, True, False], [False, False, False]])
    values = np.array([[np.nan, np.inf, 2.0], [1, 2, 3]])
    assert FRAME.check(values, missing).tolist() == [[0, 0, 2], [1, 2, 3]]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (np.zeros((2, 4)), "The model's frames have 3 components, not 4."),
        (np.full((2, 3), "a"), "The values must be numbers, not <U1."),
        (np.array([[1, 2, 3], [1, -np.inf, 3]]), "The value at step 1 is infinite."),
    ],
)
def test_what_is_wrong_is_one_sentence(values, sentence):
    with pytest.raises(CaesuraError) as caught:
        FRAME.check(values, np.zeros(values.shape, bool))
    assert str(caught.value) == sentence


def test_a_frame_is_shown_with_flags_and_read_again():
    values, unknown = jnp.array([0.5, 3.0, -1.0]), jnp.array([False, True, False])
    x = FRAME.encode(values, unknown)
    assert x.shape == (FRAME.inputs,)
    again, flags = FRAME.decode(x)
    np.testing.assert_allclose(again, [0.5, 0.0, -1.0], atol=1e-6)
    assert np.array_equal(flags, unknown)


def test_bins_are_counted_as_a_search_finds_them():
    assert (len(bins.EDGES), len(bins.CENTRES)) == (bins.BINS - 1, bins.BINS)
    assert FRAME.cardinality == bins.BINS
    values = np.concatenate([np.random.default_rng(0).normal(size=50), [-50, 50, 0]])
    by_hand = [sum(edge <= x for edge in bins.EDGES) for x in values]
    assert bins.find_bin(values).tolist() == by_hand
    assert np.asarray(FRAME.index(values.astype(np.float32))).tolist() == by_hand
    assert bins.find_bin(bins.CENTRES[1:-1]).tolist() == list(range(1, bins.BINS - 1))


@pytest.mark.parametrize("q", [0.05, 0.5, 0.9])
def test_quantiles_are_those_of_the_numbers_that_were_counted(q):
    numbers = np.random.default_rng(1).laplace(0.3, 0.5, 100_000)
    counts = np.bincount(bins.find_bin(numbers), minlength=bins.BINS)
    with np.errstate(divide="ignore"):
        found = bins.quantile(np.log(counts / counts.sum()), q)
    assert found == pytest.approx(np.quantile(numbers, q), abs=0.01)


def test_a_quantile_beyond_the_outermost_edge_is_that_edge():
    lowest, highest = np.full((2, bins.BINS), -np.inf)
    lowest[0] = highest[-1] = 0
    assert bins.quantile(lowest, 0.5) == bins.EDGES[0]
    assert bins.quantile(highest, 0.5) == bins.EDGES[-1]


def counted() -> np.ndarray:
    values = np.random.default_rng(2).normal(size=(400, 3)).astype(np.float32)
    values[:, 1] *= 30  # much of it lies in the open bins
    values[::7, 2] = np.nan
    return values


def test_the_onegram_counts_what_is_known():
    values = counted()
    head = onegram(FRAME, values).head
    for column, found in zip(values.T, head.log_probs, strict=True):
        known = column[~np.isnan(column)]
        counts = np.histogram(known, [-np.inf, *bins.EDGES, np.inf])[0] + 1
        np.testing.assert_allclose(np.exp(found), counts / counts.sum(), rtol=1e-5)


def test_the_density_of_the_onegram_integrates_to_one():
    head = onegram(FRAME, counted()).head
    grid = np.arange(-60, 60, 0.0025, np.float32) + 0.00125
    for d in range(3):
        frames = jnp.zeros((len(grid), 3)).at[:, d].set(grid)
        missing = jnp.arange(3) == d
        score = jax.vmap(head.log_prob, in_axes=(Query(None, 0, None),))
        total = (
            0.0025
            * np.exp(np.asarray(score(Query(jnp.zeros(0), frames, missing)), np.float64)).sum()
        )
        assert total == pytest.approx(1, abs=2e-3)


def test_samples_of_the_onegram_fall_into_its_bins():
    head, draws = onegram(FRAME, counted()).head, 20_000
    frame, missing = jnp.array([0.0, 0.0, -1.0]), jnp.array([True, True, False])
    keys = jax.random.split(jax.random.key(0), draws)
    found = np.asarray(
        jax.vmap(head.sample, in_axes=(0, None))(keys, Query(jnp.zeros(0), frame, missing))
    )
    assert np.all(found[:, 2] == -1)
    for d in (0, 1):
        share = np.bincount(bins.find_bin(found[:, d]), minlength=bins.BINS) / draws
        p = np.exp(np.asarray(head.log_probs[d], np.float64))
        assert np.all(np.abs(share - p) < 6 * (p * (1 - p) / draws) ** 0.5)
    beyond = found[:, 1][found[:, 1] > bins.EDGES[-1]] - bins.EDGES[-1]
    assert beyond.mean() == pytest.approx(1, abs=6 / len(beyond) ** 0.5)


def test_nets_of_numbers_are_described_and_built_again():
    shape = {"head": "mixture", "hidden": 4, "head_hidden": 5}
    forward = describe(unidirectional(jax.random.key(0), FRAME, **shape))
    assert (forward.frame, forward.head) == (FrameSpec("continuous", 3), "mixture")
    counts = describe(onegram(FRAME, counted()))
    assert (counts.frame, counts.head) == (FrameSpec("continuous", 3), "histogram")
