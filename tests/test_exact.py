"""The strategies against exact probabilities, summed over all orders, fills and chains."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oracle
from caesura.nets.frames import Binary, Categorical
from caesura.nets.rnn import Net, bidirectional, onegram, unidirectional
from caesura.sequence import Sequence, Span
from caesura.strategies import Place, around_gaps, around_missing
from caesura.strategies.bayes import Bayes
from caesura.strategies.gibbs import Gibbs
from caesura.strategies.gsn import GSN
from caesura.strategies.nade import NADE
from caesura.strategies.onegram import OneGram
from caesura.strategies.oneway import OneWay

SYMBOLS, SWITCHES = Categorical(3), Binary(2)
KEY = jax.random.key(0)
DRAWS = 20_000


def make_net(direction, frame=SYMBOLS, **options):
    """A net with large weights, so that what it says is far from uniform."""
    rng = np.random.default_rng(2)
    if direction == "onegram":
        return onegram(frame, rng.integers(0, 2, (9, frame.components)))
    make = {"bidirectional": bidirectional, "forward": unidirectional}[direction]
    head = "softmax" if frame == SYMBOLS else "bernoulli"
    net = eqx.filter_eval_shape(make, KEY, frame, head=head, hidden=5, **options)
    return jax.tree.map(lambda a: jnp.asarray(0.9 * rng.normal(size=a.shape), jnp.float32), net)


def mask(*components):
    """What is missing, from one string for each component: ..xx.. has a gap of two steps."""
    return np.array([[here == "x" for here in component] for component in components]).T


def random_values(frame, missing):
    return np.random.default_rng(4).integers(0, frame.cardinality, missing.shape)


def all_fills(frame, missing):
    """The same random values with everything that could stand where they are missing."""
    return oracle.fills(random_values(frame, missing), missing, frame.cardinality)


def stretch(strategy, missing):
    """The steps of the window around all that is missing."""
    first, *_, last = np.flatnonzero(missing.any(axis=1)).tolist() * 2
    return slice(first, strategy.stop(last + 1, len(missing)))


def window_with(strategy, net, missing, values):
    """The window around all that is missing, holding `values` there."""
    return around_missing(net, Sequence(values, missing), stretch(strategy, missing).stop)


def score(strategy, net, missing, fills, key=KEY):
    """Log-probabilities of fills of whole sequences, and their standard errors."""
    steps = stretch(strategy, missing)
    window = window_with(strategy, net, missing, fills[0])
    inside = np.zeros((1, len(fills), *window.values.shape[1:]), np.int32)
    inside[0, :, : steps.stop - steps.start] = np.array(fills)[:, steps]
    return (np.asarray(a)[0] for a in strategy.log_prob(key, net, window, jnp.asarray(inside)))


def assert_marginals(strategy, missing, found, values, frames):
    """Estimates within 4.5 of their standard errors (and rounding) of the truth, where missing.

    The truth is [T, D, K] for all values of each component, and [T] for the frames in the window.
    """
    steps = stretch(strategy, missing)
    width = steps.stop - steps.start
    for estimate, truth, where in [
        (found.values, values, missing),
        (found.steps, frames, missing.any(axis=1)),
    ]:
        log_prob, error = (np.asarray(a)[0, :width][where[steps]] for a in estimate)
        assert (np.abs(log_prob - np.log(np.asarray(truth)[where])) < 4.5 * error + 2e-5).all()


def assert_drawn_from(draws, fills, probs, steps):
    """N draws as often as their probabilities say, by their total variation distance D.

    E[D] ≤ ½ Σ √(p (1 − p) / N), as E|a| ≤ √E[a²] for each fill. One draw more or less moves D by at
    most 1/N, so by McDiarmid's inequality P(D > E[D] + ε) ≤ exp(−2Nε²), here 1e-6.
    """
    number = {fill[steps].tobytes(): i for i, fill in enumerate(fills)}
    draws = np.ascontiguousarray(draws[0, :, : steps.stop - steps.start], fills[0].dtype)
    counts = np.zeros(len(fills))
    for draw in draws:  # a draw that changed an observed value would not be found
        counts[number[draw.tobytes()]] += 1
    n = len(draws)
    expected = np.sum(np.sqrt(probs * (1 - probs) / n)) / 2
    assert np.abs(counts / n - probs).sum() / 2 < expected + np.sqrt(np.log(1e6) / (2 * n))


# nade


def assert_nade_equals_the_oracle(net, missing, fills):
    found, error = score(NADE(), net, missing, fills)
    wanted = np.log([oracle.nade(net, fill, missing) for fill in fills])
    np.testing.assert_allclose(found, wanted, atol=2e-5)
    assert (error == 0).all()


def some_fills(frame, missing):
    """Four random ones."""
    rng = np.random.default_rng(5)
    values = rng.integers(0, frame.cardinality, (4, *missing.shape))
    return list(np.where(missing, values, random_values(frame, missing)))


@pytest.mark.parametrize(
    "pattern", ["..x...", "..xx..", "xx....", "...xxx", "x.xx.x", "xx.xx", "xxxxx"]
)
def test_nade_is_the_average_over_all_orders(pattern):
    missing = mask(pattern)
    fills = some_fills(SYMBOLS, missing)
    assert_nade_equals_the_oracle(make_net("bidirectional"), missing, fills)


@pytest.mark.parametrize(
    ("cell", "layers", "missing_input"),
    [("tanh", 2, "added"), ("tanh", 1, "gating"), ("gru", 2, "gating"), ("lstm", 1, "added")],
)
def test_nade_is_exact_for_every_kind_of_net(cell, layers, missing_input):
    net = make_net(
        "bidirectional", cell=cell, layers=layers, head_hidden=3, missing_input=missing_input
    )
    missing = mask("x.xx.")
    assert_nade_equals_the_oracle(net, missing, some_fills(SYMBOLS, missing))


@pytest.mark.parametrize("components", [("..xx.", "..xx."), ("x.xx", "xx..")])
def test_nade_fills_what_is_missing_of_a_frame(components):
    missing = mask(*components)
    net = make_net("bidirectional", SWITCHES)
    assert_nade_equals_the_oracle(net, missing, some_fills(SWITCHES, missing))


def test_nade_scores_gaps_of_different_lengths_side_by_side():
    net, values = make_net("bidirectional"), random_values(SYMBOLS, mask("......"))
    sequence = Sequence(values, np.zeros_like(values, bool))
    gaps = [Span(0, 2), Span(2, 3), Span(3, 6)]
    window = around_gaps(net, [sequence], [Place(0, *gap, gap.stop) for gap in gaps])
    found = NADE().log_prob(KEY, net, window, window.values[:, None])
    patterns = ("xx....", "..x...", "...xxx")
    wanted = np.log([oracle.nade(net, values, mask(pattern)) for pattern in patterns])
    np.testing.assert_allclose(found.log_prob[:, 0], wanted, atol=2e-5)


def test_nade_marginals_are_what_the_net_says_while_all_is_missing():
    net, missing = make_net("bidirectional", SWITCHES), mask(".x.xx.", "...x..")
    values = random_values(SWITCHES, missing)
    found = NADE().marginals(KEY, net, window_with(NADE(), net, missing, values))
    probs = oracle.predict(net, values, missing)
    frames = [oracle.prob_of_frame(*now) for now in zip(probs, values, missing, strict=True)]
    assert_marginals(NADE(), missing, found, probs, frames)
    assert (found.values.standard_error == 0).all()


# oneway and onegram


@pytest.mark.parametrize(
    ("frame", "components", "cell", "layers"),
    [(SYMBOLS, ["xx.xx"], "lstm", 2), (SWITCHES, [".xx.x", "..x.x"], "tanh", 1)],
)
def test_oneway_is_the_chain_rule(frame, components, cell, layers):
    net, missing = (
        make_net("forward", frame, cell=cell, layers=layers, head_hidden=layers - 1),
        mask(*components),
    )
    fills = all_fills(frame, missing)
    found, error = score(OneWay(), net, missing, fills)
    wanted = np.log([oracle.oneway(net, fill, missing) for fill in fills])
    np.testing.assert_allclose(found, wanted, atol=2e-5)
    assert (error == 0).all()


@pytest.mark.parametrize(
    ("frame", "components"), [(SYMBOLS, [".xxx."]), (SWITCHES, [".xx.x", "..x.x"])]
)
def test_oneway_marginals_are_sums_over_fills(frame, components):
    net, missing = make_net("forward", frame), mask(*components)
    fills, strategy = all_fills(frame, missing), OneWay(samples=4000)
    probs = np.array([oracle.oneway(net, fill, missing) for fill in fills])
    found = strategy.marginals(KEY, net, window_with(strategy, net, missing, fills[-1]))
    assert_marginals(strategy, missing, found, *oracle.marginals(fills, probs, fills[-1]))


def test_onegram_is_the_smoothed_frequency_of_each_value():
    frame, missing = Binary(2), mask(".xx.", "..x.")
    data = np.array([[0, 1], [1, 1], [0, 1]])
    net = onegram(frame, data)
    on = (data.sum(axis=0) + 1) / (len(data) + 2)
    probs = np.tile(np.stack([1 - on, on], axis=1), (4, 1, 1))
    for fill in all_fills(frame, missing):
        window = window_with(OneGram(), net, missing, fill)
        frames = [oracle.prob_of_frame(*now) for now in zip(probs, fill, missing, strict=True)]
        log_prob, _ = score(OneGram(), net, missing, [fill])
        np.testing.assert_allclose(np.exp(log_prob), np.prod(frames), rtol=1e-5)
        assert_marginals(OneGram(), missing, OneGram().marginals(KEY, net, window), probs, frames)


# All three


@pytest.mark.parametrize(
    ("strategy", "frame", "components"),
    [
        (NADE(), SWITCHES, ["x.xx.", "..x.."]),
        (OneWay(), SYMBOLS, [".x.xx"]),
        (OneGram(), SWITCHES, ["x.xx.", "..x.."]),
    ],
    ids=["nade", "oneway", "onegram"],
)
def test_joint_sums_to_one_and_draws_come_from_it(strategy, frame, components):
    net, missing = make_net(strategy.net, frame), mask(*components)
    fills = all_fills(frame, missing)
    log_probs, _ = score(strategy, net, missing, fills)
    probs = np.exp(log_probs)
    assert probs.sum() == pytest.approx(1, abs=1e-5)
    draws = strategy.draw(KEY, net, window_with(strategy, net, missing, fills[0]), DRAWS)
    assert_drawn_from(draws, fills, probs, stretch(strategy, missing))


# gsn and bayes


class Case(NamedTuple):
    """A Gibbs strategy at work on one sequence, and what the oracle knows of its chain."""

    strategy: Gibbs
    net: Net
    missing: np.ndarray
    fills: list[np.ndarray]
    chain: oracle.Chain
    start: np.ndarray  # the paper's: any symbol, or all switches off
    sweeps: int


# gsn runs so short that the number of its sweeps can be told; bayes until it has converged.
CASES = {
    "gsn": (GSN(steps=4, chains=400), SYMBOLS, [".xxx.."]),
    "gsn, two gaps": (GSN(steps=4, chains=400), SYMBOLS, ["..x.x."]),
    "gsn, switches": (GSN(steps=2, chains=400), SWITCHES, ["..xx.", "..x.."]),
    "bayes": (Bayes(steps=20, chains=400), SYMBOLS, [".xx..."]),
}


def make_case(name):
    strategy, frame, components = CASES[name]
    net, missing = make_net(strategy.net, frame), mask(*components)
    fills = all_fills(frame, missing)
    make_chain = {"bidirectional": oracle.gsn, "forward": oracle.bayes}[strategy.net]
    start = [frame == SYMBOLS or not fill[missing].any() for fill in fills]
    longest = max(stop - start for start, stop in Sequence(fills[0], missing).gaps)
    sweeps = math.ceil(strategy.steps / longest)
    chain = make_chain(net, fills, missing)
    return Case(strategy, net, missing, fills, chain, np.array(start) / np.sum(start), sweeps)


@pytest.mark.slow
# Cases in one tuple share their compilation.
@pytest.mark.parametrize(
    "names", [("gsn", "gsn, two gaps"), ("gsn, switches",), ("bayes",)], ids=" and ".join
)
def test_forced_sweep_is_a_distribution_with_the_expectation_of_its_chain(names):
    for case in map(make_case, names):
        log_probs, _ = score(case.strategy, case.net, case.missing, case.fills)
        found = np.exp(log_probs)  # all fills meet the same chains
        assert found.sum() == pytest.approx(1, abs=1e-5)
        for prob, fill in zip(found, case.fills, strict=True):
            mean, deviation = case.chain.forced(case.sweeps, case.start, fill)
            assert abs(prob - mean) < 4 * deviation / case.strategy.chains**0.5 + 1e-5


@pytest.mark.parametrize("names", [("gsn", "gsn, two gaps"), ("bayes",)], ids=" and ".join)
def test_marginals_are_those_of_the_chain(names):
    for case in map(make_case, names):
        probs = case.chain.after(case.sweeps, case.start)
        window = window_with(case.strategy, case.net, case.missing, case.fills[-1])
        found = case.strategy.marginals(KEY, case.net, window)
        wanted = oracle.marginals(case.fills, probs, case.fills[-1])
        assert_marginals(case.strategy, case.missing, found, *wanted)


@pytest.mark.parametrize("names", [("gsn", "gsn, two gaps"), ("bayes",)], ids=" and ".join)
def test_draws_are_those_of_the_chain(names):
    for case in map(make_case, names):
        probs = case.chain.after(case.sweeps, case.start)
        window = window_with(case.strategy, case.net, case.missing, case.fills[0])
        draws = case.strategy.draw(KEY, case.net, window, DRAWS)
        assert_drawn_from(draws, case.fills, probs, stretch(case.strategy, case.missing))


def test_a_chain_does_not_care_for_its_neighbours_in_the_batch():
    """A longer gap beside it makes fewer sweeps, and that must not shorten its own."""
    case = make_case("gsn")
    fill = case.fills[0]
    gaps = [Span(1, 4), Span(0, 6)]
    sequence = Sequence(fill, np.zeros_like(case.missing))
    window = around_gaps(case.net, [sequence], [Place(0, *gap, gap.stop) for gap in gaps])
    strategy = GSN(steps=4, chains=4000)
    found, error = strategy.log_prob(KEY, case.net, window, window.values[:, None])
    wanted, too_few = (np.log(case.chain.forced(n, case.start, fill)[0]) for n in (2, 1))
    assert abs(found[0, 0] - wanted) < 4 * error[0, 0]
    assert abs(too_few - wanted) > 8 * error[0, 0]  # it could have been told


def test_bayes_chain_of_the_tests_above_has_reached_the_posterior():
    """So what they say of its draws, its marginals and its score is about the posterior."""
    case = make_case("bayes")
    posterior = oracle.posterior(case.net, case.fills)
    np.testing.assert_allclose(case.chain.after(case.sweeps, case.start), posterior, atol=1e-6)
    forced = [case.chain.forced(case.sweeps, case.start, fill)[0] for fill in case.fills]
    np.testing.assert_allclose(forced, posterior, atol=1e-6)


def test_bayes_looks_no_further_ahead_than_it_may():
    net, missing = make_net("forward"), [mask(".xx..."), mask("....xx")]
    values = random_values(SYMBOLS, missing[0])
    strategy, gaps = Bayes(steps=20, chains=2000, lookahead=1), [Span(1, 3), Span(4, 6)]
    stops = [strategy.stop(gap.stop, 6) for gap in gaps]
    assert stops == [4, 6]
    places = [Place(0, *gap, stop) for gap, stop in zip(gaps, stops, strict=True)]
    window = around_gaps(net, [Sequence(values, np.zeros_like(missing[0]))], places)
    score = strategy.log_prob(KEY, net, window, window.values[:, None])
    log_prob, error = (np.asarray(a)[:, 0] for a in score)

    def log_posterior(missing, stop):
        fills = oracle.fills(values[:stop], missing[:stop], SYMBOLS.cardinality)
        given = [np.array_equal(fill, values[:stop]) for fill in fills]
        return np.log(oracle.posterior(net, fills)[given].item())

    wanted = np.array([log_posterior(*now) for now in zip(missing, stops, strict=True)])
    assert (np.abs(log_prob - wanted) < 4 * error + 2e-5).all()
    assert abs(log_posterior(missing[0], 6) - wanted[0]) > 10 * error[0]  # it could have been told


# Standard errors


def assert_honest(log_prob, error, mean):
    """100 estimates are spread as their standard errors say, around their expectation.

    Their spread is itself known up to 1/√200 of its size, and 35 % are five times that.
    """
    assert len(log_prob) == 100
    log_prob, error = np.array([log_prob, error], float)
    probs = np.exp(log_prob)
    assert np.mean(probs) == pytest.approx(mean, abs=4 * np.std(probs) / 10)
    assert np.std(probs, ddof=1) == pytest.approx(np.mean(probs * error), rel=0.35)


@pytest.mark.slow
def test_standard_errors_of_chains_are_honest():
    case = make_case("gsn")
    strategy, fill = GSN(steps=4, chains=20), case.fills[0]
    window = window_with(strategy, case.net, case.missing, fill)
    mean, _ = case.chain.forced(case.sweeps, case.start, fill)

    def estimate(key):  # by itself: windows of one call share their random orders
        return strategy.log_prob(key, case.net, window, window.values[:, None])

    found = jax.vmap(estimate)(jax.random.split(KEY, 100))
    assert_honest(*(np.asarray(a)[:, 0, 0] for a in found), mean)


def test_sampled_orders_agree_with_all_orders_and_their_standard_errors_are_honest():
    net, missing = make_net("bidirectional", cell="gru", layers=2), mask("x.xx.")
    strategy = NADE(exact_up_to=0, orders=20)
    log_probs, _ = score(strategy, net, missing, all_fills(SYMBOLS, missing))
    assert np.exp(log_probs).sum() == pytest.approx(1, abs=1e-5)  # the same orders for all fills
    fills = some_fills(SYMBOLS, missing)
    keys = jax.random.split(KEY, 100)
    estimates = np.array([list(score(strategy, net, missing, fills, key)) for key in keys])
    for (log_prob, error), fill in zip(estimates.transpose(2, 1, 0), fills, strict=True):
        assert_honest(log_prob, error, oracle.nade(net, fill, missing))
