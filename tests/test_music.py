"""Music: songs and rolls read on a grid, found, refused, and filled from end to end."""

import base64
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from caesura.errors import CaesuraError
from caesura.kinds import KINDS, Music, Song
from caesura.kinds.music import items
from caesura.kinds.music.midi import END_OF_TRACK, Event
from caesura.sequence import FrameSpec
from songs import C, E, content, ode_to_joy, on, song

# The grid.


@pytest.mark.parametrize(
    ("notes", "steps"),
    [
        ([(0, 100)], "#......."),
        ([(200, 500)], "..###..."),
        ([(151, 549)], "..###..."),  # before the beat, and not yet over
        ([(249, 451)], "..###..."),  # behind the beat, and over too soon
        ([(250, 449)], "...#...."),
        ([(200, 210)], "..#....."),  # staccato
        ([(190, 195)], "..#....."),  # staccato and early
        ([(200, 200)], "..#....."),
        ([(230, 349)], "..#....."),
        ([(0, 100), (100, 300)], "###....."),
        ([(700, 800)], ".......#"),
        ([(790, 800)], ".......#"),  # never behind the end
    ],
)
def test_a_note_is_moved_to_the_nearest_lines(notes, steps):
    assert on(song(*notes)) == steps


def test_a_song_has_as_many_steps_as_reach_its_end():
    for end, steps in [(1, 1), (100, 1), (101, 2), (799, 8), (800, 8), (801, 9)]:
        assert len(Music().open(song(end=end)).sequence) == steps


def test_notes_may_overlap_and_end_twice_or_never():
    def read(*events: tuple[int, int, int]) -> str:
        track = [Event(tick, bytes([status, 60, value])) for tick, status, value in events]
        return on(Song(200, ((*track, Event(800, END_OF_TRACK + b"\0")),), 0))

    assert read((100, 0x90, 9), (300, 0x90, 0)) == ".##....."  # velocity 0 ends a note
    assert read((100, 0x90, 9), (200, 0x90, 9), (300, 0x80, 0), (400, 0x80, 0)) == ".##....."
    assert read((100, 0x90, 9), (200, 0x91, 9), (300, 0x80, 0), (400, 0x81, 0)) == ".###...."
    assert read((100, 0x80, 9), (200, 0x90, 9)) == "..######"
    assert read((100, 0x99, 9), (200, 0x89, 9)) == "........"  # a drum
    late = (100, 0x90, 9), (300, 0x90, 9), (300, 0x80, 0), (500, 0x80, 0)
    assert read(*late) == ".####..."  # the first end is that of the first note


def test_keys_that_no_piano_has_are_not_seen():
    for key, seen in [(20, 0), (21, 1), (108, 1), (109, 0)]:
        assert Music().open(song((0, 100), key=key)).sequence.values.sum() == seen


def test_a_tune_is_read():
    values = Music().open(Song.from_bytes(content(ode_to_joy()))).sequence.values
    assert values.shape == (64, 88)
    assert on(Song.from_bytes(content(ode_to_joy())), E)[:16] == "####........##.."
    melody = values[:, C:].argmax(axis=1)[::2][:16]
    assert melody.tolist() == [4, 4, 5, 7, 7, 5, 4, 2, 0, 0, 2, 4, 4, 4, 2, 2]


def test_a_finer_grid_sees_more():
    tune = Song.from_bytes(content(ode_to_joy(96)))
    for steps_per_beat, steps in [(1, 16), (2, 32), (3, 48), (4, 64)]:
        cut = replace(tune, tracks=tune.tracks[:2])
        assert len(Music(steps_per_beat).open(cut).sequence) == 2 * steps


# Arrays.


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
def test_a_roll_gives_a_roll(dtype):
    roll = (np.random.default_rng(0).random((6, 88)) < 0.5).astype(dtype)
    missing = np.zeros(roll.shape, bool)
    missing[2:4] = True
    before, values = roll.copy(), np.where(missing, 1, roll).astype(np.int32)
    filled = Music().open(roll).write(values, missing)
    assert filled.dtype == roll.dtype
    np.testing.assert_array_equal(filled, values)
    np.testing.assert_array_equal(roll, before)


def test_nan_is_missing():
    roll = np.zeros((4, 88))
    roll[1, 3] = np.nan
    sequence = Music().open(roll).sequence
    assert np.argwhere(sequence.missing).tolist() == [[1, 3]]
    assert sequence.values.sum() == 0
    assert Music().open(roll.tolist()).sequence.missing.sum() == 1


@pytest.mark.parametrize("steps_per_beat", [1, 2, 3, 4, 7, 96])
def test_a_song_from_a_roll_is_read_as_that_roll(steps_per_beat):
    roll = np.random.default_rng(0).random((30, 88)) < 0.3
    sequence = Music(steps_per_beat).open(Song.from_roll(roll, steps_per_beat)).sequence
    np.testing.assert_array_equal(sequence.values, roll)


# Items.


def test_an_item_is_parsed_once_and_tells_what_a_page_draws(monkeypatch):
    tune = Song.from_bytes(content(ode_to_joy()))
    item = Music().open_content(content(ode_to_joy()))
    assert Music().open(item) is item
    assert item.original == tune
    assert item.content(item.original) == base64.b64decode(item.plain(tune)) == tune.to_bytes()
    assert len(Music(4).open(item).sequence) == 2 * len(item.sequence)  # another grid
    monkeypatch.setattr(items, "find_lanes", None)  # everything is known already
    view = item.view(item.original)
    assert view["parts"] == ["Freude", ""]  # not the drums
    assert (view["steps_per_beat"], view["first_bar"], view["suffix"]) == (2, 1, ".mid")
    assert view["beats"] == list(range(0, 64, 2))
    assert view["steps"] == 64
    assert view["bars"] == list(range(0, 64, 8))
    assert (len(view["seconds"]), view["seconds"][:3]) == (65, [0.0, 0.25, 0.5])
    assert view["seconds"][20:22] == [5.0, 5.2]  # the tempo has changed
    assert view["notes"][:3] == [[43, 0, 8, 60, 2], [64, 0, 2, 90, 1], [64, 2, 4, 90, 1]]
    assert json.loads(json.dumps(view)) == view
    assert item.write(item.sequence.values, item.missing) == tune


def test_what_is_filled_can_be_drawn_too():
    item = Music().open(song((0, 100)))
    missing = np.zeros((8, 88), bool)
    missing[3:5, C] = True
    filled = item.write(np.ones((8, 88), np.int8), missing)
    assert item.view(filled) == {"notes": [[60, 0, 1, 70, 1], [60, 3, 5, 70, 1]]}


def test_a_part_keeps_its_number_though_another_has_lost_its_notes():
    item = Music().open_content(content(ode_to_joy()))
    missing = np.zeros((64, 88), bool)
    missing[:, 60 - 21 :] = True
    notes = item.view(item.write(np.zeros((64, 88), np.int8), missing))["notes"]
    assert {part for *_, part in notes} == {2}


def test_a_roll_is_the_content_of_a_numpy_file(tmp_path):
    item = Music().open(np.zeros((3, 88), np.uint8))
    assert item.plain(item.original) == [[0] * 88] * 3
    (tmp_path / "roll.npy").write_bytes(item.content(np.ones((3, 88), np.uint8)))
    np.testing.assert_array_equal(Music.load(tmp_path / "roll.npy"), np.ones((3, 88)))


# Bars.


def test_bars_are_found_by_their_numbers():
    tune = Song.from_bytes(content(ode_to_joy()))
    assert Music().steps_of_bars(tune, 1, 2) == slice(0, 8)
    assert Music(4).steps_of_bars(tune, 3, 9) == slice(32, 128)
    odd = Event(0, b"\xff\x58\x04\x05\x04\x18\x08")  # 5/16: two and a half steps of an eighth
    tracks = ((odd, *tune.tracks[0]), *tune.tracks[1:])
    tune = replace(tune, tracks=(tuple(e for e in tracks[0] if e.data[1] != 0x58 or e == odd),))
    assert Music().steps_of_bars(tune, 2, 3) == slice(3, 5)
    item = Music().open(tune)
    assert item.steps_of_bars(2, 3) == slice(3, 5)
    bars = len(tune.bars)
    for first, stop, bar in [(0, 2, 0), (1, 99, 98), (99, 100, 99), (2, 1, 0)]:
        with pytest.raises(CaesuraError, match=f"song has no bar {bar}; it has {bars} bars"):
            item.steps_of_bars(first, stop)
    with pytest.raises(CaesuraError, match="no bar from bar 2 to before bar 2"):
        item.steps_of_bars(2, 2)
    with pytest.raises(CaesuraError, match="roll has no bars"):
        Music().steps_of_bars(np.zeros((4, 88)), 1, 2)


# Files.


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a" / "deep").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "b.mid").write_bytes(content(ode_to_joy()))
    (tmp_path / "a" / "deep" / "C.MIDI").write_bytes(content(ode_to_joy()))
    (tmp_path / "a" / "._b.mid").write_bytes(b"a shadow")
    (tmp_path / "a" / "words.txt").write_text("words")
    (tmp_path / "named").write_bytes(content(ode_to_joy()))
    np.save(tmp_path / "a" / "roll.npy", np.ones((5, 88)))
    return tmp_path


def test_files_are_found(folder):
    found = Music.find([folder])
    assert [path.relative_to(folder).as_posix() for path in found] == [
        "a/deep/C.MIDI",
        "a/roll.npy",
        "b.mid",
    ]
    assert Music.find([folder / "named", folder, folder / "b.mid"]) == [folder / "named", *found]
    songs = Music.items([str(folder)])
    assert [type(item) for item in songs] == [Song, np.memmap, Song]
    assert Music.items(songs[0]) == [songs[0]] == Music.items(str(found[0]))
    assert len(Music.items(np.zeros((2, 3, 88)))) == 2
    assert [len(Music().open(path).sequence) for path in found] == [64, 5, 64]
    assert len(Music().open(str(folder / "named")).sequence) == 64
    with pytest.raises(CaesuraError, match=f"'{folder / 'no.mid'}'"):
        Music.find([folder / "no.mid"])
    with pytest.raises(CaesuraError, match=f"The directory '{folder / 'empty'}' has no"):
        Music.find([folder, folder / "empty"])


def test_a_wrong_file_is_named(folder):
    np.save(folder / "wide.npy", np.ones((5, 89)))
    np.save(folder / "objects.npy", np.array([{}]), allow_pickle=True)
    whole = (folder / "a" / "roll.npy").read_bytes()
    (folder / "cut.npy").write_bytes(whole[:-1])
    (folder / "huge.npy").write_bytes(whole.replace(b"(5, 88)", b"(9**9,)"))
    for name in ["wide.npy", "objects.npy", "cut.npy", "huge.npy", "a/words.txt", "no", "a"]:
        with pytest.raises(CaesuraError) as caught:
            Music().open(folder / name)
        assert f"'{folder / name}'" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_long_and_coarse_songs_are_refused():
    with pytest.raises(CaesuraError, match="longer than 1000000 steps"):
        Music().open(song(end=2**28 - 1))
    with pytest.raises(CaesuraError, match="3 ticks a beat, too few for 4 steps"):
        Music(4).open(Song(3, ((Event(9, END_OF_TRACK + b"\0"),),)))
    with pytest.raises(CaesuraError, match="The song is empty"):
        Music().open(song(end=0))
    with pytest.raises(CaesuraError, match="The song is empty"):
        Music().open(Song(96, ()))


# The kind and its mistakes.


def test_music_is_a_kind():
    assert KINDS["music"] is Music
    assert (Music.name, Music.head, Music().symbols()) == ("music", "bernoulli", [0, 1])
    assert Music().frame == FrameSpec("binary", 88)
    assert Music.learn([], steps_per_beat=4) == Music(4)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: Music(0), "'steps_per_beat' must be at least 1, not 0"),
        (lambda: Music(97), "'steps_per_beat' must be at most 96, not 97"),
        (lambda: Music.learn([], step_per_beat=2), "did you mean 'steps_per_beat'"),
        (lambda: Music().open(3), "an array .*, not int"),
        (lambda: Music().open(np.zeros(88)).sequence, r"shape \[steps, 88\], not \[88\]"),
        (lambda: Music().open(np.zeros((3, 128))).sequence, r"shape \[steps, 88\], not \[3, 128\]"),
        (lambda: Music().open(np.zeros((0, 88))), "empty"),
        (lambda: Music().open(np.full((2, 88), 0.5)), "not 0.5 at step 0, key 0"),
        (lambda: Music().open(np.full((2, 88), np.inf)), "not inf at step 0, key 0"),
        (lambda: Music().open(np.full((2, 88), "a")), "holds 0, 1 and NaN, not <U1"),
        (lambda: Music().open([[1, 0], [1]]), "not an array of numbers"),
        (
            lambda: Music().open(song()).write(np.zeros((3, 88)), np.zeros((3, 88), bool)),
            r"shape \[3, 88\], but the data has \[8, 88\]",
        ),
    ],
)
def test_a_mistake_gets_one_sentence(ask, sentence):
    with pytest.raises(CaesuraError, match=sentence) as caught:
        ask()
    assert "\n" not in str(caught.value)


def test_wrong_types_get_a_sentence_too():
    """In a process of its own, since the type checker of this one would answer first."""
    program = """
import numpy as np
from caesura.errors import CaesuraError
from caesura.kinds import Music, Song
for ask in [
    lambda: Music("2"),
    lambda: Music.learn([], steps_per_beat=2.5),
    lambda: Song.from_roll(np.zeros((2, 88)), None),
    lambda: Song.from_roll(np.zeros((2, 88)), 2, "fast"),
    lambda: Song.from_bytes("MThd"),
    lambda: Song.load(3.5),
    lambda: Music().steps_of_bars(Song.from_roll(np.zeros((2, 88)), 2), "1", 2),
]:
    try:
        ask()
    except CaesuraError as error:
        assert str(error)[-1] == "." and len(str(error).splitlines()) == 1, error
    else:
        raise AssertionError("no mistake")
assert Music(np.int64(4)) == Music(4) and type(Music(np.int64(4)).steps_per_beat) is int
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


# From end to end.


@pytest.fixture(scope="module")
def filler():
    import jax

    from caesura.filler.filler import Filler
    from caesura.nets.frames import Binary
    from caesura.nets.rnn import bidirectional

    net = bidirectional(jax.random.key(0), Binary(88), head="bernoulli", hidden=4)
    return Filler(Music(), {"bidirectional": net}, "nade")


def test_a_file_is_filled_and_left_as_it_is(filler, folder):
    path = folder / "b.mid"
    before = path.read_bytes()
    filled = filler.fill(path, missing=slice(10, 13), samples=2)
    assert path.read_bytes() == before
    assert isinstance(filled.best, Song)
    old, new = (Music().open(music).sequence.values for music in (path, filled.best))
    np.testing.assert_array_equal(np.delete(old, [10, 11, 12], 0), np.delete(new, [10, 11, 12], 0))
    assert filled.confidence.shape == (3 * 88,)
    told = json.loads(filled.to_json())
    assert Song.from_bytes(base64.b64decode(told["best"])) == filled.best
    assert len(told["samples"]) == 2


@pytest.mark.slow
def test_bars_are_filled(filler):
    tune = Song.from_bytes(content(ode_to_joy()))
    where = filler.kind.steps_of_bars(tune, 2, 3)
    filled = filler.fill(tune, missing=where)
    assert set(filled.places[:, 0]) == set(range(8, 16))
    score = filler.log_prob(filled.best, missing=where)
    assert np.isfinite(score)


def test_a_roll_is_filled(filler):
    roll = np.zeros((6, 88))
    roll[2, 5:8] = np.nan
    filled = filler.fill(roll)
    assert filled.places.tolist() == [[2, 5], [2, 6], [2, 7]]
    assert not np.isnan(filled.best).any()
    assert json.loads(filled.to_json())["best"] == filled.best.tolist()


def test_a_whole_file_is_a_song_too(filler, folder):
    filled = filler.fill(folder / "b.mid")
    assert filled.best == Song.load(folder / "b.mid")
    assert json.loads(filled.to_json())["confidence"] == []
