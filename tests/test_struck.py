"""Keys that are silent, held or struck: read from notes, and written back as notes."""

from dataclasses import replace

import mido
import numpy as np
import pytest

from caesura.errors import CaesuraError
from caesura.kinds import Music, Score, Song
from caesura.kinds.music.midi import Event
from caesura.kinds.music.notes import Grid, find_steps_per_beat
from caesura.kinds.music.roll import KEYS
from caesura.kinds.music.struck import HELD, SILENT, STRUCK, settle
from caesura.sequence import FrameSpec, runs
from scores import attributes, note, score
from songs import C, E, content, ode_to_joy, random_song, song

# More random pieces than these are for who has the time.
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))]


def kind(steps_per_beat: int = 4) -> Music:
    return Music(steps_per_beat, struck=True)


def column(music, key: int = C, steps: int = 4) -> str:
    """A key's values as a drawing: # struck, = held."""
    return "".join(".=#"[v] for v in kind(steps).open(music).sequence.values[:, key])


def fill(music: Song, pattern: str, start: int, key: int = C) -> Song:
    """Fill the steps of one key from `start` on with a drawing."""
    item = kind().open(music)
    values, missing = item.sequence.values.copy(), np.zeros(item.sequence.values.shape, bool)
    missing[start : start + len(pattern), key] = True
    values[missing] = [".=#".index(mark) for mark in pattern]
    return item.write(values, missing)


# Reading.


def test_notes_are_struck_and_then_held():
    tune = song((0, 100), (100, 140), (150, 290), (320, 400), end=500)
    assert column(tune) == "#=##==#=.."
    assert kind().frame == FrameSpec("keys", 98, 10)


def test_a_key_is_struck_if_any_voice_strikes_it():
    one, two = song((0, 400)), song((150, 250))
    both = Song(200, (*one.tracks, *two.tracks))
    assert column(both)[:9] == "#==#====."


def test_a_roll_may_say_what_is_struck():
    roll = np.zeros((8, KEYS))
    roll[:, C] = [0, 1, 1, 0, np.nan, 1, 1, 0]
    roll[:, E] = [1, 1, np.nan, 1, 1, 0, 0, 0]
    item = kind().open(roll)
    assert item.sequence.values[:, C].tolist() == [0, 2, 1, 0, 0, 2, 1, 0]
    assert item.sequence.values[:, E].tolist() == [2, 1, 0, 2, 1, 0, 0, 0]
    assert item.missing.sum() == 2
    assert not item.missing[:, KEYS:].any()
    filled = item.write(np.ones_like(item.sequence.values), item.missing)
    assert filled.dtype == roll.dtype
    assert filled[:, C].tolist() == [0, 1, 1, 0, 2, 2, 1, 0]  # outside, only what must
    assert filled[:, E].tolist() == [1, 1, 1, 2, 1, 0, 0, 0]
    roll[0, 0] = 2
    assert kind().open(roll).sequence.values[:, E].tolist() == [2, 1, 0, 1, 1, 0, 0, 0]
    again = kind().open(filled).sequence.values
    assert np.array_equal(again[:, :KEYS] > 0, filled > 0)
    assert np.array_equal(again[~item.missing], item.sequence.values[~item.missing])
    assert np.array_equal(again[item.missing], filled[item.missing[:, :KEYS]])


def test_a_roll_of_other_numbers_is_refused():
    with pytest.raises(CaesuraError, match=r"holds 0, 1, 2 and NaN, not 3 at step 0, key 0"):
        kind().open(np.full((2, KEYS), 3))
    with pytest.raises(CaesuraError, match=r"holds 0, 1 and NaN, not 2 at"):
        Music().open(np.full((2, KEYS), 2))
    with pytest.raises(CaesuraError, match="'steps_per_beat' must be"):
        Music(0)


# Writing.


def test_a_struck_key_begins_a_note_and_a_held_one_prolongs_it():
    tune = fill(song((0, 100), (400, 600)), "#=#.##", 2)
    assert column(tune)[:12] == "#=#=#.###==="
    assert tune.tracks[0][0] == Event(0, bytes([0x90, 60, 70]))


def test_a_key_held_from_the_start_of_a_gap_prolongs_the_note_before_it():
    assert column(fill(song((0, 200)), "==..", 2))[:8] == "#===...."
    assert column(fill(song((0, 200)), "#=..", 2))[:8] == "#=#=...."
    # The note ends just where the gap begins: its end moves.
    ended = song((0, 100), (300, 400))
    assert column(fill(ended, "==", 2))[:8] == "#===..#="
    assert column(fill(ended, "==..", 2)) == column(fill(ended, "==", 2))
    assert column(fill(ended, "=", 2))[:8] == "#==...#="
    assert column(fill(ended, "====", 2))[:8] == "#=====#="
    assert column(fill(ended, "#=", 2))[:8] == "#=#=..#="
    assert fill(ended, "..", 2) == ended


def test_a_note_that_begins_in_a_gap_and_is_held_after_it_begins_where_it_was_last_struck():
    late = song((150, 300))
    assert column(late)[:8] == "...#==.."
    assert column(fill(late, "#=#=", 0))[:8] == "#=#===.."
    assert column(fill(late, "#===", 0))[:8] == "#=====.."
    # If the key is silent at the end of the gap, the note begins after it.
    assert column(fill(late, "#...", 0))[:8] == "#...#=.."
    through = song((0, 400))
    assert column(fill(through, "====", 2))[:8] == "#======="
    assert fill(through, "====", 2) == through
    assert column(fill(through, "=#.#", 2))[:8] == "#==#.#=="


def test_a_voice_does_not_prolong_the_notes_of_another_one():
    alto, tenor = song((0, 100), (600, 700)), song((400, 500))
    both = Song(200, (*alto.tracks, *tenor.tracks))
    item = kind().open(both)
    missing = np.zeros((len(item.sequence), KEYS), bool)
    missing[2:4, C] = True
    values = np.where(item.widen(missing), HELD, item.sequence.values)
    filled = replace(item, track=1).write(values, item.widen(missing))
    assert column(filled)[:8] == "#=#=...."
    assert filled.tracks[0] == both.tracks[0]
    assert column(item.write(values, item.widen(missing)))[:8] == "#===...."


def test_held_after_silence_is_struck():
    assert column(fill(song((400, 500)), "==.=", 1))[:5] == ".#=.#"


def test_velocities_are_those_of_the_neighbours():
    tune = fill(song((0, 100), (700, 800)), "#=", 6)
    velocities = [e.data[2] for e in tune.tracks[0] if e.data[0] == 0x90]
    assert velocities == [70, 70, 70]


def random_case(rng: np.random.Generator, tune: Song, music: Music):
    """A piece with random gaps, and a fill of them that notes can be like."""
    item = music.open(tune)
    own = item.sequence.values[:, :KEYS]
    missing = np.zeros(own.shape, bool)
    if rng.random() < 0.5:
        start = rng.integers(len(own))
        missing[start : start + rng.integers(1, 9)] = True
    else:
        missing[rng.random(own.shape) < rng.random()] = True
    drawn = rng.choice(3, own.shape, p=rng.dirichlet(np.ones(3))).astype(np.int8)
    busy = np.zeros(KEYS, bool)
    busy[[0, C, C + 1, C + 2, 87, *rng.integers(0, KEYS, 3)]] = True
    frames = settle(np.where(missing, drawn * busy, own), missing)
    return item, item.widen(missing), np.concatenate([frames, item.sequence.values[:, KEYS:]], 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_written_is_what_is_read(seed):
    rng = np.random.default_rng(seed)
    for number in range(10):
        tune = random_song(rng, int(rng.choice([8, 9, 96, 100, 480])))
        alone = number % 2  # then every key is in one voice
        if alone:
            events = [e._replace(data=_in_channel_0(e.data)) for e in tune.tracks[0]]
            tune = Song(tune.ticks_per_beat, (tuple(events),), 0)
        music = kind(int(rng.integers(1, 7)))
        item, missing, values = random_case(rng, tune, music)
        filled = item.write(values, missing)
        again = music.open(filled).sequence.values
        changed = again != values
        if changed.any() and not alone:
            # A key that one voice leaves and another enters cannot be held through the gap.
            step, key = np.nonzero(changed)
            assert np.all((values[step, key] == HELD) & (again[step, key] == STRUCK))
            assert np.all(missing[step - 1, key] & ~missing[step, key])
        else:
            assert not changed.any()


def _in_channel_0(data: bytes) -> bytes:
    return bytes([data[0] & 0xF0, *data[1:]]) if data[0] < 0xF0 else data


def test_everything_outside_a_gap_keeps_its_tick_its_place_and_its_bytes():
    rng = np.random.default_rng(10)
    for _ in range(12):
        tune, music = random_song(rng, 96), kind(int(rng.integers(1, 5)))
        item, _, values = random_case(rng, tune, music)
        start = int(rng.integers(len(values)))
        stop = int(rng.integers(start, len(values))) + 1
        missing = np.zeros((len(values), KEYS), bool)
        missing[start:stop] = True
        filled = item.write(values, item.widen(missing))
        grid = Grid.of(tune, music.steps_per_beat)
        for old, new in zip(tune.tracks, filled.tracks, strict=True):
            kept = [
                [e for e in track[:-1] if not _touches(e, grid, start, stop)]
                for track in (old, new)
            ]
            assert kept[0] == kept[1]


def _touches(event: Event, grid: Grid, start: int, stop: int) -> bool:
    """Whether it is at the lines of a gap, or the end of a short note in the step before."""
    piano = event.data[0] & 0xE0 == 0x80 and event.data[0] & 0x0F != 9
    return piano and max(start - 1, 0) <= grid.line(event.tick) <= stop


def random_score(rng: np.random.Generator) -> bytes:
    """Two parts of three bars of 4/4, whose notes are struck again, tied and in chords."""
    names, parts = ["C4", "D4", "E4", "G4", "B3"], {}
    for part in ("Flute", "Piano"):
        measures, tied = [], None
        for bar in range(3):
            text, left = attributes(4) if bar == 0 else "", 16
            while left:
                length = int(min(left, rng.choice([1, 2, 3, 4, 6, 8])))
                left -= length
                name = tied or str(rng.choice([*names, "r"]))
                ties = ("stop",) if tied else ()
                goes_on = name != "r" and rng.random() < 0.3 and (left or bar < 2)
                text += note(name, length, ties=(*ties, "start") if goes_on else ties)
                if name != "r" and not tied and not goes_on and rng.random() < 0.3:
                    text += note(str(rng.choice(names)), length, chord=True)
                tied = name if goes_on else None
            measures.append(text)
        parts[part] = measures
    return score(parts)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_written_into_a_score_is_what_is_read(seed):
    rng = np.random.default_rng(seed)
    for _ in range(2):
        music = kind(int(rng.choice([4, 6])))
        written = Score.from_bytes(random_score(rng))
        item, missing, values = random_case(rng, written, music)
        filled = item.write(values, missing)
        again = music.open(Score.from_bytes(filled.to_bytes())).sequence.values
        changed = again != values
        step, key = np.nonzero(changed)
        assert np.all((values[step, key] == HELD) & (again[step, key] == STRUCK))
        assert np.all(missing[step - 1, key] & ~missing[step, key])
        assert not changed.any() or _in_two_voices(item, set(key.tolist()))


def _in_two_voices(item, keys: set[int]) -> bool:
    return all(len({lane.voice for lane in item.lanes if lane.key == key}) > 1 for key in keys)


def test_a_repeated_note_of_a_score_is_tied_if_it_is_held():
    lyric = "|<lyric><text>la</text></lyric>"
    bars = [attributes(1) + note("D4", 2) + note("C4", 2, more=lyric), note("C4", 1)]
    written = Score.from_bytes(score({"Flute": bars}))
    assert column(written)[8:20] == "#=======#==="
    filled = fill(written, "====", 16)
    assert column(filled)[8:20] == "#==========="
    assert filled.xml.count(b'<tie type="start"/>') == filled.xml.count(b'<tie type="stop"/>') == 1
    assert filled.xml.count(b"<tied ") == 2
    assert b"</notations><lyric><text>la</text>" in filled.xml


# The metre.


def metre(music, steps_per_beat: int = 4) -> np.ndarray:
    return kind(steps_per_beat).open(music).sequence.values[:, KEYS:]


def test_the_metre_of_a_song():
    found = metre(Song.from_bytes(content(ode_to_joy())))
    assert np.flatnonzero(found[:, 0]).tolist() == list(range(0, 128, 16))
    assert np.flatnonzero(found[:, 1]).tolist() == list(range(0, 128, 4))
    assert np.flatnonzero(found[:, 2]).tolist() == list(range(0, 128, 2))
    assert not found[:, 3].any()
    assert found[:20, 4:].argmax(axis=1).tolist() == [b for b in (0, 1, 2, 3, 0) for _ in range(4)]
    assert np.all(found[:, 4:].sum(axis=1) == 1)


def in_time(*signatures: tuple[int, int, int]) -> Song:
    """A song of 12 quarter notes with signatures at quarter notes."""
    file, at = mido.MidiFile(ticks_per_beat=480), 0
    track = file.add_track()
    for quarter, beats, unit in signatures:
        message = mido.MetaMessage("time_signature", numerator=beats, denominator=unit)
        track.append(message.copy(time=480 * quarter - at))
        at = 480 * quarter
    track.append(mido.Message("note_on", note=60, velocity=1))
    track.append(mido.Message("note_off", note=60, time=480 * 12 - at))
    return Song.from_bytes(content(file))


def test_time_signatures_say_what_bars_and_beats_are():
    found = metre(in_time((0, 6, 8), (6, 3, 4)))
    assert np.flatnonzero(found[:, 0]).tolist() == [0, 12, 24, 36]
    assert np.flatnonzero(found[:, 1]).tolist() == [0, 6, 12, 18, *range(24, 48, 4)]
    assert np.flatnonzero(found[:24, 2]).tolist() == list(range(0, 24, 2))
    assert found[24:36, 4:].argmax(axis=1).tolist() == [0] * 4 + [1] * 4 + [2] * 4
    long = metre(in_time((0, 7, 4)))
    assert long[:28, 4:].argmax(axis=1)[::4].tolist() == [0, 1, 2, 3, 4, 5, 0]
    thirds = metre(in_time((0, 3, 8)), 3)  # beats of one and a half steps
    assert thirds[:, 3].all()
    assert np.flatnonzero(thirds[:9, 1]).tolist() == [0, 2, 3, 5, 7, 8]


def test_of_a_roll_only_the_grid_is_known():
    found = metre(np.zeros((40, KEYS)))
    assert np.flatnonzero(found.any(axis=0)).tolist() == [2]
    assert np.flatnonzero(found[:, 2]).tolist() == list(range(0, 40, 2))


def test_an_upbeat_is_the_end_of_a_bar():
    parts = {"Flute": [attributes(1) + note("C4", 1), note("D4", 4)]}
    found = metre(Score.from_bytes(score(parts)))
    assert np.flatnonzero(found[:, 0]).tolist() == [4]
    assert found[::4, 4:].argmax(axis=1).tolist() == [3, 0, 1, 2, 3]


# The grid.


def evenly(parts: int, beats: int = 8, late: int = 0) -> Song:
    """Notes that divide each quarter note into equal parts; 480 ticks."""
    ticks = [beat * 480 + part * 480 // parts for beat in range(beats) for part in range(parts)]
    events = [Event(t + late, bytes([0x90, 60 + n % 2, 70])) for n, t in enumerate(ticks)]
    return Song(480, ((*events, Event(beats * 480, b"\xff\x2f\0")),), 0)


@pytest.mark.parametrize(("parts", "grid"), [(1, 4), (2, 4), (4, 4), (3, 6), (6, 6), (5, 4)])
def test_the_grid_is_found_from_the_notes(parts, grid):
    assert find_steps_per_beat(evenly(parts)) == grid
    assert find_steps_per_beat(evenly(parts, late=5)) == grid
    item = kind(0).open(evenly(parts))
    assert item.steps_per_beat == grid
    assert item.sequence.values[:, KEYS + 3].all() == (grid == 6)


def test_a_grid_that_was_set_stays():
    item = kind(6).open(evenly(4))
    assert kind(0).open(item) is item
    assert kind(4).open(item).steps_per_beat == 4
    assert Music(2).open(item).sequence.values.shape == (16, KEYS)
    assert kind(0).open(np.zeros((8, KEYS))).steps_per_beat == 4


def test_a_performance_that_keeps_to_no_grid_has_four():
    ticks = np.random.default_rng(0).integers(0, 48000, 2000)
    events = [Event(int(t), bytes([0x90, 60, 70])) for t in np.sort(ticks)]
    assert find_steps_per_beat(Song(480, ((*events, Event(48000, b"\xff\x2f\0")),), 0)) == 4


# What fills must be like.


def test_fills_are_settled_before_they_are_scored():
    item = kind().open(song((400, 600)))
    missing = np.zeros((len(item.sequence), KEYS), bool)
    missing[2:6, C] = missing[9:11, C] = True
    item = type(item)(item.original, 4, item.name, wanted=missing, struck=True)
    drawn = np.array([[HELD, HELD, SILENT, HELD, SILENT, SILENT], [STRUCK] * 6])
    found = kind().settle(item.sequence, drawn)
    assert found.tolist() == [[2, 1, 0, 2, 0, 2], [2] * 6]
    assert runs(missing[:, C]) == [(2, 6), (9, 11)]
    assert Music().settle(item.sequence, drawn) is drawn
