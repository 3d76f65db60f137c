"""What filling costs, in cell steps and in compilations; no clock is needed to see it."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from caesura.filler import Request
from caesura.filler.filler import Filler
from caesura.filler.shapes import shapes
from caesura.hardware import sequence_length
from caesura.kinds import Music, Text
from caesura.nets.cells import CELLS, Tanh
from caesura.nets.frames import Binary, Categorical
from caesura.nets.rnn import bidirectional
from caesura.sequence import Sequence
from caesura.strategies import STRATEGIES, Strategy, around_missing
from enumerated import Search, random_filler
from small_nets import FRAME_OF_HEAD, make_net, random_values

TALLY = 0


def count(_: object) -> None:
    global TALLY
    TALLY += 1


class Counted(Tanh):
    """The paper's cell, counting how often it really runs: once for every lane of a batch."""

    def __call__(self, state, u_t, m_t):
        jax.debug.callback(count, state[0] + u_t[0])
        return super().__call__(state, u_t, m_t)


@pytest.fixture(autouse=True)
def _counted_cells(monkeypatch):
    monkeypatch.setitem(CELLS, "counted", Counted)


def cell_steps(run: Callable[[], object]) -> int:
    global TALLY
    jax.effects_barrier()
    TALLY = 0
    jax.block_until_ready(run())
    jax.effects_barrier()
    return TALLY


def problem(strategy: Strategy, length: int, start: int, gap: int):
    net = make_net(strategy.net, "softmax", cell="counted")
    missing = np.zeros((length, 1), bool)
    missing[start : start + gap] = True
    sequence = Sequence(random_values(net.frame, length), missing)
    return net, sequence, strategy.stop(start + gap, length)


KEY = jax.random.key(0)


@pytest.mark.parametrize("length", [64, 256])
def test_the_context_is_run_once(length):
    net, sequence, stop = problem(STRATEGIES["nade"](), length, 30, 4)
    assert cell_steps(lambda: around_missing(net, sequence, stop)) == 2 * length


def test_a_gibbs_step_costs_the_way_to_it_and_not_the_sequence():
    gsn, steps, g = STRATEGIES["gsn"](steps=400), 400, 4
    costs = []
    for length in (64, 256):
        net, sequence, stop = problem(gsn, length, 30, g)
        window = around_missing(net, sequence, stop)
        costs.append(cell_steps(lambda: gsn.draw(KEY, net, window, 1)))  # noqa: B023
    assert costs[0] == costs[1]
    # Two places of a random order lie (g + 1) / 3 apart on average, a little less from one order
    # to the next; to enter, the window is passed once.
    assert 0.8 * steps * (g + 1) / 3 < costs[0] < 8 + 1.05 * steps * (g + 1) / 3


def test_chains_side_by_side_cost_at_most_both_ways():
    gsn = STRATEGIES["gsn"](steps=40, chains=5)
    net, sequence, stop = problem(gsn, 64, 30, 4)
    window = around_missing(net, sequence, stop)
    cost = cell_steps(lambda: gsn.log_prob(KEY, net, window, window.values[:, None]))
    assert cost <= 5 * (8 + 40 * 2 * (4 - 1))


@pytest.mark.slow
def test_many_windows_alike_do_not_wait_for_each_other():
    gsn, windows = STRATEGIES["gsn"](steps=40, chains=1), 130
    net, sequence, stop = problem(gsn, 64, 30, 4)
    window = around_missing(net, sequence, stop)
    many = window.repeat(windows)
    alone = cell_steps(lambda: gsn.log_prob(KEY, net, window, window.values[:, None]))
    together = cell_steps(lambda: gsn.log_prob(KEY, net, many, many.values[:, None]))
    assert together == windows * alone


def test_more_fills_cost_one_more_sweep_each():
    gsn = STRATEGIES["gsn"](steps=40, chains=5)
    net, sequence, stop = problem(gsn, 64, 30, 4)
    window = around_missing(net, sequence, stop)
    fills = jnp.repeat(window.values[:, None], 3, axis=1)
    one = cell_steps(lambda: gsn.log_prob(KEY, net, window, fills[:, :1]))
    three = cell_steps(lambda: gsn.log_prob(KEY, net, window, fills))
    assert three <= one + 2 * 5 * 4 * 2 * (4 - 1)


@pytest.mark.parametrize("g", [1, 2, 4, 5, 6])
def test_the_exact_nade_score_costs_two_to_the_g(g):
    nade = STRATEGIES["nade"]()
    net, sequence, stop = problem(nade, 64, 30, g)
    window = around_missing(net, sequence, stop)
    width = window.values.shape[1]
    # 2^g − 2 in each direction for the subsets, and one pass each way to find the gap's edges.
    assert (
        cell_steps(lambda: nade.log_prob(KEY, net, window, window.values[:, None]))
        == 2 * (2**g - 2) + 2 * width
    )


def test_a_short_gap_does_not_pay_for_a_long_one():
    nade = STRATEGIES["nade"]()
    net, sequence, _ = problem(nade, 64, 10, 2)
    sequence.missing[20:26] = True
    window = around_missing(net, sequence, 26)
    width = window.values.shape[1]
    cost = cell_steps(lambda: nade.log_prob(KEY, net, window, window.values[:, None]))
    assert cost == 2 * (2**2 - 2) + 2 * (2**6 - 2) + 2 * width


def test_a_nade_fill_visits_each_step_once():
    nade, g = STRATEGIES["nade"](), 8
    net, sequence, stop = problem(nade, 64, 30, g)
    window = around_missing(net, sequence, stop)
    cost = cell_steps(lambda: nade.draw(KEY, net, window, 1))
    # To enter, and then no more than the longest way through eight places: 7 + 6 + 7 + … = 31,
    # and at most 7 to the first of them.
    assert g < cost <= g + 31 + 7


def test_several_gaps_are_passed_once():
    """Gap by gap, so the stretch between them costs its length once and not once a step."""
    nade = STRATEGIES["nade"]()
    net, sequence, _ = problem(nade, 256, 10, 4)
    sequence.missing[240:244] = True
    window = around_missing(net, sequence, 244)
    width = window.values.shape[1]
    assert cell_steps(lambda: nade.draw(KEY, net, window, 1)) <= 2 * width + 2 * 4 * 3


def test_oneway_passes_the_gap_once():
    oneway, g = STRATEGIES["oneway"](), 6
    net, sequence, stop = problem(oneway, 64, 30, g)
    window = around_missing(net, sequence, stop)
    assert cell_steps(lambda: oneway.log_prob(KEY, net, window, window.values[:, None])) == g - 1


def test_bayes_runs_every_symbol_from_the_step_to_the_end():
    bayes, start, g, length, steps = STRATEGIES["bayes"](steps=12), 20, 3, 32, 12
    net, sequence, stop = problem(bayes, length, start, g)
    window = around_missing(net, sequence, stop)
    symbols = FRAME_OF_HEAD["softmax"].cardinality
    cost = cell_steps(lambda: bayes.draw(KEY, net, window, 1))
    ahead = [length - t for t in range(start, start + g)]  # cell steps from each missing step on
    each = steps // g
    looking = symbols * each * sum(ahead)
    assert looking <= cost <= looking + steps * (g - 1)


@pytest.mark.slow
def test_a_particle_costs_a_nade_fill_and_the_way_to_the_end():
    sir, start, g, length = STRATEGIES["sir"](particles=5, replicas=2), 20, 4, 32
    net, sequence, stop = problem(sir, length, start, g)
    window = around_missing(net, sequence, stop)
    width = window.values.shape[1]
    walk = g * 2 * (g - 1)  # at most, and at least g − 1
    draw = cell_steps(lambda: sir.draw(KEY, net, window, 1))
    # Both nets pass the window once: the one to begin, the other to judge.
    assert 5 * (2 * width + g - 1) <= draw <= 5 * (2 * width + walk)
    fills = window.values[:, None]
    score = cell_steps(lambda: sir.log_prob(KEY, net, window, fills))
    # Of four particles and the fill itself; all particles of a replica begin in one place.
    most = width + 2 * (2 * width + 4 * (width + walk) + walk)
    assert most - 2 * 5 * walk < score <= most


@pytest.fixture
def compilations():
    """A list that grows by one with every program that XLA compiles."""
    compiled = []

    def listen(event, duration, **_):
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(duration)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield compiled
    jax.monitoring.clear_event_listeners()


@pytest.mark.slow
def test_a_hundred_lengths_share_their_compilations(compilations):
    alphabet = "abcdefgh "
    net = bidirectional(KEY, Categorical(len(alphabet)), head="softmax", hidden=4)
    filler = Filler(Text(alphabet), {"bidirectional": net}, strategy="nade")
    draw = np.random.default_rng(0)

    def fill(length: int, gaps: list[int]) -> None:
        text = draw.choice(list(alphabet), length)
        for number, gap in enumerate(gaps):
            start = 1 + number * (length // len(gaps))
            text[start : start + gap] = "_"
        filler.fill("".join(text), samples=2)

    lengths = range(24, 124)
    buckets = {sequence_length(length) for length in lengths}
    assert buckets == {64, 128}
    for length in buckets:
        fill(length, [3])
    first = len(compilations)
    assert 0 < first < 60
    for length in lengths:
        fill(length, [3])
    assert len(compilations) == first
    # Other gaps: other windows to draw in, and a score for each length and number of them.
    for length in lengths:
        fill(length, draw.integers(1, 7, draw.integers(1, 4)).tolist())
    assert len(compilations) < first + 80


@pytest.mark.slow
def test_one_program_serves_any_number_of_gibbs_steps(compilations):
    counts = [jnp.asarray(m) for m in (4, 40)]
    gsn = STRATEGIES["gsn"]
    net, sequence, stop = problem(gsn(), 64, 30, 4)
    window = around_missing(net, sequence, stop)
    fills = window.values[:, None]
    few = gsn(steps=counts[0], chains=3).log_prob(KEY, net, window, fills)
    first = len(compilations)
    many = gsn(steps=counts[1], chains=3).log_prob(KEY, net, window, fills)
    assert len(compilations) == first
    for m, found in ((4, few), (40, many)):
        same = gsn(steps=m, chains=3).log_prob(KEY, net, window, fills)
        assert float(found.log_prob[0, 0]) == pytest.approx(float(same.log_prob[0, 0]), rel=1e-6)


@pytest.mark.slow
def test_a_search_compiles_nothing(compilations):
    """A thousand requests of any length, number of gaps and kind of gap, in one process."""
    filler, rng, few = random_filler(), np.random.default_rng(0), Search(width=4, draws=2)
    requests = []
    for seed in range(1000):
        text = rng.choice(list("abc?"), int(rng.integers(1, 60)))
        text[rng.random(len(text)) < rng.choice([0.02, 0.1])] = "_"
        open_gap = "{0-2}" if seed % 10 == 0 else ""
        requests.append(Request("".join(text) + open_gap, strategy=few, seed=seed))
    first = len(compilations)
    fills = filler.fill_many(requests)
    filler.fill("abcab_cabca" * 10)
    assert len(compilations) == first
    assert all("_" not in fill.best for fill in fills)


def test_music_by_bothways_compiles_nothing(compilations):
    """Whatever the length, the gaps and the draws; nor do its scores and marginals."""
    net = bidirectional(KEY, Binary(88), head="orderless", hidden=4, head_hidden=4)
    filler = Filler(Music(), {"bidirectional": net}, strategy="bothways")
    rng, first = np.random.default_rng(0), len(compilations)
    requests = []
    for seed in range(8):
        roll = (rng.random((int(rng.integers(2, 30)), 88)) < 0.05).astype(float)
        roll[rng.random(len(roll)) < 0.2] = np.nan
        roll[0] = np.nan
        requests.append(Request(roll, seed=seed, samples=seed % 3, draws=2 + seed % 2))
    fills = filler.fill_many(requests)
    whole = np.nan_to_num(requests[0].data)
    filler.log_prob(whole, missing=slice(0, 1))
    filler.marginals(requests[0].data)
    assert not list(shapes(filler.kind, filler.method()))
    assert len(compilations) == first
    assert not any(np.isnan(fill.best).any() for fill in fills)
    alone = filler.fill(requests[7].data, seed=7, samples=1, draws=3)
    assert np.array_equal(alone.best, fills[7].best)
