"""A gap in music may be filled as the piece goes on elsewhere, where the notes around are alike."""

from dataclasses import dataclass

import numpy as np
import pytest

from caesura.filler import Filler
from caesura.kinds import Music
from caesura.kinds.music.echo import REACH, SHORTEST, find_better_echo, find_echo
from caesura.sequence import Sequence, Span
from small_fillers import music_filler

GAP = Span(34, 43)


def random_roll(steps: int = 80, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random((steps, 88)) < 0.1).astype(np.int8)


def with_gap(roll: np.ndarray, gap: Span = GAP) -> Sequence:
    missing = np.zeros(roll.shape, bool)
    missing[gap.start : gap.stop] = True
    return Sequence(np.where(missing, 0, roll), missing)


def resemblance(sequence: Sequence, gap: Span, shift: int) -> float:
    """By the definition, step by step."""
    scale = max(gap.stop - gap.start, SHORTEST)
    both = here = there = 0.0
    for t in range(len(sequence)):
        distance = max(gap.start - 1 - t, t - gap.stop, 0)
        if t < gap.start - REACH * scale or t >= gap.stop + REACH * scale:
            continue
        if not sequence.missing[t, 0]:
            weight = 0.5 ** (distance / scale)
            inside = 0 <= t + shift < len(sequence)
            other = sequence.values[t + shift] if inside else np.zeros(88, np.int8)
            here += weight * sequence.values[t].sum()
            there += weight * other.sum()
            both += weight * (sequence.values[t] & other).sum()
    return 2 * both / (here + there)


def test_an_echo_is_at_the_same_place_of_the_bar_if_the_metre_is_known():
    roll = random_roll(70)
    roll[45:66] = roll[28:49]  # the same, 17 steps later
    metre = np.zeros((70, 10), np.int8)
    metre[::4, 0] = 1
    sequence = with_gap(np.concatenate([roll, metre], axis=1))
    sequence.missing[:, 88:] = False
    sequence.values[:, 88:] = metre
    echo = find_echo(sequence, GAP)
    source = next(s for s in range(62) if (sequence.values[s : s + 9] == echo.values).all())
    assert (source - GAP.start) % 4 == 0
    assert find_echo(with_gap(roll), GAP).resemblance > echo.resemblance  # 17 steps later


@pytest.mark.parametrize("other_gap", [None, Span(60, 64)])
def test_an_echo_is_from_where_the_notes_around_are_most_alike(other_gap):
    roll = random_roll(70)
    roll[48:60] = roll[29:41]  # much of what is around the gap, and in it
    sequence = with_gap(roll)
    if other_gap:
        sequence.missing[other_gap.start : other_gap.stop] = True
        sequence.values[sequence.missing] = 0
    each = {}
    for start in range(70 - 9 + 1):
        if not sequence.missing[start : start + 9].any():
            each[start] = resemblance(sequence, GAP, start - GAP.start)
    source = max(each, key=each.__getitem__)
    echo = find_echo(sequence, GAP)
    assert echo.resemblance == pytest.approx(each[source], rel=1e-4)
    assert (echo.values == sequence.values[source : source + 9]).all()


def test_without_notes_or_without_room_there_is_no_echo():
    assert find_echo(with_gap(np.zeros((80, 88), np.int8)), GAP) is None
    assert find_echo(with_gap(random_roll()[:50], Span(3, 47)), Span(3, 47)) is None


def test_an_echo_is_better_only_if_it_agrees_more_than_the_draws_do():
    roll = np.tile(random_roll(40), (3, 1))
    sequence = with_gap(roll)
    truth = roll[sequence.missing]
    draw = np.random.default_rng(1)
    disagree = (draw.random((8, truth.size)) < 0.1).astype(np.int8)
    assert (find_better_echo(sequence, GAP, disagree) == truth).all()
    agree = np.repeat(disagree[:1], 8, axis=0)
    assert find_better_echo(sequence, GAP, agree) is None
    assert find_better_echo(sequence, GAP, disagree[:1]) is None  # one draw says nothing
    assert find_better_echo(with_gap(random_roll()), GAP, agree) is None
    sequence.missing[GAP.start, 40] = False  # a note that is kept: one voice, perhaps
    assert find_better_echo(sequence, GAP, disagree[:, 1:]) is None


def test_an_echo_may_be_far_away_but_not_in_another_gap():
    roll = random_roll(3000)
    roll[2000:2080] = roll[:80]
    sequence = with_gap(roll)
    sequence.missing[1000:1100] = True
    sequence.values[sequence.missing] = 0
    draws = (np.random.default_rng(1).random((8, 9 * 88)) < 0.1).astype(np.int8)
    assert (find_better_echo(sequence, GAP, draws).reshape(9, 88) == roll[34:43]).all()
    sequence.missing[2036] = True
    found = find_better_echo(sequence, GAP, draws)
    assert found is None or not (found.reshape(9, 88) == roll[34:43]).all()


@dataclass(frozen=True)
class WithoutEchoes(Music):
    def propose(self, sequence, steps, drawn):
        return None


@pytest.mark.slow
def test_a_filler_offers_the_echo_first_with_its_own_probability_and_draws_as_before():
    roll = np.tile(random_roll(40), (3, 1))
    filler = music_filler()
    gap = slice(34, 38)
    fill = filler.fill(roll, missing=gap, samples=4, seed=3)
    assert (fill.best == roll).all()
    assert fill.log_prob == pytest.approx(filler.log_prob(roll, missing=gap), rel=1e-4)
    assert fill.candidates[0].log_prob == fill.log_prob
    assert (fill.gaps[0].candidates[0].part == roll[gap]).all()
    assert len(fill.candidates) == 1 + filler.kind.draws  # the echo is the first
    plain = Filler(WithoutEchoes(2), filler.nets, "nade").fill(roll, missing=gap, samples=4, seed=3)
    assert all((a == b).all() for a, b in zip(fill.samples, plain.samples, strict=True))
    assert not any((sample == roll).all() for sample in fill.samples)
    assert (plain.best == fill.candidates[1].sequence).all()


@pytest.mark.slow
def test_gaps_far_from_each_other_have_their_own_echoes():
    roll = np.tile(random_roll(40), (40, 1))
    missing = np.zeros(roll.shape, bool)
    missing[34:38] = missing[1400:1404] = True
    assert (music_filler().fill(roll, missing=missing, seed=3).best == roll).all()
