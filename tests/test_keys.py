"""Keys that are silent, held or struck: their frames, and the head `orderless` for them."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from caesura.errors import CaesuraError
from caesura.nets.frames import Keys, make_frame
from caesura.nets.heads import make_head
from caesura.nets.heads.base import Query
from caesura.nets.heads.orderless import Orderless
from caesura.nets.rnn import bidirectional
from caesura.sequence import UNKNOWN, FrameSpec, Sequence
from caesura.strategies import BothWays, around_missing
from caesura.training.batches import make_example
from caesura.training.recipe import choose
from scored_frames import fillings, scores

KEYS, INFORMING = 3, 2
FRAME = Keys(KEYS + INFORMING, INFORMING)
CONTEXT = jax.random.normal(jax.random.key(3), (6,))
OBSERVED = np.array([2, 0, 1, 1, 0], np.int32)  # the last two are switches
SUBSETS = [np.array([*bits, False, False]) for bits in product([False, True], repeat=KEYS)]


@pytest.fixture(scope="module")
def head() -> Orderless:
    """With weights large enough that the keys depend on each other."""
    return jax.tree.map(lambda a: 3 * a + 0.1, Orderless(jax.random.key(5), FRAME, (4, 2), 7))


def chances(head: Orderless, frame: np.ndarray, observed: np.ndarray, key: int) -> np.ndarray:
    """The probabilities of silent, held and struck, from the weights, in NumPy."""
    names = ("W_y", "b_y", "W_z", "b_z", "W_v", "W_o", "V_y")
    w = {name: np.asarray(getattr(head, name), np.float64) for name in names}
    context, D = np.asarray(CONTEXT, np.float64), FRAME.components
    a = w["b_z"] + w["W_z"] @ context
    for i in np.flatnonzero(observed):
        a = (
            a
            + w["W_o"][:, i]
            + w["W_v"][:, i] * (frame[i] > 0)
            + w["W_v"][:, D + i] * (frame[i] > 1)
        )
    z = 0.5 * a * (1 + np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a**3)))  # GELU
    odds = w["b_y"] + w["W_y"] @ context + w["V_y"] @ z
    sounds, struck = (1 / (1 + np.exp(-odds[[key, D + key]]))).tolist()
    return np.array([1 - sounds, sounds * (1 - struck), sounds * struck])


@pytest.mark.parametrize("missing", SUBSETS, ids=lambda m: "".join("01"[int(b)] for b in m[:KEYS]))
def test_a_score_is_the_chain_from_low_to_high_and_sums_to_one(head, missing):
    frames = fillings(OBSERVED, missing, 3)
    found = scores(head, CONTEXT, frames, missing)
    assert np.exp(found).sum() == pytest.approx(1, abs=1e-5)
    wanted = []
    for frame in frames:
        seen, log_prob = ~missing, 0.0
        for key in np.flatnonzero(missing):
            log_prob += np.log(chances(head, frame, seen, key)[frame[key]])
            seen = seen | (np.arange(len(seen)) == key)
        wanted.append(log_prob)
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_every_value_and_every_switch_counts(head):
    """Else the tests above would hold of a head that forgets what it observes."""
    others = np.array(
        [
            [a, b, 1, c, d]
            for a, b in product(range(3), repeat=2)
            for c, d in product(range(2), repeat=2)
        ],
        np.int32,
    )
    last = np.array([False, False, True, False, False])
    assert len(set(scores(head, CONTEXT, others, last).round(4))) == len(others)


def test_samples_come_as_often_as_their_score_says_and_leave_the_observed_alone(head):
    draws = 20_000
    keys = jax.random.split(jax.random.key(0), draws)
    sample = jax.jit(jax.vmap(head.sample, in_axes=(0, None)))
    for missing in (SUBSETS[-1], SUBSETS[0b101]):
        found = np.asarray(sample(keys, Query(CONTEXT, OBSERVED, missing)))
        assert np.array_equal(found[:, ~missing], np.tile(OBSERVED[~missing], (draws, 1)))
        frames = fillings(OBSERVED, missing, 3)
        p = np.exp(scores(head, CONTEXT, frames, missing))
        share = (found[:, None] == frames).all(axis=2).mean(axis=0)
        assert np.all(np.abs(share - p) < 5 * (p * (1 - p) / draws) ** 0.5)


def test_marginals_are_those_of_each_key_given_what_is_observed(head):
    for missing in SUBSETS[1:]:
        found = np.exp(head.marginals(Query(CONTEXT, jnp.asarray(OBSERVED), jnp.asarray(missing))))
        for key in np.flatnonzero(missing):
            np.testing.assert_allclose(
                found[key], chances(head, OBSERVED, ~missing, key), atol=1e-5
            )


def test_the_objective_is_the_mean_over_orders_if_there_are_no_prefixes(head, monkeypatch):
    monkeypatch.setattr("caesura.nets.heads.orderless.PREFIXES", 0.0)
    draws, missing = 40_000, SUBSETS[0b011]
    objective = jax.jit(jax.vmap(head.objective, in_axes=(0, None)))
    keys = jax.random.split(jax.random.key(1), draws)
    found = np.asarray(objective(keys, Query(CONTEXT, OBSERVED, missing)))
    nats = []
    for order in ([1, 2], [2, 1]):
        seen = ~missing
        for key in order:
            nats.append(-np.log(chances(head, OBSERVED, seen, key)[OBSERVED[key]]))
            seen = seen | (np.arange(len(seen)) == key)
    assert abs(found.mean() - sum(nats) / 2) < 5 * found.std() / draws**0.5


def test_numpy_walks_as_jax_does(head):
    """All fillings at once, in the last axis: scores, and draws from the same chances."""
    missing = SUBSETS[-1]
    frames, light = fillings(OBSERVED, missing, 3), jax.tree.map(np.asarray, head)
    wide = np.repeat(missing[:, None], len(frames), axis=1)
    contexts = np.repeat(np.asarray(CONTEXT)[:, None], len(frames), axis=1)
    query = Query(contexts, frames.T, wide)
    np.testing.assert_allclose(
        light.log_prob(query), scores(head, CONTEXT, frames, missing), atol=1e-5
    )
    chance = np.random.default_rng(0).random((len(missing), len(frames)), np.float32)
    draw = jax.jit(jax.vmap(head.draw, in_axes=(0, Query(None, 0, None))))
    wanted = draw(chance.T, Query(CONTEXT, jnp.asarray(frames), jnp.asarray(missing)))
    assert np.array_equal(light.draw(chance, query), np.asarray(wanted).T)
    found = head.marginals(Query(CONTEXT, jnp.asarray(OBSERVED), jnp.asarray(missing)))
    np.testing.assert_allclose(light.marginals(query)[..., 0], found, atol=1e-5)


def test_the_fills_of_a_gap_have_probabilities_that_sum_to_one():
    """By `bothways`, with JAX and with NumPy, in a gap of two steps of two keys."""
    options = {"head": "orderless", "hidden": 3, "head_hidden": 4, "missing_input": "each"}
    net = jax.tree.map(lambda a: 2 * a, bidirectional(jax.random.key(1), Keys(3, 1), **options))
    values = np.array([[2, 0, 1], [1, 2, 0], [0, 0, 1], [0, 0, 0], [1, 1, 1]], np.int32)
    missing = np.zeros((5, 3), bool)
    missing[2:4, :2] = True
    window = around_missing(net, Sequence(values, missing), 4)
    fills = np.repeat(values[None, 2:4], 81, axis=0)
    fills[:, :, :2] = np.array(list(product(range(3), repeat=4))).reshape(-1, 2, 2)
    padded = np.zeros((1, 81, *window.values.shape[1:]), np.int32)
    padded[0, :, :2] = fills
    light = jax.tree.map(np.asarray, window)
    both = [
        BothWays().log_prob(jax.random.key(0), net, w, padded).log_prob for w in (window, light)
    ]
    np.testing.assert_allclose(both[1], both[0], atol=1e-5)
    assert np.exp(both[1]).sum() == pytest.approx(1, abs=1e-5)


def test_what_is_not_known_is_neither_seen_nor_scored(head):
    frame, missing = OBSERVED.copy(), SUBSETS[-1]
    frame[1] = UNKNOWN
    seen, wanted = ~missing, 0.0
    for key in (0, 2):
        wanted += np.log(chances(head, frame, seen, key)[frame[key]])
        seen = seen | (np.arange(len(seen)) == key)
    assert scores(head, CONTEXT, frame[None], missing)[0] == pytest.approx(wanted, abs=1e-4)


def test_the_net_sees_what_sounds_what_is_struck_and_the_switches():
    unknown = np.array([False, False, True, False, False])
    x = FRAME.encode(jnp.asarray(OBSERVED), jnp.asarray(unknown))
    assert x.tolist() == [1, 0, 0, 1, 0, 1, 0, 0]
    assert len(x) == FRAME.inputs
    assert FRAME.fillable.tolist() == [True, True, True, False, False]


def test_a_frame_is_described_and_made_again():
    assert make_frame(FRAME.spec) == FRAME
    assert FRAME.spec == FrameSpec("keys", 5, 2)
    with pytest.raises(CaesuraError, match="'informing' must be"):
        make_frame(FrameSpec("keys", 3, 3))
    with pytest.raises(CaesuraError, match="'bernoulli' is for binary frames, not for keys ones"):
        make_head("bernoulli", jax.random.key(0), FRAME, (2,))


def test_transposing_moves_keys_and_leaves_the_switches():
    recipe = choose("frames", "music", (), {"shift": 5, "length": 4}).recipe
    values = np.zeros((4, 12), np.int8)
    values[:, 5], values[:, -2:] = [2, 1, 1, 0], [[1, 0], [0, 1], [0, 0], [1, 1]]
    found = set()
    whole = jnp.asarray(values), jnp.ones(4, bool), recipe, INFORMING
    make = jax.jit(jax.vmap(lambda key: make_example(key, *whole).values))
    for moved in np.asarray(make(jax.random.split(jax.random.key(0), 40))):
        assert np.array_equal(moved[:, -2:], values[:, -2:])
        at = int(np.flatnonzero(moved[0, :-2])[0])
        assert moved[:, at].tolist() == [2, 1, 1, 0]
        found.add(at)
    assert len(found) > 5
    assert max(found) < 10
