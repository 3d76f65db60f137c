"""MIDI files: every event comes back, broken files get a sentence, bars and rolls are found."""

import io
import struct

import mido
import numpy as np
import pytest

from caesura.errors import CaesuraError, FileMissingError
from caesura.kinds.music.midi import LAST_TICK, Song
from songs import content, ode_to_joy, random_song


def midi(*tracks: bytes, kind: int = 1, division: int = 96, count: int | None = None) -> bytes:
    """A file by hand."""
    count = len(tracks) if count is None else count
    chunks = [b"MThd" + struct.pack(">LHHH", 6, kind, count, division)]
    chunks += [b"MTrk" + struct.pack(">L", len(track)) + track for track in tracks]
    return b"".join(chunks)


END = b"\0\xff\x2f\0"


def test_events_are_those_that_another_library_reads():
    song = Song.from_bytes(content(ode_to_joy()))
    file = mido.MidiFile(file=io.BytesIO(content(ode_to_joy())))
    assert (song.ticks_per_beat, song.format, len(song.tracks)) == (480, 1, 4)
    for ours, theirs in zip(song.tracks, file.tracks, strict=True):
        ticks = np.cumsum([message.time for message in theirs])
        known = [(tick, bytes(m.bytes())) for tick, m in zip(ticks, theirs, strict=True)]
        assert [tuple(event) for event in ours] == known


def test_what_is_written_is_what_another_library_reads():
    song = Song.from_bytes(content(ode_to_joy()))
    again = mido.MidiFile(file=io.BytesIO(song.to_bytes()))
    assert content(again) == content(ode_to_joy())


@pytest.mark.parametrize(
    "event",
    [
        b"\xf7\x03\x01\x02\xf7",  # the second part of a message
        b"\xf7\x02\xf3\x01",  # raw bytes
        b"\xf0\x02\x01\x02",  # the first part of a message
        b"\xff\x59\x02\x09\x00",  # a key with nine sharps
        b"\xff\x51\x04\x07\xa1\x20\x01",  # a tempo with one byte too many
        b"\xff\x58\x01\x04",  # a time signature with too few
        b"\xff\x00\x00",
        b"\xff\x7e\x02ab",  # a meta event that no one knows
        b"\xff\x01\x80\x01a",  # a length with an idle digit
        b"\xe0\x01\x02",
    ],
)
def test_an_event_keeps_its_bytes_whatever_it_means(event):
    file = midi(b"\x05" + event + END)
    song = Song.from_bytes(file)
    assert song.tracks[0][0] == (5, event)
    assert song.to_bytes() == file


def test_a_status_that_is_left_out_is_that_of_the_event_before():
    song = Song.from_bytes(midi(b"\0\x90\x40\x40" + b"\x10\x40\0" + b"\0\xff\x01\0" + b"\1\x41\1"))
    notes = [(0, b"\x90\x40\x40"), (16, b"\x90\x40\0"), (16, b"\xff\x01\0"), (17, b"\x90\x41\1")]
    assert [tuple(e) for e in song.tracks[0]] == [*notes, (17, b"\xff\x2f\0")]  # and its end


def test_what_is_no_track_is_kept_behind_the_tracks():
    odd = b"XFIH" + struct.pack(">L", 3) + b"abc"
    head, track = midi(count=1), midi(END)[14:]
    song = Song.from_bytes(head + odd + track + b"padding")
    assert len(song.tracks) == 1
    assert song.to_bytes() == head + track + odd + b"padding"


def test_what_is_behind_the_end_of_a_track_is_not_played():
    assert Song.from_bytes(midi(END + b"\0\x90\x40\x40")) == Song.from_bytes(midi(END))


def test_random_songs_survive():
    rng = np.random.default_rng(0)
    for _ in range(100):
        song = random_song(rng, 96)
        assert Song.from_bytes(song.to_bytes()) == song


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        (b"", "not a MIDI file"),
        (b"RIFF1234", "not a MIDI file"),
        (b"MThd", "ends in the middle"),
        (midi(END)[:12], "ends in the middle"),
        (midi(END)[:-1], "ends in the middle"),
        (midi(END, count=2), "ends in the middle"),
        (midi(END, kind=2), "format 2, whose tracks do not sound together"),
        (midi(END, kind=7), "header is not valid"),
        (midi(END, division=0), "beats have no ticks"),
        (midi(END, division=0xE728), "SMPTE frames instead of beats"),
        (midi(b"\0\x40\x40" + END), "event of an unknown type"),
        (midi(b"\0\xf1\x40" + END), "event of an unknown type"),
        (midi(b"\0\x90\x40\x80" + END), "number out of range"),
        (midi(b"\0\x90\x40"), "ends in the middle"),
        (midi(b"\0\xff\x01\x7fabc" + END), "ends in the middle"),
        (midi(b"\xff\xff\xff\xff\x7f\x90\x40\x40" + END), "number that is too large"),
        (midi(b"\xff\xff\xff\x7f\x90\x40\x40" * 2 + END), "longer than 268435455 ticks"),
    ],
)
def test_a_broken_file_gets_one_sentence(file, sentence, tmp_path):
    (tmp_path / "a.mid").write_bytes(file)
    with pytest.raises(CaesuraError, match=sentence) as caught:
        Song.load(tmp_path / "a.mid")
    assert str(caught.value).startswith(f"The file '{tmp_path / 'a.mid'}' ")
    assert str(caught.value).count(".") == 2  # that of the suffix, and the full stop


def test_a_file_that_cannot_be_opened_gets_one_sentence(tmp_path):
    with pytest.raises(FileMissingError, match=r"There is no file or directory '.*no\.mid'"):
        Song.load(tmp_path / "no.mid")
    with pytest.raises(CaesuraError, match=r"Cannot read .*: is a directory"):
        Song.load(tmp_path)
    with pytest.raises(CaesuraError, match="null"):
        Song.load("a\0b")


def test_any_wrong_byte_gives_a_song_or_a_sentence():
    rng = np.random.default_rng(1)
    notes = b"\0\x90\x40\x40" + b"\x83\x60\x40\0" + b"\0\x80\x41\x40" + b"\0\xc0\x05"
    metas = b"\0\xff\x51\x03\x07\xa1\x20" + b"\x10\xff\x01\x02ab" + b"\0\xf0\x02\x01\xf7"
    file = midi(metas + END, notes + metas + notes + END)
    songs, sentences = 0, set()
    for _ in range(4000):
        broken = bytearray(file)
        for place in rng.integers(0, len(file), rng.integers(1, 4)):
            broken[place] = rng.integers(256)
        broken = broken[: rng.integers(len(file))] if rng.random() < 0.2 else broken
        try:
            song = Song.from_bytes(bytes(broken))
            assert Song.from_bytes(song.to_bytes()) == song
            assert song.end <= LAST_TICK
            songs += 1
        except CaesuraError as error:
            sentences.add(str(error))
    assert songs > 500
    assert len(sentences) > 5
    assert all(s.startswith("The song ") and s.count(".") == 1 for s in sentences), sentences


def test_a_song_is_saved_whole(tmp_path):
    song = Song.from_bytes(content(ode_to_joy()))
    song.save(tmp_path / "ode.mid")
    assert Song.load(tmp_path / "ode.mid") == song
    with pytest.raises(CaesuraError, match="Cannot write"):
        song.save(tmp_path / "nowhere" / "ode.mid")


def test_bars_of_four_beats_are_the_default():
    assert Song.from_bytes(content(ode_to_joy())).bars == [1920 * bar for bar in range(8)]
    assert Song.from_bytes(midi(b"\x60\xff\x2f\0")).bars == [0]


def test_time_signatures_change_the_bars():
    waltz = b"\0\xff\x58\x04\x03\x02\x18\x08"
    same = b"\x10\xff\x58\x04\x03\x02\x18\x08"  # said again in the middle of a bar
    eighths = b"\x84\x30\xff\x58\x04\x07\x03\x18\x08"  # 560 ticks later
    end = b"\x85\x20\xff\x2f\0"  # 672 ticks later
    song = Song.from_bytes(midi(waltz + same + eighths + end))
    assert song.bars == [0, 288, 576, 576 + 336]
    cut = Song.from_bytes(midi(waltz + eighths + end))
    assert cut.bars == [0, 288, 560, 560 + 336]  # the second bar is cut short


def test_absurd_time_signatures_fill_no_memory():
    none = midi(b"\0\xff\x58\x04\0\x02\x18\x08" + b"\x83\0\xff\x2f\0")
    assert Song.from_bytes(none).bars == [0]
    tiny = midi(b"\0\xff\x58\x04\x01\xff\x18\x08" + b"\x83\0\xff\x2f\0")
    with pytest.raises(CaesuraError, match="more than 1000000 bars"):
        _ = Song.from_bytes(tiny).bars


@pytest.mark.parametrize(
    ("roll", "options", "sentence"),
    [
        (np.zeros((3, 87)), {}, r"shape \[steps, 88\], not \[3, 87\]"),
        (np.zeros((0, 88)), {}, "empty"),
        (np.full((3, 88), np.nan), {}, "missing values"),
        (np.full((3, 88), 2), {}, "not 2 at step 0, key 0"),
        (np.zeros((3, 88)), {"steps_per_beat": 0}, "at least 1, not 0"),
        (np.zeros((3, 88)), {"beats_per_minute": 0.0}, "between 4 and 1000000"),
    ],
)
def test_a_roll_that_is_no_song_gets_one_sentence(roll, options, sentence):
    with pytest.raises(CaesuraError, match=sentence):
        Song.from_roll(roll, **{"steps_per_beat": 2} | options)


def test_a_song_from_a_roll_has_the_asked_tempo():
    song = Song.from_roll(np.ones((8, 88), bool), 4, beats_per_minute=90.0)
    file = mido.MidiFile(file=io.BytesIO(song.to_bytes()))
    assert file.length == pytest.approx(2 * 60 / 90, rel=1e-5)
    assert len([m for m in file.tracks[0] if m.type == "note_on"]) == 88
