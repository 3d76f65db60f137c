"""Scores of gaps: each gap counts once, with states from one pass."""

import json

import jax
import numpy as np
import pytest

import oracle
from caesura.errors import CaesuraError
from caesura.hardware import Room
from caesura.nets.pair import Pair
from caesura.scoring import gaps as scoring_gaps
from caesura.scoring.gaps import (
    evaluate,
    over_gaps,
    score_gaps,
    score_positions,
    score_steps,
    spread,
    starts_inside,
)
from caesura.sequence import UNKNOWN, Sequence, Span
from caesura.strategies import STRATEGIES, around_missing
from small_nets import make_net, random_values


def test_gaps_stay_clear_of_both_ends():
    gaps = gaps_inside(30, 5, 10)
    assert len(gaps) == 30 - 24  # the paper's rule: T − 2 · 10 − 4
    assert gaps[0].start == 10
    assert gaps[-1].stop == 20
    assert gaps_inside(24, 5, 10) == []


def gaps_inside(length, gap, margin):
    return [Span(start, start + gap) for start in starts_inside(length, gap, margin).tolist()]


def score_alone(net, strategy, values, gap):
    """The gap, and each of its steps, through a window of its own."""
    missing = np.zeros(values.shape, bool)
    missing[gap.start : gap.stop] = True
    window = around_missing(net, Sequence(values, missing), gap.stop)
    whole = strategy.log_prob(jax.random.key(0), net, window, window.values[:, None])
    steps = strategy.marginals(jax.random.key(0), net, window).steps
    return -whole.log_prob[0, 0], -steps.log_prob[0, : gap.stop - gap.start]


@pytest.mark.parametrize("state_bytes", [1, 10**6], ids=["one by one", "side by side"])
@pytest.mark.parametrize("name", [pytest.param("nade", marks=pytest.mark.slow), "onegram"])
def test_every_gap_counts_once_as_if_it_were_alone(name, state_bytes, monkeypatch):
    monkeypatch.setattr(scoring_gaps, "room", lambda: Room(gaps=4, state_bytes=state_bytes))
    strategy = STRATEGIES[name]()
    net = make_net(strategy.net, "bernoulli", cell="gru")
    pieces = [random_values(net.frame, length, length) for length in (9, 4, 13, 12)]
    whole = score_gaps(net, strategy, pieces, gap=3, margin=2)
    positions = score_positions(net, strategy, pieces, gap=3, margin=2)
    alone = [
        score_alone(net, strategy, values, gap)
        for values in pieces
        for gap in gaps_inside(len(values), 3, 2)
    ]
    joint, steps = (np.array(a) for a in zip(*alone, strict=True))
    assert whole.gaps == positions.gaps == len(alone) == 3 + 7 + 6
    assert whole.nll == pytest.approx(joint.mean(), rel=1e-5)
    assert whole.standard_error == pytest.approx(joint.std(ddof=1) / 16**0.5, rel=1e-4)
    assert positions.nll == pytest.approx(steps.mean(axis=0), rel=1e-5)
    assert positions.standard_error == pytest.approx(steps.std(axis=0, ddof=1) / 16**0.5, rel=1e-4)


@pytest.mark.parametrize(
    "name", ["onegram", *(pytest.param(n, marks=pytest.mark.slow) for n in ("gsn", "sir"))]
)
def test_an_evaluation_is_that_of_its_parts(name):
    strategy = STRATEGIES[name]()
    pair = Pair(make_net("forward", "softmax"), make_net("bidirectional", "softmax"))
    net = pair if name == "sir" else make_net(strategy.net, "softmax")
    pieces = [random_values(net.frame, length, length) for length in (9, 12)]
    told = []
    choice = {"gap": 3, "margin": 2, "limit": 5, "seed": 4}
    found = evaluate(net, strategy, pieces, **choice, report=lambda *n: told.append(n))
    assert found.strategy == name
    assert told[-1] == (5, 5)
    assert found.gaps == score_gaps(net, strategy, pieces, **choice)
    positions = score_positions(net, strategy, pieces, **choice)
    np.testing.assert_array_equal(found.positions.nll, positions.nll)
    answer = found.to_dict()
    assert ("effective_samples" in answer) == (name == "sir")
    assert answer["calibration"] == positions.tally.to_dict()
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


def test_the_standard_error_of_one_gap_is_unknown():
    net = make_net("onegram", "softmax")
    pieces = [random_values(net.frame, 30)]
    found = evaluate(net, STRATEGIES["onegram"](), pieces, limit=1)
    assert np.isnan(found.gaps.standard_error)
    assert found.to_dict()["standard_error"] is None


def test_answers_come_in_the_order_of_the_sequences():
    strategy = STRATEGIES["onegram"]()
    net = make_net("onegram", "softmax")
    pieces = [random_values(net.frame, length, length) for length in (40, 8, 70, 12)]
    answers = over_gaps(lambda key, windows: windows.values, net, strategy, pieces, margin=1)
    gaps = [(piece, gap) for piece in pieces for gap in gaps_inside(len(piece), 5, 1)]
    assert answers.gaps == len(gaps)
    for found, (piece, gap) in zip(answers.of_gaps, gaps, strict=True):
        np.testing.assert_array_equal(found[:5], piece[slice(*gap)])


@pytest.mark.parametrize("name", ["bidirectional", "forward"])
def test_single_steps_are_those_of_the_net_itself(name):
    net = make_net(name, "softmax", cell="lstm", layers=2, head_hidden=5)
    pieces = [random_values(net.frame, length, length) for length in (9, 4, 13)]
    pieces[0][3] = UNKNOWN
    nll = []
    for values in pieces:
        probs = oracle.predict(net, values, np.zeros(values.shape, bool))[:, 0]
        nll += [-np.log(p[v]) for p, (v,) in zip(probs, values, strict=True) if v != UNKNOWN]
    found = score_steps(net, pieces)
    assert found.steps == len(nll) == 25
    assert found.nll == pytest.approx(np.mean(nll), rel=1e-5)
    assert score_steps(net, pieces[1:], limit=4).nll == pytest.approx(np.mean(nll[8:12]), rel=1e-5)


def test_gaps_with_an_unknown_value_are_left_out_and_counted():
    strategy, net = STRATEGIES["oneway"](samples=3), make_net("forward", "softmax")
    values = random_values(net.frame, 30)
    values[7] = UNKNOWN
    result = score_gaps(net, strategy, [values], gap=3, margin=2)
    gaps = [gap for gap in gaps_inside(30, 3, 2) if not gap.start <= 7 < gap.stop]
    assert (result.gaps, result.left_out) == (len(gaps), 3)
    alone = []
    for start, stop in gaps:
        missing = np.zeros(values.shape, bool)
        missing[start:stop] = True
        alone.append(-np.log(oracle.oneway(net, values, missing)))
    assert result.nll == pytest.approx(np.mean(alone), rel=1e-5)
    values[2::3] = UNKNOWN
    with pytest.raises(CaesuraError, match="Every gap of 3 steps has a value"):
        score_gaps(net, strategy, [values], gap=3, margin=2)


def test_too_short_sequences_are_said_to_be():
    net = make_net("onegram", "softmax")
    with pytest.raises(CaesuraError, match="No sequence is long enough for a gap of 5"):
        score_gaps(net, STRATEGIES["onegram"](), [random_values(net.frame, 20)])


@pytest.mark.parametrize(("counts", "limit"), [([7, 0, 90, 3], 10), ([5, 5], 3), ([4], 1)])
def test_a_limit_spreads_gaps_evenly_over_all_sequences(counts, limit):
    starts = [np.arange(count) for count in counts]
    firsts = np.cumsum([0, *counts[:-1]])
    chosen = spread(starts, limit)
    places = np.concatenate([first + some for first, some in zip(firsts, chosen, strict=True)])
    assert len(places) == limit
    share = sum(counts) / limit
    assert all(n * share <= place < (n + 1) * share for n, place in enumerate(places))
    assert spread(starts, sum(counts) + 1) == starts


def test_a_limit_scores_so_many_gaps_and_progress_counts_them():
    net = make_net("onegram", "softmax")
    pieces = [random_values(net.frame, length, length) for length in (60, 20, 40)]
    told = []
    few = score_gaps(
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
    every = score_gaps(net, STRATEGIES["onegram"](), pieces, gap=2, margin=1)
    same = score_gaps(net, STRATEGIES["onegram"](), pieces, gap=2, margin=1, limit=every.gaps)
    assert same.nll == every.nll
