"""A model of struck and held keys: trained on a rhythm that only the metre explains, and used."""

import mido
import numpy as np
import pytest

import caesura
from caesura.kinds import Composition, Song
from caesura.kinds.music.roll import KEYS
from caesura.kinds.music.struck import STRUCK
from caesura.nets.architecture import describe
from command_line import mistake, run
from songs import content

TICKS, PITCHES = 96, (48, 55, 60)
SMALL = {"hidden": 8, "head_hidden": 16, "layers": 1, "steps": 300, "batch": 16, "length": 48}
SMALL |= {"gap": [1, 12], "every": 6, "validate_every": 100, "learning_rate": 0.03, "shift": 0}
SMALL |= {"dropout": 0.0, "parts": 0.0, "held_out": 0.25}


def piece(seed: int, signatures: bool) -> Song:
    """Bars of two to four beats, in no order; a chord is struck and held at the start of each."""
    draw = np.random.default_rng(seed)
    file, wait = mido.MidiFile(ticks_per_beat=TICKS), 0
    track = file.add_track()
    for beats in draw.integers(2, 5, 12).tolist():
        if signatures:
            signature = mido.MetaMessage("time_signature", numerator=beats, denominator=4)
            track.append(signature.copy(time=wait))
            wait = 0
        for pitch in PITCHES:
            track.append(mido.Message("note_on", note=pitch, velocity=70, time=wait))
            wait = 0
        track += [
            mido.Message("note_off", note=pitch, time=TICKS // 2 if pitch == PITCHES[0] else 0)
            for pitch in PITCHES
        ]
        wait = beats * TICKS - TICKS // 2
    track.append(mido.MetaMessage("end_of_track", time=wait))
    return Song.from_bytes(content(file))


@pytest.fixture(scope="module")
def fillers():
    """With the metre, and without: then all is counted as 4/4."""
    return {
        signatures: caesura.train(
            [piece(seed, signatures) for seed in range(24)],
            kind="music",
            recipe="keys",
            seed=0,
            **SMALL,
        )
        for signatures in (True, False)
    }


def nll(filler) -> float:
    return filler.training["nets"]["bidirectional"]["validation_nll"]


@pytest.mark.slow
def test_the_metre_explains_the_rhythm(fillers):
    """Without it, the length of a bar is one of three: ln 3 nats for each chord in a long gap."""
    print({signatures: nll(filler) for signatures, filler in fillers.items()})
    assert nll(fillers[True]) < 0.5 * nll(fillers[False])


@pytest.mark.slow
def test_a_bar_is_filled_written_and_read(fillers, tmp_path):
    filler, song = fillers[True], piece(100, True)
    filler.save(tmp_path / "keys.model")
    filler = caesura.load(tmp_path / "keys.model")
    found = describe(filler.nets["bidirectional"])
    assert (found.frame.name, found.head, filler.strategy) == ("keys", "orderless", "bothways")
    assert (filler.kind.struck, filler.kind.steps_per_beat) == (True, 0)
    item = Composition(gaps=((3, 5),)).arrange(filler.kind.open(song))
    fill = filler.fill(item, samples=4, seed=0)
    for candidate in fill.candidates:
        again = filler.kind.open(candidate.sequence).sequence.values
        gap = fill.sequence.gaps[0]
        assert np.array_equal(again[gap.start : gap.stop, :KEYS], candidate.parts[0])
        assert np.array_equal(again[: gap.start], item.complete.values[: gap.start])
    assert fill.values[gap.start, [p - 21 for p in PITCHES]].tolist() == [STRUCK] * 3
    assert fill.missing[:, KEYS:].sum() == 0
    assert np.isfinite(fill.log_probs).all()
    assert fill.plot() is not None
    assert "svg" in fill._repr_html_()
    truth = filler.log_prob(item.original, missing=slice(gap.start, gap.stop))
    assert truth > -5
    assert filler.evaluate([song], gap=4)


@pytest.mark.slow
def test_conditions_hold_for_struck_keys(fillers):
    filler, song = fillers[True], piece(101, True)
    opened = filler.kind.open(song)
    asked = {"keep": ("top",), "force": ("C2",), "forbid": ("G3",)}
    item = Composition(gaps=((3, 4),), **asked).arrange(opened)
    gap = item.sequence.gaps[0]
    fill = filler.fill(item, seed=1)
    again = filler.kind.open(fill.best).sequence.values
    roll = again[gap.start : gap.stop, :KEYS] > 0
    assert roll[:, 36 - 21].all()
    assert again[gap.start, 36 - 21] == STRUCK
    assert not roll[:, 55 - 21].any()
    top = opened.complete.values[gap.start : gap.stop, 60 - 21]
    assert np.array_equal(again[gap.start : gap.stop, 60 - 21], top)


@pytest.mark.slow
def test_the_command_line_says_which_grid_it_uses(fillers, tmp_path):
    model, song, out = (tmp_path / name for name in ("keys.model", "song.mid", "out.mid"))
    fillers[True].save(model)
    piece(102, True).save(song)
    asked = ["fill", "music", song, "--model", model, "--gap", "2:3", "-o", out, "--samples", "2"]
    answer = run(*asked)
    assert answer.exit_code == 0
    assert f"The file '{song}' is read at 4 steps to the quarter note." in answer.stderr
    assert len(Song.load(out).bars) == 12
    answer = run(*asked, "--grid", 6)
    assert "at 6 steps to the quarter note." in answer.stderr
    assert "grid of 2 steps" in mistake("fill", "music", song, "--gap", "2", "-o", out, "--grid", 4)
