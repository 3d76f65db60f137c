"""`evaluate` scores the paper's gaps, each once, with states from one pass."""

import jax
import numpy as np
import pytest

import oracle
from caesura.errors import CaesuraError
from caesura.evaluate import evaluate, gaps_inside, spread
from caesura.sequence import UNKNOWN, Gap, Sequence
from caesura.strategies import STRATEGIES, around_missing
from small_nets import make_net, random_values


def test_gaps_stay_clear_of_both_ends():
    gaps = gaps_inside(30, 5, 10)
    assert len(gaps) == 30 - 24  # the paper's rule: T − 2 · 10 − 4
    assert gaps[0].start == 10
    assert gaps[-1].stop == 20
    assert gaps_inside(24, 5, 10) == []


@pytest.mark.parametrize("name", ["nade", "oneway", "onegram"])
def test_every_gap_counts_once_as_if_it_were_alone(name):
    strategy = STRATEGIES[name](**({"samples": 5} if name == "oneway" else {}))
    net = make_net(strategy.net, "bernoulli", cell="gru")
    pieces = [random_values(net.frame, length, length) for length in (9, 4, 13)]
    result = evaluate(net, strategy, pieces, gap=3, margin=2, batch=4)
    alone = []
    for values in pieces:
        for gap in gaps_inside(len(values), 3, 2):
            missing = np.zeros(values.shape, bool)
            missing[gap.start : gap.stop] = True
            window = around_missing(net, Sequence(values, missing), gap.stop)
            score = strategy.log_prob(jax.random.key(0), net, window, window.values[:, None])
            alone.append(score.log_prob[0, 0])
    assert result.gaps == len(alone) == 3 + 7
    assert result.nll == pytest.approx(-np.mean(alone), rel=1e-5)
    assert result.standard_error == pytest.approx(np.std(alone, ddof=1) / 10**0.5, rel=1e-4)
    assert result.nll_by_position.shape == (3,)


def test_by_position_the_onegram_is_the_joint_cut_in_pieces():
    strategy = STRATEGIES["onegram"]()
    net = make_net("onegram", "softmax")
    result = evaluate(net, strategy, [random_values(net.frame, 40)], gap=4)
    assert result.nll_by_position.sum() == pytest.approx(result.nll, rel=1e-5)


def test_gaps_with_an_unknown_value_are_left_out_and_counted():
    strategy, net = STRATEGIES["oneway"](samples=3), make_net("forward", "softmax")
    values = random_values(net.frame, 30)
    values[7] = UNKNOWN
    result = evaluate(net, strategy, [values], gap=3, margin=2, batch=8)
    gaps = [gap for gap in gaps_inside(30, 3, 2) if not gap.start <= 7 < gap.stop]
    assert (result.gaps, result.left_out) == (len(gaps), 3)
    alone = []
    for start, stop in gaps:
        missing = np.zeros(values.shape, bool)
        missing[start:stop] = True
        alone.append(-np.log(oracle.oneway(net, values, missing)))
    assert result.nll == pytest.approx(np.mean(alone), rel=1e-5)
    values[2::3] = UNKNOWN
    with pytest.raises(CaesuraError, match="Every gap of 3 steps holds a value"):
        evaluate(net, strategy, [values], gap=3, margin=2)


def test_too_short_sequences_are_said_to_be():
    net = make_net("onegram", "softmax")
    with pytest.raises(CaesuraError, match="No sequence is long enough for a gap of 5"):
        evaluate(net, STRATEGIES["onegram"](), [random_values(net.frame, 20)])


@pytest.mark.parametrize(("counts", "limit"), [([7, 0, 90, 3], 10), ([5, 5], 3), ([4], 1)])
def test_a_limit_spreads_gaps_evenly_over_all_sequences(counts, limit):
    gaps = [[Gap(t, t + 2) for t in range(count)] for count in counts]
    chosen = spread(gaps, limit)
    number = {(i, g): n for n, (i, g) in enumerate((i, g) for i, s in enumerate(gaps) for g in s)}
    places = [number[i, g] for i, some in enumerate(chosen) for g in some]
    assert len(places) == limit
    share = sum(counts) / limit
    assert all(n * share <= place < (n + 1) * share for n, place in enumerate(places))
    assert spread(gaps, sum(counts) + 1) == gaps


def test_a_limit_scores_so_many_gaps_and_progress_counts_them():
    net = make_net("onegram", "softmax")
    pieces = [random_values(net.frame, length, length) for length in (60, 20, 40)]
    told = []
    few = evaluate(
        net,
        STRATEGIES["onegram"](),
        pieces,
        gap=2,
        margin=1,
        limit=9,
        report=lambda *n: told.append(n),
    )
    assert few.gaps == 9
    assert told[-1] == (9, 9)
    every = evaluate(net, STRATEGIES["onegram"](), pieces, gap=2, margin=1)
    same = evaluate(net, STRATEGIES["onegram"](), pieces, gap=2, margin=1, limit=every.gaps)
    assert same.nll == every.nll
