"""Standard MIDI files as lists of events, each of which comes back byte for byte."""

import os
import struct
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from caesura.errors import CaesuraError, whole_number
from caesura.files import cannot_read, write_bytes
from caesura.kinds.music.metre import Bar, beat_of, find_bars
from caesura.kinds.music.roll import KEYS, LOWEST_KEY, read_roll
from caesura.sequence import runs

# Read by hand and not by mido, which rewrites split system messages, cuts long meta events
# and refuses odd ones: what is not ours to change must come back as it was.

NOTE_OFF, NOTE_ON = 0x80, 0x90  # with the channel in the lower four bits
META, SYSEX, ESCAPE = 0xFF, 0xF0, 0xF7
END_OF_TRACK, TEMPO, TIME_SIGNATURE = b"\xff\x2f", b"\xff\x51", b"\xff\x58"

# The largest number that a file can hold between two events; in a song that is no longer than it,
# events can be taken out without a pause growing too long to be written.
LAST_TICK = 2**28 - 1
BEAT = 500_000  # microseconds, until a song says otherwise
MOST_BARS = 1_000_000  # a broken time signature must not fill the memory
MOST_BYTES = 1 << 23  # of a file: its events take some fifty times the room in memory


class Event(NamedTuple):
    """What happens at a tick, counted from the start of the song."""

    tick: int
    data: bytes  # as in the file, the status first


@dataclass(frozen=True, repr=False)
class Song:
    """A MIDI file of format 0 or 1: tracks that sound together; time is counted in ticks.

    Events keep their bytes. There is one exception: if a file leaves out a status byte because the
    event before has the same one, the byte is written. Every track ends with its end-of-track
    event.

    Examples
    --------
    >>> import numpy as np
    >>> roll = np.zeros((8, 88), int)
    >>> roll[:4, 39] = 1  # the middle C, for two beats
    >>> song = Song.from_roll(roll, steps_per_beat=2)
    >>> song
    <Song: 1 tracks, 1920 ticks, 480 a beat>
    >>> Song.from_bytes(song.to_bytes()) == song
    True
    """

    ticks_per_beat: int
    tracks: tuple[tuple[Event, ...], ...]
    format: int = 1
    rest: bytes = b""  # what else is in the file: it is kept after the tracks
    name: str = field(default="The song", compare=False)  # what error messages call it

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Song":
        """Return the song in a MIDI file.

        Raises
        ------
        FileMissingError
            If there is no such file.
        CaesuraError
            If the file is not a MIDI file of format 0 or 1.
        """
        return cls.from_bytes(read_midi(path), f"The file '{path}'")

    @classmethod
    def from_bytes(cls, content: bytes, name: str = "The song") -> "Song":
        """Return the song from the content of a MIDI file.

        Parameters
        ----------
        content
            The content of the file.
        name
            What error messages call the song.

        Raises
        ------
        CaesuraError
            If the content is not a MIDI file of format 0 or 1.
        """
        if content[:4] != b"MThd":
            raise CaesuraError(f"{name} is not a MIDI file.")
        if len(content) > MOST_BYTES:
            raise CaesuraError(f"{name} is longer than {MOST_BYTES} bytes.")
        try:
            return cls(*_parse(content), name)
        except _BrokenError as broken:
            raise CaesuraError(f"{name} {broken}.") from None
        except (IndexError, struct.error):
            raise CaesuraError(f"{name} is damaged: it ends in the middle.") from None

    @classmethod
    def from_roll(cls, roll: Any, steps_per_beat: int, beats_per_minute: float = 120) -> "Song":
        """Return a song with the notes of a piano roll; a key that stays on is one long note.

        Parameters
        ----------
        roll
            An array [steps, 88] of 0 and 1.
        steps_per_beat
            How many steps a quarter note has, 1 to 96.
        beats_per_minute
            The tempo.

        Raises
        ------
        CaesuraError
            If the roll has missing values, or is not a roll.
        """
        steps_per_beat = whole_number("steps_per_beat", steps_per_beat, 1, 96)
        sequence = read_roll(roll)
        if sequence.missing.any():
            raise CaesuraError("A roll with missing values cannot be made into a song.")
        tempo = beats_per_minute
        if not (isinstance(tempo, Real) and 4 <= tempo <= 1_000_000):  # what a file can hold
            raise CaesuraError("The option 'beats_per_minute' must be between 4 and 1000000.")
        ticks_per_step = ceil(480 / steps_per_beat)
        last = len(sequence) * ticks_per_step
        if last > LAST_TICK:
            raise CaesuraError(f"A roll of {len(sequence)} steps is too long for a MIDI file.")
        events = [Event(last, END_OF_TRACK + b"\0")]
        for key in range(KEYS):
            for start, stop in runs(sequence.values[:, key] == 1):
                number = LOWEST_KEY + key
                events.append(Event(start * ticks_per_step, bytes([NOTE_ON, number, 80])))
                events.append(Event(stop * ticks_per_step, bytes([NOTE_OFF, number, 64])))
        # At one tick the old notes end before the new ones begin, and all before the track ends.
        events.sort(key=lambda event: (event.tick, event.data))
        microseconds = round(60_000_000 / tempo).to_bytes(3, "big")
        events.insert(0, Event(0, TEMPO + b"\3" + microseconds))
        return cls(ticks_per_step * steps_per_beat, (tuple(events),), 0)

    def to_bytes(self) -> bytes:
        """Return the content of a MIDI file."""
        header = struct.pack(">HHH", self.format, len(self.tracks), self.ticks_per_beat)
        chunks = [_chunk(b"MThd", header)]
        for track in self.tracks:
            body, tick = bytearray(), 0
            for event in track:
                body += _write_number(event.tick - tick) + event.data
                tick = event.tick
            chunks.append(_chunk(b"MTrk", bytes(body)))
        return b"".join(chunks) + self.rest

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the song to a file, completely or not at all: sound if its name ends in .wav."""
        if is_sound(path):
            self.save_sound(path)
        else:
            write_bytes(path, self.to_bytes())

    def save_sound(self, path: str | os.PathLike[str], bars: tuple[int, int] | None = None) -> None:
        """Write what the song sounds like to a WAV file, played by a piano and without drums.

        Parameters
        ----------
        path
            The file.
        bars
            The number of the first bar, from 1, and of the one after the last; all by default. Only
            notes that begin in these bars are heard.

        Raises
        ------
        CaesuraError
            If there are no such bars, or they last longer than 30 minutes.
        """
        from caesura.kinds.music.sound import write_sound  # which plays songs

        if bars is None:
            write_sound(path, self)
            return
        starts = [*(ceil(start) for start in self.bars), self.end]
        first, stop = find_bars(self.name, len(starts) - 1, bars)
        write_sound(path, self, (starts[first], starts[stop]))

    def __repr__(self) -> str:
        return f"<Song: {len(self.tracks)} tracks, {self.end} ticks, {self.ticks_per_beat} a beat>"

    @property
    def end(self) -> int:
        """The tick at which the last track ends."""
        return max((track[-1].tick for track in self.tracks), default=0)

    @property
    def bars(self) -> list[Fraction]:
        """The ticks at which the bars start."""
        return [bar.start * self.ticks_per_beat for bar in self.metre]

    @property
    def metre(self) -> list[Bar]:
        """The bars: 4/4 until a time signature says otherwise.

        A new time signature starts a new bar, even in the middle of a bar.
        """
        # Ticks, and from there on the length of a bar and of a beat, in quarter notes.
        sections = [(0, (Fraction(4), Fraction(1)))]
        for tick, data in self._meta_events(TIME_SIGNATURE):
            if len(data) < 5 or not data[3]:
                continue
            count, unit = data[3], Fraction(4, 2 ** data[4])
            lengths = count * unit, beat_of(count, unit)
            if tick == sections[-1][0]:
                sections[-1] = (tick, lengths)
            elif lengths != sections[-1][1] and tick < self.end:
                sections.append((tick, lengths))
        bars: list[Bar] = []
        ends = [tick for tick, _ in sections[1:]] + [self.end]
        for (tick, (length, beat)), stop in zip(sections, ends, strict=True):
            start = Fraction(tick, self.ticks_per_beat)
            number = ceil((Fraction(stop, self.ticks_per_beat) - start) / length)
            if len(bars) + number > MOST_BARS:
                raise CaesuraError(f"{self.name} has more than {MOST_BARS} bars.")
            bars += [Bar(start + n * length, beat) for n in range(number)]
        return bars

    def seconds(self, ticks: list[int]) -> list[float]:
        """Return the times of ticks in seconds, at the tempo of the song."""
        tempo = {0: BEAT}
        for tick, data in self._meta_events(TEMPO):
            if len(data) == 6:
                tempo[tick] = int.from_bytes(data[3:], "big")
        changes = np.array([*tempo, max(*ticks, self.end) + 1])
        spans = np.diff(changes) * [beat / 1e6 for beat in tempo.values()] / self.ticks_per_beat
        reached = np.cumsum([0.0, *spans])
        return [round(second, 4) for second in np.interp(ticks, changes, reached).tolist()]

    def _meta_events(self, kind: bytes) -> list[Event]:
        """All events of a kind, in the order of their ticks."""
        found = [event for track in self.tracks for event in track if event.data[:2] == kind]
        return sorted(found, key=lambda event: event.tick)


def is_sound(path: str | os.PathLike[str]) -> bool:
    """Return whether the name of a file is that of a sound file."""
    return os.fspath(path).lower().endswith(".wav")


def read_midi(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a MIDI file; of any other file only the first few bytes."""
    try:
        with open(path, "rb") as file:
            content = file.read(6)
            # A film that was named by mistake need not be read to its end.
            return content + (file.read(MOST_BYTES) if content[:4] == b"MThd" else b"")
    except OSError as error:
        raise cannot_read(path, error) from error
    except (TypeError, ValueError) as error:  # what is no path, or has a null character
        raise CaesuraError(f"Cannot read '{path}': {error}.") from error


class _BrokenError(Exception):
    """What is wrong with a file, as the end of a sentence."""


def _parse(content: bytes) -> tuple[int, tuple[tuple[Event, ...], ...], int, bytes]:
    """The fields of a song, but for its name."""
    (size,) = struct.unpack_from(">L", content, 4)
    kind, count, division = struct.unpack_from(">HHH", content, 8)
    if kind == 2:
        raise _BrokenError("is of MIDI format 2, whose tracks do not sound together")
    if kind > 2 or size < 6:
        raise _BrokenError("is damaged: its header is not valid")
    if division == 0:
        raise _BrokenError("is damaged: its beats have no ticks")
    if division >= 0x8000:
        raise _BrokenError("counts time in SMPTE frames instead of beats")
    at = 8 + size
    rest: list[bytes] = []
    tracks: list[tuple[Event, ...]] = []
    while len(tracks) < count:
        name, size = struct.unpack_from(">4sL", content, at)
        body = content[at + 8 : at + 8 + size]
        if len(body) < size:
            raise IndexError
        if name == b"MTrk":
            tracks.append(_events(body))
        else:  # the standard wants chunks of unknown names to be passed over
            rest.append(content[at : at + 8 + size])
        at += 8 + size
    return division, tuple(tracks), kind, b"".join(rest) + content[at:]


def _events(body: bytes) -> tuple[Event, ...]:
    """The events of a track, up to its end."""
    events = []
    at = tick = running = 0
    while at < len(body):
        pause, at = _read_number(body, at)
        tick += pause
        if tick > LAST_TICK:
            raise _BrokenError(f"is longer than {LAST_TICK} ticks")
        status = body[at] if body[at] >= 0x80 else running
        at += body[at] >= 0x80
        stop = _stop(body, at, status)
        if stop > len(body):
            raise IndexError
        event = Event(tick, bytes([status]) + body[at:stop])
        events.append(event)
        if event.data[:2] == END_OF_TRACK:
            return tuple(events)  # what is after it is never played
        running = status if status < SYSEX else running
        at = stop
    return (*events, Event(tick, END_OF_TRACK + b"\0"))


def _stop(body: bytes, at: int, status: int) -> int:
    """Where the event ends whose data begins at `at`."""
    if status in (META, SYSEX, ESCAPE):
        size, start = _read_number(body, at + (status == META))
        return start + size
    if not NOTE_OFF <= status < SYSEX:
        raise _BrokenError("is damaged: it has an event of an unknown type")
    stop = at + (1 if 0xC0 <= status < 0xE0 else 2)  # programs and pressures are one byte
    if any(byte >= 0x80 for byte in body[at:stop]):
        raise _BrokenError("is damaged: it has an event with a number out of range")
    return stop


def _read_number(body: bytes, at: int) -> tuple[int, int]:
    """A number of one to four bytes of seven bits each, and where it ends."""
    number = 0
    for place in range(at, at + 4):
        number = number << 7 | body[place] & 0x7F
        if body[place] < 0x80:
            return number, place + 1
    raise _BrokenError("is damaged: it has a number that is too large")


def _write_number(number: int) -> bytes:
    digits = [number & 0x7F]
    while number := number >> 7:
        digits.append(number & 0x7F | 0x80)
    return bytes(reversed(digits))


def _chunk(name: bytes, body: bytes) -> bytes:
    return name + struct.pack(">L", len(body)) + body
