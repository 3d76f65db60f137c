"""What every strategy, cell and head must do, on every kind of gap."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from caesura.errors import CaesuraError
from caesura.nets.cells import CELLS
from caesura.nets.frames import Continuous
from caesura.nets.heads import HEADS
from caesura.nets.pair import Nets
from caesura.sequence import Sequence, Span
from caesura.strategies import STRATEGIES, Strategy, Window, around_each, around_missing
from small_nets import FRAME_OF_HEAD, make_net, random_values

LENGTH = 60
OPTIONS = {"gsn": {"steps": 60, "chains": 3}, "bayes": {"steps": 60, "chains": 3}}
OPTIONS |= {"nade": {"orders": 3}, "bothways": {}, "oneway": {"samples": 3}, "onegram": {}}
OPTIONS |= {"sir": {"particles": 4, "replicas": 3}, "search": {"width": 8, "draws": 8}}
# So many that not all copies of three windows run at once, but all copies of one do.
MANY = {"gsn": {"chains": 50, "steps": 12}, "sir": {"particles": 45}, "oneway": {"samples": 50}}
EXACT = {"onegram", "oneway", "bothways"}  # whatever the gap


def missing_steps(*gaps: tuple[int, int]) -> np.ndarray:
    missing = np.zeros(LENGTH, bool)
    for start, stop in gaps:
        missing[start:stop] = True
    return missing


GAPS = {
    "both edges and two between": missing_steps((0, 2), (10, 11), (30, 35), (57, 60)),
    "fifty steps": missing_steps((4, 54)),
    "nothing observed": missing_steps((0, LENGTH)),
}


@dataclass(frozen=True)
class Case:
    strategy: str
    head: str
    cell: str
    layers: int
    numpy: bool = False  # whether the window has arrays of NumPy

    def __str__(self) -> str:
        by = "-numpy" if self.numpy else ""
        return f"{self.strategy}-{self.head}-{self.cell}-{self.layers}{by}"


SYMBOLS_ONLY = {"bayes", "search"}
CASES = [
    Case(s, h, "tanh", 1)
    for s in STRATEGIES
    for h in HEADS
    if s not in SYMBOLS_ONLY or h == "softmax"
]
CASES += [Case(s, "softmax", c, 2) for s in ("nade", "oneway") for c in CELLS if c != "tanh"]
CASES += [Case(s, "softmax", c, 2) for s in ("gsn", "bayes") for c in CELLS if c != "tanh"]
CASES += [Case("bothways", h, "lstm", 2, numpy=True) for h in HEADS if HEADS[h].in_numpy]


def is_slow(case: Case) -> bool:
    """Whether it takes long to compile."""
    if case.numpy:
        return False
    large = case.layers > 1 or case.head not in ("softmax", "bernoulli")
    return case.strategy in ("bayes", "sir") or (large and case.strategy != "onegram")


def marked(case: Case) -> object:
    return pytest.param(case, marks=pytest.mark.slow) if is_slow(case) else case


@dataclass(frozen=True)
class Solved:
    """A batch of windows, one for each of GAPS, and what a strategy says of them."""

    case: Case
    strategy: Strategy
    net: Nets
    window: Window

    def draw(self, seed: int) -> np.ndarray:
        return np.asarray(self.strategy.draw(jax.random.key(seed), self.net, self.window, 4))


@pytest.fixture(scope="module", params=map(marked, CASES), ids=str)
def solved(request) -> Solved:
    case = request.param
    strategy = STRATEGIES[case.strategy](**OPTIONS[case.strategy])
    net = make_net(strategy.net, case.head, cell=case.cell, layers=case.layers)
    windows = []
    for steps in GAPS.values():
        values = random_values(net.frame, LENGTH)
        sequence = Sequence(values, steps[:, None] & net.frame.fillable)
        stop = strategy.stop(sequence.gaps[-1].stop, LENGTH)
        windows.append(around_missing(net, sequence, stop))
    batch = jax.tree.map(lambda *parts: jnp.concatenate(parts), *windows)
    if case.numpy:
        assert strategy.in_numpy(net)
        batch = jax.tree.map(np.asarray, batch)
    return Solved(case, strategy, net, batch)


def test_draws_keep_what_is_observed_and_stay_in_range(solved):
    drawn = solved.draw(0)
    observed = ~np.asarray(solved.window.missing)
    assert drawn.shape == (len(GAPS), 4, *observed.shape[1:])
    given = np.broadcast_to(np.asarray(solved.window.values)[:, None], drawn.shape)
    where = np.broadcast_to(observed[:, None], drawn.shape)
    assert np.array_equal(drawn[where], given[where])
    if isinstance(solved.net.frame, Continuous):
        assert np.isfinite(drawn).all()
    else:
        assert drawn.min() >= 0
        assert drawn.max() < solved.net.frame.cardinality


def test_the_same_key_gives_the_same_fill(solved):
    assert np.array_equal(solved.draw(1), solved.draw(1))
    assert not np.array_equal(solved.draw(1), solved.draw(2))


def test_draws_do_not_look_at_the_values_that_are_missing(solved):
    window = solved.window
    blind = replace(solved, window=replace(window, values=window.values * ~window.missing))
    assert np.array_equal(blind.draw(3), solved.draw(3))


def test_log_probs_are_finite_and_say_how_sure_they_are(solved):
    fills = solved.draw(0) if solved.case.numpy else jnp.asarray(solved.draw(0))
    score = solved.strategy.log_prob(jax.random.key(0), solved.net, solved.window, fills)
    log_probs, errors = (np.asarray(a) for a in score)
    assert log_probs.shape == errors.shape == (len(GAPS), 4)
    assert np.all(np.isfinite(log_probs))
    # What is no probability but a density may well be above one.
    assert np.all(log_probs < 0) or isinstance(solved.net.frame, Continuous)
    exact = [solved.strategy.is_exact(int(gap)) for gap in solved.window.longest_gap]
    assert np.array_equal(errors == 0, np.repeat(np.array(exact)[:, None], 4, axis=1))


def test_marginals_are_distributions(solved):
    marginals = solved.strategy.marginals(jax.random.key(0), solved.net, solved.window)
    missing = np.asarray(solved.window.missing)
    total = np.exp(np.asarray(marginals.values.log_prob)).sum(axis=-1)
    np.testing.assert_allclose(total[missing], 1, atol=2e-5)
    steps = np.asarray(marginals.steps.log_prob)[missing.any(axis=-1)]
    assert np.all(np.isfinite(steps))
    assert np.all(steps < 0) or isinstance(solved.net.frame, Continuous)
    if solved.net.frame.components == 1:  # then the step's value is the component's
        values = np.asarray(solved.window.values)
        of_given = np.take_along_axis(np.asarray(marginals.values.log_prob)[:, :, 0], values, 2)
        np.testing.assert_allclose(of_given[:, :, 0][missing[:, :, 0]], steps, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("gsn", "forward"),
        ("nade", "forward"),
        ("bayes", "bidirectional"),
        ("oneway", "onegram"),
        ("sir", "forward"),
        ("search", "forward"),
        ("gsn", "pair"),
    ],
)
def test_a_net_of_another_kind_is_refused(name, other):
    with pytest.raises(CaesuraError, match=f"'{name}' needs a"):
        STRATEGIES[name]().check(make_net(other, "softmax"))


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "sir"])
def test_one_missing_step_has_one_answer(name):
    """There the joint is the marginal, whatever the order, the chain or the start."""
    strategy = STRATEGIES[name](**OPTIONS[name])
    net = make_net(strategy.net, "softmax")
    values = random_values(net.frame, 7)
    window = around_missing(
        net, Sequence(values, np.eye(7, dtype=bool)[:, 3:4]), strategy.stop(4, 7)
    )
    joint = strategy.log_prob(jax.random.key(0), net, window, window.values[:, None])
    alone = strategy.marginals(jax.random.key(1), net, window).steps
    np.testing.assert_allclose(joint.log_prob[0, 0], alone.log_prob[0, 0], atol=1e-5)
    np.testing.assert_allclose(joint.standard_error[0, 0], 0, atol=1e-5)


def three_windows(strategy: Strategy, net: Nets) -> tuple[list[Window], Window]:
    """Windows of different content and gaps: each alone, and all together in one wider batch."""
    sequences = []
    for seed, gap in enumerate([(1, 3), (2, 5), (0, 12)]):
        values = random_values(net.frame, 16, seed)
        missing = np.zeros(values.shape, bool)
        missing[slice(*gap)] = True
        sequences.append(Sequence(values, missing))
    stops = [strategy.stop(sequence.gaps[-1].stop, 16) for sequence in sequences]
    spans = [Span(s.gaps[0].start, s.gaps[-1].stop) for s in sequences]
    each = zip(sequences, spans, stops, strict=True)
    alone = [around_each(net, [s], [span], [stop]) for s, span, stop in each]
    return alone, around_each(net, sequences, spans, stops)


SLOW = ("bayes", "gsn", "nade", "oneway", "sir")
EACH = [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in STRATEGIES]


@pytest.mark.parametrize("name", [*EACH, "bothways by NumPy"])
def test_with_a_key_of_its_own_a_window_does_not_depend_on_the_others(name):
    name, _, numpy = name.partition(" by ")
    strategy = STRATEGIES[name](**OPTIONS[name] | MANY.get(name, {}))
    net = make_net(strategy.net, "orderless" if numpy else "softmax")
    alone, together = three_windows(strategy, net)
    if numpy:
        alone, together = jax.tree.map(np.asarray, (alone, together))
    keys = jax.random.split(jax.random.key(5), 3)
    fills = strategy.draw(keys, net, together, 4)
    scores = strategy.log_prob(keys, net, together, fills)
    marginals = strategy.marginals(keys, net, together)
    for row, (key, window) in enumerate(zip(keys, alone, strict=True)):
        width = window.valid.shape[1]
        drawn = strategy.draw(key, net, window, 4)
        where = np.asarray(window.missing)[0]
        assert np.array_equal(drawn[0][:, where], fills[row, :, :width][:, where])
        score = strategy.log_prob(key, net, window, fills[row : row + 1, :, :width])
        np.testing.assert_allclose(score.log_prob[0], scores.log_prob[row], rtol=1e-4)
        one = np.asarray(strategy.marginals(key, net, window).values.log_prob)[0]
        found = np.asarray(marginals.values.log_prob)[row, :width]
        np.testing.assert_allclose(found[where], one[where], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_describes_itself(name):
    strategy = STRATEGIES[name]()
    net = make_net(strategy.net, "softmax")
    assert strategy.name == name
    assert strategy.batched
    assert strategy.interactive == (name != "bayes")
    assert strategy.is_exact(100) == (name in EXACT)
    assert strategy.is_exact(8) == (name in {*EXACT, "nade"})
    more = [strategy.states(net, 16, gap, samples) for gap, samples in ((3, 1), (3, 9), (12, 9))]
    assert sorted(more) == more
    assert more[0] >= 16


def test_every_head_is_tested():
    assert set(FRAME_OF_HEAD) == set(HEADS)


@pytest.mark.parametrize(("name", "said"), [("bayes", "categorical"), ("search", "for texts")])
def test_frames_that_cannot_be_enumerated_are_refused(name, said):
    strategy = STRATEGIES[name]()
    with pytest.raises(CaesuraError, match=said):
        strategy.check(make_net(strategy.net, "bernoulli"))
