"""The head for numbers: a density, the chain that it says it is, and what it is trained by."""

from itertools import permutations, product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from caesura.errors import CaesuraError
from caesura.nets.bins import BINS, EDGES
from caesura.nets.frames import Binary, Continuous
from caesura.nets.heads import make_head, mixture
from caesura.nets.heads.base import Query
from caesura.nets.heads.mixture import Mixture
from caesura.nets.memory import DEPTH

D, SIZES, HIDDEN = 3, (4, 2), 6
SUBSETS = [np.array(bits, bool) for bits in product([False, True], repeat=D)]
FRAME = np.array([0.4, -1.0, 0.2], np.float32)


def make(sides: int = 2) -> Mixture:
    """With weights large enough that the components depend on each other."""
    head = Mixture(jax.random.key(5), Continuous(D), SIZES[:sides], hidden=HIDDEN)
    noise = jax.random.split(jax.random.key(6), len(jax.tree.leaves(head)))
    leaves, structure = jax.tree.flatten(head)
    moved = [a + 0.15 * jax.random.normal(k, a.shape) for a, k in zip(leaves, noise, strict=True)]
    return jax.tree.unflatten(structure, moved)


def make_context(sides: int = 2) -> np.ndarray:
    """States, then two neighbours for the first component, one for the second on the left alone,
    and none for the third."""
    draw = np.random.default_rng(0)
    values, ages = draw.normal(size=(2, DEPTH, D)), draw.integers(1, 5, (2, DEPTH, D))
    ages[0, 1:, 1] = ages[1, :, 1] = ages[:, :, 2] = 0
    parts = []
    for side, size in enumerate(SIZES[:sides]):
        shown = np.where(ages[side] > 0, values[side], 0)
        parts += [draw.normal(size=size), shown.ravel(), ages[side].ravel()]
    return np.concatenate(parts).astype(np.float32)


CONTEXT = make_context()


def parameters(head, frame, observed, sides=2):
    """Weights, means and scales of all mixtures: the equation of the head, in NumPy."""
    W = {k: np.asarray(v, np.float64) for k, v in vars(head).items() if hasattr(v, "dtype")}
    context, h, values, ages = make_context(sides).astype(np.float64), [], [], []
    for size in SIZES[:sides]:
        h.append(context[:size])
        values.append(context[size : size + DEPTH * D].reshape(DEPTH, D))
        ages.append(context[size + DEPTH * D : size + 2 * DEPTH * D].reshape(DEPTH, D))
        context = context[size + 2 * DEPTH * D :]
    h = np.concatenate(h)
    line = np.zeros(D)
    for d in range(D):
        near = [(v[0, d], a[0, d]) for v, a in zip(values, ages, strict=True) if a[0, d]]
        if len(near) == 2:  # the line through both
            (v, a), (w, b) = near
            line[d] = v + (w - v) * a / (a + b)
        elif near:
            line[d] = near[0][0]
    values, ages = np.concatenate(values), np.concatenate(ages)
    off = np.where(ages > 0, values - line, 0)
    away, apart = np.log(np.maximum(ages, 1)), np.log1p(10 * np.abs(off))
    features = np.concatenate([np.arcsinh(line)[None], ages > 0, away, np.arcsinh(off), apart])
    scale = np.exp(W["b_s"] + (W["U_s"] * features).sum(axis=0))
    a = W["b_z"] + W["W_z"] @ h + W["W_n"] @ features.ravel()
    shift = np.zeros((D, 1))
    for i in np.flatnonzero(observed):
        surprise = np.arcsinh((frame[i] - line[i]) / scale[i])
        a = a + W["W_o"][:, i] + W["W_v"][:, i] * surprise
        shift = shift + W["A_y"][:, i : i + 1] * surprise
    z = 0.5 * a * (1 + np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a**3)))  # GELU
    own = np.einsum("fd,fdp->dp", features, W["U_y"])
    p = own + (W["b_y"] + W["W_y"] @ h + W["V_y"] @ z).reshape(D, -1)
    logits, means, log_scales = np.split(p, 3, axis=1)
    weights = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return (
        weights,
        line[:, None] + scale[:, None] * (means + shift),
        mixture.NARROWEST + scale[:, None] * np.exp(log_scales),
    )


def density(head, frame, observed, i, x, sides=2):
    """Of component i at the numbers x."""
    w, m, s = (p[i] for p in parameters(head, frame, observed, sides))
    z = (np.asarray(x)[..., None] - m) / s
    return (w / (4 * s * np.cosh(z / 2) ** 2)).sum(axis=-1)


def chain(head, frame, missing, order, sides=2):
    """−log p along one order, each factor from the equation anew."""
    observed, nll = ~missing & ~np.isnan(frame), 0.0
    for i in order:
        if missing[i] and not np.isnan(frame[i]):
            nll -= np.log(density(head, frame, observed, i, frame[i], sides))
            observed = observed | (np.arange(D) == i)
    return nll


def log_prob(head, frame, missing, context=CONTEXT):
    return eqx.filter_jit(head.log_prob)(Query(*map(jnp.asarray, (context, frame, missing))))


@pytest.mark.parametrize("sides", [1, 2])
def test_a_score_is_the_chain_from_the_first_component_to_the_last(sides):
    head, context = make(sides), make_context(sides)
    for missing in SUBSETS:
        wanted = -chain(head, FRAME, missing, range(D), sides)
        assert log_prob(head, FRAME, missing, context) == pytest.approx(wanted, abs=1e-4)


def test_the_density_integrates_to_one_whatever_is_observed():
    """By a sum over a grid of every missing component; the tails hold what lies outside."""
    head = eqx.tree_at(lambda h: h.b_s, make(), jnp.zeros(D))  # wide enough for the grid
    grid = np.sinh(np.linspace(-1, 1, 81) * 5).astype(np.float32)  # out to ±74
    weights = np.gradient(grid.astype(np.float64))
    score = jax.jit(jax.vmap(head.log_prob, in_axes=(Query(None, 0, None),)))
    for missing in SUBSETS[1:]:
        axes = [grid if m else np.array([x]) for m, x in zip(missing, FRAME, strict=True)]
        volume = [weights if m else np.ones(1) for m in missing]
        frames = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, D)
        cells = np.prod(np.stack(np.meshgrid(*volume, indexing="ij"), axis=-1), axis=-1).ravel()
        total = np.sum(
            np.exp(np.asarray(score(Query(CONTEXT, frames, missing)), np.float64)) * cells
        )
        assert total == pytest.approx(1, abs=0.01)


def test_the_components_do_depend_on_each_other():
    """Else the tests above would hold of a head that forgets what it observes."""
    head, last = make(), np.array([False, False, True])
    other = FRAME + np.array([1.0, 0, 0], np.float32)
    assert abs(log_prob(head, FRAME, last) - log_prob(head, other, last)) > 0.01


def test_samples_follow_the_density_and_leave_the_observed_alone():
    """The share of the samples below some numbers, one component after the other."""
    head, draws = make(), 20_000
    keys = jax.random.split(jax.random.key(0), draws)
    sample = jax.jit(jax.vmap(head.sample, in_axes=(0, None)))
    missing = np.array([True, False, True])
    found = np.asarray(sample(keys, Query(CONTEXT, FRAME, missing)), np.float64)
    assert np.array_equal(found[:, 1], np.full(draws, FRAME[1]))
    w, m, s = (p[0] for p in parameters(head, FRAME, ~missing))
    for x in (-2.0, 0.0, 0.3, 1.0, 4.0):
        p = (w / (1 + np.exp(-(x - m) / s))).sum()
        assert abs((found[:, 0] < x).mean() - p) < 5 * (p * (1 - p) / draws) ** 0.5
    # The third is drawn given the first: under the density that it had then, its rank is uniform.
    ranks = []
    for row in found[:2000]:
        w, m, s = (p[2] for p in parameters(head, row, np.array([True, True, False])))
        ranks.append((w / (1 + np.exp(-(row[2] - m) / s))).sum())
    counts, _ = np.histogram(ranks, bins=10, range=(0, 1))
    assert np.all(np.abs(counts - 200) < 5 * (2000 * 0.09) ** 0.5)


def test_samples_do_not_look_at_what_is_missing():
    head, missing = make(), np.array([True, False, True])
    sample = jax.jit(jax.vmap(head.sample, in_axes=(0, None)))
    keys = jax.random.split(jax.random.key(0), 20)
    other = np.where(missing, 7, FRAME).astype(np.float32)
    one, two = (sample(keys, Query(CONTEXT, frame, missing)) for frame in (FRAME, other))
    assert np.array_equal(one, two)


def test_marginals_are_the_masses_of_the_bins_given_what_is_observed():
    head = make()
    for missing in SUBSETS:
        found = np.exp(
            eqx.filter_jit(head.marginals)(Query(CONTEXT, FRAME, missing)), dtype=np.float64
        )
        w, m, s = (p[..., None] for p in parameters(head, FRAME, ~missing))
        below = (w / (1 + np.exp(-(EDGES - m) / s))).sum(axis=1)
        wanted = np.diff(below, axis=1, prepend=0, append=1)
        assert found.shape == (D, BINS)
        np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.slow
def test_what_is_not_known_is_neither_seen_nor_scored_but_minus_one_is_a_number():
    head, frame = make(), FRAME.copy()
    assert frame[1] == -1
    frame[0] = np.nan
    every = np.ones(D, bool)
    assert log_prob(head, frame, every) == pytest.approx(
        -chain(head, frame, every, range(D)), abs=1e-4
    )
    last = np.array([False, False, True])
    seen = np.array([False, True, False])
    wanted = np.log(density(head, frame, seen, 2, frame[2]))
    assert log_prob(head, frame, last) == pytest.approx(wanted, abs=1e-4)
    given = Query(jnp.asarray(CONTEXT), jnp.asarray(frame), jnp.asarray(last))
    gradient = jax.grad(lambda h: h.objective(jax.random.key(0), given))(head)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))


def expectations(head, frame):
    """Of the objective, by all splits: over random sets, and over prefixes of the order."""
    every = np.ones(D, bool)
    orders = [chain(head, frame, every, order) for order in permutations(range(D))]
    prefixes = 0.0
    for shown in range(D + 1):
        seen = np.arange(D) < shown
        nll = sum(-np.log(density(head, frame, seen, i, frame[i])) for i in range(shown, D))
        prefixes += nll * (D + 1) / max(D - shown, 1) / (D + 1)
    return np.mean(orders), prefixes


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_the_objective_is_the_mean_over_orders_and_prefixes(share, monkeypatch):
    monkeypatch.setattr(mixture, "PREFIXES", share)
    head, draws = make(), 20_000
    keys = jax.random.split(jax.random.key(1), draws)
    objective = jax.jit(jax.vmap(head.objective, in_axes=(0, None)))
    found = np.asarray(objective(keys, Query(CONTEXT, FRAME, SUBSETS[0])))
    of_sets, of_prefixes = expectations(head, FRAME)
    wanted = (1 - share) * of_sets + share * of_prefixes
    assert abs(found.mean() - wanted) < 5 * found.std() / draws**0.5


def test_it_needs_a_hidden_layer_and_numbers():
    with pytest.raises(CaesuraError, match="'head_hidden' must be at least 1"):
        make_head("mixture", jax.random.key(0), Continuous(3), (2,))
    with pytest.raises(CaesuraError, match="'mixture' is for continuous frames"):
        make_head("mixture", jax.random.key(0), Binary(3), (2,), 4)
