"""Models of struck and held keys: what the metre is good for, and how such a model is used."""

from fractions import Fraction

import jax
import mido
import numpy as np
import pytest

import caesura
from caesura.kinds import Composition, Song
from caesura.kinds.music.metre import SWITCHES, Bar, make_metre
from caesura.kinds.music.roll import KEYS
from caesura.kinds.music.struck import HELD, STRUCK
from caesura.nets.architecture import describe
from caesura.nets.frames import Keys
from caesura.nets.rnn import bidirectional
from caesura.training.loop import Data, fit
from caesura.training.recipe import choose
from command_line import mistake, run
from small_fillers import music_filler
from songs import content

OPTIONS = ("steps_per_beat", "struck")
TICKS, PITCHES = 96, (48, 55, 60)


def rhythm(seed: int, metre: bool) -> np.ndarray:
    """One key, struck at the start of bars of two to four beats, in no order, and held a step."""
    beats = np.random.default_rng(seed).integers(2, 5, 40)
    starts = np.cumsum([0, *beats[:-1]])
    bars = [Bar(Fraction(int(start)), Fraction(1)) for start in starts]
    switches = make_metre(bars, 4 * int(beats.sum()), 4)
    key = np.zeros((len(switches), 1), np.int8)
    key[4 * starts], key[4 * starts + 1] = STRUCK, HELD
    return np.concatenate([key, switches * metre], axis=1)


def nll(metre: bool) -> float:
    """Of a step in a gap of a piece that was not learnt."""
    small = {"hidden": 6, "head_hidden": 8, "steps": 150, "batch": 8, "length": 48, "dropout": 0.0}
    small |= {"gap": [1, 12], "every": 6, "validate_every": 75, "learning_rate": 0.03, "shift": 0}
    recipe = choose("keys", "music", OPTIONS, small | {"parts": 0.0, "valid_steps": 1000}).recipe
    shape = {"hidden": 6, "head_hidden": 8, "missing_input": "each"}
    frame = Keys(1 + SWITCHES, SWITCHES)
    net = bidirectional(jax.random.key(0), frame, head="orderless", cell="lstm", **shape)
    data = Data([rhythm(seed, metre) for seed in range(8)], [rhythm(8, metre), rhythm(9, metre)])
    return fit(jax.random.key(1), net, data, recipe).nll


@pytest.mark.slow
def test_the_metre_explains_the_rhythm():
    """Without it, nothing says how long a bar is, unless both of its ends are seen."""
    with_metre, without = nll(metre=True), nll(metre=False)
    print(f"{with_metre:.4f} nats a step with the metre, {without:.4f} without")
    assert with_metre < 0.5 * without


def piece(seed: int) -> Song:
    """A chord at the start of each bar, of two to four beats."""
    draw = np.random.default_rng(seed)
    file, wait = mido.MidiFile(ticks_per_beat=TICKS), 0
    track = file.add_track()
    for beats in draw.integers(2, 5, 12).tolist():
        signature = mido.MetaMessage("time_signature", numerator=beats, denominator=4)
        track.append(signature.copy(time=wait))
        track += [mido.Message("note_on", note=pitch, velocity=70) for pitch in PITCHES]
        for pitch in PITCHES:
            time = TICKS // 2 if pitch == PITCHES[0] else 0
            track.append(mido.Message("note_off", note=pitch, time=time))
        wait = beats * TICKS - TICKS // 2
    track.append(mido.MetaMessage("end_of_track", time=wait))
    return Song.from_bytes(content(file))


@pytest.fixture(scope="module")
def filler():
    small = {"hidden": 8, "head_hidden": 16, "steps": 20, "batch": 8, "length": 32, "every": 6}
    small |= {"gap": [1, 12], "validate_every": 20, "learning_rate": 0.03, "valid_steps": 200}
    pieces = [piece(seed) for seed in range(8)]
    return caesura.train(pieces, kind="music", recipe="keys", seed=0, **small)


@pytest.mark.slow
def test_bars_are_filled_written_and_read(filler, tmp_path):
    filler.save(tmp_path / "keys.model")
    filler = caesura.load(tmp_path / "keys.model")
    found = describe(filler.nets["bidirectional"])
    assert (found.frame.name, found.head, filler.strategy) == ("keys", "orderless", "bothways")
    assert (filler.kind.struck, filler.kind.steps_per_beat) == (True, 0)
    item = Composition(gaps=((3, 5),)).arrange(filler.kind.open(piece(100)))
    fill = filler.fill(item, samples=4, seed=0)
    gap, whole = fill.sequence.gaps[0], item.complete.values
    assert fill.missing.sum() == KEYS * (gap.stop - gap.start)
    for candidate in fill.candidates:
        again = filler.kind.open(candidate.sequence).sequence.values
        assert np.array_equal(again[gap.start : gap.stop, :KEYS], candidate.parts[0])
        outside = np.delete(np.arange(len(whole)), range(gap.start, gap.stop))
        assert np.array_equal(again[outside], whole[outside])
    log_probs = [
        filler.log_prob(sample, missing=slice(gap.start, gap.stop)) for sample in fill.samples
    ]
    np.testing.assert_allclose(fill.log_probs, log_probs, rtol=1e-3)
    assert fill.plot() is not None
    assert "svg" in fill._repr_html_()
    assert filler.marginals(item).symbols == [0, 1, 2]
    assert filler.evaluate([piece(101)], gap=4).gaps.nll > 0


@pytest.mark.slow
def test_conditions_hold_for_struck_keys(filler):
    opened = filler.kind.open(piece(101))
    asked = {"keep": ("top",), "force": ("C2",), "forbid": ("G3",)}
    item = Composition(gaps=((3, 4),), **asked).arrange(opened)
    gap = item.sequence.gaps[0]
    again = filler.kind.open(filler.fill(item, seed=1).best).sequence.values
    frames = again[gap.start : gap.stop, :KEYS]
    assert frames[:, 36 - 21].tolist() == [STRUCK] + [HELD] * (len(frames) - 1)
    assert not frames[:, 55 - 21].any()
    old = opened.complete.values[gap.start : gap.stop, 60 - 21]
    assert np.array_equal(frames[:, 60 - 21], old)


@pytest.mark.slow
def test_the_command_line_says_which_grid_it_uses(filler, tmp_path):
    model, song, out = (tmp_path / name for name in ("keys.model", "song.mid", "out.mid"))
    filler.save(model)
    piece(102).save(song)
    asked = ["fill", "music", song, "--model", model, "--gap", "2:3", "-o", out, "--samples", 2]
    answer = run(*asked)
    assert answer.exit_code == 0
    assert f"The file '{song}' is read at 4 steps to the quarter note." in answer.stderr
    assert len(Song.load(out).bars) == 12
    assert "at 6 steps to the quarter note." in run(*asked, "--grid", 6).stderr
    music_filler().save(model)
    refused = mistake(*asked, "--grid", 4)
    assert "grid of 2 steps" in refused
