"""The strategy `search` against sums over all fills."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oracle
from caesura.sequence import Sequence
from caesura.strategies import NADE, around_missing
from caesura.strategies.beam import _draw
from enumerated import ALPHABET, Problem, Search, make_problem, random_pair
from markov_pair import K, chain_prob, markov_pair, posterior

KEY = jax.random.key(0)
TOP = 10
ALL = {"width": len(ALPHABET) ** 5, "draws": 8, "negligible": 0.0}  # more than there are fills
FEW = {"width": 60, "draws": 64}


TEXTS = ["ca_bb", "ca__bbc", "b___acab", "ac____?b", "cb_____ac", "c_ab_c__b"]


@pytest.fixture(scope="module", params=TEXTS)
def problem(request) -> Problem:
    return make_problem(request.param)


def ranking(problem: Problem, strategy, key=KEY):
    """The fills that a search finds, by number, with their log-probabilities, best first."""
    found = strategy.search(key, problem.pair, problem.window)
    log_prob = np.asarray(found.log_prob, np.float64)[0]
    used = np.flatnonzero(np.isfinite(log_prob))
    order = used[np.argsort(-log_prob[used], kind="stable")]
    return found, problem.numbers(found.values[0, order]), log_prob[order]


def assert_top(numbers, log_prob, target, slack=1e-4):
    """The first fills are the most probable ones; equally probable ones may change places."""
    top = min(TOP, len(target))
    assert len(set(numbers)) == len(numbers)
    best = np.sort(target)[::-1][:top]
    np.testing.assert_allclose(target[numbers[:top]], best, atol=1e-4)
    assert (np.abs(log_prob[:top] - best) < slack).all()


# What a search finds


def test_a_search_of_everything_is_enumeration(problem):
    strategy, target = Search(**ALL), problem.log_target(0.5)
    found, numbers, log_prob = ranking(problem, strategy)
    assert sorted(numbers) == list(range(len(target)))
    np.testing.assert_allclose(log_prob, target[numbers], atol=1e-4)
    assert_top(numbers, log_prob, target)
    assert found.standard_error[0] == 0
    assert float(found.log_evidence[0]) == pytest.approx(np.log(problem.evidence), abs=1e-4)


def test_a_narrow_search_finds_the_best_and_knows_its_error(problem):
    strategy, target = Search(**FEW), problem.log_target(0.5)
    found, numbers, log_prob = ranking(problem, strategy)
    error = float(found.standard_error[0])
    assert np.isfinite(error)
    assert (error == 0) == (len(target) <= FEW["width"])
    assert_top(numbers, log_prob, target, slack=4.5 * error + 1e-4)
    # All have the same normaliser, and so the same error.
    np.testing.assert_allclose(
        log_prob - target[numbers], log_prob[0] - target[numbers[0]], atol=1e-4
    )


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_the_weight_goes_from_the_forward_net_to_the_bidirectional_one(weight):
    problem = make_problem("b___acab")
    found, numbers, log_prob = ranking(problem, Search(weight=weight, **ALL))
    evidence = np.log(problem.evidence)
    assert float(found.log_evidence[0]) == pytest.approx(evidence, abs=1e-4)
    np.testing.assert_allclose(log_prob, problem.log_target(weight)[numbers], atol=1e-4)
    other = problem.log_target(1 - weight)[numbers]
    assert np.abs(log_prob - other).max() > 0.5  # it could have been told


@pytest.mark.parametrize("lookahead", [0, 2])
def test_what_follows_is_heard_only_within_reach(lookahead):
    assert Search(lookahead=lookahead).stop(4, 8) == 4 + lookahead  # the window ends there
    problem = make_problem("b___acab", lookahead=lookahead)
    found, numbers, log_prob = ranking(problem, Search(**ALL))
    np.testing.assert_allclose(log_prob, problem.log_target(0.5)[numbers], atol=1e-4)
    evidence = np.log(problem.evidence)
    assert float(found.log_evidence[0]) == pytest.approx(evidence, abs=1e-4)


def test_what_is_far_below_the_best_is_dropped(large):
    target, counts = large.log_target(0.5), []
    for within in (np.inf, 3.0, 1.0):
        _, numbers, log_prob = ranking(large, Search(**ALL | {"draws": 1}, within=within))
        assert numbers[0] == np.argmax(target)
        off = log_prob - target[numbers]  # the others have their probabilities
        np.testing.assert_allclose(off, off[0], atol=1e-4)
        counts.append(len(numbers))
    assert len(target) == counts[0] > counts[1] > counts[2] > 1


def test_what_is_negligible_is_dropped_while_what_follows_is_scored():
    """The best stay, with their probabilities; the normaliser keeps its error."""
    problem = make_problem("cb_____acabcbbacacb")
    target, counts = problem.log_target(0.5), []
    for negligible in (0.0, 1e-3, 1e-2):
        strategy = Search(**ALL | {"draws": 32, "negligible": negligible})
        found, numbers, log_prob = ranking(problem, strategy)
        error = float(found.standard_error[0])
        assert_top(numbers, log_prob, target, slack=4.5 * error + 1e-4)
        counts.append(len(numbers))
    assert len(target) == counts[0] > counts[1] >= counts[2] > TOP


def test_a_search_with_one_lane_looks_ahead_too():
    """A random fill may be the only one of the beam: there is nothing to share out then."""
    problem = make_problem("ca_bb")
    target = problem.log_target(0.5)
    for seed in range(8):
        strategy = Search(width=1, draws=1)
        _, numbers, _ = ranking(problem, strategy, jax.random.key(seed))
        assert numbers[0] in np.argsort(-target)[:2]


# Estimates, where the beam does not hold everything


@pytest.fixture(scope="module")
def large() -> Problem:
    return make_problem("cb_____ac")


REPEATS = 256


@pytest.mark.parametrize("beam", [{"width": 8}, {"width": 1024, "within": 1.0}], ids=str)
def test_the_normaliser_is_right_on_average(large, beam):
    """The means of 256 runs are within 4.5 standard errors of the truth."""
    strategy = Search(draws=8, **beam)
    keys = jax.random.split(KEY, REPEATS)
    found = strategy.search(keys, large.pair, large.window.repeat(REPEATS))
    totals = np.exp(np.asarray(found.log_total, np.float64))
    assert totals.std() > 0
    assert abs(totals.mean() - large.total()) < 4.5 * totals.std() / REPEATS**0.5

    first = large.numbers(found.values[:1, 0])[0]  # the beam is the same for all keys
    assert (large.numbers(found.values[:, 0]) == first).all()
    log_prob = np.asarray(found.log_prob, np.float64)[:, 0]
    total = np.exp(large.log_target(0.5)[first] - log_prob)  # estimated, over true
    assert abs(total.mean() - 1) < 4.5 * total.std() / REPEATS**0.5
    stated = np.sqrt(np.mean(np.asarray(found.standard_error, np.float64) ** 2 * total**2))
    assert 0.8 < stated / total.std() < 1.6


def test_random_fills_of_a_lane_are_spread_evenly():
    """n of them take a symbol of probability p floor(np) or ceil(np) times, and np on average."""
    lanes = np.array([3, 0, 3, 3, 0, 3, 3, 3, 0])
    probs = {0: np.array([0.5, 0.3, 0.2]), 3: np.array([0.0, 0.25, 0.75])}
    chances = 2 * np.array([probs[lane] for lane in lanes])  # need not add up to one
    random = np.random.default_rng(0)
    drawn = np.array([_draw(random, lanes, chances) for _ in range(4000)])
    for lane, p in probs.items():
        counts = (drawn[:, lanes == lane, None] == np.arange(3)).sum(axis=1)
        n = np.sum(lanes == lane)
        assert ((counts >= np.floor(n * p)) & (counts <= np.ceil(n * p))).all()
        # A count is one of two whole numbers, so its deviation is at most a half.
        assert np.abs(counts.mean(axis=0) - n * p).max() < 4.5 * 0.5 / len(drawn) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("text", "width"), [("cb_____ac", 60), ("c_ab_c__b", 30)])
def test_the_truth_is_as_near_as_the_standard_error_says(text, width):
    """Also where the beam holds so much that few random fills, or none, are outside of it."""
    problem, strategy, repeats = make_problem(text), Search(width=width, draws=8), 4 * REPEATS
    keys = jax.random.split(KEY, repeats)
    found = strategy.search(keys, problem.pair, problem.window.repeat(repeats))
    first = problem.numbers(found.values[:1, 0])[0]
    off = np.asarray(found.log_prob, np.float64)[:, 0] - problem.log_target(0.5)[first]
    error = np.asarray(found.standard_error, np.float64)
    assert (error > 0).all()
    within = [np.mean(np.abs(off) < n * error) for n in (1, 2, 3)]
    assert within[0] > 0.6
    assert within[1] > 0.9
    assert within[2] > 0.96
    assert np.sqrt(np.mean(error**2)) < 4 * np.sqrt(np.mean(off**2))  # it says something


# The three verbs


def test_given_fills_have_the_probability_of_the_search(problem):
    target, count = problem.log_target(0.5), len(ALPHABET) ** 5
    some = np.resize(np.arange(len(target)), count)  # as many for all problems: compiled once
    fills = jnp.asarray(problem.in_window[:, some])
    score = Search(**ALL).log_prob(KEY, problem.pair, problem.window, fills)
    np.testing.assert_allclose(score.log_prob[0], target[some], atol=1e-4)
    assert (score.standard_error == 0).all()


def test_fills_outside_the_beam_have_their_probability_too(large):
    strategy, target = Search(**FEW), large.log_target(0.5)
    score = strategy.log_prob(KEY, large.pair, large.window, jnp.asarray(large.in_window))
    error = np.asarray(score.standard_error)[0]
    assert (error > 0).all()
    assert (np.abs(np.asarray(score.log_prob)[0] - target) < 4.5 * error + 1e-4).all()


DRAWS = 20_000


@pytest.mark.parametrize("text", ["b___acab", "c_ab_c__b"])
def test_draws_come_from_the_distribution(text):
    """By total variation D of N draws: E[D] ≤ ½ Σ √(p (1 − p) / N), and by McDiarmid's inequality
    P(D > E[D] + ε) ≤ exp(−2Nε²), here 1e-6."""
    problem = make_problem(text)
    probs = np.exp(problem.log_target(0.5))
    drawn = Search(**ALL).draw(KEY, problem.pair, problem.window, DRAWS)
    counts = np.bincount(problem.numbers(drawn[0]), minlength=len(probs))
    distance = np.abs(counts / DRAWS - probs).sum() / 2
    expected = np.sum(np.sqrt(probs * (1 - probs) / DRAWS)) / 2
    assert distance < expected + np.sqrt(np.log(1e6) / (2 * DRAWS))


def test_marginals_are_sums_over_fills(problem):
    found = Search(**ALL).marginals(KEY, problem.pair, problem.window)
    probs = np.exp(problem.log_target(0.5))
    values, steps = oracle.marginals(problem.fills, probs, problem.fills[0])
    where = np.asarray(problem.window.missing)[0, :, 0]
    shares = np.exp(np.asarray(found.values.log_prob))[0, where, 0]
    np.testing.assert_allclose(shares, values[problem.missing], atol=1e-4)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-4)
    of_given = np.exp(np.asarray(found.steps.log_prob))[0, where]
    np.testing.assert_allclose(of_given, steps[problem.missing[:, 0]], atol=1e-4)


def test_marginals_of_a_narrow_search_are_distributions_near_the_truth(large):
    found = Search(**FEW).marginals(KEY, large.pair, large.window)
    where = np.asarray(large.window.missing)[0, :, 0]
    shares = np.exp(np.asarray(found.values.log_prob))[0, where, 0]
    probs = np.exp(large.log_target(0.5))
    values, _ = oracle.marginals(large.fills, probs, large.fills[0])
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-4)
    assert (shares > 0).all()
    np.testing.assert_allclose(shares, values[large.missing], atol=0.1)


# Never worse than sampling


def test_a_search_is_never_worse_than_the_best_of_many_samples():
    """By its own log-probabilities. A gap of nine has 19 683 fills, of which the beam keeps 128."""
    pair, strategy, rng = random_pair(), Search(), np.random.default_rng(0)
    missing = np.zeros((20, 1), bool)
    missing[4:13] = True
    for seed in range(3):
        values = rng.integers(0, len(ALPHABET), missing.shape).astype(np.int32)
        window = around_missing(pair, Sequence(values, missing), strategy.stop(13, 20))
        found = strategy.search(KEY, pair, window)
        best = found.values[:, jnp.argmax(found.log_prob[0])][:, None]
        seen = window.of("bidirectional")
        drawn = NADE().draw(jax.random.key(seed), pair.bidirectional, seen, 300)
        fills = jnp.concatenate([best, drawn], axis=1)
        score = np.asarray(strategy.log_prob(KEY, pair, window, fills).log_prob)[0]
        assert score[0] >= score.max() - 1e-4


# Keys and company


def test_a_window_is_searched_alike_in_company():
    problems = [make_problem(text) for text in ("ca__bbc", "cb_____ac")]
    pair = problems[0].pair
    windows = [problem.window for problem in problems]
    together = jax.tree.map(lambda *parts: jnp.concatenate(parts), *windows)
    keys = jax.random.split(KEY, 2)
    strategy = Search(**FEW)
    found = strategy.search(keys, pair, together)
    for row, window in enumerate(windows):
        alone = strategy.search(keys[row], pair, window)
        again = strategy.search(keys[row], pair, window)
        assert np.array_equal(again.log_prob, alone.log_prob)
        assert np.array_equal(found.values[row], alone.values[0])
        np.testing.assert_allclose(found.log_prob[row], alone.log_prob[0], rtol=1e-4)
        np.testing.assert_allclose(found.log_evidence[row], alone.log_evidence[0], rtol=1e-4)


# A process whose posterior is known


def test_the_pair_is_the_markov_chain():
    """What the other tests say of it rests on this: both nets, in any order, give its posterior."""
    pair, values = markov_pair(), np.array([[0], [1], [2], [3], [0], [1], [2]])
    missing = np.zeros_like(values, bool)
    missing[2:5] = True
    fills = oracle.fills(values, missing, K)
    wanted = np.array([chain_prob("b", as_text(fill[2:6])) for fill in fills])
    wanted /= wanted.sum()
    orders = ([2, 3, 4], [3, 2, 4])
    for order in orders:
        found = [oracle.in_order(pair.bidirectional, fill, missing, order) for fill in fills]
        np.testing.assert_allclose(found, wanted, rtol=1e-4)
    np.testing.assert_allclose(oracle.posterior(pair.forward, fills), wanted, rtol=1e-4)


def as_text(values: np.ndarray) -> str:
    return "".join("abcd"[value] for value in np.ravel(values))


def test_a_narrow_search_ranks_the_fills_of_a_markov_chain():
    """1024 fills, of which the beam keeps 64."""
    values = np.array([[2], [0], [1], [0], [0], [0], [0], [0], [2], [3]], np.int32)
    missing = np.zeros_like(values, bool)
    missing[3:8] = True
    truth = posterior("b", "cd", 5)
    strategy = Search(width=64, draws=64)
    pair = markov_pair()
    window = around_missing(pair, Sequence(values, missing), strategy.stop(8, 10))
    found = strategy.search(KEY, pair, window)
    log_prob = np.asarray(found.log_prob)[0]
    order = np.argsort(-log_prob)[:TOP]
    words = [as_text(found.values[0, i, :5]) for i in order]
    assert len(set(words)) == TOP
    error = float(found.standard_error[0])
    assert 0 < error < 0.2
    for word, log, best in zip(words, log_prob[order], truth.values(), strict=False):
        assert truth[word] == pytest.approx(best, rel=1e-4)
        assert abs(log - np.log(truth[word])) < 4.5 * error + 1e-4
