"""The forward net's posterior where the bidirectional net proposes: against sums over all fills."""

import json
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oracle
from caesura.errors import CaesuraError
from caesura.filler.filler import Filler
from caesura.kinds import Text
from caesura.nets.frames import Binary, Categorical, Frame
from caesura.nets.pair import Pair
from caesura.nets.rnn import bidirectional, unidirectional
from caesura.sequence import Sequence, Span
from caesura.strategies import SIR, Bayes, Place, Window, around_gaps, around_missing
from command_line import ask

KEY = jax.random.key(0)
DRAWS = 20_000


def make_pair(frame: Frame) -> Pair:
    """Nets that never heard of each other; the one that proposes is less sure of itself."""
    rng = np.random.default_rng(2)
    head = "softmax" if isinstance(frame, Categorical) else "bernoulli"

    def random(make, size):
        net = eqx.filter_eval_shape(make, KEY, frame, head=head, hidden=4)
        draw = lambda a: jnp.asarray(size * rng.normal(size=a.shape), jnp.float32)  # noqa: E731
        return jax.tree.map(draw, net)

    return Pair(random(unidirectional, 0.9), random(bidirectional, 0.5))


class Problem(NamedTuple):
    """A sequence with gaps, all of its fills, and what the forward net makes of them."""

    pair: Pair
    missing: np.ndarray
    fills: list[np.ndarray]
    joint: np.ndarray  # of each fill with what follows, as far as that may speak

    @property
    def proposals(self) -> oracle.Proposals:
        return oracle.Proposals(self.joint, self.pair.bidirectional, self.fills, self.missing)

    @property
    def posterior(self) -> np.ndarray:
        return self.joint / self.joint.sum()

    def window(self, strategy: SIR) -> Window:
        """Holding the last of the fills."""
        stop = strategy.stop(self.stretch.stop, len(self.missing))
        return around_missing(self.pair, Sequence(self.fills[-1], self.missing), stop)

    @property
    def stretch(self) -> slice:
        gaps = Sequence(self.fills[0], self.missing).gaps
        return slice(gaps[0].start, gaps[-1].stop)

    def score(self, strategy: SIR, key=KEY) -> tuple[np.ndarray, np.ndarray]:
        window = self.window(strategy)
        fills = np.repeat(np.asarray(window.values), len(self.fills), axis=0)
        inside = np.array(self.fills)[:, self.stretch]
        fills[:, : inside.shape[1]] = inside
        estimate = strategy.log_prob(key, self.pair, window, jnp.asarray(fills[None]))
        return tuple(np.asarray(a, np.float64)[0] for a in estimate)

    def counts(self, drawn: np.ndarray) -> np.ndarray:
        """How often each fill is among some; one that changed an observed value is not found."""
        width = self.stretch.stop - self.stretch.start
        number = {fill[self.stretch].tobytes(): i for i, fill in enumerate(self.fills)}
        drawn = np.ascontiguousarray(np.asarray(drawn)[0, :, :width], self.fills[0].dtype)
        return np.bincount([number[fill.tobytes()] for fill in drawn], minlength=len(self.fills))


def make_problem(frame: Frame, *components: str, lookahead: int | None = None) -> Problem:
    """What is missing comes as a string for each component: ..xx.. has a gap of two steps."""
    missing = np.array([[here == "x" for here in steps] for steps in components]).T
    values = np.random.default_rng(4).integers(0, frame.cardinality, missing.shape)
    fills = oracle.fills(values, missing, frame.cardinality)
    pair = make_pair(frame)
    last = np.flatnonzero(missing.any(axis=1))[-1] + 1
    stop = None if lookahead is None else last + lookahead
    heard = [fill[:stop] for fill in fills]
    joint = np.array(
        [oracle.oneway(pair.forward, fill, np.ones(fill.shape, bool)) for fill in heard]
    )
    return Problem(pair, missing, fills, joint)


def distance(counts: np.ndarray, probs: np.ndarray) -> float:
    """Total variation."""
    return np.abs(counts / counts.sum() - probs).sum() / 2


def bound(probs: np.ndarray, n: int) -> float:
    """What the distance of n independent draws from their own probabilities stays below.

    E[D] ≤ ½ Σ √(p (1 − p) / n), as E|a| ≤ √E[a²] for each fill. One draw more or less moves D by at
    most 1/n, so by McDiarmid's inequality P(D > E[D] + ε) ≤ exp(−2nε²), here 1e-6.
    """
    return np.sum(np.sqrt(probs * (1 - probs) / n)) / 2 + np.sqrt(np.log(1e6) / (2 * n))


TWO = ["..xx..."]
SMALL = {
    "two particles": (Categorical(3), TWO, 2, None),
    "three particles": (Categorical(3), TWO, 3, None),
    "two gaps": (Categorical(3), ["x.x."], 2, None),
    "short sight": (Categorical(3), TWO, 2, 1),
    "switches": (Binary(3), [".xx.."] * 3, 2, None),
    "parts of frames": (Binary(2), [".xx..", "..x.."], 3, None),
}


FAST = ("switches",)


@pytest.mark.parametrize(
    "name", [n if n in FAST else pytest.param(n, marks=pytest.mark.slow) for n in SMALL]
)
def test_few_particles_are_drawn_and_scored_as_the_sum_over_all_of_them_says(name):
    """Far from the posterior and from nade, so that nothing but the definition can be meant."""
    frame, components, particles, lookahead = SMALL[name]
    problem = make_problem(frame, *components, lookahead=lookahead)
    strategy = SIR(particles=particles, replicas=2000, lookahead=lookahead)
    probs = problem.proposals.sir(particles)
    assert probs.sum() == pytest.approx(1, abs=1e-9)

    # Fills of one window share their particles, so each comes from a window of its own.
    window, keys = problem.window(strategy).repeat(DRAWS), jax.random.split(KEY, DRAWS)
    drawn = jnp.swapaxes(strategy.draw(keys, problem.pair, window, 1), 0, 1)
    counts = problem.counts(drawn)
    assert distance(counts, probs) < bound(probs, DRAWS)
    for other in (problem.posterior, problem.proposals.sir(1)):  # it could have been told
        assert distance(counts, other) > 2 * bound(probs, DRAWS)

    log_probs, errors = problem.score(strategy)
    found = np.exp(log_probs)
    assert (np.abs(found - probs) < 4.5 * found * errors + 1e-6).all()
    assert abs(found.sum() - 1) < 4.5 * np.sum(found * errors)  # all fills meet the same particles


def test_fills_that_are_apart_are_independent_draws_of_one_window():
    problem = make_problem(Categorical(3), *TWO)
    strategy = SIR(particles=2, apart=True)
    drawn = strategy.draw(KEY, problem.pair, problem.window(strategy), DRAWS)
    probs = problem.proposals.sir(2)
    assert distance(problem.counts(drawn), probs) < bound(probs, DRAWS)


BOTH_FRAMES = pytest.mark.parametrize(
    "problem",
    [make_problem(Categorical(3), *TWO), make_problem(Binary(3), *[".xx.."] * 3)],
    ids=["symbols", "switches"],
)


@pytest.mark.slow
@BOTH_FRAMES
def test_with_particles_it_comes_to_the_posterior(problem):
    """By Jensen's inequality E[p / Z] ≥ p / E[Z], so the regret is at most log(1 + spread / K)."""
    posterior, spread = problem.posterior, problem.proposals.spread()
    regret = {1: posterior @ np.log(posterior / problem.proposals.sir(1))}
    for particles in (10, 1000):
        log_probs, errors = problem.score(SIR(particles=particles, replicas=20))
        regret[particles] = posterior @ (np.log(posterior) - log_probs)
        slack = 4.5 * posterior @ errors
        assert -slack < regret[particles] < np.log(1 + spread / particles) + slack
    assert regret[1] > 2 * regret[10]
    assert regret[1000] < 0.05


@BOTH_FRAMES
def test_the_effective_samples_are_those_of_the_weights(problem):
    strategy = SIR(particles=20_000)
    found = strategy.effective_samples(KEY, problem.pair, problem.window(strategy))
    wanted = 20_000 / (1 + problem.proposals.spread())
    assert float(found[0]) == pytest.approx(wanted, rel=0.1)


@BOTH_FRAMES
def test_marginals_are_what_the_bidirectional_net_says_between_fills_of_the_posterior(problem):
    strategy = SIR(particles=3000, replicas=10)
    window, net = problem.window(strategy), problem.pair.bidirectional
    found = strategy.marginals(KEY, problem.pair, window)
    nothing, shown = np.zeros_like(problem.missing), problem.fills[-1]
    said = np.array([oracle.predict(net, fill, nothing) for fill in problem.fills])
    values = np.einsum("f,ftdk->tdk", problem.posterior, said)
    of_shown = np.take_along_axis(said, shown[None, :, :, None], axis=3).prod(axis=2)[:, :, 0]
    by_nade = oracle.predict(net, shown, problem.missing)
    few = problem.proposals.spread() / strategy.particles  # how far so few are from the posterior

    def near(estimate, truth):
        width = problem.stretch.stop - problem.stretch.start
        log_prob, error = (np.asarray(a)[0, :width] for a in estimate)
        return np.abs(log_prob - np.log(truth[problem.stretch])) < 4.5 * error + few

    assert near(found.values, values).all()
    assert near(found.steps, problem.posterior @ of_shown).all()
    assert not near(found.values, by_nade).all()  # it could have been told


@pytest.mark.slow
def test_on_symbols_it_agrees_with_exact_gibbs_sampling():
    """Many gaps side by side, each with the end of its own window."""
    frame = Categorical(3)
    pair, values = make_pair(frame), np.random.default_rng(5).integers(0, 3, (12, 1))
    gaps = [Span(0, 2), Span(3, 4), Span(5, 8), Span(10, 12)]
    bayes = Bayes(steps=40, chains=500, lookahead=3)
    sir = SIR(particles=2000, replicas=10, lookahead=3)
    places = [Place(0, *gap, sir.stop(gap.stop, 12)) for gap in gaps]
    sequence = Sequence(values, np.zeros_like(values, bool))
    scores = []
    for strategy, net in ((bayes, pair.forward), (sir, pair)):
        window = around_gaps(net, [sequence], places)
        scores.append(strategy.log_prob(KEY, net, window, window.values[:, None]))
    (exact, exact_error), (found, error) = scores
    assert (np.abs(exact - found) < 4.5 * np.hypot(exact_error, error) + 0.04).all()


def acceptance(problem: Problem) -> float:
    """The share of accepted proposals of a chain that has reached the posterior."""
    proposes = oracle.gsn(problem.pair.bidirectional, problem.fills, problem.missing)
    rates = []
    for q in proposes.redraw.values():
        flow = problem.posterior[:, None] * q  # accepted are as many here as back again
        rates.append(np.minimum(flow, flow.T).sum())
    return float(np.mean(rates))


@pytest.mark.slow
def test_a_model_with_both_nets_fills_by_it_and_is_evaluated(tmp_path):
    pair = make_pair(Categorical(3))
    filler = Filler(
        Text("abc"), {"forward": pair.forward, "bidirectional": pair.bidirectional}, "sir"
    )
    fill = filler.fill("abc__cba", samples=3)
    assert all(text[:3] + text[5:] == "abccba" for text in fill.samples)
    again = filler.log_prob("abcaacba", missing=slice(3, 5))
    assert again < 0 < again.standard_error
    assert filler.method(None).name == "sir"

    filler.save(tmp_path / "abc.model")
    (tmp_path / "abc.txt").write_text("abcabbcabcacbacbacbabcabcabcab")
    words = ("evaluate", tmp_path / "abc.model", tmp_path / "abc.txt", "--gap", 2, "--limit", 3)
    told = json.loads(ask(*words, "--json"))["results"][0]
    assert 1 < told["effective_samples"] < SIR().particles
    assert f"are worth {told['effective_samples']:.1f} " in ask(*words)

    del filler.nets["forward"]
    with pytest.raises(CaesuraError, match="'sir' needs a forward net, which this model lacks"):
        filler.fill("abc__cba")


def test_nets_that_cannot_serve_are_refused():
    frame = Categorical(3)
    pair = make_pair(frame)
    with pytest.raises(CaesuraError, match="a forward net and a bidirectional one"):
        Pair(pair.bidirectional, pair.forward)
    blind = bidirectional(KEY, frame, head="softmax", hidden=4, missing_input="none")
    with pytest.raises(CaesuraError, match="trained with a missing-value input"):
        SIR().check(Pair(pair.forward, blind))
