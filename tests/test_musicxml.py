"""MusicXML: what is read, what a fill changes in a file, and what is refused."""

import io
import re
import warnings
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import caesura
from caesura import CaesuraError
from caesura.errors import CaesuraWarning
from caesura.kinds import Composition, Music, Score
from caesura.kinds.music.mxl import MOST_BYTES
from caesura.kinds.music.notate import COLOUR
from command_line import ask, mistake
from scores import attributes, note, score, small_score
from small_fillers import music_filler

KEY = {"F4": 44, "G4": 46, "A4": 48, "C5": 51}


def opened(content: bytes, steps_per_beat: int = 2):
    return Music(steps_per_beat).open(Score.from_bytes(content))


def others(xml: bytes) -> list[str]:
    """All of a score except for notes, what moves between them, and numbers of divisions."""
    root = ElementTree.fromstring(xml)
    kept = []
    for part in root.iter("part"):
        for measure in part.iter("measure"):
            kept.append(str(measure.attrib))
            for child in measure:
                if child.tag not in ("note", "backup", "forward"):
                    written = ElementTree.tostring(child, encoding="unicode").strip()
                    kept.append(re.sub(r"<(divisions|offset)>\d+<", "<", written))
    return kept


def test_a_score_sounds_on_the_grid():
    item = opened(small_score())
    roll = item.sequence.values
    assert roll.shape == (32, 88)
    assert np.flatnonzero(roll[:, KEY["G4"]]).tolist() == [2, 3]
    assert np.flatnonzero(roll[:, KEY["C5"]]).tolist() == [*range(14, 24)]  # tied over a bar line
    assert item.steps_of_bars(2, 4) == slice(8, 24)
    # Tied notes are one note, and so are those that are held.
    assert [72, 14, 24, 80, 1] in item.view(item.original)["notes"]
    seconds = item.view(item.original)["seconds"]
    assert seconds[:2] == [0, pytest.approx(1 / 3, abs=1e-4)]  # 90 quarter notes a minute


def test_bars_have_the_numbers_of_the_page():
    upbeat = score({"A": [attributes(2) + note("C4", 2), note("D4", 8), note("E4", 8)]})
    for number in (1, 2, 3):
        upbeat = upbeat.replace(f'number="{number}"'.encode(), f'number="{number - 1}"'.encode())
    item = opened(upbeat)
    assert item.steps_of_bars(0, 1) == slice(0, 2)
    assert item.steps_of_bars(1, 2) == slice(2, 10)
    with pytest.raises(CaesuraError, match="has no bar 3; it has 3 bars, from bar 0"):
        item.steps_of_bars(3, 4)


def test_only_what_has_changed_is_written_anew():
    content = small_score()
    item = opened(content)
    missing = np.zeros(item.missing.shape, bool)
    missing[8:16] = True  # the second bar
    values = item.sequence.values.copy()
    values[8:16] = 0
    values[8:12, KEY["G4"]] = values[12:13, KEY["A4"]] = 1
    filled = item.write(values, missing)
    assert (opened(filled.xml).sequence.values == values).all()
    # Measures that nothing reaches into keep their bytes.
    old, new = (re.split(rb"(?=<measure)", xml) for xml in (content, filled.xml))
    assert [n for n in range(len(old)) if old[n] != new[n]] == [1, 2, 3, 4, 6]
    scaled = re.sub(rb"<(divisions|duration|offset)>\d+<", b"<", new[1] + new[3] + new[4])
    plain = re.sub(rb"<(divisions|duration|offset)>\d+<", b"<", old[1] + old[3] + old[4])
    # The melody counts twice as finely, and the notes that were tied into the bar have no tie.
    assert b"<offset>2</offset>" in new[1]
    ties = b'<tie type="start"/><tied type="start"/><tie type="stop"/><tied type="stop"/>'
    assert len(plain) - len(scaled) == len(ties)
    assert others(filled.xml) == others(content)
    coloured = ElementTree.fromstring(filled.xml).findall(f".//note[@color='{COLOUR}']")
    assert {n.findtext("pitch/step") for n in coloured} == {"G", "A"}
    assert {n.findtext("type") for n in coloured} <= {"half", "eighth", "quarter"}
    assert b"<grace/>" not in new[6]
    assert b"<!-- kept -->" in filled.xml
    assert b"la &amp; la" in filled.xml


@st.composite
def gaps(draw):
    """Some missing cells, and what comes to stand there."""
    missing = np.zeros((32, 88), bool)
    for _ in range(draw(st.integers(1, 2))):
        first = draw(st.integers(0, 31))
        low = draw(st.sampled_from([0, 30, 44]))
        last = draw(st.integers(first, 32))
        missing[first : last + 1, low : draw(st.sampled_from([46, 88]))] = True
    values = np.zeros((32, 88), np.int8)
    for _ in range(draw(st.integers(0, 8))):
        first, key = draw(st.integers(0, 31)), draw(st.sampled_from([20, 39, 44, 46, 48, 51]))
        values[first : first + draw(st.integers(1, 7)), key] = 1
    return missing, values


@settings(max_examples=25, deadline=None)
@given(gaps())
def test_what_is_written_reads_as_what_was_filled(gap):
    missing, values = gap
    item = opened(small_score())
    wanted = np.where(missing, values, item.sequence.values)
    filled = item.write(values, missing)
    again = opened(filled.xml)
    assert (again.sequence.values == wanted).all()
    assert others(filled.xml) == others(item.original.xml)
    # Every note outside the gaps is still struck and let go when it was.
    notes = item.view(filled)["notes"]
    for key, first, stop, velocity, part in item.view(item.original)["notes"]:
        if not missing[max(first - 1, 0) : stop + 1, key - 21].any():
            assert [key, first, stop, velocity, part] in notes


def test_nothing_changes_where_nothing_is_missing():
    item = opened(small_score())
    nothing = np.zeros(item.missing.shape, bool)
    assert item.write(item.sequence.values, nothing).xml == small_score()


def test_a_finer_grid_and_triplets():
    item = opened(score({"A": [attributes(1) + note("C4", 4)]}), 3)
    missing = np.ones(item.missing.shape, bool)
    values = np.zeros(missing.shape, np.int8)
    values[0:1, 39] = values[1:2, 41] = values[2:3, 43] = values[3:12, 44] = 1
    filled = item.write(values, missing)
    assert (opened(filled.xml, 3).sequence.values == values).all()
    notes = ElementTree.fromstring(filled.xml).findall(".//note")
    assert [n.findtext("time-modification/actual-notes") for n in notes][:3] == ["3"] * 3
    assert [n.findtext("duration") for n in notes] == ["1", "1", "1", "9"]
    assert (notes[3].findtext("type"), len(notes[3].findall("dot"))) == ("half", 1)


def test_transposing_parts_are_written_as_they_are_read():
    clarinet = "<transpose><chromatic>-2</chromatic></transpose>"
    item = opened(score({"A": [attributes(2, clarinet) + note("D4", 8), note("r", 8)]}))
    assert np.flatnonzero(item.sequence.values[0]).tolist() == [39]  # it sounds as C4
    missing = np.zeros(item.missing.shape, bool)
    missing[8:] = True
    values = np.zeros(missing.shape, np.int8)
    values[8:16, 39] = 1
    filled = item.write(values, missing)
    new = ElementTree.fromstring(filled.xml).find(f".//note[@color='{COLOUR}']")
    assert (new.findtext("pitch/step"), new.findtext("type")) == ("D", "whole")


def test_notes_that_no_piano_has_stay():
    drum = note("r", 4).replace("<rest/>", "<unpitched><display-step>E</display-step></unpitched>")
    high = note("C9", 4)
    item = opened(score({"A": [attributes(1) + high, high], "B": [attributes(1) + drum, drum]}))
    assert not item.sequence.values.any()
    filled = item.write(np.ones(item.missing.shape, np.int8), np.ones(item.missing.shape, bool))
    assert filled.xml.count(b"<unpitched>") == 2
    assert filled.xml.count(b"<octave>9</octave>") == 2
    assert (opened(filled.xml).sequence.values == 1).all()


def mxl(xml: bytes, path: str = "a/score.xml", **more: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "META-INF/container.xml",
            f'<container><rootfiles><rootfile full-path="{path}"/></rootfiles></container>',
        )
        archive.writestr("a/score.xml", xml)
        for name, data in more.items():
            archive.writestr(name, data)
    return packed.getvalue()


def test_compressed_scores_keep_what_else_is_in_them(tmp_path):
    content = mxl(small_score(), picture=b"not music")
    (tmp_path / "a.mxl").write_bytes(content)
    item = Music().open(tmp_path / "a.mxl")
    missing = np.zeros(item.missing.shape, bool)
    missing[8:16] = True
    filled = item.write(np.zeros(missing.shape, np.int8), missing)
    again = Score.from_bytes(filled.to_bytes())
    assert again.xml == filled.xml
    with zipfile.ZipFile(io.BytesIO(filled.to_bytes())) as archive:
        assert archive.read("picture") == b"not music"
        assert archive.namelist() == ["META-INF/container.xml", "a/score.xml", "picture"]
    filled.save(tmp_path / "b.musicxml")
    assert (tmp_path / "b.musicxml").read_bytes() == filled.xml
    Score.load(tmp_path / "b.musicxml").save(tmp_path / "c.mxl")
    assert Score.load(tmp_path / "c.mxl").xml == filled.xml
    assert Music.find([tmp_path]) == [tmp_path / name for name in ("a.mxl", "b.musicxml", "c.mxl")]


BOMB = '<!DOCTYPE score-partwise [<!ENTITY a "b">]>'
TIMEWISE = b"<score-timewise><measure/></score-timewise>"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"<score-partwise>", "The score cannot be read: no element found at line 1, column 17"),
        (score({"A": [note("C4", 1)]}, before=BOMB), "The DOCTYPE of the score has declarations"),
        (TIMEWISE, "The score is not a MusicXML score of parts: it is ordered by measures"),
        (b"<html/>", "The score is not a MusicXML score of parts: it is not a score"),
        (b"<score-partwise/>", "The score has no measures"),
        (score({"A": [attributes(0) + note("C4", 1)]}), "has beats without divisions"),
        (
            score({"A": [note("C4", 1).replace(">1<", ">x<", 1)]}),
            "a <duration> that is not a number",
        ),
        (small_score().replace(b"UTF-8", b"UTF-16"), "has the encoding 'UTF-16'"),
        (b"PK\3\4 and nothing", "is not a complete compressed MusicXML file"),
        (mxl(b"<score-partwise/>", path="b"), "does not hold the score that it names"),
        (mxl(b" " * (MOST_BYTES + 1)), "more than 33554432 bytes when it is unpacked"),
        (mxl(small_score())[:-400], "is not a complete compressed MusicXML file"),
    ],
)
def test_bad_scores_are_refused_in_a_sentence(content, sentence):
    with pytest.raises(CaesuraError, match=re.escape(sentence)):
        Music().open_content(content)


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
def test_scores_in_utf_16_are_kept_in_utf_8(order):
    text = "\ufeff" + small_score().decode().replace("UTF-8", "UTF-16", 1)
    read = Music(2).open_content(text.encode(order)).original
    assert read.to_bytes() == small_score()
    with pytest.raises(CaesuraError, match=r"^The score is not complete UTF-16\.$"):
        Music(2).open_content(text.encode(order)[:-1])


def test_a_bar_of_a_score_is_missing():
    item = Composition(gaps=((2, 3),)).arrange(opened(small_score()))
    assert item.sequence.gaps == [(8, 16)]


@pytest.mark.slow
def test_notes_that_are_too_short_for_the_grid_are_told():
    plain = [attributes(4) + note("C4", 16), note("D4", 8) * 2, note("E4", 16), note("F4", 16)]
    rag = [plain[0], note("D4", 2) + note("E4", 1) + note("F4", 1) + note("G4", 12), *plain[2:]]
    filler = music_filler()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        filler.fill(Score.from_bytes(score({"A": plain})), missing=slice(8, 16), draws=1)
    with pytest.warns(CaesuraWarning, match="too short for the model's grid of 2 steps"):
        filler.fill(Score.from_bytes(score({"A": rag})), missing=slice(8, 16), draws=1)
    item = opened(score({"A": rag}))
    far = np.zeros((32, 88), bool)
    far[24:] = True
    assert not item.doubts(far)
    # Notes of a chord that was played by hand do not count.
    assert not opened(score({"A": plain}), 4).doubts(far)


@pytest.mark.slow
def test_a_score_is_filled_from_the_command_line(tmp_path):
    music_filler().save(tmp_path / "m.model")
    (tmp_path / "in.musicxml").write_bytes(small_score())
    words = ("fill", "music", tmp_path / "in.musicxml", "--model", tmp_path / "m.model")
    words = (*words, "--gap", "2:4", "--samples", 2)
    ask(*words, "-o", tmp_path / "out.musicxml")
    ask(*words, "-o", tmp_path / "out.mxl")
    filled = Score.load(tmp_path / "out.musicxml")
    assert Score.load(tmp_path / "out.mxl").xml == filled.xml
    item = opened(small_score())
    outside = [*range(8), *range(24, 32)]
    assert (opened(filled.xml).sequence.values == item.sequence.values)[outside].all()
    assert others(filled.xml) == others(small_score())
    assert ".musicxml" in mistake(*words, "-o", tmp_path / "out.mid")
    (tmp_path / "bad.musicxml").write_text("<score-partwise>")
    sentence = mistake(*words[:2], tmp_path / "bad.musicxml", *words[3:], "-o", tmp_path / "x.mxl")
    assert "bad.musicxml' cannot be read" in sentence
    # Many files, some of them compressed.
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "a.musicxml").write_bytes(small_score())
    (tmp_path / "many" / "b.mxl").write_bytes(mxl(small_score()))
    many = ("fill", "music", tmp_path / "many", *words[3:], "--engine", "local")
    ask(*many, "-o", tmp_path / "filled")
    files = sorted(path.name for path in (tmp_path / "filled" / "files").iterdir())
    assert files == ["a.musicxml", "b.mxl"]
    assert len(caesura.load(tmp_path / "m.model").read([tmp_path / "many"])) == 2
