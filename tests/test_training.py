"""Training hides what it should, counts what it should, and makes the loss small."""

from dataclasses import replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import caesura
from caesura.errors import CaesuraError
from caesura.hardware import Tuning
from caesura.nets.heads.base import Query
from caesura.sequence import UNKNOWN
from caesura.training.batches import Chunks, Corpus, Example, hide, shift
from caesura.training.loop import Data, _given_up, begin, fit
from caesura.training.missingness import Gaps, ShortGaps, no_gaps
from caesura.training.objectives import total_nll
from caesura.training.optimiser import make_optimiser
from caesura.training.prepare import hold_out
from caesura.training.recipe import Recipe, choose
from small_nets import FRAME_OF_HEAD, make_net, random_values

TINY = {
    "hidden": 4,
    "steps": 4,
    "batch": 4,
    "length": 10,
    "validate_every": 2,
    "gap": 2,
    "every": 6,
}


def recipe(name: str = "nade", **fields) -> Recipe:
    return choose(name, "music", ("steps_per_beat",), TINY | fields).recipe


def patterns(least: int, most: int, every: int, length: int, draws: int):
    keys = jax.random.split(jax.random.key(0), draws)
    found = jax.vmap(lambda key: Gaps(least, most, every)(key, length))(keys)
    return np.asarray(found.unseen), np.asarray(found.gaps)


def test_gaps_hide_one_to_five_steps_every_twenty_five():
    gap, every, length, draws = 5, 25, 200, 4000
    unseen, gaps = patterns(gap, gap, every, length, draws)
    # A block of 25 hides 3 of its steps on average: (1 + 2 + 3 + 4 + 5) / 5.
    assert unseen.mean() == pytest.approx(3 / 25, abs=0.002)
    assert gaps.mean() == pytest.approx(5 / 25, abs=0.002)
    assert not np.any(unseen & ~gaps)
    # No place is special, since the first gap's is random: 12 % each, within 6 standard errors.
    error = (0.12 * 0.88 / draws) ** 0.5
    assert np.abs(unseen.mean(axis=0) - 0.12).max() < 6 * error


def test_gaps_of_several_lengths_are_all_as_frequent_and_so_are_the_stages_of_filling_them():
    least, most, every, draws = 2, 4, 10, 6000
    unseen, gaps = patterns(least, most, every, 3 * every, draws)
    # Cut every row where its first whole gap begins: then a block of ten holds one gap.
    begins = np.argmax(gaps[:, 1:] & ~gaps[:, :-1], axis=1) + 1
    block = begins[:, None] + np.arange(every)
    rows = np.arange(draws)[:, None]
    lengths, counts = gaps[rows, block].sum(axis=1), unseen[rows, block].sum(axis=1)
    for length in range(least, most + 1):
        share = 1 / (most - least + 1)
        bound = 5 * (share * (1 - share) / draws) ** 0.5
        assert abs((lengths == length).mean() - share) < bound
        some = lengths == length
        for count in range(1, length + 1):
            bound = 5 * (1 / length * (1 - 1 / length) / some.sum()) ** 0.5
            assert abs((counts[some] == count).mean() - 1 / length) <= bound
        where = unseen[rows, block][some][:, :length].mean(axis=0)  # no step is unseen more often
        wanted = (length + 1) / (2 * length)
        assert np.abs(where - wanted).max() < 5 * (wanted * (1 - wanted) / some.sum()) ** 0.5
    assert not np.any(unseen & ~gaps)


def test_unseen_steps_stand_close_and_far_apart_as_the_gaps_do():
    for steps in patterns(5, 5, 25, 100, 50)[0]:
        places = np.flatnonzero(steps)
        apart = np.diff(places)
        assert np.all((apart < 5) | (apart > 25 - 5))


def test_every_number_of_unseen_steps_is_equally_likely():
    counts = []
    for steps in patterns(4, 4, 12, 60, 1000)[0]:
        places = np.flatnonzero(steps)
        blocks = np.split(places, np.flatnonzero(np.diff(places) > 4) + 1)
        counts += [len(block) for block in blocks[1:-1]]  # the crop may cut the first and the last
    share = np.bincount(counts, minlength=5)[1:] / len(counts)
    assert np.abs(share - 0.25).max() < 6 * (0.25 * 0.75 / len(counts)) ** 0.5


@pytest.mark.parametrize(("least", "most", "every"), [(1, 40, 12), (2, 4, 1)])
def test_most_gaps_are_short_if_asked_for(least, most, every):
    length, draws = 300, 3000
    keys = jax.random.split(jax.random.key(0), draws)
    unseen, gaps = map(
        np.asarray, jax.vmap(lambda k: ShortGaps(least, most, every)(k, length))(keys)
    )
    choices = np.arange(least, most + 1)
    chance = 1 / choices**2 / np.sum(1 / choices**2)
    mean = chance @ choices
    # No place is special. Each one is in a gap, and unseen, as often as gaps have steps.
    for steps, wanted in (gaps, mean), (unseen, mean / 2 + (mean + 1) / 4):
        share = wanted / (mean + every)
        assert np.abs(steps.mean(axis=0) - share).max() < 5 * (share * (1 - share) / draws) ** 0.5
    assert not np.any(unseen & ~gaps)
    # Gaps that begin early enough to end in the row whatever their length.
    edges = np.diff(np.pad(gaps, [(0, 0), (1, 1)]).astype(int), axis=1)
    (rows, begins), ends = np.nonzero(edges == 1), np.nonzero(edges == -1)[1]
    whole = (begins > 0) & (begins < length - most)
    lengths = (ends - begins)[whole]
    within = 5 * (chance * (1 - chance) / len(lengths)) ** 0.5
    counted = np.bincount(lengths, minlength=most + 1)[least:] / len(lengths)
    assert np.all(np.abs(counted - chance) < within)
    # Half of the gaps are unseen. In the others one to all steps are, each number and step alike.
    some = (ends - begins == 3) & whole
    three = unseen[rows[some, None], begins[some, None] + np.arange(3)]
    assert np.abs(three.mean(axis=0) - 5 / 6).max() < 5 * (5 / 36 / len(three)) ** 0.5
    counted = np.bincount(three.sum(axis=1), minlength=4) / len(three)
    assert counted[0] == 0
    wanted = np.array([1 / 6, 1 / 6, 2 / 3])
    assert np.all(np.abs(counted[1:] - wanted) < 5 * (wanted * (1 - wanted) / len(three)) ** 0.5)


def test_nothing_hides_nothing():
    assert not no_gaps(9).unseen.any()


@pytest.mark.parametrize(
    ("name", "burn_in", "targets"),
    [("paper-brnn", 3, range(3, 7)), ("paper-rnn", 3, range(3, 10)), ("paper-brnn", 0, range(10))],
)
def test_predictions_that_lack_context_are_no_targets(name, burn_in, targets):
    values, valid = jnp.zeros((10, 88), jnp.int32), jnp.ones(10, bool)
    fields = {"burn_in": burn_in, "gap": 0}
    example = hide(jax.random.key(0), values, valid, recipe(name, **fields))
    assert np.flatnonzero(example.targets).tolist() == list(targets)


def test_nade_masked_predicts_its_gaps_alone():
    values, valid = jnp.zeros((10, 88), jnp.int32), jnp.arange(10) < 9
    example = hide(jax.random.key(0), values, valid, recipe("paper-nade-masked"))
    gaps = Gaps(2, 2, 6)(jax.random.key(0), 10).gaps
    assert np.array_equal(example.targets, gaps & (np.arange(10) < 9))


SLOW = ("mixture", "weighing")


@pytest.mark.parametrize(
    "head", [pytest.param(h, marks=pytest.mark.slow) if h in SLOW else h for h in FRAME_OF_HEAD]
)
def test_the_loss_is_the_sum_over_targets(head):
    net = make_net("bidirectional", head)
    values = np.stack([random_values(net.frame, 6, seed) for seed in (0, 1)], axis=1)
    unseen = np.zeros(values.shape, bool)
    unseen[2, 0] = net.frame.fillable
    valid = np.arange(6)[:, None] < [6, 4]
    targets = valid.copy()
    targets[:2, 1] = False
    if head == "softmax":  # what is outside the alphabet is shown as missing, and is no target
        values[1, 0] = values[3, 1] = UNKNOWN
    example = Example(*map(jnp.asarray, (values, unseen, targets, valid)))
    total, count = 0.0, 0
    for row, length in ((0, 6), (1, 4)):
        some = jnp.asarray(values[:length, row])
        unknown = jnp.asarray(unseen[:length, row])
        states = net.states(net.inputs(some, unknown), jnp.ones(length, bool))
        for t, context in enumerate(net.contexts(states)):
            if targets[t, row] and not (some[t] == UNKNOWN).all():
                total -= net.head.log_prob(
                    Query(context, some[t], jnp.ones(net.frame.components, bool))
                )
                count += 1
    found = total_nll(net, example, Tuning())
    assert found.nll == pytest.approx(float(total), rel=1e-5)
    assert found.steps == count


def test_crops_come_from_one_piece_and_short_ones_are_padded():
    pieces = [np.full((3, 1), 1, np.int32), np.arange(100, 140, dtype=np.int32)[:, None]]
    corpus = Corpus(pieces)
    crops, valid = jax.vmap(partial(corpus.crop, length=8))(
        jax.random.split(jax.random.key(0), 500)
    )
    short = np.asarray(crops)[:, 0, 0] == 1
    assert 0 < short.mean() < 0.2  # 3 of 43 steps
    assert np.asarray(valid)[short].sum(axis=1).tolist() == [3] * short.sum()
    long = np.asarray(crops)[~short, :, 0]
    assert np.asarray(valid)[~short].all()
    assert np.all(np.diff(long, axis=1) == 1)
    assert {long.min(), long.max()} == {100, 139}


def test_chunks_hold_every_step_once_and_fill_whole_batches():
    pieces = [np.arange(23, dtype=np.int32)[:, None], np.arange(100, 104, dtype=np.int32)[:, None]]
    chunks = Chunks(pieces, recipe(valid_steps=1000))
    assert chunks.values.shape == (4, 10, 1)
    held = np.asarray(chunks.values)[np.asarray(chunks.valid)]
    assert sorted(held[:, 0].tolist()) == [*range(23), *range(100, 104)]
    assert len(Chunks(pieces, recipe(valid_steps=20)).values) == 4  # two chunks, padded to a batch


def test_a_shift_moves_all_notes_alike_and_loses_none():
    roll = np.zeros((4, 88), np.int32)
    roll[0, [3, 40]] = roll[2, 85] = 1
    keys = jax.random.split(jax.random.key(0), 200)
    moved = np.asarray(jax.vmap(lambda key: shift(key, jnp.asarray(roll), 5))(keys))
    shifts = set()
    for one in moved:
        by = int(np.flatnonzero(one[0])[0]) - 3
        assert np.array_equal(one, np.roll(roll, by, axis=1))
        shifts.add(by)
    assert shifts == set(range(-3, 3))  # neither the lowest nor the highest note leaves the piano


def test_sgd_makes_steps_of_length_one_that_shrink_to_zero():
    optimiser = make_optimiser(recipe("paper-nade", steps=4))
    weights = {"a": jnp.zeros(3)}
    state = optimiser.init(weights)
    for update in range(5):
        gradient = {"a": jnp.array([3.0, 0.0, 4.0]) * 10**update}
        change, state = optimiser.update(gradient, state, weights)
        expected = -np.array([0.6, 0.0, 0.8]) * (1 - update / 4)
        np.testing.assert_allclose(change["a"], expected, atol=1e-6)


@pytest.mark.parametrize("name", ["nade", "paper-nade"])
def test_a_gradient_that_is_not_finite_changes_nothing_and_is_counted(name):
    optimiser = make_optimiser(recipe(name))
    weights = {"a": jnp.ones(2)}
    before = optimiser.init(weights)
    change, after = optimiser.update({"a": jnp.array([1.0, jnp.nan])}, before, weights)
    assert not np.any(change["a"])
    assert (int(after.total_notfinite), int(after.notfinite_count)) == (1, 1)


def test_many_bad_gradients_in_a_row_end_the_run_with_advice():
    net = make_net("bidirectional", "bernoulli")
    broken = jax.tree.map(lambda a: a * jnp.nan, net)
    pieces = [random_values(net.frame, 30)]
    long = recipe(steps=200, validate_every=100, length=6, batch=2)
    with pytest.raises(CaesuraError, match="not finite in 50 updates in a row: try a smaller"):
        fit(jax.random.key(0), broken, Data(pieces, pieces), long)


def test_bad_gradients_after_a_validation_lose_nothing():
    """The training ends there, and the best net so far is returned."""
    net = make_net("bidirectional", "bernoulli")
    pieces = [random_values(net.frame, 30)]
    long = recipe(steps=200, validate_every=100, length=6, batch=2)
    state = begin(net, long)
    best_nll, best_step = jnp.array([0.5]), jnp.array([100])
    broken = jax.tree.map(lambda a: a * jnp.nan, state.members.weights)
    members = replace(state.members, weights=broken, best_nll=best_nll, best_step=best_step)
    state = state._replace(members=members, step=100, history=[{"step": 100, "nll": [0.5]}])
    result = fit(jax.random.key(0), net, Data(pieces, pieces), long, state=state)
    assert (result.nll, result.step) == (0.5, 100)
    assert result.skipped >= 50
    assert eqx.tree_equal(result.net, net)


@pytest.mark.slow
def test_the_best_weights_on_validation_are_kept_not_the_last():
    """A step size that makes the net worse and worse: the first validation is the best."""
    net = make_net("bidirectional", "bernoulli")
    pieces = [random_values(net.frame, 40)]
    wild = recipe("paper-nade", steps=8, validate_every=2, learning_rate=[1e-3, 30.0])
    result = fit(jax.random.key(0), net, Data(pieces, pieces), wild)
    nlls = np.array([entry["nll"] for entry in result.history])
    assert nlls.shape == (4, 2)
    assert result.nll == nlls.min()
    assert result.learning_rate == (1e-3, 30.0)[int(nlls.min(axis=0).argmin())]
    # The weights that come back are those that were validated: score them again.
    again = recipe("paper-nade", steps=1, validate_every=1, learning_rate=1e-30)
    check = fit(jax.random.key(0), result.net, Data(pieces, pieces), again)
    assert check.nll == pytest.approx(result.nll, rel=1e-5)


def test_patience_counts_validations_without_a_gain():
    history = [{"nll": [n]} for n in (3.0, 2.0, 2.5, float("nan"), 2.1)]
    assert not _given_up(history, recipe(patience=4))
    assert _given_up(history, recipe(patience=3))
    assert not _given_up(history, recipe(patience=0))


def test_fit_leaves_the_net_it_was_given_alone():
    net = make_net("bidirectional", "bernoulli")
    before = jax.tree.map(np.array, net)
    pieces = [random_values(net.frame, 30)]
    fit(jax.random.key(0), net, Data(pieces, pieces), recipe())
    for a, b in zip(jax.tree.leaves(net), jax.tree.leaves(before), strict=True):
        assert np.array_equal(a, b)
    assert begin(net, recipe()).step == 0


@pytest.mark.slow
def test_training_learns_and_is_repeatable():
    text = ["abcabcabcabcabcabcabcabcabcabcabcabc"] * 6
    options = {"hidden": 8, "steps": 100, "batch": 8, "length": 24, "learning_rate": 2e-2, "gap": 2}
    options |= {"validate_every": 50}
    told = []
    one = caesura.train(text, kind="text", report=lambda net, p: told.append((net, p)), **options)
    two = caesura.train(text, kind="text", **options)
    assert one.fill("abc__cab", samples=3).best == "abcabcab"
    assert {net for net, _ in told} == {"bidirectional"}
    assert told[-1][1].step == 100
    record = one.training["nets"]["bidirectional"]
    assert record["validation_nll"] < 0.5 * np.log(3)
    assert record["recipe"] == "nade"
    assert record["fields"]["hidden"] == 8
    for a, b in zip(jax.tree.leaves(one.nets), jax.tree.leaves(two.nets), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.slow
def test_several_recipes_make_one_filler_that_serves_every_strategy():
    text = ["abcd" * 20] * 6
    tiny = {"hidden": 4, "steps": 2, "batch": 2, "length": 12, "validate_every": 1}
    gaps = {"gap": [1, 9], "gap_lengths": "short", "every": 4}
    both = caesura.train(text, kind="text", recipe="rnn, nade", **tiny, **gaps)
    gap_of = {net: record["fields"]["gap"] for net, record in both.training["nets"].items()}
    assert gap_of == {"forward": 0, "bidirectional": (1, 9)}
    assert set(both.nets) == {"forward", "bidirectional", "onegram"}
    assert both.strategy == "search"
    assert both.fill("ab_d").strategy == "search"
    asked = caesura.train(text, kind="text", recipe="nade,rnn", strategy="oneway", **tiny)
    assert asked.strategy == "oneway"
    alone = caesura.train(text, kind="text", recipe="rnn", **tiny)
    with pytest.raises(CaesuraError, match=r"needs a bidirectional net.*with the recipe 'nade'"):
        alone.fill("ab_d", strategy="nade")
    with pytest.raises(CaesuraError, match="More than one of the recipes 'nade,brnn' trains"):
        caesura.train(text, kind="text", recipe="nade,brnn", **tiny)


def test_validation_takes_whole_pieces_or_the_ends_of_few():
    pieces = [np.full((10, 1), i) for i in range(20)]
    data = hold_out(pieces, 0.1, seed=0)
    assert len(data.train) + len(data.valid) == 20
    assert 1 <= len(data.valid) <= 3
    assert sorted(p[0, 0] for part in data for p in part) == list(range(20))
    few = hold_out([np.arange(100)[:, None]], 0.1, seed=0)
    assert (len(few.train[0]), len(few.valid[0])) == (90, 10)
    assert few.valid[0][0, 0] == 90
