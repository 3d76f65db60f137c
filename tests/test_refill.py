"""New notes in the gaps: the law that a fill obeys, and what becomes of everything around it."""

import io

import mido
import numpy as np
import pytest

from caesura.kinds import Music, Song
from caesura.kinds.music.midi import END_OF_TRACK, Event
from caesura.kinds.music.notes import Grid, find_lanes
from songs import C, G, content, ode_to_joy, on, random_song, song


def fill(music: Song, pattern: str, start: int, key: int = C) -> Song:
    """Fill the steps from `start` on, of one key, with a drawing."""
    values = Music().open(music).sequence.values
    missing = np.zeros(values.shape, bool)
    missing[start : start + len(pattern), key] = True
    values = values.copy()
    values[missing] = [mark == "#" for mark in pattern]
    return Music().open(music).write(values, missing)


def drawn(music: Song) -> list[tuple[int, str, int]]:
    """The notes' events in a song of one track: tick, on or off, key."""
    words = {0x80: "off", 0x90: "on"}
    return [
        (e.tick, words[e.data[0] & 0xF0], e.data[1])
        for e in music.tracks[0]
        if e.data[0] & 0xF0 in words
    ]


# The law.


def random_gap(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Whole frames in a row, whole frames here and there, single keys, or all but some."""
    missing = np.zeros(shape, bool)
    way = rng.integers(4)
    if way == 0:
        start = rng.integers(shape[0])
        missing[start : start + rng.integers(1, 9)] = True
    elif way == 1:
        missing[rng.random(shape[0]) < rng.random()] = True
    else:
        missing[rng.random(shape) < rng.random()] = True
    return missing


def random_case(rng: np.random.Generator) -> tuple[Music, Song, np.ndarray, np.ndarray]:
    music = Music(int(rng.integers(1, 5)))
    tune = random_song(rng, int(rng.choice([4, 5, 7, 96, 100, 480])))
    roll = music.open(tune).sequence.values
    missing = random_gap(rng, roll.shape)
    drawn = (rng.random(roll.shape) < rng.choice([0, 0.5, 1])).astype(np.int8)
    keys = np.zeros(88, bool)  # most keys stay silent, so that most cases are about the busy ones
    keys[[0, C, C + 1, C + 2, 87, *rng.integers(0, 88, 3)]] = True
    return music, tune, missing, np.where(missing, drawn * keys, roll)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_written_is_what_is_read(seed):
    rng = np.random.default_rng(seed)
    for _ in range(75):
        music, tune, missing, values = random_case(rng)
        filled = music.open(tune).write(values, missing)
        np.testing.assert_array_equal(music.open(filled).sequence.values, values)
        assert music.open(Song.from_bytes(filled.to_bytes())).sequence.values.shape == values.shape


def test_everything_outside_a_gap_keeps_its_tick_its_place_and_its_bytes():
    rng = np.random.default_rng(10)
    for _ in range(150):
        music, tune, _, values = random_case(rng)
        start = int(rng.integers(len(values)))
        stop = int(rng.integers(start, len(values))) + 1
        missing = np.zeros(values.shape, bool)
        missing[start:stop] = True
        grid = Grid.of(tune, music.steps_per_beat)
        filled = music.open(tune).write(values, missing)
        for old, new in zip(tune.tracks, filled.tracks, strict=True):
            assert outside(old, grid, start, stop) == outside(new, grid, start, stop)
            assert others(old) == others(new)
            assert new[-1].tick >= old[-1].tick
            assert [e.tick for e in new] == sorted(e.tick for e in new)


def is_piano(event: Event) -> bool:
    status = event.data[0]
    return status & 0xF0 in (0x80, 0x90) and status & 0x0F != 9 and 21 <= event.data[1] <= 108


def outside(track: tuple[Event, ...], grid: Grid, start: int, stop: int) -> list[Event]:
    return [e for e in track[:-1] if not start <= grid.line(e.tick) <= stop]


def others(track: tuple[Event, ...]) -> list[Event]:
    """Tempos, pedals, drums: all that is not for the piano's keys."""
    return [event for event in track[:-1] if not is_piano(event)]


def test_nothing_missing_changes_nothing():
    rng = np.random.default_rng(11)
    for _ in range(50):
        tune = random_song(rng, 96)
        roll = Music().open(tune).sequence.values
        assert Music().open(tune).write(roll, np.zeros(roll.shape, bool)) == tune


@pytest.mark.slow
def test_every_note_that_is_struck_is_ended():
    rng = np.random.default_rng(12)
    for _ in range(30):
        music = Music(int(rng.integers(1, 5)))
        tune = Song.from_roll(rng.random((10, 88)) < 0.1, 3)
        roll = music.open(tune).sequence.values
        missing = random_gap(rng, roll.shape)
        values = np.where(missing, rng.random(roll.shape) < 0.3, roll)
        filled = music.open(tune).write(values, missing)
        lanes = find_lanes(filled, Grid.of(filled, music.steps_per_beat))
        assert not any(lane.strays for lane in lanes)
        assert all(note.off is not None for lane in lanes for note in lane.notes)


# The edges of a gap.


def test_a_note_goes_on_into_a_gap_or_is_cut():
    held = song((110, 480))
    assert drawn(fill(held, "##..", 3)) == [(110, "on", 60), (500, "off", 60)]
    assert drawn(fill(held, "....", 3)) == [(110, "on", 60), (300, "off", 60)]
    both = [(110, "on", 60), (300, "off", 60), (400, "on", 60), (500, "off", 60)]
    assert drawn(fill(held, ".#..", 3)) == both


def test_a_note_behind_a_gap_keeps_its_end():
    held = song((110, 580))
    assert drawn(fill(held, "##", 3)) == drawn(held)
    struck = [(110, "on", 60), (300, "off", 60), (500, "on", 60), (580, "off", 60)]
    assert drawn(fill(held, "..", 3)) == struck
    assert drawn(fill(held, "#.", 3)) == [(110, "on", 60), (400, "off", 60), *struck[2:]]
    assert drawn(fill(held, ".#", 3)) == [*struck[:2], (400, "on", 60), (580, "off", 60)]
    inside = song((410, 580))
    assert drawn(fill(inside, "##", 3)) == [(300, "on", 60), (580, "off", 60)]
    assert drawn(fill(inside, "..", 3)) == [(500, "on", 60), (580, "off", 60)]


def test_new_notes_make_room_for_late_and_early_ones():
    tune = song((100, 330), (470, 600))
    around = [(100, "on", 60), (330, "off", 60), (470, "on", 60), (600, "off", 60)]
    filled = drawn(fill(tune, "##", 3))
    assert filled == [*around[:2], (330, "on", 60), (470, "off", 60), *around[2:]]


def test_a_track_ends_after_its_last_new_note():
    tune = song((0, 100), end=730)
    filled = fill(tune, "##", 6)
    assert drawn(filled)[2:] == [(600, "on", 60), (800, "off", 60)]
    assert filled.tracks[0][-1] == (800, END_OF_TRACK + b"\0")
    assert fill(tune, "..", 6) == tune


# Who plays what is new.


def test_new_notes_go_to_the_nearest_voice_with_its_velocity():
    tune = Song.from_bytes(content(ode_to_joy()))
    roll = Music().open(tune).sequence.values
    missing = np.zeros(roll.shape, bool)
    missing[16:24] = True
    values = np.where(missing, 0, roll)
    values[17:19, G] = 1
    values[19:23, 45 - 21] = 1
    filled = Music().open(tune).write(values, missing)
    new = [set(filled.tracks[i]) - set(tune.tracks[i]) for i in range(4)]
    assert Event(17 * 240, bytes([0x90, 67, 90])) in new[1]
    assert Event(19 * 240, bytes([0x91, 45, 60])) in new[2]
    assert Event(23 * 240, bytes([0x81, 45, 64])) in new[2]
    assert [len(events) for events in new] == [0, 2, 2, 0]


def test_a_song_of_drums_gets_a_voice():
    drums = Song(200, ((Event(0, b"\x99\x24\x40"), Event(800, END_OF_TRACK + b"\0")),), 0)
    assert on(fill(drums, "##", 2)) == "..##...."


def test_seconds_stay_whatever_the_tempo_does_in_the_gap():
    tune = Song.from_bytes(content(ode_to_joy()))  # the tempo changes at step 20
    roll = Music().open(tune).sequence.values
    missing = np.zeros(roll.shape, bool)
    missing[16:24] = True
    filled = Music().open(tune).write(np.where(missing, 1 - roll, roll), missing)

    def seconds(music: Song) -> list[tuple[float, str]]:
        now, played = 0.0, []
        for message in mido.MidiFile(file=io.BytesIO(music.to_bytes())):
            now += message.time
            # Steps 16 and 24 are at 4 s, and at 5 s + 2 beats of 0.4 s.
            if not 3.99 < now < 5.81:
                played.append((round(now, 6), str(message.copy(time=0))))
        return sorted(played)

    assert seconds(filled) == seconds(tune)
