"""Greensleeves, an English song of the 16th century, in the public domain; the setting is ours."""

from caesura.kinds.music.midi import (
    END_OF_TRACK,
    META,
    NOTE_OFF,
    NOTE_ON,
    TEMPO,
    TIME_SIGNATURE,
    Event,
    Song,
)
from caesura.kinds.music.score import TRACK_NAME

TITLE = "Greensleeves"
ERASED = (6, 8)  # from bar 6 to before bar 8, counted from 1
EIGHTH = 240  # ticks
EIGHTHS_PER_BAR = 6  # it is in 6/8, its dotted notes made even
SECONDS_PER_EIGHTH = 0.32

# A chord for each bar or half of it, and the melody as in ABC: "c2" is a C of two eighths, above
# the A of 440 Hz; "^" is a sharp. The first bar holds the upbeat.
BARS = """
Am   | z5 A
Am   | c2 d e ^f e
G    | d2 B G A B
Am   | c2 A A ^G A
E    | B2 ^G E2 A
Am   | c2 d e ^f e
G    | d2 B G A B
Am E | c B A ^G ^F ^G
Am   | A3 A3
C    | g3 g ^f e
G    | d2 B G A B
Am   | c2 A A ^G A
E    | B2 ^G E3
C    | g3 g ^f e
G    | d2 B G A B
Am E | c B A ^G ^F ^G
Am   | A6
"""
KEYS = {"E": 64, "F": 65, "G": 67, "A": 69, "B": 71, "c": 72, "d": 74, "e": 76, "f": 77, "g": 79}
CHORDS = {"Am": (57, 60, 64), "C": (60, 64, 67), "E": (52, 56, 59), "G": (55, 59, 62)}

Note = tuple[int, int, int]  # a MIDI key, and the eighths from which to which it sounds


def song() -> Song:
    """The tune as a MIDI file: a track for the tempo, one for the melody, one for the chords."""
    melody: list[Note] = []
    chords: list[Note] = []
    bars = BARS.strip().splitlines()
    for number, bar in enumerate(bars):
        names, words = (side.split() for side in bar.split("|"))
        at = number * EIGHTHS_PER_BAR
        melody += _melody(words, at)
        length = EIGHTHS_PER_BAR // len(names)
        for name in names:
            chords += [(key, at, at + length) for key in CHORDS[name]]
            at += length
    end = len(bars) * EIGHTHS_PER_BAR * EIGHTH
    microseconds_per_beat = round(2 * SECONDS_PER_EIGHTH * 1_000_000)
    conductor = (
        Event(0, TIME_SIGNATURE + bytes([4, 6, 3, 36, 8])),  # 6/8; the rest is as usual
        Event(0, TEMPO + b"\3" + microseconds_per_beat.to_bytes(3, "big")),
        Event(end, END_OF_TRACK + b"\0"),
    )
    tracks = (
        conductor,
        _track(b"Melody", melody, 0, 88, end),
        _track(b"Chords", chords, 1, 56, end),
    )
    return Song(2 * EIGHTH, tracks)


def _melody(words: list[str], at: int) -> list[Note]:
    notes = []
    for word in words:
        sharp, name = word.startswith("^"), word.lstrip("^")
        length = int(name[1:] or 1)
        if name[0] != "z":  # a rest
            notes.append((KEYS[name[0]] + sharp, at, at + length))
        at += length
    return notes


def _track(
    name: bytes, notes: list[Note], channel: int, velocity: int, end: int
) -> tuple[Event, ...]:
    events = [Event(end, END_OF_TRACK + b"\0")]
    for key, start, stop in notes:
        events.append(Event(start * EIGHTH, bytes([NOTE_ON | channel, key, velocity])))
        events.append(Event(stop * EIGHTH, bytes([NOTE_OFF | channel, key, 64])))
    # At one tick the old notes end before the new ones begin, and all before the track ends.
    events.sort(key=lambda event: (event.tick, event.data))
    return (Event(0, bytes([META, TRACK_NAME, len(name)]) + name), *events)
