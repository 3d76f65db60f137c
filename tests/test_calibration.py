"""Calibration: counts against a plain loop, and what is known of honest and of boastful models."""

import json

import numpy as np
import pytest

from caesura.scoring.calibration import BINS, tally_keys, tally_symbols

TALLIES = {"categorical": tally_symbols, "binary": tally_keys}


def log_probs_of(shape, seed=0, sharpness=2.0):
    """Random distributions over the last axis."""
    logits = np.random.default_rng(seed).normal(size=shape) * sharpness
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def truth_from(log_probs, seed=1):
    """Values drawn from the very distributions."""
    uniform = np.random.default_rng(seed).uniform(size=(*log_probs.shape[:-1], 1))
    return (np.exp(log_probs).cumsum(axis=-1) < uniform).sum(axis=-1)


def reliability(pairs):
    """Bin by bin from (stated, true): their number, and the means of both."""
    bins = [[] for _ in range(BINS)]
    for stated, true in pairs:
        bins[min(int(stated * BINS), BINS - 1)].append((stated, true))
    return [(len(some), *np.mean(some, axis=0)) if some else (0, None, None) for some in bins]


def error(pairs):
    return sum(n * abs(s - t) for n, s, t in reliability(pairs) if n) / len(pairs)


def test_symbols_are_counted_as_a_plain_loop_does():
    log_probs = log_probs_of((40, 3, 1, 9))
    truth = truth_from(log_probs)
    told = tally_symbols(log_probs, truth).to_dict()
    everything = []
    for step in range(3):
        first = fifth = 0
        pairs = []
        for n in range(40):
            ranked = sorted(range(9), key=lambda k: -log_probs[n, step, 0, k])
            first += ranked[0] == truth[n, step, 0]
            fifth += truth[n, step, 0] in ranked[:5]
            pairs.append((np.exp(max(log_probs[n, step, 0])), ranked[0] == truth[n, step, 0]))
        rates = {name: values[step] for name, values in told["by_position"].items()}
        assert rates == pytest.approx(
            {
                "top_1": first / 40,
                "top_5": fifth / 40,
                "confidence": np.mean([stated for stated, _ in pairs]),
                "calibration_error_by_position": error(pairs),
            }
        )
        everything += pairs
    assert told["calibration_error"] == pytest.approx(error(everything))
    for bin_, (count, stated, true) in zip(
        told["reliability"], reliability(everything), strict=True
    ):
        assert bin_["statements"] == count
        assert (bin_["stated"], bin_["true"]) == ((pytest.approx(stated), pytest.approx(true)))


def test_keys_are_counted_as_a_plain_loop_does():
    log_probs = log_probs_of((30, 2, 4, 2))
    truth = truth_from(log_probs)
    told = tally_keys(log_probs, truth).to_dict()
    for step in range(2):
        pairs, right, chosen, whole = [], 0, 0, 0
        for n in range(30):
            guess = [np.exp(log_probs[n, step, d, 1]) > 0.5 for d in range(4)]
            pairs += [(np.exp(log_probs[n, step, d, 1]), truth[n, step, d]) for d in range(4)]
            right += sum(g and t for g, t in zip(guess, truth[n, step], strict=True))
            chosen += sum(guess)
            whole += guess == list(truth[n, step])
        notes = sum(true for _, true in pairs)
        rates = {name: values[step] for name, values in told["by_position"].items()}
        assert rates == pytest.approx(
            {
                "precision": right / chosen,
                "recall": right / notes,
                "whole_frames": whole / 30,
                "notes": notes / 30,
                "expected_notes": sum(stated for stated, _ in pairs) / 30,
                "calibration_error_by_position": error(pairs),
            }
        )


@pytest.mark.parametrize(("frame", "shape"), [("categorical", (1, 9)), ("binary", (4, 2))])
def test_batches_add_up(frame, shape):
    log_probs = log_probs_of((50, 3, *shape))
    truth = truth_from(log_probs)
    tally = TALLIES[frame]
    added = tally(log_probs[:20], truth[:20]) + tally(log_probs[20:], truth[20:])
    assert flat(added.to_dict()) == pytest.approx(flat(tally(log_probs, truth).to_dict()))
    json.dumps(added.to_dict(), allow_nan=False)


def flat(document):
    if isinstance(document, dict):
        return [x for value in document.values() for x in flat(value)]
    if isinstance(document, list):
        return [x for value in document for x in flat(value)]
    return [-1.0 if document is None else float(document)]


@pytest.mark.parametrize(("frame", "shape"), [("categorical", (1, 20)), ("binary", (8, 2))])
def test_the_error_is_small_for_an_honest_model_and_large_for_a_boastful_one(frame, shape):
    n, g = 2000, 4
    honest = log_probs_of((n, g, *shape))
    truth = truth_from(honest)
    tally = TALLIES[frame](honest, truth)
    # In a bin of m statements, |Σ stated − Σ true| is at most √(Σ p(1 − p)) ≤ √m / 2 on average,
    # and over B bins Σ √m_b ≤ √(B m).
    bound = 0.5 * (BINS / tally.statements.sum()) ** 0.5
    assert tally.calibration_error < bound
    boastful = 2 * honest
    boastful -= np.log(np.exp(boastful).sum(axis=-1, keepdims=True))
    assert TALLIES[frame](boastful, truth).calibration_error > 3 * bound
    modest = honest / 2
    modest -= np.log(np.exp(modest).sum(axis=-1, keepdims=True))
    assert TALLIES[frame](modest, truth).calibration_error > 3 * bound


def test_a_bin_without_statements_has_no_rates():
    log_probs = np.log(np.full((5, 2, 1, 4), 0.25))
    told = tally_symbols(log_probs, np.zeros((5, 2, 1), int)).to_dict()
    filled = [bin_ for bin_ in told["reliability"] if bin_["statements"]]
    assert filled == [{"statements": 10, "stated": pytest.approx(0.25), "true": 1.0}]
    assert told["reliability"][9] == {"statements": 0, "stated": None, "true": None}


def test_a_certain_statement_falls_into_the_last_bin():
    log_probs = np.zeros((3, 1, 2, 2))
    log_probs[..., 0] = -np.inf
    told = tally_keys(log_probs, np.ones((3, 1, 2), int)).to_dict()
    assert told["reliability"][BINS - 1] == {"statements": 6, "stated": 1.0, "true": 1.0}
    assert told["by_position"]["precision"] == [1.0]
