"""Scores in MusicXML: parts of measures, which also sound as a song of one track for each voice."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import NamedTuple

from caesura.errors import CaesuraError
from caesura.files import read_small, write_bytes
from caesura.kinds.music import mxl
from caesura.kinds.music.metre import Bar, find_bars
from caesura.kinds.music.midi import (
    END_OF_TRACK,
    LAST_TICK,
    META,
    NOTE_OFF,
    NOTE_ON,
    TEMPO,
    Event,
    Song,
    is_sound,
)
from caesura.kinds.music.musicxml import Group, Mark, Measure, Part, ScoreReader, read_parts
from caesura.kinds.music.sound import write_sound
from caesura.kinds.xml import as_utf8

TRACK_NAME = 3
VELOCITY = 80
MOST_TICKS = 1 << 20  # of a quarter note


class Stream(NamedTuple):
    """One voice of one part: it becomes a track of the song."""

    part: int
    voice: str


@dataclass(frozen=True, repr=False)
class Score:
    """A score in MusicXML: `.musicxml`, or `.mxl`, which is the same in a zip archive.

    Measures are counted as they are written: repeats are not played twice. A score in UTF-16 is
    kept, and written again, in UTF-8.

    Examples
    --------
    >>> note = "<note><pitch><step>C</step><octave>4</octave></pitch><duration>4</duration></note>"
    >>> part = f'<part id="P1"><measure number="1">{note}</measure></part>'
    >>> Score.from_bytes(f"<score-partwise>{part}</score-partwise>".encode())
    <Score: 1 parts, 1 measures>
    """

    xml: bytes
    archive: bytes | None = None  # the zip archive that the score came in
    name: str = field(default="The score", compare=False)  # what error messages call it

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Score":
        """Return the score in a MusicXML file, compressed or not.

        Raises
        ------
        FileMissingError
            If there is no such file.
        CaesuraError
            If the file is not MusicXML, or too large.
        """
        return cls.from_bytes(read_small(path, mxl.MOST_BYTES), f"The file '{path}'")

    @classmethod
    def from_bytes(cls, content: bytes, name: str = "The score") -> "Score":
        """Return the score that the content of a MusicXML file stands for.

        Parameters
        ----------
        content
            The content of the file.
        name
            What error messages call the score.

        Raises
        ------
        CaesuraError
            If the content is not MusicXML, or too large.
        """
        packed = content.startswith(mxl.ZIP)
        xml = mxl.unpack(content, name) if packed else content
        if len(xml) > mxl.MOST_BYTES:
            raise CaesuraError(f"{name} is longer than {mxl.MOST_BYTES} bytes.")
        try:
            score = cls(as_utf8(xml), content if packed else None, name)
            _ = score._read  # so that mistakes are found here
        except CaesuraError as error:
            sentence, inside = str(error).replace("The XML", name, 1), name[:1].lower() + name[1:]
            raise CaesuraError(sentence.replace("the XML", inside, 1)) from error
        return score

    def to_bytes(self) -> bytes:
        """Return the content of a file, compressed if the score came so."""
        return self.xml if self.archive is None else mxl.repack(self.archive, self.xml, self.name)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the score to a file, completely or not at all.

        It is compressed if the name ends in .mxl, and sound if it ends in .wav.
        """
        if is_sound(path):
            self.save_sound(path)
        else:
            write_bytes(path, self.packed(os.fspath(path).lower().endswith(".mxl")).to_bytes())

    def save_sound(self, path: str | os.PathLike[str], bars: tuple[int, int] | None = None) -> None:
        """Write what the score sounds like to a WAV file, played by a piano.

        Parameters
        ----------
        path
            The file.
        bars
            The number of the first bar, as `caesura fill` counts them, and of the one after the
            last; all by default. Only notes that begin in these bars are heard.

        Raises
        ------
        CaesuraError
            If there are no such bars, or they last longer than 30 minutes.
        """
        song = self.song(1)
        if bars is None:
            write_sound(path, song)
            return
        starts = [int(measure.start * song.ticks_per_beat) for measure in self.measures]
        starts.append(song.end)
        first, stop = find_bars(self.name, len(self.measures), bars, self.first_bar)
        write_sound(path, song, (starts[first], starts[stop]))

    def packed(self, is_packed: bool) -> "Score":
        """Return the same score as compressed MusicXML, or as MusicXML that is not compressed."""
        if is_packed == (self.archive is not None):
            return self
        return Score(self.xml, mxl.pack(self.xml) if is_packed else None, self.name)

    def __repr__(self) -> str:
        return f"<Score: {len(self.parts)} parts, {len(self.measures)} measures>"

    @cached_property
    def _read(self) -> ScoreReader:
        return read_parts(self.xml)

    @property
    def parts(self) -> list[Part]:
        """The parts, from the top of the page."""
        return self._read.parts

    @property
    def list_stop(self) -> int | None:
        """The byte where the list of parts ends, if there is one."""
        return self._read.list_stop

    @property
    def stop(self) -> int:
        """The byte where the last part has ended, and the score ends."""
        return self._read.stop

    @cached_property
    def measures(self) -> list[Measure]:
        """The measures of the longest part."""
        return max((part.measures for part in self.parts), key=len)

    @cached_property
    def streams(self) -> list[Stream]:
        """The voices of the parts, in the order of the tracks of the song."""
        found: dict[Stream, None] = {}
        for number, part in enumerate(self.parts):
            for measure in part.measures:
                for group in measure.groups:
                    found[Stream(number, group.voice)] = None
            if not any(measure.groups for measure in part.measures):
                found[Stream(number, "1")] = None
        return list(found)

    @property
    def first_bar(self) -> int:
        """The number of the first bar: bars are numbered as on the page, an upbeat may be bar 0."""
        return 0 if self.measures[0].number.strip() == "0" else 1

    @property
    def metre(self) -> list[Bar]:
        """The bars; what an upbeat lacks is left out at its beginning."""
        bars = [Bar(measure.start, measure.beat) for measure in self.measures]
        first = self.measures[0]
        return [bars[0]._replace(left_out=max(first.bar - first.length, Fraction(0))), *bars[1:]]

    def groups(self, stream: Stream) -> Iterator[tuple[Measure, Group]]:
        """Yield what a voice plays, from beginning to end."""
        for measure in self.parts[stream.part].measures:
            own = [group for group in measure.groups if group.voice == stream.voice]
            for group in sorted(own, key=lambda group: group.onset):
                yield measure, group

    def song(self, steps_per_beat: int) -> Song:
        """Return what the score sounds like, in ticks that divide its notes and the steps.

        Raises
        ------
        CaesuraError
            If the ticks would be too many.
        """
        times = {Fraction(1, steps_per_beat)}
        for part in self.parts:
            for measure in part.measures:
                times |= {measure.start, measure.length}
                for group in measure.groups:
                    times |= {group.onset, *(mark.length for mark in group.marks)}
        ticks = lcm(*(time.denominator for time in times))
        last = self.measures[-1].start + self.measures[-1].length
        if ticks > MOST_TICKS or last * ticks > LAST_TICK:
            raise CaesuraError(f"{self.name} is too long, or divides its beats too finely.")
        end = Event(int(last * ticks), END_OF_TRACK + b"\0")
        tracks = [(*self._track(stream, ticks), end) for stream in self.streams]
        tempos = sorted(
            Event(int((self.measures[place].start + time) * ticks), _tempo_event(tempo))
            for place, time, tempo in self._read.tempos
        )
        tracks[0] = (tracks[0][0], *sorted([*tempos, *tracks[0][1:-1]], key=_first), tracks[0][-1])
        return Song(ticks, tuple(tracks), name=self.name)

    def _track(self, stream: Stream, ticks: int) -> list[Event]:
        """The name of the part, and the notes of one voice; tied notes are one."""
        name = self.parts[stream.part].name.encode()[:100]
        sounding: dict[int, list[Fraction]] = {}  # tied to what comes next: from when to when
        notes: list[tuple[int, list[Fraction]]] = []
        for measure, group in self.groups(stream):
            onset = measure.start + group.onset
            for mark in filter(_sounds, group.marks):
                assert mark.pitch is not None
                note = sounding.pop(mark.pitch, None)
                if note is None or not mark.is_tied("stop") or note[1] != onset:
                    note = [onset, onset]
                    notes.append((mark.pitch, note))
                note[1] = onset + mark.length
                if mark.is_tied("start"):
                    sounding[mark.pitch] = note
        events = [Event(0, bytes([META, TRACK_NAME, len(name)]) + name)]
        played = []
        for pitch, (start, stop) in notes:
            played.append(Event(int(start * ticks), bytes([NOTE_ON, pitch, VELOCITY])))
            played.append(Event(int(stop * ticks), bytes([NOTE_OFF, pitch, 64])))
        return events + sorted(played)  # at one tick, old notes end before new ones begin


def _sounds(mark: Mark) -> bool:
    return mark.pitch is not None and mark.length > 0 and "cue" not in mark.flags


def _tempo_event(tempo: float) -> bytes:
    microseconds = min(max(round(60_000_000 / tempo), 1), 2**24 - 1)
    return TEMPO + b"\3" + microseconds.to_bytes(3, "big")


def _first(event: Event) -> int:
    return event.tick
