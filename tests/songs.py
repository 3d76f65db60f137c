"""Songs for tests: a tune that one can read, notes on one key, and what no one would play."""

import io

import mido
import numpy as np

from caesura.kinds import Music
from caesura.kinds.music.midi import END_OF_TRACK, Event, Song

PITCHES = {"C": 60, "D": 62, "E": 64, "F": 65, "G": 67}
C, E, G = (PITCHES[name] - 21 for name in "CEG")  # columns of a roll
ODE_TO_JOY = "E E F G | G F E D | C C D E | E. D- D= | E E F G | G F E D | C C D E | D. C- C="
BEATS = {".": 1.5, "-": 0.5, "=": 2.0}


def ode_to_joy(ticks_per_beat: int = 480) -> mido.MidiFile:
    """Eight bars by Beethoven, each note a little shorter than written; bass and drums below."""
    song = mido.MidiFile(type=1, ticks_per_beat=ticks_per_beat)
    conductor, melody, bass, drums = (song.add_track() for _ in range(4))
    conductor.append(mido.MetaMessage("time_signature", numerator=4, denominator=4))
    conductor.append(mido.MetaMessage("set_tempo", tempo=500_000))
    conductor.append(mido.MetaMessage("set_tempo", tempo=400_000, time=10 * ticks_per_beat))
    melody.append(mido.MetaMessage("track_name", name="Freude"))
    melody.append(mido.Message("program_change", program=40))
    for word in ODE_TO_JOY.replace("|", "").split():
        length = int(BEATS.get(word[1:], 1) * ticks_per_beat)
        rest = length // 8
        pitch = PITCHES[word[0]]
        melody.append(mido.Message("note_on", note=pitch, velocity=90))
        melody.append(mido.Message("note_off", note=pitch, time=length - rest))
        melody.append(mido.Message("control_change", control=11, value=80, time=rest))
    for bar in range(8):
        pitch = 48 if bar % 2 else 43
        bass.append(mido.Message("note_on", channel=1, note=pitch, velocity=60))
        bass.append(mido.Message("note_on", channel=1, note=pitch, velocity=0, time=1920))
        drums.append(mido.Message("note_on", channel=9, note=36, velocity=100))
        drums.append(mido.Message("note_off", channel=9, note=36, time=1920))
    return song


def content(file: mido.MidiFile) -> bytes:
    """What the file would hold on the disk."""
    buffer = io.BytesIO()
    file.save(file=buffer)
    return buffer.getvalue()


def random_song(rng: np.random.Generator, ticks_per_beat: int) -> Song:
    """Notes that overlap, end twice or never, among drums, metas and keys that no piano has."""
    beats = int(rng.integers(1, 9))
    tracks = []
    for _ in range(rng.integers(1, 4)):
        end = int(rng.integers(1, beats * ticks_per_beat + 1))
        ticks = np.sort(rng.integers(0, end + 1, rng.integers(0, 40)))
        if rng.random() < 0.3:  # several events at each tick
            ticks = ticks // 3 * 3
        events = [Event(int(tick), _random_data(rng)) for tick in ticks]
        tracks.append((*events, Event(end, END_OF_TRACK + b"\0")))
    return Song(ticks_per_beat, tuple(tracks), 0 if len(tracks) == 1 else 1)


def _random_data(rng: np.random.Generator) -> bytes:
    channel = int(rng.choice([0, 0, 3, 9]))
    key = int(rng.choice([20, 21, 60, 60, 61, 62, 108, 109]))
    velocity = int(rng.choice([0, 1, 64, 127]))
    return [
        bytes([0x90 | channel, key, velocity]),
        bytes([0x80 | channel, key, velocity]),
        bytes([0x90 | channel, key, max(velocity, 1)]),
        bytes([0xB0 | channel, 64, velocity]),
        b"\xff\x51\x03" + bytes([7, 0, key]),
    ][rng.choice(5, p=[0.25, 0.3, 0.35, 0.05, 0.05])]


def song(*notes: tuple[int, int], end: int = 800, key: int = 60) -> Song:
    """Notes from tick to tick on one key; at 2 steps a beat a step has 100 ticks."""
    events = []
    for start, stop in notes:
        events += [Event(start, bytes([0x90, key, 70])), Event(stop, bytes([0x80, key, 64]))]
    return Song(200, ((*events, Event(end, END_OF_TRACK + b"\0")),), 0)


def on(music: Song, key: int = C) -> str:
    """When a key sounds, as a drawing."""
    return "".join(".#"[value] for value in Music().open(music).sequence.values[:, key])
