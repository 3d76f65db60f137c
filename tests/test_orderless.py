"""The head for dependent components: normalised, the chain that it says it is, and learnt."""

from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import caesura
from caesura.errors import CaesuraError
from caesura.hardware import Tuning
from caesura.nets.architecture import describe
from caesura.nets.frames import Binary, Categorical
from caesura.nets.heads import make_head, orderless
from caesura.nets.heads.base import Query
from caesura.nets.heads.orderless import Orderless
from caesura.nets.rnn import unidirectional
from caesura.reproduce.plan import read_plan
from caesura.reproduce.results import Results
from caesura.reproduce.trainings import fingerprint
from caesura.scoring.gaps import _step_log_probs
from caesura.sequence import UNKNOWN
from caesura.training.batches import Example
from caesura.training.loop import Data, fit
from caesura.training.objectives import total_nll, total_objective
from caesura.training.recipe import choose
from scored_frames import fillings, scores

D = 4
CONTEXT = jax.random.normal(jax.random.key(3), (6,))
SUBSETS = [np.array(bits, bool) for bits in product([False, True], repeat=D)]
FRAME = np.array([1, 0, 0, 1], np.int32)


def make() -> Orderless:
    """With weights large enough that the components depend on each other, and on the order."""
    head = Orderless(jax.random.key(5), Binary(D), (4, 2), hidden=7)
    return jax.tree.map(lambda a: 3 * a + 0.1, head)


# Every subset of a frame that can be missing, with every frame that can stand there.
CASES = [(frame, missing) for missing in SUBSETS for frame in fillings(FRAME, missing, 2)]
FRAMES, MISSING = (np.array(part) for part in zip(*CASES, strict=True))


def log_odds(head, frame, observed):
    """The equation of the head, from its weights, in NumPy."""
    names = ("W_y", "b_y", "W_z", "b_z", "W_v", "W_o", "V_y")
    weights = {name: np.asarray(getattr(head, name), np.float64) for name in names}
    context = np.asarray(CONTEXT, np.float64)
    a = weights["b_z"] + weights["W_z"] @ context
    for i in np.flatnonzero(observed):
        a = a + weights["W_o"][:, i] + weights["W_v"][:, i] * frame[i]
    z = 0.5 * a * (1 + np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a**3)))  # GELU
    return weights["b_y"] + weights["W_y"] @ context + weights["V_y"] @ z


def nll_of(odds, x):
    return np.log1p(np.exp(-odds if x else odds))


def chain(head, frame, missing, order):
    """−log p along one order, each factor from the equation anew."""
    observed, nll = ~missing, 0.0
    for i in order:
        if missing[i]:
            nll += nll_of(log_odds(head, frame, observed)[i], frame[i])
            observed = observed | (np.arange(D) == i)
    return nll


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_the_probabilities_of_all_fillings_sum_to_one(dtype):
    head = jax.tree.map(lambda a: a.astype(dtype), make())
    probs = np.exp(scores(head, CONTEXT, FRAMES, MISSING))
    for missing in SUBSETS:
        assert probs[(missing == MISSING).all(axis=1)].sum() == pytest.approx(1, abs=1e-5)


def test_a_score_is_the_chain_from_low_to_high():
    head = make()
    wanted = [-chain(head, *case, range(D)) for case in CASES]
    np.testing.assert_allclose(scores(head, CONTEXT, FRAMES, MISSING), wanted, atol=1e-4)


def test_the_components_do_depend_on_each_other():
    """Else the tests above would hold of a head that forgets what it observes."""
    others = np.array([[*bits, 1] for bits in product([0, 1], repeat=D - 1)], np.int32)
    found = scores(make(), CONTEXT, others, np.eye(D, dtype=bool)[-1])
    assert len(set(found.round(4))) == len(others)


def test_samples_come_as_often_as_their_score_says_and_leave_the_observed_alone():
    head, draws = make(), 20_000
    keys = jax.random.split(jax.random.key(0), draws)
    sample = jax.jit(jax.vmap(head.sample, in_axes=(0, None)))
    for missing in (np.ones(D, bool), np.array([True, False, True, False])):
        found = np.asarray(sample(keys, Query(CONTEXT, FRAME, missing)))
        assert np.array_equal(found[:, ~missing], np.tile(FRAME[~missing], (draws, 1)))
        frames = fillings(FRAME, missing, 2)
        p = np.exp(scores(head, CONTEXT, frames, missing))
        share = (found[:, None] == frames).all(axis=2).mean(axis=0)
        assert np.all(np.abs(share - p) < 5 * (p * (1 - p) / draws) ** 0.5)


def test_numpy_walks_as_jax_does():
    """All cases at once, in the last axis: scores, and draws from the same chances."""
    head, light = make(), jax.tree.map(np.asarray, make())
    contexts = np.repeat(np.asarray(CONTEXT)[:, None], len(FRAMES), axis=1)
    query = Query(contexts, FRAMES.T, MISSING.T)
    np.testing.assert_allclose(
        light.log_prob(query), scores(head, CONTEXT, FRAMES, MISSING), atol=1e-5
    )
    chance = np.random.default_rng(0).random((D, len(FRAMES)), np.float32)
    draw = jax.jit(jax.vmap(head.draw, in_axes=(0, Query(None, 0, 0))))
    wanted = draw(chance.T, Query(CONTEXT, jnp.asarray(FRAMES), jnp.asarray(MISSING)))
    assert np.array_equal(light.draw(chance, query), np.asarray(wanted).T)
    for n, marginals in enumerate(np.moveaxis(light.marginals(query), -1, 0)):
        one = head.marginals(Query(CONTEXT, FRAMES[n], MISSING[n]))
        np.testing.assert_allclose(marginals, one, atol=1e-5)


def test_samples_do_not_look_at_what_is_missing():
    head, missing = make(), np.array([True, False, True, False])
    sample = jax.jit(jax.vmap(head.sample, in_axes=(0, None)))
    keys = jax.random.split(jax.random.key(0), 20)
    other = np.where(missing, 1 - FRAME, FRAME)
    one, two = (sample(keys, Query(CONTEXT, frame, missing)) for frame in (FRAME, other))
    assert np.array_equal(one, two)


def test_marginals_are_one_pass_given_what_is_observed():
    head = make()
    marginals = jax.jit(jax.vmap(head.marginals, in_axes=(Query(None, None, 0),)))
    for missing, found in zip(
        SUBSETS, np.exp(marginals(Query(CONTEXT, FRAME, np.array(SUBSETS)))), strict=True
    ):
        odds = log_odds(head, FRAME, ~missing)
        np.testing.assert_allclose(found[:, 1], 1 / (1 + np.exp(-odds)), atol=1e-5)
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)


def test_what_the_model_does_not_know_is_neither_seen_nor_scored():
    head, frame = make(), FRAME.copy()
    frame[1] = UNKNOWN
    nll, seen = 0.0, np.zeros(D, bool)
    for i in (0, 2, 3):
        nll += nll_of(log_odds(head, frame, seen)[i], frame[i])
        seen[i] = True
    assert scores(head, CONTEXT, frame[None], np.ones(D, bool))[0] == pytest.approx(-nll, abs=1e-4)


def expectations(head, frame, missing):
    """Of the objective, by all splits: over random sets, and over prefixes of the order."""
    scored = np.flatnonzero(missing)
    orders = [chain(head, frame, missing, order) for order in permutations(scored)]
    prefixes = 0.0
    for shown in range(D + 1):
        before = missing & (np.arange(D) < shown)
        rest = missing & ~before
        odds = log_odds(head, frame, ~rest)
        nll = sum(nll_of(odds[i], frame[i]) for i in np.flatnonzero(rest))
        prefixes += nll * (len(scored) + 1) / max(rest.sum(), 1) / (D + 1)
    return np.mean(orders), prefixes


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("missing", [SUBSETS[-1], SUBSETS[0b1101]], ids=["whole", "part"])
def test_the_objective_is_the_mean_over_orders_and_prefixes(share, missing, monkeypatch):
    monkeypatch.setattr(orderless, "PREFIXES", share)
    head, draws = make(), 40_000
    keys = jax.random.split(jax.random.key(1), draws)
    objective = jax.jit(jax.vmap(head.objective, in_axes=(0, None)))
    found = np.asarray(objective(keys, Query(CONTEXT, FRAME, missing)))
    of_sets, of_prefixes = expectations(head, FRAME, missing)
    wanted = (1 - share) * of_sets + share * of_prefixes
    assert abs(found.mean() - wanted) < 5 * found.std() / draws**0.5


def test_it_needs_a_hidden_layer_and_frames_of_keys():
    with pytest.raises(CaesuraError, match="'head_hidden' must be at least 1"):
        make_head("orderless", jax.random.key(0), Binary(3), (2,))
    with pytest.raises(CaesuraError, match="'orderless' is for keyboard frames"):
        make_head("orderless", jax.random.key(0), Categorical(3), (2,), 4)


def frames_that_agree(length: int, seed: int) -> np.ndarray:
    """Two keys, both or neither at every step, and one that is never used."""
    both = np.random.default_rng(seed).integers(0, 2, length)
    return np.stack([both, both, 0 * both], axis=1).astype(np.int8)


@pytest.mark.slow
def test_training_learns_what_goes_together():
    """Independent components could do no better than two coins; here is one: ln 2."""
    small = {"hidden": 2, "head_hidden": 8, "steps": 300, "batch": 8, "length": 10}
    small |= {"validate_every": 100, "transpose": 0, "dropout": 0.0, "learning_rate": 0.03}
    recipe = choose("frames-rnn", "music", (), small).recipe
    net = unidirectional(jax.random.key(0), Binary(3), head="orderless", hidden=2, head_hidden=8)
    data = Data([frames_that_agree(200, 0)], [frames_that_agree(100, 1)])
    result = fit(jax.random.key(1), net, data, recipe)
    assert result.nll == pytest.approx(np.log(2), abs=0.05)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_validation_scores_exactly_and_training_estimates(dtype):
    net = unidirectional(jax.random.key(0), Binary(D), head="orderless", hidden=3, head_hidden=6)
    values = jnp.asarray(frames_that_agree(14, 2).reshape(7, 2, 3)[..., [0, 1, 2, 0]], jnp.int32)
    everywhere = jnp.ones((7, 2), bool)
    batch = Example(values, jnp.zeros(values.shape, bool), everywhere, everywhere)
    tuning = Tuning(dtype=dtype)
    exact = eqx.filter_jit(total_nll)(net, batch, tuning)
    one = jax.jit(lambda key: total_objective(net, batch, tuning, key, 0.0).nll)
    estimate = np.array([one(key) for key in jax.random.split(jax.random.key(0), 300)])
    log_probs = _step_log_probs(net, jnp.swapaxes(values, 0, 1), jnp.ones((2, 7), bool))
    total = -float(jnp.sum(log_probs))
    precise = 1e-5 if dtype == jnp.float32 else 0.02
    assert float(exact.nll) == pytest.approx(total, rel=precise)
    assert (exact.steps, estimate.std() > 0) == (14, True)
    assert estimate.mean() == pytest.approx(total, rel=0.1)  # orders differ a little


def test_a_net_is_described_and_built_again():
    net = unidirectional(jax.random.key(0), Binary(D), head="orderless", hidden=3, head_hidden=6)
    found = describe(net)
    assert (found.head, found.head_hidden) == ("orderless", 6)
    with pytest.raises(CaesuraError, match="'head_hidden' must be at least 1"):
        replace(found, head_hidden=0).skeleton()


def test_no_fingerprint_of_an_earlier_result_has_changed():
    """A field that recipes gain later counts only where it is not at its default."""
    page = Path(__file__).parent.parent / "docs" / "reproduce.csv"
    rows = {
        (row.dataset, row.recipe): row.fingerprint
        for row in Results(page).rows
        # A pair has those of its trainings. Those of the paper have other minibatches now.
        if "+" not in row.recipe and not row.recipe.startswith("paper-")
    }
    assert rows["jsb_chorales", "nade"] == "af89a694e349dbf8"
    plan = read_plan()
    measured = [t for t in plan.trainings if (t.dataset, t.recipe) in rows]
    assert len(measured) == len(rows)
    for training in measured:
        assert fingerprint(training, plan.seed) == rows[training.dataset, training.recipe]


def test_another_head_is_another_recipe():
    nade = choose("nade", "music", (), {}).recipe
    assert "head" not in nade.identity()
    assert replace(nade, head="orderless").identity() == nade.identity() | {"head": "orderless"}


@pytest.mark.slow
def test_a_filler_is_trained_by_the_recipe_for_frames_saved_and_read(tmp_path):
    rolls = [(np.random.default_rng(i).random((30, 88)) < 0.05).astype(np.int8) for i in range(5)]
    tiny = {"hidden": 2, "head_hidden": 3, "steps": 1, "batch": 2, "length": 16}
    filler = caesura.train(rolls, kind="music", recipe="frames", validate_every=1, **tiny)
    found = describe(filler.nets["bidirectional"])
    assert (found.head, found.head_hidden, found.missing_input) == ("orderless", 3, "each")
    filler.save(tmp_path / "frames.model")
    assert eqx.tree_equal(caesura.load(tmp_path / "frames.model").nets, filler.nets)
