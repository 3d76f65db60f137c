"""Frames that are known in part: what training hides of them, what nets see, and how they fill."""

from itertools import permutations, product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oracle
from caesura.errors import CaesuraError
from caesura.hardware import Tuning
from caesura.nets.architecture import describe
from caesura.nets.heads.base import Query
from caesura.nets.rnn import Net, bidirectional
from caesura.sequence import Sequence
from caesura.strategies import STRATEGIES, around_missing
from caesura.training.batches import Example, hide
from caesura.training.missingness import Gaps, parts
from caesura.training.objectives import total_nll
from caesura.training.recipe import Recipe, choose
from small_nets import FRAME_OF_HEAD, make_net, random_values

D = 3  # components, in the nets below


# What the net does not see


@pytest.fixture(scope="module")
def unseen() -> np.ndarray:
    keys = jax.random.split(jax.random.key(0), 3000)
    return np.asarray(jax.jit(jax.vmap(lambda key: parts(key, 12, 8)))(keys))


def test_one_part_is_unseen_all_along_a_stretch(unseen):
    for pattern in unseen:
        rows = pattern[pattern.any(axis=1)]
        assert (rows == rows[:1]).all()


def test_as_much_is_unseen_as_the_ranges_and_sets_say(unseen):
    # A range has E|a − b| of n places, for a and b uniform on 0 to n; a set has half of them.
    stretch = (12 + 2) / (3 * (12 + 1))
    each = stretch / 2 * 1 / 2  # a range, the rest of it, or half of all: a half on average
    of_examples = unseen.mean(axis=(1, 2))
    assert abs(of_examples.mean() - each) < 5 * of_examples.std() / len(unseen) ** 0.5


def test_parts_are_ranges_the_rest_of_ranges_and_any_sets(unseen):
    parts = {tuple(p) for pattern in unseen for p in pattern[pattern.any(axis=1)][:1]}
    turns = {part: int(np.abs(np.diff(np.array(part, int))).sum()) for part in parts}
    assert {(False,) * 3 + (True,) * 2 + (False,) * 3, (True,) * 8} <= parts
    assert {(True,) * 2 + (False,) * 3 + (True,) * 3} <= parts
    assert max(turns.values()) > 2  # neither one nor the other


def recipe(**fields) -> Recipe:
    small = {"length": 10, "gap": 2, "every": 6, "batch": 2}
    return choose("nade", "music", (), small | fields).recipe


def test_a_recipe_hides_parts_beside_its_gaps_or_none():
    values, valid, key = jnp.zeros((10, 88), jnp.int32), jnp.ones(10, bool), jax.random.key(4)
    steps = np.asarray(Gaps(2, 2, 6)(key, 10).unseen)[:, None]
    without = np.asarray(hide(key, values, valid, recipe()).unseen)
    assert np.array_equal(without, np.broadcast_to(steps, (10, 88)))
    keys = jax.random.split(jax.random.key(1), 400)
    often = jax.jit(jax.vmap(lambda k: hide(k, values, valid, recipe(parts=0.25, targets="gaps"))))
    found = often(keys)
    unseen, targets = np.asarray(found.unseen), np.asarray(found.targets)
    gaps = np.asarray(jax.vmap(lambda k: Gaps(2, 2, 6)(k, 10).unseen)(keys))
    assert unseen[gaps].all()
    partly = (unseen.any(axis=2) & ~unseen.all(axis=2)).any(axis=1)
    assert 0.02 < partly.mean() < 0.25
    assert targets[unseen.any(axis=2)].all()
    assert not targets.all()
    with pytest.raises(CaesuraError, match="'parts' must be a number between 0 and 1"):
        recipe(parts=1.5)


@pytest.mark.parametrize("head", ["bernoulli", "orderless"])
def test_the_loss_is_on_what_is_unseen_and_on_whole_frames_elsewhere(head):
    net = make_net("bidirectional", head, missing_input="each")
    values = random_values(net.frame, 5)
    unknown = np.zeros((5, D), bool)
    unknown[1] = [True, False, True]
    unknown[2] = True
    everywhere = jnp.ones((5, 1), bool)
    batch = Example(values[:, None], unknown[:, None], everywhere, everywhere)
    found = total_nll(net, jax.tree.map(jnp.asarray, batch), Tuning())
    inputs = net.inputs(jnp.asarray(values), jnp.asarray(unknown))
    contexts = net.contexts(net.states(inputs, everywhere[:, 0]))
    asked = jnp.asarray([[1, 1, 1], [1, 0, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]], bool)
    total = jax.vmap(net.head.log_prob)(Query(contexts, jnp.asarray(values), asked)).sum()
    assert float(found.nll) == pytest.approx(-float(total), rel=1e-5)
    assert found.steps == 5


# What a net sees


def test_a_net_can_be_told_of_each_component():
    net = make_net("bidirectional", "bernoulli", missing_input="each")
    x, m = net.encode(jnp.array([1, 1, 0]), jnp.array([False, True, True]))
    np.testing.assert_allclose(x, [1, 0, 0, 0, 3**-0.5, 3**-0.5], rtol=1e-6)
    assert float(m) == pytest.approx(2 / 3)
    assert describe(net).missing_input == "each"
    blank = jax.tree.leaves(describe(net).skeleton())
    assert [one.shape for one in blank] == [leaf.shape for leaf in jax.tree.leaves(net)]


# How it is filled


def partly_missing() -> Sequence:
    values = random_values(FRAME_OF_HEAD["orderless"], 5, seed=3)
    missing = np.zeros((5, D), bool)
    missing[1] = [True, False, True]
    missing[2] = [False, True, True]
    return Sequence(values, missing)


def window_of(net: Net, strategy, sequence: Sequence):
    return around_missing(net, sequence, strategy.stop(sequence.gaps[-1].stop, len(sequence)))


def by_hand(net: Net, values: np.ndarray, missing: np.ndarray) -> float:
    """nade: the mean over the orders of filling, each factor from a pass over the whole."""
    steps, valid = np.flatnonzero(missing.any(axis=1)), jnp.ones(len(values), bool)
    probs = []
    for order in permutations(steps):
        unknown, log_prob = missing.copy(), 0.0
        for t in order:
            inputs = net.inputs(jnp.asarray(values), jnp.asarray(unknown))
            context = net.contexts(net.states(inputs, valid))[t]
            log_prob += float(
                net.head.log_prob(Query(context, jnp.asarray(values[t]), jnp.asarray(missing[t])))
            )
            unknown[t] = False
        probs.append(np.exp(log_prob))
    return float(np.log(np.mean(probs)))


@pytest.mark.parametrize("missing_input", ["added", "each"])
@pytest.mark.parametrize("head", ["bernoulli", "orderless"])
def test_nade_gives_all_fillings_of_a_partly_missing_window_one_together(head, missing_input):
    net, nade = make_net("bidirectional", head, missing_input=missing_input), STRATEGIES["nade"]()
    sequence = partly_missing()
    window = window_of(net, nade, sequence)
    missing = np.asarray(window.missing)[0]
    fills = np.repeat(np.asarray(window.values), 2 ** missing.sum(), axis=0)
    fills[:, missing] = list(product([0, 1], repeat=missing.sum()))
    score = nade.log_prob(jax.random.key(0), net, window, jnp.asarray(fills)[None])
    log_probs = np.asarray(score.log_prob)[0]
    assert np.exp(log_probs).sum() == pytest.approx(1, abs=1e-5)
    some = 5
    whole = sequence.values.copy()
    whole[sequence.missing] = fills[some][missing]
    if head == "bernoulli":
        wanted = np.log(oracle.nade(net, whole, sequence.missing))
    else:
        wanted = by_hand(net, whole, sequence.missing)
    assert log_probs[some] == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("name", ["nade", "gsn", "oneway"])
def test_draws_leave_the_known_part_of_a_frame_alone_and_move_the_rest(name):
    options = {"gsn": {"steps": 8, "chains": 2}}
    strategy = STRATEGIES[name](**options.get(name, {}))
    options = {} if name == "oneway" else {"missing_input": "each"}
    net = make_net(strategy.net, "orderless", **options)
    window = window_of(net, strategy, partly_missing())
    drawn = np.asarray(strategy.draw(jax.random.key(0), net, window, 40))[0]
    missing = np.asarray(window.missing)[0]
    given = np.asarray(window.values)[0]
    assert (drawn[:, ~missing] == given[~missing]).all()
    assert (drawn[:, missing].min(axis=0) == 0).all()
    assert (drawn[:, missing].max(axis=0) == 1).all()
    blank = window.with_fills(jnp.where(window.missing, 0, window.values)[:, None])
    assert np.array_equal(strategy.draw(jax.random.key(0), net, blank, 40)[0], drawn)


def test_without_weights_from_the_frame_it_is_the_head_of_independent_components():
    """Whole-step gaps are a special case that has not changed."""
    one = bidirectional(
        jax.random.key(0), FRAME_OF_HEAD["orderless"], head="orderless", hidden=4, head_hidden=5
    )
    one = eqx.tree_at(lambda n: (n.head.W_v, n.head.W_o), one, replace_fn=jnp.zeros_like)
    two = bidirectional(
        jax.random.key(0), FRAME_OF_HEAD["bernoulli"], head="bernoulli", hidden=4, head_hidden=5
    )
    head = one.head
    two = eqx.tree_at(
        lambda n: (n.head.W_y, n.head.join.W_z, n.head.join.V_y),
        two,
        (head.W_y, head.W_z, head.V_y),
    )
    gap = np.arange(6) // 2 == 1
    sequence = Sequence(random_values(one.frame, 6), np.repeat(gap[:, None], D, axis=1))
    nade = STRATEGIES["nade"]()
    scores = []
    for net in (one, two):
        window = window_of(net, nade, sequence)
        scores.append(nade.log_prob(jax.random.key(0), net, window, window.values[:, None]))
    np.testing.assert_allclose(scores[0].log_prob, scores[1].log_prob, atol=1e-5)
