"""The demo with tiny models: every file is there, and the page says what the models said."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import jax
import mido
import numpy as np
import pytest

import caesura
from caesura.filler.filler import Filler
from caesura.hardware import bucket
from caesura.kinds import Music, Score, Text
from caesura.kinds.text.alphabet import PAPER
from caesura.nets.frames import make_frame
from caesura.nets.rnn import bidirectional, onegram, unidirectional
from demo import bars, hymn, restoration, rolls
from demo.__main__ import main
from demo.chance import chance
from demo.tune import EIGHTH, ERASED, song
from small_nets import random_values

SONGS = {"original", "erased", "filled-1", "filled-2", "filled-3"}
EIGHTHS = Music(steps_per_beat=2)
VOID = {"meta", "img"}  # what HTML never closes
START, STOP = ((bar - 1) * 6 * EIGHTH for bar in ERASED)  # ticks


def tiny(name: str, music: Music = EIGHTHS) -> Filler:
    """A model of the right kind that has learnt nothing."""
    kind = {"text": Text(PAPER), "music": music}[name]
    frame = make_frame(kind.frame)
    struck = kind.frame.name == "keys"
    shape = {"head": "orderless" if struck else kind.head, "hidden": 3, "head_hidden": 3 * struck}
    nets = {
        "bidirectional": bidirectional(jax.random.key(1), frame, **shape),
        "forward": unidirectional(jax.random.key(2), frame, **shape),
        "onegram": onegram(frame, random_values(frame, 200)),
    }
    return Filler(kind, nets, "search" if name == "text" else "bothways" if struck else "nade")


class Page(HTMLParser):
    """The elements of a page in their order: name, attributes, and the text inside."""

    def __init__(self, content: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self._open: list[int] = []
        self.feed(content)
        self.close()
        assert not self._open, "every element that is opened is closed"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, {k: v or "" for k, v in attrs}, []))
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_endtag(self, tag):
        assert self.elements[self._open.pop()][0] == tag

    def handle_data(self, data):
        for number in self._open:
            self.elements[number][2].append(data)

    def of_class(self, name: str) -> list[tuple[dict[str, str], str]]:
        return [
            (attributes, "".join(text))
            for _, attributes, text in self.elements
            if name in attributes.get("class", "").split()
        ]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "new"
    main(folder, tiny)
    return folder


@pytest.fixture(scope="module")
def page(out):
    return Page((out / "index.html").read_text(encoding="utf-8"))


def shades(elements) -> list[float]:
    return [float(attributes["style"].removeprefix("--p:")) for attributes, _ in elements]


@pytest.mark.slow
def test_every_file_is_there_and_the_page_needs_no_other(out, page):
    names = {path.name for path in out.iterdir()}
    songs = {f"{song}.{suffix}" for song in SONGS for suffix in ("mid", "wav")}
    assert names == songs | {"index.html", "filled.png", "co2.png"}
    asked = [a[key] for _, a, _ in page.elements for key in ("href", "src") if key in a]
    assert set(asked) == names - {"index.html"}
    content = (out / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|url\(|@import", content)


@pytest.mark.slow
def test_the_page_shows_the_texts_of_the_fills_and_how_sure_their_letters_are(page):
    filler, confidence = tiny("text"), []
    shown = [text for _, text in page.of_class("text")]
    for marked, text in zip(restoration.TEXTS.values(), shown, strict=True):
        damaged = re.sub(r"\[(.+?)\]", lambda gap: "_" * len(gap[1]), marked)
        fill = filler.fill(damaged)
        assert text == fill.best
        likeliest = filler.marginals(damaged).top(len(filler.kind.alphabet))
        chosen = [fill.best[place] for place in fill.places[:, 0].tolist()]
        confidence += [dict(of)[c] for of, c in zip(likeliest, chosen, strict=True)]
    letters = shades(page.of_class("sure"))
    in_contest = 8 * len(restoration.CONTESTANTS)
    each_twice = np.array(letters[:-in_contest]).reshape(-1, 2, 8)  # in the text, and below it
    np.testing.assert_allclose(each_twice[:, 0].ravel(), confidence, atol=6e-5)
    np.testing.assert_allclose(each_twice[:, 1].ravel(), confidence, atol=6e-5)


@pytest.mark.slow
def test_readings_are_the_likeliest_and_the_truth():
    title, marked = next(iter(restoration.TEXTS.items()))
    filler = tiny("text")
    restored = restoration.restore(filler, title, marked)
    truth = marked.replace("[", "").replace("]", "")
    (true,) = [reading for reading in restored.readings if reading.true]
    assert restored.truth == truth
    assert true.words == tuple(re.findall(r"\[(.+?)\]", marked))
    places = restored.fill.places[:, 0].tolist()
    assert np.log(true.probability) == pytest.approx(filler.log_prob(truth, missing=places))
    probabilities = [reading.probability for reading in restored.readings]
    assert probabilities == sorted(probabilities, reverse=True)
    assert np.exp(restored.fill.log_prob) == pytest.approx(probabilities[0])
    assert len({reading.words for reading in restored.readings}) == restoration.SHOWN + 1


@pytest.mark.slow
def test_the_rolls_show_the_songs_and_how_sure_their_notes_are(page):
    refilled = bars.refill(tiny("music"), song(), ERASED)
    fill, gap = refilled.fill, refilled.gap
    on = fill.values[tuple(fill.places.T)] == 1
    drawn = shades(page.of_class("shade"))
    # The cells of the best fill stand behind those of the erased song, note by note.
    first = int((refilled.expected > 0.02).sum())
    cells = drawn[first : first + int(on.sum())]
    np.testing.assert_allclose(sorted(cells), sorted(fill.confidence[on]), atol=6e-5)
    assert refilled.expected[: gap.start].sum() == refilled.expected[gap.stop :].sum() == 0


@pytest.mark.slow
def test_a_model_that_finds_the_grid_and_knows_what_is_struck_fills_the_tune_too():
    refilled = bars.refill(tiny("music", Music(steps_per_beat=0, struck=True)), song(), ERASED)
    assert (refilled.steps_per_beat, refilled.gap) == (4, slice(60, 84))
    assert refilled.expected[refilled.gap].all()
    assert refilled.expected.shape == (17 * 12, 88)
    view = Page(rolls.draw_roll(refilled, "filled-1")).elements[0][1]["viewbox"]
    assert view.split()[2] == str(6 * rolls.BAR)


def events(path, *, outside: bool):
    """The events of each track at their ticks: those of the gap, or all others.

    A note's end belongs to what is before it, and its beginning to what is behind.
    """
    found = []
    for track in mido.MidiFile(path).tracks:
        tick = 0
        for message in track:
            tick += message.time
            ends = message.type == "note_off"
            inside = START < tick <= STOP if ends else START <= tick < STOP
            if inside != outside:
                found.append((tick, message.copy(time=0)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SONGS))
def test_outside_the_gap_every_event_is_as_it_was(out, name):
    path = out / f"{name}.mid"
    assert events(path, outside=True) == events(out / "original.mid", outside=True)
    assert bool(events(path, outside=False)) == (name != "erased")


def test_the_tune_is_sung_by_one_voice_without_a_pause(tmp_path):
    song().save(tmp_path / "tune.mid")
    file = mido.MidiFile(tmp_path / "tune.mid")
    _, melody, chords = file.tracks
    notes = [message for message in melody if not message.is_meta]
    assert [n.type for n in notes] == ["note_on", "note_off"] * (len(notes) // 2)
    assert notes[0].time == 5 * EIGHTH
    assert {n.time for n in notes[2::2]} == {0}
    assert [n.note for n in notes[:14:2]] == [69, 72, 74, 76, 78, 76, 74]  # A, then C D E F# E D
    assert sum(n.time for n in melody) == sum(n.time for n in chords) == 17 * 6 * EIGHTH
    assert file.length == pytest.approx(17 * 6 * 0.32)


def test_the_hymn_is_sung_by_four_voices_that_fill_its_bars():
    """The file that comes with the library is what the notes in the code say."""
    path = Path(caesura.__file__).parent / "web/static/old-hundredth.musicxml"
    assert path.read_text(encoding="utf-8") == hymn.score()
    score = Score.load(path)
    assert [part.name for part in score.parts] == list(hymn.PARTS)
    for part in score.parts:
        assert [measure.length for measure in part.measures] == [1, *[4] * 8]
    voices = [[pitch(word) for word in notes.split() if word != "|"] for notes in _quarters()]
    assert len({len(voice) for voice in voices}) == 1
    for chord in zip(*voices, strict=True):
        assert list(chord) == sorted(chord, reverse=True)  # none crosses another


def _quarters() -> Iterator[str]:
    """The parts with two eighths as one quarter, and a half as two."""
    for notes in hymn.PARTS.values():
        notes = re.sub(r"(\S+)- \S+-", r"\1", notes)
        yield re.sub(r"(\S+)=", r"\1 \1", notes)


def pitch(word: str) -> int:
    semitones = {"C": 0, "D": 2, "E": 4, "F": 5, "F#": 6, "G": 7, "A": 9, "B": 11}
    return 12 * int(word[-1]) + semitones[word[:-1]]


def test_texts_share_their_compiled_programs():
    shapes = set()
    for marked in (*restoration.TEXTS.values(), restoration.CONTEST):
        gaps = [*re.finditer(r"\[(.+?)\]", marked)]
        lengths = tuple(len(gap[1]) for gap in gaps)
        window = gaps[-1].end() - gaps[0].start() - 2 * len(gaps)
        shapes.add((bucket(len(marked) - 2 * len(gaps)), (window - 1).bit_length(), lengths))
    assert len(shapes) == 1


@pytest.mark.parametrize(
    ("probability", "told"),
    [
        (1.0, ">99%"),
        (0.5, "50%"),
        (0.0123, "1%"),
        (1 / 128, "1 in 130"),
        (1e-9, "< 1 in a million"),
    ],
)
def test_chances_as_people_say_them(probability, told):
    assert chance(probability) == told
