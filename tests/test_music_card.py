"""What `benchmarks/bars.py` says of fills of music, and the card that is made of it."""

import argparse
import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path

import jax
import numpy as np
import pytest

import caesura
from caesura.errors import CaesuraError
from caesura.filler import Filler
from caesura.kinds import Music
from caesura.kinds.music.struck import STRUCK
from caesura.modelfile import read_info
from caesura.nets.frames import make_frame
from caesura.nets.rnn import bidirectional, onegram
from caesura.scoring.gaps import score_gaps
from caesura.training.recipe import choose, parse_setting
from small_fillers import music_filler
from songs import content, ode_to_joy

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
import bars
import music_card

TINY = {"hidden": 4, "head_hidden": 4, "batch": 2, "length": 32, "steps": 2, "validate_every": 2}


def filler() -> Filler:
    kind = Music(0, struck=True)
    frame = make_frame(kind.frame)
    shape = {"head": "orderless", "hidden": 5, "head_hidden": 5, "missing_input": "each"}
    counted = kind.open(np.eye(88, dtype=int)).complete.values
    nets = {
        "bidirectional": bidirectional(jax.random.key(0), frame, **shape),
        "onegram": onegram(frame, counted),
    }
    return Filler(kind, nets, "bothways")


@pytest.fixture
def scores(tmp_path) -> Path:
    for name in ("airs", "chorales"):
        test = tmp_path / "scores" / name / "test"
        test.mkdir(parents=True)
        for number in range(2):
            (test / f"{number}.mid").write_bytes(content(ode_to_joy()))
    return tmp_path / "scores"


@pytest.mark.slow
@pytest.mark.parametrize("what", bars.WHAT)
def test_what_is_compared_is_what_is_read_from_the_files_that_a_filler_writes(what, scores):
    model = filler()
    pieces = bars.open_spread(model.kind, scores / "chorales", 2)
    gaps = bars.find_gaps(pieces, what, 2)
    found = bars.fill_all(model, gaps, ["bothways"], seed=3)
    assert len(gaps) == 2
    for number, gap in enumerate(gaps):
        asked = caesura.Request(gap.item, gap.asked, seed=3 + number)
        [fill] = model.fill_many([asked])
        written = model.kind.open(fill.best).complete.values
        assert np.array_equal(found.filled["bothways"][number], gap.filled(written))
        nats = -model.log_prob(gap.piece, missing=gap.lost)
        assert found.nats["bothways"][number] == pytest.approx(nats)


def test_the_neighbours_of_a_bar_and_of_a_part_in_it(scores):
    [piece, _] = bars.open_spread(Music(0, struck=True), scores / "chorales", 2)
    values = piece.complete.values[:, :88]
    for gap in bars.find_gaps([piece], "bar", 3):
        start, stop = gap.span
        assert stop - start == 16
        assert start % 16 == 0
        assert gap.missing.all()
        assert np.array_equal(gap.before, values[start - 16 : start])
        assert np.array_equal(gap.after, values[stop : stop + 16])
    melody, bass = bars.find_gaps([piece], "part", 2)  # in turn
    assert bars.begun(melody.truth, melody) == 3  # the fourth bar
    assert bars.begun(bass.truth, bass) == 1
    # A copy of a part leaves the other one as it is.
    assert np.array_equal(melody.before[:, :30], melody.truth[:, :30])
    assert np.array_equal(bass.before[:, 35:], bass.truth[:, 35:])


def stretch(*notes: tuple[int, int, int]) -> np.ndarray:
    """Notes as (key, first step, step after the last), of four steps."""
    frames = np.zeros((4, 88), np.int8)
    for key, first, stop in notes:
        frames[first:stop, key] = 1
        frames[first, key] = STRUCK
    return frames


def test_the_statistics_of_a_fill():
    truth = stretch((40, 0, 4), (44, 0, 2), (47, 2, 4))
    found = stretch((40, 0, 2), (41, 0, 2), (47, 2, 4))
    every = np.ones(truth.shape, bool)
    gap = bars.Gap(None, None, every, None, every, truth, found, truth)
    assert bars.f1(found, gap, STRUCK) == pytest.approx(4 / 6)  # two of three on either side
    assert bars.f1(found, gap, 1) == pytest.approx(2 * 4 / (6 + 8))
    assert bars.dissonance(found) == (2, 2)
    assert bars.dissonance(truth) == (0, 4)
    assert bars.width(found, gap) == 7
    # Shares of the pitch classes of 40, 41, 44 and 47: 1/3, 1/3, 0, 1/3 and 1/2, 0, 1/4, 1/4.
    assert bars.histogram_distance(found, gap) == pytest.approx(5 / 12)


def test_the_better_neighbour_is_that_of_the_higher_mean():
    truth, other = stretch((40, 0, 4)), stretch((50, 0, 4))
    every = np.ones(truth.shape, bool)
    gaps = [
        bars.Gap(argparse.Namespace(original=n), None, every, None, every, truth, other, after)
        for n, after in enumerate([truth, other])
    ]
    filled = {bars.BEFORE: [other, other], bars.AFTER: [truth, other], "ours": [truth, truth]}
    found = bars.table(bars.Fills(gaps, filled, {"ours": [1.0, 3.0]}))
    assert found["better neighbour"] == bars.AFTER
    ours = found["rows"]["ours"]
    assert (ours["ratio"], ours["above"], ours["below"]) == (2.0, 1, 0)
    assert (ours["nats"], ours["standard error"]) == (2.0, 1.0)


@pytest.mark.slow  # it trains a model and measures it
def test_a_card_holds_what_was_measured_and_how_the_model_was_made(scores, tmp_path):
    files = sorted(scores.glob("airs/test/*"))
    model = tmp_path / "music.model"
    caesura.train(files, kind="music", recipe="keys", seed=3, **TINY).save(model)
    asked = {"sets": sorted(scores.glob("*/test")), "model": str(model), "what": "bar,part"}
    asked |= {"gaps": 2, "strategies": "bothways,onegram", "seed": 0, "json": tmp_path / "bars"}
    bars.measure(argparse.Namespace(**asked))
    measured = music_card.measure(model, scores, {4: 6, 16: 3})
    info, rivals = read_info(model), json.loads((tmp_path / "bars").read_text())
    assert rivals["sha256"] == info["sha256"]
    card = music_card.page(info, measured, rivals, {"airs": [0, 0, 2]})
    loaded = caesura.load(model)
    method = loaded.method("onegram")
    pieces = loaded.read(files)
    nll, error, *_ = score_gaps(method.net, method.strategy, pieces, gap=4, limit=6)
    assert f"{nll:.2f} ± {error:.2f} | 6 |" in card
    assert f"**{rivals['tables']['bar']['airs']['rows']['bothways']['F1']:.3f}**" in card
    assert info["sha256"] in card

    words = shlex.split(music_card.commands(info)[-1])
    assert words[-2:] == ["--seed", "3"]
    assert words[5:7] == ["--steps", "2"]
    assert set(words[7:-2:2]) == {"--set"}
    overrides = dict(parse_setting(word) for word in words[8:-2:2]) | {"steps": 2}
    again = choose("keys", "music", Music.options, overrides).recipe
    record = info["training"]["nets"]["bidirectional"]["fields"]
    assert json.loads(json.dumps(asdict(again))) == record


def test_a_model_that_does_not_tell_struck_from_held_is_refused(tmp_path):
    music_filler().save(tmp_path / "music.model")
    with pytest.raises(CaesuraError, match="struck"):
        bars.measure(argparse.Namespace(model=str(tmp_path / "music.model")))
