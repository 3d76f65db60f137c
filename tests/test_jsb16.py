"""The benchmark of the chorales: no net sees what it predicts, and the sums are what they say."""

import itertools
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
import chorale_echoes
import chorale_nets
import chorale_protocols
import chorale_sets
import jsb16

from caesura.hardware import Tuning

TUNING = Tuning()
KEY = jax.random.key(3)


def random_piece(steps: int, values: int = 47, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, values, (steps, 4)).astype(np.int32)


def set_of(*pieces: np.ndarray):
    return chorale_sets.make_set(list(pieces), [random_piece(30, values=3, seed=9)])


def chorales_of(*pieces: np.ndarray):
    chosen = set_of(*pieces)
    piece = jnp.arange(len(pieces))
    return chorale_sets.stretch(chosen, piece, jnp.zeros_like(piece), chosen.values.shape[1])


def small(name: str, count: int = 2):
    """Some nets side by side, with weights that are large enough to matter."""
    make = lambda key: jsb16.build(name, 5, 2, 6, key)  # noqa: E731
    nets = jax.vmap(make)(jax.random.split(KEY, count))
    return jax.tree.map(lambda a: 3 * a, nets)


def one_of(nets, index: int = 0):
    return jax.tree.map(lambda a: a[index], nets)


@eqx.filter_jit
def by_past(net, chorales, seen):
    context = net.context(chorales, TUNING, KEY, None)
    return net.predict(context, chorales, seen, TUNING)


@eqx.filter_jit
def evaluate(nets, chorales):
    return chorale_protocols.chronological(nets, chorales, TUNING)


@eqx.filter_jit
def by_around(net, chorales, seen):
    return net.predict(net.context(chorales, seen, TUNING, KEY, None), TUNING)


def common_past(piece: np.ndarray, t: int, other: np.ndarray, s: int) -> int:
    """For how many steps before t and s two pieces are the same, by looking."""
    count = 0
    while count < min(s, t) and (other[s - count - 1] == piece[t - count - 1]).all():
        count += 1
    return count


def test_an_echo_is_what_followed_the_longest_common_past():
    piece = random_piece(40, values=2)
    echo, length = chorale_echoes.own_echoes(piece)
    for t in range(40):
        far = range(max(0, t - chorale_echoes.LEAST_BACK + 1))
        common = [common_past(piece, t, piece, s) for s in far]
        longest = max(common, default=0)
        assert length[t] == longest
        if longest:
            source = max(s for s, k in enumerate(common) if k == longest)
            assert (echo[t] == piece[source]).all()


def test_an_echo_of_another_chorale_is_found_in_any_key_and_not_in_the_chorale_itself():
    draw = np.random.default_rng(2)
    bank = [draw.integers(5, 40, (20, 4)).astype(np.int32) for _ in range(3)]
    lower = bank[1] - 2
    (found, lengths), (_, own_lengths) = chorale_echoes.echoes([lower, bank[1]], bank)
    for kind in (1, 2):  # by all voices, and by the soprano
        assert (lengths[2:, kind] == np.arange(1, 19)).all()
        assert (found[5:, kind] == lower[5:]).all()
        assert (own_lengths[:, kind] < 3).all()
    assert not lengths[:, 0].any()
    tune = draw.integers(5, 40, (20, 4)).astype(np.int32)
    tune[:, 0] = bank[2][:, 0] + 1
    found, lengths = next(iter(chorale_echoes.echoes([tune], bank)))
    assert (lengths[2:, 2] == np.arange(1, 19)).all()
    assert (found[5:, 2] == bank[2][5:] + 1).all()
    assert not lengths[4:, 1].any()


def test_a_transposed_chorale_has_transposed_echoes():
    piece = np.tile(random_piece(12, values=30), (3, 1))
    up, other = chorale_sets.transpose(chorales_of(piece), jnp.array([3])), chorales_of(piece + 3)
    assert jnp.all(up.echo_lengths == other.echo_lengths)
    assert jnp.all(up.echoes == other.echoes)
    assert jnp.all(up.values == other.values)


@pytest.mark.slow
def test_past_sees_earlier_steps_and_the_voices_it_is_shown():
    piece, net = random_piece(12), one_of(small("past"))
    seen = jnp.zeros((12, 1, 4), bool).at[6, 0, 1].set(True)

    def predict(piece: np.ndarray) -> np.ndarray:
        return np.asarray(by_past(net, chorales_of(piece), seen))[:, 0]

    whole = predict(piece)
    for step, voice in itertools.product(range(12), range(4)):
        other = piece.copy()
        other[step, voice] = (other[step, voice] + 1) % 47
        differs = np.any(predict(other) != whole, axis=(1, 2))
        assert not differs[:step].any()
        assert differs[step] == ((step, voice) == (6, 1))
        assert step == 11 or differs[step + 1]


@pytest.mark.slow
def test_around_sees_every_cell_it_is_shown_and_no_other():
    piece, net = random_piece(9), one_of(small("around"))
    seen = jnp.asarray(np.random.default_rng(1).random((9, 1, 4)) < 0.5)

    def predict(piece: np.ndarray) -> np.ndarray:
        return np.asarray(by_around(net, chorales_of(piece), seen))

    whole = predict(piece)
    for step, voice in itertools.product(range(9), range(4)):
        other = piece.copy()
        other[step, voice] = (other[step, voice] + 1) % 47
        assert np.any(predict(other) != whole, axis=(1, 2, 3)).all() == bool(seen[step, 0, voice])
        assert np.any(predict(other) != whole) == bool(seen[step, 0, voice])


@pytest.mark.slow
def test_the_probability_of_a_step_is_the_mean_over_all_orders_of_its_voices():
    nets, chorales = small("past"), chorales_of(random_piece(5), random_piece(3, seed=1))
    found = evaluate(nets, chorales)

    def conditional(seen: tuple[int, ...], voice: int) -> np.ndarray:
        shown = jnp.broadcast_to(jnp.isin(jnp.arange(4), jnp.array(seen)), (5, 2, 4))
        total = 0.0
        for index in range(2):
            log_probs = np.asarray(by_past(one_of(nets, index), chorales, shown), np.float64)
            at = np.asarray(chorales.values)[..., voice, None]
            total = total + np.exp(np.take_along_axis(log_probs[:, :, voice], at, axis=-1)[..., 0])
        return total / 2

    orders = list(itertools.permutations(range(4)))
    product = [
        np.prod([conditional(order[:i], order[i]) for i in range(4)], axis=0) for order in orders
    ]
    valid = np.asarray(chorales.valid)
    expected = np.log(np.mean(product, axis=0))
    np.testing.assert_allclose(np.asarray(found)[valid], expected[valid], rtol=1e-4)


@pytest.mark.slow
def test_the_probabilities_of_all_frames_sum_to_one(monkeypatch):
    for module in (chorale_nets, chorale_echoes, chorale_sets):
        monkeypatch.setattr(module, "PITCHES", 2)
        monkeypatch.setattr(module, "REST", 2)
    monkeypatch.setattr(chorale_protocols, "REST", 2)
    monkeypatch.setattr(chorale_nets, "VALUES", 3)
    frames = list(itertools.product(range(3), repeat=4))
    beginning = random_piece(3, values=3)
    pieces = [np.concatenate([beginning, [frame]]).astype(np.int32) for frame in frames]
    log_probs = evaluate(small("past"), chorales_of(*pieces))[3]
    assert np.exp(np.asarray(log_probs, np.float64)).sum() == pytest.approx(1, abs=1e-5)
    assert np.ptp(np.asarray(log_probs)) > 0.1


@pytest.mark.slow
def test_several_keys_are_several_distributions_of_the_same_chorale():
    nets, piece = small("past", 1), random_piece(4, values=40)
    piece[2, 1] = 45  # which no key above has
    found = chorale_protocols.chronological(nets, chorales_of(piece), TUNING, shifts=(0, 2))
    only, moved = chorales_of(piece), chorale_sets.transpose(chorales_of(piece), jnp.array([2]))
    assert moved.values[2, 0, 1] == chorale_nets.REST

    def conditional(seen: tuple[int, ...], voice: int) -> np.ndarray:
        shown = jnp.broadcast_to(jnp.isin(jnp.arange(4), jnp.array(seen)), (4, 1, 4))
        each = []
        for chorales in (only, moved):
            log_probs = by_past(one_of(nets), chorales, shown)
            each.append(np.exp(chorale_sets.of_values(log_probs, chorales.values))[:, 0, voice])
        each[1][2] *= voice != 1
        return np.mean(each, axis=0)

    orders = itertools.permutations(range(4))
    product = [np.prod([conditional(o[:i], o[i]) for i in range(4)], axis=0) for o in orders]
    expected = np.log(np.mean(product, axis=0))
    np.testing.assert_allclose(np.asarray(found)[:, 0], expected, rtol=1e-4)


@pytest.mark.slow
def test_the_losses_are_means_over_the_orders_that_the_protocols_use():
    piece = random_piece(4)
    chorales, nets = chorales_of(piece), small("past", 1)
    keys = jax.random.split(KEY, 500)
    net = one_of(nets)
    losses = jax.jit(jax.vmap(lambda k: jsb16.past_loss(net, k, chorales, TUNING, None)))(keys)
    total = 0.0
    for order in itertools.permutations(range(4)):
        for i in range(4):
            shown = jnp.broadcast_to(jnp.isin(jnp.arange(4), jnp.array(order[:i])), (4, 1, 4))
            log_probs = by_past(net, chorales, shown)
            nats = -chorale_sets.of_values(log_probs, chorales.values)[:, 0, order[i]]
            total += nats.mean() / 24 / 4
    assert float(losses.mean()) == pytest.approx(float(total), rel=0.02)


@pytest.mark.slow
def test_orderless_is_what_a_loop_over_the_cells_gives(monkeypatch):
    monkeypatch.setattr(chorale_protocols, "SEEN", 4)
    pieces = [random_piece(3), random_piece(2, seed=1), random_piece(7, seed=2)]
    nets, orders = small("around"), 2
    chosen = set_of(*pieces)
    found = chorale_protocols.measure_orderless(nets, chosen, TUNING, orders, seed=5, copies=7)
    ranks = chorale_protocols.orders_of(chosen.lengths, 7, orders, seed=5)
    single, mean = [], []
    for p, piece in enumerate(pieces):
        chorales, probs = chorales_of(piece), np.zeros((orders, len(piece), 4))
        for o in range(orders):
            seen = np.zeros((len(piece), 1, 4), bool)
            rank = ranks[p, o, : len(piece)]
            assert sorted(rank.flatten()) == list(range(4 * len(piece)))
            for j in range(4 * len(piece)):
                step, voice = np.argwhere(rank == j)[0]
                first = min(max(step - 2, 0), max(len(piece) - 4, 0))
                window = jax.tree.map(lambda a, first=first: a[first : first + 4], chorales)
                shown = jnp.asarray(seen[first : first + 4])
                each = [by_around(one_of(nets, i), window, shown) for i in range(2)]
                value = piece[step, voice]
                probs[o, step, voice] = np.mean(
                    [np.exp(e[step - first, 0, voice, value]) for e in each]
                )
                seen[step, 0, voice] = True
        single.append(-np.log(probs).reshape(orders, -1))
        mean.append(-np.log(probs.mean(0)).flatten())
    for got, one, all_orders in zip(found, single, mean, strict=True):
        np.testing.assert_allclose(got, one, rtol=1e-4)
        together = chorale_protocols.mean_in_probability(got)
        np.testing.assert_allclose(together, all_orders, rtol=1e-4)


def test_any_number_of_cells_is_shown_equally_often():
    valid = jnp.arange(3)[:, None] < jnp.array([[3, 1]])
    keys = jax.random.split(KEY, 6000)
    seen = np.asarray(jax.vmap(lambda k: jsb16.random_cells(k, valid))(keys))
    assert not seen[:, 1:, 1].any()  # padding
    counts = np.bincount(seen[:, :, 0].sum((1, 2)), minlength=12) / len(keys)
    np.testing.assert_allclose(counts, 1 / 12, atol=0.015)
    np.testing.assert_allclose(seen[:, :, 0].mean(0), 5.5 / 12, atol=0.03)
