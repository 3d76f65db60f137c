"""What a composer keeps, forces or forbids is what the filled music has."""

import mido
import numpy as np
import pytest

import caesura
from caesura.errors import CaesuraError
from caesura.kinds import Composition, Music, Song, arrange
from caesura.kinds.music.arrange import parse_keys
from command_line import ask
from songs import content

KIND = Music(steps_per_beat=1)
SOPRANO, ALTO, TENOR, BASS = (72, 74, 76, 77), (67, 67, 67, 69), (64, 65, 67, 60), (48, 50, 52, 53)


def chorale(*parts):
    """A track for each part, a note to the beat; the names are those of a choir."""
    song = mido.MidiFile(type=1, ticks_per_beat=96)
    for name, part in zip(("Soprano", "Alto", "Tenor", "Bass"), parts, strict=False):
        track = song.add_track(name)
        for pitch in part:
            track.append(mido.Message("note_on", note=pitch, velocity=70))
            track.append(mido.Message("note_off", note=pitch, time=96))
    return Song.from_bytes(content(song))


SATB = chorale(SOPRANO, ALTO, TENOR, BASS)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [("60", 39, 39), ("C4", 39, 39), ("60-84", 39, 63), ("Bb3-F#5", 37, 57), ("A0-C8", 0, 87)],
)
def test_pitches_have_names_and_numbers(text, first, last):
    assert parse_keys(text) == range(first, last + 1)


def test_without_a_wish_whole_steps_are_missing():
    item = arrange(KIND.open(SATB), [1, 2])
    missing = item.missing
    assert item.original == SATB
    assert not item.sequence.values[missing].any()
    np.testing.assert_array_equal(item.complete.values, KIND.open(SATB).sequence.values)
    assert missing[1:3].all()
    assert missing.sum() == 2 * 88


def test_a_range_keeps_its_notes_and_its_rests():
    missing = arrange(KIND.open(SATB), range(1, 3), keep=["60-84"]).missing
    expected = np.zeros((4, 88), bool)
    expected[1:3] = True
    expected[:, 39:64] = False
    np.testing.assert_array_equal(missing, expected)


@pytest.mark.parametrize(("what", "part"), [("top", SOPRANO), ("bottom", BASS)])
def test_nothing_new_sounds_beyond_an_outer_voice(what, part):
    missing = arrange(KIND.open(SATB), range(4), keep=[what]).missing
    for row, pitch in zip(missing, part, strict=True):
        key = pitch - 21
        inner = row[:key] if what == "top" else row[key + 1 :]
        assert inner.all()
        assert row.sum() == len(inner)


def test_where_nothing_sounds_there_is_no_top():
    roll = np.zeros((2, 88), int)
    roll[0, 40] = 1
    missing = arrange(KIND.open(roll), [0, 1], keep=["top"]).missing
    assert missing[0].sum() == 40
    assert missing[1].all()


@pytest.mark.parametrize("voice", ["Tenor", "tenor", "3"])
def test_one_voice_is_missing_within_its_range(voice):
    missing = arrange(KIND.open(SATB), range(4), voice=voice).missing
    expected = np.zeros((4, 88), bool)
    expected[:, 60 - 21 : 67 - 21 + 1] = True
    expected[:3, 67 - 21] = False  # the alto's, also where both have it
    np.testing.assert_array_equal(missing, expected)


def test_forced_keys_sound_and_forbidden_ones_do_not():
    item = arrange(KIND.open(SATB), [1, 2], force=["C3"], forbid=["60-67", "C5"])
    missing = item.missing
    before, after = (KIND.open(song).sequence.values for song in (SATB, item.original))
    assert after[1:3, 48 - 21].all()
    assert not after[1:3, 60 - 21 : 68 - 21].any()
    spoken_for = np.zeros((4, 88), bool)
    for keys in ("C3", "60-67", "C5"):
        spoken_for[1:3, parse_keys(keys)] = True
    np.testing.assert_array_equal(after[~spoken_for], before[~spoken_for])
    np.testing.assert_array_equal(missing[1:3], ~spoken_for[1:3])
    assert not missing[[0, 3]].any()


def test_the_gaps_of_a_roll_count_beside_the_steps():
    roll = np.zeros((3, 88))
    roll[0, 10:20] = np.nan
    item = arrange(KIND.open(roll), [2], keep=["A0-C8"], force=["31"])
    music, missing = item.original, item.missing
    assert np.isnan(music[0]).sum() == 9  # key 10 is forced, so it is known now
    np.testing.assert_array_equal(missing, np.isnan(music))  # all that was there is kept
    assert music[2, 10] == 1


@pytest.mark.parametrize("gap", [range(1, 3), range(4)], ids=["a part", "the whole"])
def test_a_new_note_goes_to_the_voice_that_is_free(gap):
    missing = arrange(KIND.open(SATB), gap, voice="Alto").missing
    values = KIND.open(SATB).sequence.values.copy()
    values[missing] = 0
    values[list(gap), 68 - 21] = 1  # nearer to none than to the alto, but as near to the tenor
    written = KIND.open(SATB).write(values, missing)
    pitches = [event.data[1] for event in written.tracks[1] if event.data[0] == 0x90]
    assert 68 in pitches
    for track in (0, 2, 3):
        assert written.tracks[track] == SATB.tracks[track]


MISTAKES = {
    "not as 'H4'": {"keep": ["H4"]},
    "not on a piano": {"keep": ["12"]},
    "are in the wrong order": {"force": ["C5-C4"]},
    "forced and forbidden": {"force": ["C4"], "forbid": ["60-62"]},
    "Nothing is left to fill": {"keep": ["A0-C8"]},
    "its voices are 1 (Soprano), 2 (Alto), 3 (Tenor), 4 (Bass)": {"voice": "Horn"},
}


@pytest.mark.parametrize(("sentence", "wishes"), MISTAKES.items(), ids=list(MISTAKES))
def test_a_mistake_gets_one_sentence(sentence, wishes):
    with pytest.raises(CaesuraError) as caught:
        arrange(KIND.open(SATB), range(4), **wishes)
    assert sentence in str(caught.value)


def test_a_new_note_goes_to_the_voice_that_was_asked_for():
    # Two voices are free in the gap, and the key is nearer to what the other one sings.
    item = KIND.open(chorale((72, 74), (60, 62), (50, 50, 50, 50)))
    item = arrange(item, [2, 3], voice="Soprano", force=["61"])
    assert [lane.voice.track for lane in KIND.open(item.original).lanes if lane.key == 40] == [0]


def test_a_roll_has_no_voices():
    with pytest.raises(CaesuraError, match="The roll has no voices"):
        arrange(KIND.open(np.zeros((3, 88), int)), [1], voice="1")


def test_a_composition_counts_bars_or_steps():
    item = KIND.open(chorale(SOPRANO * 4))
    assert Composition(gaps=((2, 4),)).arrange(item).sequence.gaps == [(4, 12)]
    assert Composition(gaps=((2, 4),), unit="steps").arrange(item).sequence.gaps == [(2, 4)]
    assert Composition(keep=("top",)).arrange(item).sequence.gaps == [(0, 16)]
    roll = np.zeros((4, 88))
    roll[1] = np.nan
    assert Composition().arrange(KIND.open(roll)).sequence.gaps == [(1, 2)]


@pytest.mark.parametrize(
    ("composition", "sentence"),
    [
        (Composition(), "The song has no gaps: specify what is missing."),
        (Composition(gaps=((12, 13),)), "The song has no bar 12; it has 1 bar."),
        (Composition(gaps=((0, 1),)), "The song has no bar 0; it has 1 bar."),
        (Composition(gaps=((2, 5),), unit="steps"), "has no step 4; its steps are 0 to 3."),
    ],
)
def test_a_composition_that_does_not_fit_gets_one_sentence(composition, sentence):
    with pytest.raises(CaesuraError) as caught:
        composition.arrange(KIND.open(SATB))
    assert sentence in str(caught.value)
    assert "--" not in str(caught.value)


def test_a_file_is_named_and_read_once(tmp_path, monkeypatch):
    SATB.save(tmp_path / "song.mid")
    item = KIND.open(tmp_path / "song.mid")
    (tmp_path / "song.mid").unlink()
    arranged = Composition(gaps=((1, 2),), force=("C3",)).arrange(item)
    assert KIND.open(arranged) is arranged
    with pytest.raises(CaesuraError, match=r"The file '.*song.mid' has no bar 3; it has 1 bar"):
        Composition(gaps=((3, 4),)).arrange(item)


def test_a_roll_has_no_bars():
    with pytest.raises(CaesuraError, match="The roll has no bars, which only a song has"):
        Composition(gaps=((1, 2),)).arrange(KIND.open(np.zeros((3, 88), int)))


@pytest.mark.slow
def test_the_command_keeps_what_it_is_told_to_keep(tmp_path):
    song, out = tmp_path / "song.mid", tmp_path / "out.mid"
    SATB.save(song)
    wishes = "--gap 1:3 --unit steps --keep top --forbid C3-B3 --samples 1"
    assert ask("fill", "music", song, *wishes.split(), "-o", out) == f"{out}\n"
    kind = caesura.load("music").kind
    before, after = (kind.open(path).roll for path in (song, out))
    top = 87 - np.argmax(before[:, ::-1], axis=1)
    np.testing.assert_array_equal(87 - np.argmax(after[:, ::-1], axis=1), top)
    assert not after[1:3, parse_keys("C3-B3")].any()
    np.testing.assert_array_equal(np.delete(after, [1, 2], 0), np.delete(before, [1, 2], 0))
