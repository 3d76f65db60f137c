"""Parts that are filled alone: each step against all frames that the part could have there."""

from itertools import product

import jax
import numpy as np
import pytest

import oracle
from caesura.nets.eager import with_numpy
from caesura.nets.frames import Binary, Keys
from caesura.nets.rnn import bidirectional
from caesura.sequence import Line, Sequence, Span
from caesura.strategies import BothWays, around_each_eagerly
from caesura.strategies.passing import Passes

SILENT, HELD, STRUCK = 0, 1, 2
T, D, GAP = 5, 3, Span(2, 4)
SEEDS = np.array([[0, 1]], np.uint32)


def case(frame, before, after, rests, spared=(), *, sings=True, head="orderless"):
    """A net, and a sequence of which a part with these frames around the gap is missing.

    Only the part sounds around the gap; of the keys in it, those that are `spared` are another's.
    """
    shape = {"cell": "lstm", "hidden": 4, "head": head, "head_hidden": 5}
    net = bidirectional(jax.random.key(2), frame, **shape)
    net = with_numpy(jax.tree.map(lambda a: 2 * a, net))
    known = np.zeros((T, D), np.int8)
    known[GAP.start - 1], known[GAP.stop] = before, after
    values, missing = known.astype(np.int32), np.zeros((T, D), bool)
    missing[slice(*GAP)] = True
    for step, key in spared:
        missing[step, key], values[step, key] = False, frame.cardinality - 1
    return net, Sequence(values, missing, Line(known, np.full(T, rests), sings))


def possible(sequence, fill, t, leftward, values):
    """The frames that the part can have at a step, by the words of the documentation."""
    known, missing = sequence.line.known, sequence.missing

    def part(step):
        return np.where(missing[step], fill[step], known[step])

    frames = []
    for notes in product(range(values), repeat=D):
        frame = np.where(missing[t], notes, sequence.values[t])
        on = np.flatnonzero((frame > 0) & missing[t])
        if np.any(frame[~missing[t]] != np.array(notes)[~missing[t]]):
            continue
        if not sequence.line.sings:
            if len(on) or sequence.line.rests[t]:
                frames.append(frame)
            continue
        if len(on) > 1:
            continue
        if len(on) == 0 and not sequence.line.rests[t] and missing[t].any():
            continue
        if values == 3 and len(on) and frame[on[0]] == HELD:
            open_before = leftward and t - 1 >= GAP.start  # it is drawn later
            if not (missing[t - 1] if open_before else part(t - 1) > 0)[on[0]]:
                continue
        if values == 3 and (leftward or t + 1 == GAP.stop):  # what comes after is known
            wanted = np.flatnonzero((part(t + 1) == HELD) & missing[t])
            if len(wanted) and not (len(on) and on[0] in wanted):
                continue
        frames.append(frame)
    return frames


def chances(net, sequence, values):
    """The probability of each fill: of each step, the model's among what is possible there."""
    window = around_each_eagerly(net, [sequence], [GAP], [GAP.stop])
    fills = np.array(oracle.fills(sequence.values, sequence.missing, values))
    inside = fills[None, :, slice(*GAP)]
    passes = Passes(net, window)
    found = np.zeros(len(fills))
    for side in passes.sides:
        joint = np.exp(passes._one_way(side, inside)[0])
        assert joint.sum() == pytest.approx(1, abs=1e-4)
        steps = list(range(*GAP))[:: -1 if side.leftward else 1]
        on = ((fills > 0) & sequence.missing).sum(axis=2)
        one = (on <= 1).all(axis=1) | (not sequence.line.sings)
        for number in np.flatnonzero(one):  # no other is possible
            fill, prob = fills[number], 1.0
            for at, t in enumerate(steps):
                frames = possible(sequence, fill, t, side.leftward, values)
                if not any((frame == fill[t]).all() for frame in frames):
                    prob = 0.0
                    break
                passed = (fills[:, steps[:at]] == fill[steps[:at]]).all(axis=(1, 2))
                each = [joint[passed & (fills[:, t] == f).all(axis=1)].sum() for f in frames]
                own = joint[passed & (fills[:, t] == fill[t]).all(axis=1)].sum()
                prob *= own / sum(each)
            found[number] += prob / 2
    return inside[0], found


CASES = {
    "it may rest": (Keys(D), (0, 1, 0), (0, 0, 0), True),
    "it has no rests": (Keys(D), (0, 2, 0), (2, 0, 0), False),
    "its last note goes on": (Keys(D), (0, 2, 0), (1, 0, 0), True),
    "its note goes through": (Keys(D), (0, 0, 2), (0, 0, 1), False),
    "another has its key": (Keys(D), (2, 0, 0), (0, 2, 0), False, [(2, 1), (3, 0)]),
    "keys are on or off": (Binary(D), (0, 1, 0), (1, 0, 0), False),
    "on or off, and it may rest": (Binary(D), (0, 1, 0), (1, 0, 0), True, [(3, 2)]),
}


SPARED = [(2, 1), (3, 0)]
CHORDS = {
    "chords without rests": case(Keys(D), (0, 2, 0), (0, 1, 0), False, SPARED, sings=False),
    "independent keys": case(Binary(D), (0, 1, 0), (0,) * 3, False, sings=False, head="bernoulli"),
    "chords and rests": case(Binary(D), (0, 1, 0), (0, 0, 0), True, SPARED, sings=False),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CASES, *CHORDS])
def test_every_fill_is_drawn_as_often_as_its_steps_are_probable(name):
    net, sequence = CHORDS[name] if name in CHORDS else case(*CASES[name])
    fills, probs = chances(net, sequence, net.frame.cardinality)
    assert probs.sum() == pytest.approx(1, abs=1e-6)
    n = 1000
    window = around_each_eagerly(net, [sequence], [GAP], [GAP.stop])
    drawn = BothWays().draw(SEEDS, net, window, n)[0]
    counts = np.array([(drawn == fill).all(axis=(1, 2)).sum() for fill in fills])
    assert counts.sum() == n
    assert not counts[probs == 0].any()
    assert (np.abs(counts - n * probs) < 5 * np.sqrt(n * probs * (1 - probs)) + 1).all()
    assert (probs > 0).sum() > 3


def test_a_line_changes_neither_scores_nor_what_is_beside_it_in_a_batch():
    net, line = case(*CASES["its last note goes on"])
    chord = Sequence(line.values, line.missing)
    alone, both = (
        around_each_eagerly(net, some, [GAP] * len(some), [GAP.stop] * len(some))
        for some in ([chord], [line, chord])
    )
    drawn = BothWays().draw(np.array([[3, 4], [0, 1]], np.uint32), net, both, 50)
    np.testing.assert_array_equal(drawn[1], BothWays().draw(SEEDS, net, alone, 50)[0])
    assert ((drawn[0, :, :2] > 0).sum(axis=2) <= 1).all()
    assert ((drawn[1, :, :2] > 0).sum(axis=2) > 1).any()
    scores = BothWays().log_prob(SEEDS, net, both, drawn[[1, 1]]).log_prob
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-5)
