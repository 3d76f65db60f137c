"""MusicXML, read with the place of every note in the file, so that a fill changes only its gap.

The file is read by our own code and not by music21 or partitura: they write a whole score anew,
and what they do not know is lost. Here a fill replaces the bytes of the notes that it changes.
"""

import re
from dataclasses import dataclass, field
from fractions import Fraction

from caesura.errors import CaesuraError
from caesura.kinds.music.metre import beat_of
from caesura.kinds.xml import Reader

SEMITONES = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
MEASURE = ["score-partwise", "part", "measure"]  # the elements around what is in a measure
SCALED = {"divisions", "duration", "offset"}  # numbers of divisions of a quarter note
# The elements of a note whose text is read; others are kept as they are.
NOTE_WORDS = {"step", "alter", "octave", "duration", "voice", "staff"}
AFTER_NOTATIONS = {"lyric", "play", "listen"}
NOTE_FLAGS = {"rest", "grace", "cue", "unpitched"}
OTHER_WORDS = {"divisions", "fifths", "beats", "beat-type", "chromatic", "octave-change"}
MOST_WORD = 200  # characters of a text that is read
TAG = re.compile(rb"<(?:[^\"'>]|\"[^\"]*\"|'[^']*')*>")
NUMBER = re.compile(r"\s*-?\d{1,12}(\.\d{1,12})?\s*", re.ASCII)


@dataclass
class Mark:
    """One `<note>`: its bytes in the file, and what it stands for."""

    start: int
    stop: int = 0
    words: dict[str, str] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)
    chord: tuple[int, int] | None = None  # the bytes of its <chord/>
    ties: list[tuple[str, int, int]] = field(default_factory=list)  # a type, and its bytes
    tie_at: int = 0  # where another <tie/> may stand
    tied_at: int = 0  # where <notations> for it may stand
    pitch: int | None = None  # the MIDI number that sounds
    length: Fraction = Fraction(0)  # in quarter notes, as all times are

    def is_tied(self, to: str) -> bool:
        """Whether it is tied to another: "start" to the next one, "stop" to the one before."""
        return any(kind == to for kind, *_ in self.ties)


@dataclass
class Group:
    """A note with the other notes of its chord, or a rest."""

    onset: Fraction  # from the start of its measure
    length: Fraction
    voice: str
    staff: str
    divisions: Fraction
    marks: list[Mark]

    @property
    def stop(self) -> Fraction:
        """When it ends, from the start of its measure."""
        return self.onset + self.length


@dataclass
class Measure:
    """A measure of one part, with what holds at its start."""

    number: str
    bar: Fraction  # how long the time signature says that it is
    beat: Fraction  # how long its beats are
    fifths: int  # the key signature: sharps, or flats if negative
    transposition: int  # semitones from what is written to what sounds
    divisions: Fraction
    start: Fraction = Fraction(0)  # from the start of the score
    length: Fraction = Fraction(0)
    groups: list[Group] = field(default_factory=list)
    cursor: Fraction = Fraction(0)  # where the last element ends, from the start of the measure
    content_start: int = 0  # the byte after its tag
    content_stop: int = 0  # the byte after the last element that moves the cursor


@dataclass
class Part:
    """An instrument or a voice, with its measures."""

    id: str
    name: str
    measures: list[Measure] = field(default_factory=list)
    # What is counted in divisions: the name of the element, the bytes of the number, and its value.
    numbers: list[tuple[str, int, int, Fraction]] = field(default_factory=list)


class ScoreReader(Reader):
    """Finds the parts of a score, their measures and notes, and the tempo."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.parts: list[Part] = []
        self.tempos: list[
            tuple[int, Fraction, float]
        ] = []  # measure, time in it, quarters a minute
        self.list_stop: int | None = None  # the byte where the list of parts ends
        self.stop = 0  # the byte where the score ends
        self._open: list[str] = []
        self._names: dict[str, str] = {}
        self._words: list[str] | None = None
        self._number_start = 0
        self._part_id = ""
        self._note: Mark | None = None
        self._move = Fraction(0)  # the duration of a <backup> or <forward>
        self._reset()

    def _reset(self) -> None:
        """What holds at the start of a part."""
        self._divisions, self._fifths = Fraction(1), 0
        self._chromatic = self._octaves = 0
        self._beats, self._bar, self._beat = Fraction(4), Fraction(4), Fraction(1)
        self._cursor = self._last = Fraction(0)

    @property
    def _measure(self) -> Measure:
        return self.parts[-1].measures[-1]

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._open.append(name)
        at, above = self.parser.CurrentByteIndex, self._open[-2:-1]
        self._words = None
        if not above and name != "score-partwise":
            other = "It is ordered by measures" if name == "score-timewise" else "It is not a score"
            raise CaesuraError(f"The XML is not a MusicXML score of parts: {other.lower()}.")
        if name in SCALED:
            self._number_start = after_tag(self.content, at)
        if self._note is not None:
            self._start_in_note(name, attributes, at)
        elif name == "score-part":
            self._part_id = attributes.get("id", "")
        elif self._open == MEASURE[:2]:
            identity = attributes.get("id", "")
            self.parts.append(Part(identity, self._names.get(identity, "") or identity))
            self._reset()
        elif self._open == MEASURE:
            transposition = self._chromatic + 12 * self._octaves
            number = attributes.get("number", "")
            lengths = self._bar, self._beat
            measure = Measure(number, *lengths, self._fifths, transposition, self._divisions)
            measure.content_start = measure.content_stop = after_tag(self.content, at)
            self.parts[-1].measures.append(measure)
            self._cursor = self._last = Fraction(0)
        elif self._open == [*MEASURE, "note"]:
            self._note = Mark(at)
        elif name in ("backup", "forward"):
            self._move = Fraction(0)
        elif name == "sound" and "tempo" in attributes and self._in_measure:
            tempo = _number(attributes["tempo"], "tempo")
            if tempo > 0:
                place = len(self.parts[-1].measures) - 1
                self.tempos.append((place, self._cursor, float(tempo)))
        if name in SCALED | NOTE_WORDS | OTHER_WORDS | {"part-name"}:
            self._words = []

    def _start_in_note(self, name: str, attributes: dict[str, str], at: int) -> None:
        note = self._note
        assert note is not None
        if name == "chord":
            note.chord = at, self._element_stop(at)
        elif name in ("tie", "tied"):
            note.ties.append((attributes.get("type", ""), at, self._element_stop(at)))
        elif name in NOTE_FLAGS:
            note.flags.add(name)
        elif name in AFTER_NOTATIONS and len(self._open) == len(MEASURE) + 2:
            note.tied_at = note.tied_at or at

    def _element_stop(self, at: int) -> int:
        """Where an element without content ends, be it `<tie/>` or `<tie></tie>`."""
        stop = after_tag(self.content, at)
        if self.content[stop - 2 : stop - 1] == b"/":
            return stop
        return after_tag(self.content, self.content.index(b"</", stop))

    @property
    def _in_measure(self) -> bool:
        return bool(self.parts and self.parts[-1].measures)

    def text(self, text: str) -> None:
        if self._words is not None and sum(map(len, self._words)) < MOST_WORD:
            self._words.append(text)

    def end(self, name: str) -> None:
        self._open.pop()
        at = self.parser.CurrentByteIndex
        words = "".join(self._words).strip() if self._words is not None else None
        self._words = None
        if not self._open:
            self.stop = at
        elif name == "part-list" and self.content[at : at + 2] == b"</":
            self.list_stop = at
        if words is not None and name in SCALED and self.parts:
            number = name, self._number_start, at, _number(words, name)
            self.parts[-1].numbers.append(number)
        if self._note is not None:
            if name == "duration":
                self._note.tie_at = after_tag(self.content, at)
            if name == "note":
                self._note.tied_at = self._note.tied_at or at
                self._end_note(self._note, after_tag(self.content, at))
            elif words is not None and name in NOTE_WORDS:
                self._note.words.setdefault(name, words)
        elif name == "part-name" and self._open[-1:] == ["score-part"]:
            self._names[self._part_id] = words or ""
        elif name in ("backup", "forward") and self._in_measure:
            self._cursor += self._move if name == "forward" else -self._move
            self._cursor = max(self._cursor, Fraction(0))
            self._moved(after_tag(self.content, at))
        elif words is not None:
            self._take(name, words)

    def _take(self, name: str, words: str) -> None:
        """What an attribute says from here on."""
        if name == "duration":
            self._move = self._quarters(words)
        elif name == "beats":
            self._beats = sum((_number(part, name) for part in words.split("+")), Fraction(0))
        elif name == "beat-type" and (kind := _number(words, name)) > 0:
            self._bar, self._beat = 4 * self._beats / kind, beat_of(self._beats, 4 / kind)
        elif name == "divisions":
            self._divisions = _number(words, name)
            if self._divisions <= 0:
                raise CaesuraError("The XML has beats without divisions.")
        elif name in ("fifths", "chromatic", "octave-change"):
            number = max(min(int(_number(words, name)), 48), -48)
            if name == "fifths":
                self._fifths = number
            elif name == "chromatic":
                self._chromatic = number
            else:
                self._octaves = number
        if self._in_measure and not self._measure.groups:  # what stands before the first note
            self._measure.bar, self._measure.beat = self._bar, self._beat
            self._measure.fifths = self._fifths
            self._measure.transposition = self._chromatic + 12 * self._octaves
            self._measure.divisions = self._divisions

    def _quarters(self, words: str) -> Fraction:
        return max(_number(words, "duration"), Fraction(0)) / self._divisions

    def _end_note(self, note: Mark, stop: int) -> None:
        self._note, note.stop = None, stop
        if "grace" not in note.flags:
            note.length = self._quarters(note.words.get("duration", "0"))
        note.pitch = self._pitch(note)
        groups = self._measure.groups
        if note.chord and groups:
            groups[-1].marks.append(note)
        else:
            voice, staff = note.words.get("voice", "1"), note.words.get("staff", "")
            group = Group(self._cursor, note.length, voice, staff, self._divisions, [note])
            groups.append(group)
            self._cursor += note.length
        self._moved(stop)

    def _pitch(self, note: Mark) -> int | None:
        words = note.words
        if "octave" not in words or words.get("step") not in SEMITONES:
            return None
        alter = _number(words.get("alter") or "0", "alter")
        octave = _number(words["octave"], "octave")
        written = 12 * (octave + 1) + SEMITONES[words["step"]] + alter
        sounding = written + self._chromatic + 12 * self._octaves
        return int(sounding) if sounding.denominator == 1 and 0 <= sounding <= 127 else None

    def _moved(self, stop: int) -> None:
        measure = self._measure
        measure.cursor, measure.content_stop = self._cursor, stop
        measure.length = max(measure.length, self._cursor)


def read_parts(content: bytes) -> ScoreReader:
    """Read a score; measures that sound together start together, when the longest one has ended.

    Raises
    ------
    CaesuraError
        If it is no MusicXML, or has no measures.
    """
    reader = ScoreReader(content)
    reader.read()
    count = max((len(part.measures) for part in reader.parts), default=0)
    if not count:
        raise CaesuraError("The XML has no measures.")
    start = Fraction(0)
    for number in range(count):
        together = [part.measures[number] for part in reader.parts if number < len(part.measures)]
        length = max(measure.length for measure in together)
        length = length or max(measure.bar for measure in together)
        for measure in together:
            measure.start, measure.length = start, length
        start += length
    return reader


def _number(words: str, name: str) -> Fraction:
    if not NUMBER.fullmatch(words):
        raise CaesuraError(f"The XML has a <{name}> that is not a number: '{words}'.")
    return Fraction(words.strip())


def after_tag(content: bytes, at: int) -> int:
    """Return the byte after the tag that starts at `at`; a '>' in quotes does not end it."""
    found = TAG.match(content, at)
    return found.end() if found else at
