"""One part of a song is filled, or added: it stays what it is, and the others stay as they are."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from caesura.errors import CaesuraError, CaesuraWarning
from caesura.filler import Filler
from caesura.kinds import Composition, Music, Score, Song, arrange
from caesura.kinds.music.midi import END_OF_TRACK, META, Event
from caesura.kinds.music.notes import make_roll
from caesura.nets.frames import make_frame
from caesura.nets.rnn import bidirectional
from command_line import ask
from scores import small_score
from test_arrange import chorale

STEP = 120  # ticks of a sixteenth


def song(**parts: list[tuple[int, int, int]]) -> Song:
    """A track for each part: notes as their pitch, and from which sixteenth to which."""
    end = Event(64 * STEP, END_OF_TRACK + b"\0")
    tracks = []
    for name, notes in parts.items():
        events = [Event(STEP * start, bytes([0x90, pitch, 70])) for pitch, start, _ in notes]
        events += [Event(STEP * stop, bytes([0x80, pitch, 64])) for pitch, _, stop in notes]
        title = Event(0, bytes([META, 3, len(name)]) + name.encode())
        tracks.append((title, *sorted(events), end))
    return Song(4 * STEP, tuple(tracks))


def scale(pitches, first=0, stop=64, length=4, every=4) -> list[tuple[int, int, int]]:
    """Notes of one length, as often as that."""
    starts = range(first, stop, every)
    return [(pitches[n % len(pitches)], start, start + length) for n, start in enumerate(starts)]


HIGH, MIDDLE, LOW = scale((76, 77, 79)), scale((67, 69, 65, 67, 71)), scale((48, 53, 55))
TRIO = song(High=HIGH, Middle=MIDDLE, Low=LOW)


def make_filler(struck: bool) -> Filler:
    """Nets with random weights: notes begin and end anywhere."""
    kind = Music(4 if struck else 2, struck=struck)
    frame = make_frame(kind.frame)
    shape = {"head": "orderless", "hidden": 4, "head_hidden": 6}
    net = bidirectional(jax.random.key(0), frame, **shape)
    return Filler(kind, {"bidirectional": net}, "bothways")


FILLERS = {"held and struck": make_filler(True), "on and off": make_filler(False)}
fillers = pytest.mark.parametrize("filler", FILLERS.values(), ids=FILLERS)


def notes_at_once(item, track):
    """How many notes a track has at each step."""
    counts = np.zeros(item.grid.steps, int)
    for lane in item.lanes:
        for note in lane.notes if lane.voice.track == track else []:
            counts[note.first : note.stop] += 1
    return counts


@fillers
@pytest.mark.parametrize("gap", [(2, 4), (1, 5)], ids=["two bars", "all of it"])
def test_a_part_that_sings_has_one_note_at_each_step(filler, gap):
    item = filler.kind.open(TRIO)
    fill = filler.fill(
        Composition(gaps=(gap,), voice="Middle").arrange(item), seed=3, samples=2, draws=4
    )
    for written in (fill.best, *fill.samples):
        again = filler.kind.open(written)
        assert (notes_at_once(again, 1) == 1).all()
        for track in (0, 2):
            assert written.tracks[track] == TRIO.tracks[track]
        rolls = [
            make_roll([lane for lane in again.lanes if lane.voice.track == track], again.grid)
            for track in range(3)
        ]
        assert (rolls[0].argmax(axis=1) > rolls[1].argmax(axis=1)).all()
        assert (rolls[1].argmax(axis=1) > rolls[2].argmax(axis=1)).all()
    assert fill.best != TRIO
    np.testing.assert_array_equal(filler.kind.open(fill.best).sequence.values, fill.values)


@pytest.mark.slow
def test_chords_do_not_hold_the_notes_of_another_part():
    filler = FILLERS["held and struck"]
    chords = [(67, 0, 24), (64, 0, 24), *scale((67, 64, 60), 32), *scale((65, 69), 32)]
    piece = song(High=scale((67, 65, 64), length=2), Middle=chords)
    arranged = Composition(gaps=((2, 4),), voice="Middle").arrange(filler.kind.open(piece))
    fill = filler.fill(arranged, samples=8, draws=8)
    for written, sample in zip(fill.samples, fill.sampled, strict=True):
        frames = filler.kind.open(written).sequence.values
        np.testing.assert_array_equal(frames[fill.missing], sample.values)


@pytest.mark.slow
@fillers
def test_a_part_that_rests_may_rest_and_chords_stay_chords(filler):
    rests = song(High=HIGH, Middle=scale((67, 69), every=8))
    chords = song(High=HIGH, Middle=[*MIDDLE, *scale((60, 62, 64))])
    counts = []
    for piece in (rests, chords):
        arranged = Composition(gaps=((2, 4),), voice="Middle").arrange(filler.kind.open(piece))
        fill = filler.fill(arranged, seed=1, samples=4, draws=4)
        each = [notes_at_once(filler.kind.open(song), 1) for song in fill.samples]
        counts.append({int(n) for one in each for n in one[arranged.sequence.missing_steps]})
    assert counts[0] == {0, 1}
    assert max(counts[1]) > 1


def test_notes_in_unison_with_another_part_go_and_the_other_stays():
    kind = Music(1)
    item = kind.open(chorale((72, 72, 71, 72), (67, 72, 71, 69)))  # in unison at steps 1 and 2
    arranged = arrange(item, [1, 2], voice="Alto")
    assert not arranged.missing[1, 72 - 21]
    assert arranged.sequence.values[1, 72 - 21] == 1  # the soprano's
    silent = arranged.write(arranged.sequence.values, arranged.missing)
    pitches = [event.data[1] for event in silent.tracks[1] if event.data[0] == 0x90]
    assert pitches == [67, 69]
    assert silent.tracks[0] == item.song.tracks[0]


@fillers
def test_a_note_that_goes_on_after_a_gap_stays_where_it_is_in_unison_at_the_end(filler):
    piece = song(
        High=[(72, 0, 6), (74, 6, 20), *scale((72,), 20)], Low=scale((74, 62), 10, 50, 8, 8)
    )
    item = filler.kind.open(piece)
    per = filler.kind.steps_per_beat
    arranged = Composition(gaps=((per, 4 * per),), unit="steps", voice="High").arrange(item)
    fill = filler.fill(arranged, seed=2, draws=4)
    again = filler.kind.open(fill.best)
    np.testing.assert_array_equal(again.sequence.values, fill.values)
    assert fill.best.tracks[1] == piece.tracks[1]
    assert (notes_at_once(again, 0) <= 1).all()


def free(middle, gap=(2, 3)):
    """The pitches that a middle part may have at the first step of a gap, and those of a line."""
    piece = song(High=HIGH, Middle=middle, Low=LOW)
    arranged = Composition(gaps=(gap,), voice="Middle").arrange(Music(4, struck=True).open(piece))
    step = arranged.sequence.gaps[0].start
    return set((np.flatnonzero(arranged.missing[step]) + 21).tolist()), arranged.sequence.line


def test_a_part_crosses_another_one_only_if_it_does_so_elsewhere():
    above = [(84, 0, 4)]  # once, of sixteen notes: this is its range
    pitches, _ = free([*above, *MIDDLE[1:]])
    assert max(pitches) == HIGH[4][0] - 1
    crossing = scale((67, 84, 69))
    pitches, _ = free(crossing)
    assert max(pitches) == 84
    assert HIGH[4][0] not in pitches  # another part plays it


def test_a_part_rests_where_it_does_so_around_the_gap():
    _, line = free(MIDDLE)
    assert not line.rests.any()
    _, line = free([note for n, note in enumerate(MIDDLE) if n != 9])  # a rest of a beat after it
    assert line.rests[16:32].all()
    _, line = free(MIDDLE[:4] + MIDDLE[8:])  # nothing but the gap itself is silent
    assert not line.rests.any()
    # All parts pause together, in the gap and after it: there it may rest, but nowhere else.
    pauses = [note for n, note in enumerate(MIDDLE) if n not in (5, 9)]
    parts = {"Middle": pauses, "Low": [note for n, note in enumerate(LOW) if n not in (5, 9)]}
    item = Music(4, struck=True).open(song(**parts))
    line = Composition(gaps=((2, 3),), voice="Middle").arrange(item).sequence.line
    assert np.flatnonzero(line.rests).tolist() == [20, 21, 22, 23]


def test_a_fine_or_legato_line_is_one_and_a_chord_is_none():
    fine = scale((67, 69), length=1, every=1)
    piece = song(High=HIGH, Fine=fine, Legato=[(p, a, b + 0.25) for p, a, b in MIDDLE])
    whole = [tuple(e._replace(tick=int(e.tick)) for e in track) for track in piece.tracks]
    item = Music(2).open(Song(piece.ticks_per_beat, tuple(whole)))
    for voice in ("Fine", "Legato"):
        assert Composition(gaps=((2, 3),), voice=voice).arrange(item).sequence.line.sings
    _, line = free([*MIDDLE, (60, 62, 64)])
    assert not line.sings


def test_a_forced_note_is_the_only_one_of_its_part():
    filler = FILLERS["held and struck"]
    forced = Composition(gaps=((2, 3),), voice="Middle", force=("C4",))
    fill = filler.fill(forced.arrange(filler.kind.open(TRIO)), seed=0)
    again = filler.kind.open(fill.best)
    assert (notes_at_once(again, 1)[16:32] == 1).all()
    assert (again.sequence.values[16:32, 60 - 21] > 0).all()


def middle(filler):
    return Composition(gaps=((2, 3),), voice="Middle").arrange(filler.kind.open(TRIO))


def test_nothing_else_is_missing_beside_a_part_that_sings():
    filler = FILLERS["on and off"]
    with pytest.raises(CaesuraError, match="nothing else can be missing"):
        filler.fill(middle(filler), missing=slice(0, 2))


@pytest.mark.slow
def test_other_strategies_say_that_they_do_not_keep_to_one_note():
    filler = FILLERS["on and off"]
    with pytest.warns(CaesuraWarning, match="'nade' does not keep to the rules for a voice"):
        filler.fill(middle(filler), strategy="nade", draws=2)


def test_notes_get_back_to_the_voices_that_they_came_from():
    parts = {
        "High": [(76, 0, 6), (77, 6, 8), *scale((79, 77, 76), first=8, length=3)],
        # In the gap, it is in the range that the low part has outside.
        "Middle": [*scale((69, 72), stop=20), *scale((66,), 20, 36), *scale((71, 69), 36)],
        "Low": [*scale((62, 66), stop=20), *scale((64, 63), 20, 36, 2, 2), *scale((62,), 36)],
    }
    piece = song(**parts)
    item = Music(4, struck=True).open(piece)
    missing = np.zeros((64, 88), bool)
    missing[12:40] = True  # notes of all parts go on across its edges
    again = replace(item, original=item.write(item.complete.values, item.widen(missing)))

    def notes(one):
        each = ((lane, note) for lane in one.lanes for note in lane.notes)
        return {(lane.voice.track, lane.key, note.first, note.stop) for lane, note in each}

    assert notes(again) == notes(item)


# A new track.


@pytest.mark.slow
def test_new_notes_go_to_a_track_of_their_own():
    filler = FILLERS["held and struck"]
    melody = song(Melody=HIGH)
    arranged = Composition(add="C2-B3").arrange(filler.kind.open(melody))
    fill = filler.fill(arranged, seed=0, draws=4)
    assert fill.best.tracks[0] == melody.tracks[0]
    new = [event.data for event in fill.best.tracks[1] if event.data[0] & 0xF0 == 0x90]
    assert new
    assert {data[0] for data in new} == {0x91}  # a channel of its own
    assert all(36 <= data[1] < 60 and data[2] == 70 for data in new)
    again = filler.kind.open(fill.best)
    np.testing.assert_array_equal(again.sequence.values, fill.values)
    assert (notes_at_once(again, 1) > 0).all()
    assert Song.from_bytes(fill.best.to_bytes()) == fill.best


@pytest.mark.slow
def test_a_score_gets_a_new_part():
    filler = FILLERS["held and struck"]
    score = Score.from_bytes(small_score())
    arranged = Composition(gaps=((1, 3),), add="C2-B3").arrange(filler.kind.open(score))
    fill = filler.fill(arranged, seed=0, draws=4)
    best = fill.best
    assert [part.name for part in best.parts][-1] == "New"
    assert [m.number for m in best.parts[-1].measures] == [m.number for m in score.measures]
    assert {m.fifths for m in best.parts[-1].measures} == {-1}
    np.testing.assert_array_equal(filler.kind.open(best).sequence.values, fill.values)
    kept = best.xml.replace(best.xml[best.xml.rindex(b"<part id") : best.stop], b"")
    listed = b'<score-part id="P3"><part-name>New</part-name></score-part>'
    assert kept.replace(listed, b"") == score.xml


def test_a_voice_is_filled_or_added():
    item = Music(4, struck=True).open(TRIO)
    with pytest.raises(CaesuraError, match="both at once"):
        Composition(voice="High", add="C2-B3").arrange(item)
    with pytest.raises(CaesuraError, match="has no voices"):
        Composition(add="C2-B3").arrange(Music(4).open(np.zeros((8, 88), int)))


@pytest.mark.slow
def test_the_commands_of_the_documentation(tmp_path):
    piece, out = tmp_path / "song.mid", tmp_path / "out.mid"
    TRIO.save(piece)
    for wishes in ("--voice Middle", "--add C2-B2", "--gap 2:4", "--gap 2:4 --voice Middle"):
        assert ask("fill", "music", piece, *wishes.split(), "-o", out) == f"{out}\n"
        assert Song.load(out) != TRIO
