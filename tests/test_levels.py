"""Categories among numbers: their probabilities, against sums and products written out."""

from itertools import permutations, product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from caesura.errors import CaesuraError
from caesura.hardware import Tuning
from caesura.nets.architecture import describe
from caesura.nets.bins import BINS, OFF, ON
from caesura.nets.frames import Continuous, make_frame
from caesura.nets.heads import mixture
from caesura.nets.heads.base import Query
from caesura.nets.heads.mixture import Mixture
from caesura.nets.memory import DEPTH
from caesura.nets.rnn import bidirectional, onegram
from caesura.sequence import FrameSpec
from caesura.training.batches import Example
from caesura.training.objectives import total_nll

# Two numbers, a truth value, a category of three levels, and a number that informs.
FRAME = Continuous(6, 1, (2, 3))
D, SIZES, HIDDEN = 6, (3, 2), 5
UNITS = [[0], [1], [2], [3, 4]]
LEVELS = list(product([[0], [1]], [[0, 0], [1, 0], [0, 1]]))
VALUES = np.array([0.4, -1.0, 1.0, 0.0, 1.0, 0.7], np.float32)


def make() -> Mixture:
    """With weights large enough that the components depend on each other."""
    head = Mixture(jax.random.key(5), FRAME, SIZES, hidden=HIDDEN)
    leaves, structure = jax.tree.flatten(head)
    noise = jax.random.split(jax.random.key(6), len(leaves))
    moved = [a + 0.3 * jax.random.normal(k, a.shape) for a, k in zip(leaves, noise, strict=True)]
    return jax.tree.unflatten(structure, moved)


def make_context(remembered: bool = True) -> np.ndarray:
    draw, parts = np.random.default_rng(0), []
    for size in SIZES:
        values, ages = draw.normal(size=DEPTH * D), draw.integers(1, 5, DEPTH * D)
        parts += [draw.normal(size=size), remembered * values, remembered * ages]
    return np.concatenate(parts).astype(np.float32)


HEAD, CONTEXT = make(), make_context()
SCORE = jax.jit(jax.vmap(HEAD.log_prob, in_axes=(Query(None, 0, None),)))


def mask(*units: int) -> np.ndarray:
    return np.isin(np.arange(D), [d for unit in units for d in UNITS[unit]])


def with_levels(values: np.ndarray = VALUES) -> np.ndarray:
    """The frame with every choice of levels."""
    frames = np.repeat(values[None], len(LEVELS), axis=0)
    for frame, (flag, colour) in zip(frames, LEVELS, strict=True):
        frame[2:5] = flag + colour
    return frames


def score(frame: np.ndarray, missing: np.ndarray, context: np.ndarray = CONTEXT) -> float:
    return float(SCORE(Query(*map(jnp.asarray, (context, frame[None], missing))))[0])


def given(frame: np.ndarray, seen: list[int], unit: int) -> float:
    """Nats of one unit, where others than those that were seen are not even known."""
    known = mask(*seen, unit) | (np.arange(D) == 5)
    return score(np.where(known, frame, np.float32(np.nan)), mask(unit))


def test_the_probability_of_levels_is_the_softmax_of_the_equation():
    """In NumPy, where nothing is remembered, so that the features of neighbours are all zero."""
    W = {k: np.asarray(v, np.float64) for k, v in vars(HEAD).items() if hasattr(v, "dtype")}
    context = make_context(remembered=False)
    h = np.concatenate([context[:3], context[3 + 2 * DEPTH * D :][:2]])
    scale = np.where(np.arange(D) >= 5, np.exp(W["b_s"]), 1.0)
    scale[:2] = np.exp(W["b_s"][:2])
    seen = np.array([0, 1, 2, 5])
    surprise = np.zeros(D)
    surprise[seen] = np.arcsinh(VALUES[seen] / scale[seen])
    a = W["b_z"] + W["W_z"] @ h + W["W_v"] @ surprise + W["W_o"][:, seen].sum(axis=1)
    z = 0.5 * a * (1 + np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a**3)))  # GELU
    parameters = (W["b_y"] + W["W_y"] @ h + W["V_y"] @ z).reshape(D, -1)
    logits = parameters[3:5, 0] + (W["A_y"] @ surprise)[3:5]
    weights = np.exp([0.0, *logits])
    for level, switches in enumerate([[0, 0], [1, 0], [0, 1]]):
        frame = VALUES.copy()
        frame[3:5] = switches
        found = score(frame, mask(3), context)
        assert found == pytest.approx(np.log(weights[level] / weights.sum()), abs=1e-4)


@pytest.mark.parametrize("missing", [mask(2), mask(3), mask(2, 3)])
def test_the_probabilities_of_all_levels_sum_to_one(missing):
    frames = np.unique(np.where(missing, with_levels(), VALUES), axis=0)
    assert len(frames) == {1: 2, 2: 3, 3: 6}[int(missing.sum())]
    total = np.exp(np.asarray(SCORE(Query(CONTEXT, frames, missing)), np.float64)).sum()
    assert total == pytest.approx(1, abs=1e-5)


def test_with_a_number_the_density_integrates_to_one():
    grid = np.sinh(np.linspace(-1, 1, 2001) * 7).astype(np.float32)
    frames = np.repeat(with_levels(), len(grid), axis=0)
    frames[:, 1] = np.tile(grid, len(LEVELS))
    each = np.exp(np.asarray(SCORE(Query(CONTEXT, frames, mask(1, 2, 3))), np.float64))
    total = each @ np.tile(np.gradient(grid.astype(np.float64)), len(LEVELS))
    assert total == pytest.approx(1, abs=0.01)


def test_a_score_is_the_product_of_conditionals_each_made_anew():
    for frame in with_levels():
        chain = sum(given(frame, list(range(unit)), unit) for unit in range(4))
        assert score(frame, mask(0, 1, 2, 3)) == pytest.approx(chain, abs=1e-4)


def test_levels_depend_on_numbers_and_numbers_on_levels():
    other = VALUES + np.array([1, 0, 0, 0, 0, 0], np.float32)
    assert abs(score(VALUES, mask(3)) - score(other, mask(3))) > 0.01
    frames = with_levels()
    assert abs(score(frames[0], mask(1)) - score(frames[1], mask(1))) > 0.01


def test_samples_are_levels_as_often_as_their_probability_says():
    draws, missing = 20_000, mask(2, 3)
    keys = jax.random.split(jax.random.key(0), draws)
    sample = jax.jit(jax.vmap(HEAD.sample, in_axes=(0, None)))
    found = np.asarray(sample(keys, Query(CONTEXT, VALUES, missing)))
    assert np.array_equal(found[:, ~missing], np.repeat(VALUES[None, ~missing], draws, axis=0))
    frames = with_levels()
    probabilities = np.exp(np.asarray(SCORE(Query(CONTEXT, frames, missing)), np.float64))
    counts = [(found == frame).all(axis=1).sum() for frame in frames]
    assert sum(counts) == draws
    for count, p in zip(counts, probabilities, strict=True):
        assert abs(count - draws * p) < 5 * (draws * p * (1 - p)) ** 0.5


def test_the_marginal_of_a_switch_is_the_probability_of_its_level():
    missing = mask(2, 3)
    found = np.exp(
        eqx.filter_jit(HEAD.marginals)(Query(CONTEXT, VALUES, missing)), dtype=np.float64
    )
    assert found.shape == (D, BINS)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
    for d, unit, switches in [(2, 2, [1]), (3, 3, [1, 0]), (4, 3, [0, 1])]:
        frame = VALUES.copy()
        frame[UNITS[unit]] = switches
        p = np.exp(given(frame, [0, 1], unit))
        assert found[d, ON] == pytest.approx(p, abs=1e-5)
        assert found[d, OFF] == pytest.approx(1 - p, abs=1e-5)


def test_the_objective_is_the_mean_over_orders_of_numbers_and_whole_categories(monkeypatch):
    monkeypatch.setattr(mixture, "PREFIXES", 0.0)
    draws = 20_000
    keys = jax.random.split(jax.random.key(1), draws)
    objective = jax.jit(jax.vmap(HEAD.objective, in_axes=(0, None)))
    found = np.asarray(objective(keys, Query(CONTEXT, VALUES, mask())))
    orders = [
        -sum(given(VALUES, list(order[:place]), unit) for place, unit in enumerate(order))
        for order in permutations(range(4))
    ]
    assert abs(found.mean() - np.mean(orders)) < 5 * found.std() / draws**0.5


def test_prefixes_show_none_to_all_of_them_equally_often(monkeypatch):
    monkeypatch.setattr(mixture, "PREFIXES", 1.0)
    keys = jax.random.split(jax.random.key(1), 20_000)
    objective = jax.jit(jax.vmap(HEAD.objective, in_axes=(0, None)))
    found = np.asarray(objective(keys, Query(CONTEXT, VALUES, mask())))
    wanted = 0.0
    for shown in range(4):
        seen = list(range(shown))
        # The number that informs stands last in the order, so that there are six ways to cut it.
        nll = -sum(given(VALUES, seen, unit) for unit in range(shown, 4))
        wanted += nll * 5 / (4 - shown) / 6
    assert abs(found.mean() - wanted) < 5 * found.std() / len(keys) ** 0.5


@pytest.mark.slow
def test_training_hides_a_category_as_a_whole():
    net = bidirectional(jax.random.key(0), FRAME, head="mixture", hidden=4, head_hidden=5)
    values = jnp.asarray(np.stack([with_levels()] * 2, axis=1))
    yes = jnp.ones(values.shape[:2], bool)

    def nll(*hidden: int) -> float:
        batch = Example(values, jnp.zeros(values.shape, bool).at[..., hidden].set(True), yes, yes)
        return float(total_nll(net, batch, Tuning()).nll)

    assert nll(0, 3) == nll(0, 3, 4)
    assert nll(0, 4) == nll(0)
    assert nll(0) != nll(0, 3)


def test_the_onegram_counts_levels():
    draw = np.random.default_rng(3)
    values = np.concatenate([with_levels()[draw.integers(0, 6, 50)], VALUES[None]])
    values[:5, 3:5] = np.nan
    head, nothing = onegram(FRAME, values).head, jnp.zeros(0)
    known = values[5:, 3:5]
    for switches in ([0, 0], [1, 0], [0, 1]):
        count = (known == switches).all(axis=1).sum()
        frame = VALUES.copy()
        frame[3:5] = switches
        found = head.log_prob(Query(nothing, jnp.asarray(frame), jnp.asarray(mask(3))))
        assert float(found) == pytest.approx(np.log((count + 1) / (len(known) + 3)), abs=1e-4)
        assert np.exp(head.log_probs[3:5, [OFF, ON]].sum(axis=1)).max() < 1
    keys = jax.random.split(jax.random.key(0), 500)
    sample = jax.vmap(head.sample, in_axes=(0, None))
    drawn = np.asarray(sample(keys, Query(nothing, jnp.asarray(VALUES), jnp.asarray(mask(2, 3)))))
    frames = with_levels()
    assert all((row == frames).all(axis=1).any() for row in drawn)
    assert {tuple(row) for row in drawn[:, 2:5]} == {tuple(row) for row in frames[:, 2:5]}


def test_frames_know_their_switches_and_so_do_descriptions():
    assert FRAME.categorical.tolist() == [False, False, True, True, True, False]
    assert FRAME.leaders.tolist() == [0, 1, 2, 3, 3, 5]
    assert FRAME.start(jax.random.key(0))[2:5].tolist() == [0, 0, 0]
    net = bidirectional(jax.random.key(0), FRAME, head="mixture", hidden=4, head_hidden=5)
    told = describe(net)
    assert told.frame == FrameSpec("continuous", 6, 1, (2, 3))
    assert told.build(jax.random.key(1)).frame == FRAME
    for frame, categories in [("continuous", (2, 4)), ("binary", (2,))]:
        with pytest.raises(CaesuraError, match="do not fit into a"):
            make_frame(FrameSpec(frame, 3, categories=categories))
    with pytest.raises(CaesuraError, match="'categories' must be at least 2"):
        make_frame(FrameSpec("continuous", 3, categories=(1,)))


@pytest.mark.parametrize(
    ("change", "missing"),
    [({3: 1.0}, []), ({2: 0.5}, []), ({3: np.nan}, []), ({}, [3]), ({}, [4])],
)
def test_switches_that_are_no_level_are_refused(change, missing):
    values = np.stack([VALUES, VALUES])
    unknown = np.zeros(values.shape, bool)
    FRAME.check(values, unknown)
    for component, value in change.items():
        values[1, component] = value
    unknown[1, missing] = True
    with pytest.raises(
        CaesuraError, match="switches of a category at step 1 are not one of its levels"
    ):
        FRAME.check(values, unknown)
