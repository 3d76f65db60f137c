"""Songs as sound: every note as a tone of a piano in a room, written as a WAV file."""

import os
import warnings
import wave
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Complex128, Float64, Int16

from caesura.errors import CaesuraError, CaesuraWarning
from caesura.files import replacing
from caesura.kinds.music.midi import NOTE_ON, Song
from caesura.kinds.music.notes import DRUMS, Grid, find_lanes
from caesura.kinds.music.piano import LONGEST, RATE, RELEASE, tone
from caesura.kinds.music.roll import LOWEST_KEY

CONTROL, PEDAL = 0xB0, 64
MOST_MINUTES = 30  # of a sound file, which has 10 MB a minute
MOST_SECONDS = 72_000.0  # of all notes together: a file may say that 100 000 of them are held
LOUDNESS = 0.4  # of the loudest note; 1 is the most that can be
FULL = 32_000  # a level of 1, in a file that holds up to 32 767
KNEE = 0.7  # what is louder is made softer, so that nothing is clipped
WIDTH = 0.4  # how far to the left and right the lowest and highest keys are; 1 is as far as can be
BLOCK = 1 << 18  # samples that are mixed at once
ECHO = 1 << 16  # samples of the echo of the room, 1.5 seconds
FADING = 0.25  # seconds until it has 1/e of its loudness
WET = 0.08  # its loudness


class Played(NamedTuple):
    """A note as it is heard."""

    start: float  # seconds
    stop: float
    pitch: int
    velocity: int


def write_sound(
    path: str | os.PathLike[str], song: Song, ticks: tuple[int, int] | None = None
) -> None:
    """Write what a song sounds like to a WAV file (16 bits, stereo), completely or not at all.

    Tempo, loudness and pedal are obeyed. Drums are left out, with a warning, and so are notes off
    the keyboard. All instruments sound like a piano.

    Parameters
    ----------
    path
        The file.
    song
        The song.
    ticks
        If given, only notes that begin from the first of these ticks to before the second are
        heard; the sound starts at the first.

    Raises
    ------
    CaesuraError
        If the song is empty, is too long or has too many notes, or cannot be written.
    """
    start, stop = ticks or (0, song.end)
    notes = play(song, start, stop)
    began, ended = song.seconds([start, stop])
    if ended - began > 60 * MOST_MINUTES:
        raise CaesuraError(
            f"{song.name} lasts {(ended - began) / 60:.0f} minutes: a sound file may have "
            f"{MOST_MINUTES} at most."
        )
    if sum(min(note.stop - note.start, LONGEST) + RELEASE for note in notes) > MOST_SECONDS:
        raise CaesuraError(f"{song.name} has too many notes at once for a sound file.")
    with replacing(path) as part, wave.open(str(part), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(RATE)
        for block in mix(notes, ended - began):
            file.writeframes(block.astype("<i2").tobytes())


def play(song: Song, start: int, stop: int) -> list[Played]:
    """Return the notes that begin between two ticks, as they are heard after the first one."""
    if any(_is_drum(data) for track in song.tracks for _, data in track):
        sentence = f"{song.name} has drums, which are left out of the sound."
        warnings.warn(sentence, CaesuraWarning, stacklevel=4)
    pedals = _pedals(song)
    found = []
    for lane in find_lanes(song, Grid.of(song, 1)):
        for note in lane.notes:
            if start <= note.on_tick < stop:
                off = _let_go(pedals[lane.voice.channel], note.off_tick, song.end)
                found.append((note.on_tick, min(off, stop), lane.key, note.velocity))
    found.sort()
    times = song.seconds([start, *(tick for on, off, _, _ in found for tick in (on, off))])
    return [
        Played(on - times[0], off - times[0], key + LOWEST_KEY, velocity)
        for on, off, (_, _, key, velocity) in zip(times[1::2], times[2::2], found, strict=True)
    ]


def mix(notes: list[Played], seconds: float) -> Iterator[Int16[np.ndarray, "samples 2"]]:
    """Yield the sound of notes, which are in the order of their starts, block by block.

    It goes on after these seconds until the last note and its echo have faded.
    """
    total = round((seconds + RELEASE) * RATE) + ECHO
    sound = np.zeros((2, BLOCK + round((LONGEST + RELEASE) * RATE) + 1))
    echo = np.zeros((2, BLOCK + ECHO))
    waiting = 0
    for first in range(0, total, BLOCK):
        while waiting < len(notes) and round(notes[waiting].start * RATE) < first + BLOCK:
            note = notes[waiting]
            waiting += 1
            at = round(note.start * RATE) - first
            samples = tone(note.pitch, note.velocity, note.stop - note.start)
            for channel, share in zip(sound, _place(note.pitch), strict=True):
                channel[at : at + len(samples)] += LOUDNESS * share * samples
        heard = sound[:, :BLOCK]
        echo += _answer(heard)
        levels = _soften(heard + echo[:, :BLOCK])
        yield np.rint(FULL * levels[:, : total - first].T).astype(np.int16)
        for one in (sound, echo):
            one[:, :-BLOCK] = one[:, BLOCK:].copy()
            one[:, -BLOCK:] = 0


def _is_drum(data: bytes) -> bool:
    return data[0] == NOTE_ON | DRUMS and data[2] > 0


def _pedals(song: Song) -> dict[int, list[tuple[int, bool]]]:
    """For each channel, the ticks at which its pedal is pressed (true) or let go."""
    events = sorted(
        (tick, data[0] & 0x0F, data[2] >= 64)
        for track in song.tracks
        for tick, data in track
        if data[0] & 0xF0 == CONTROL and data[1] == PEDAL
    )
    pedals: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for tick, channel, is_down in events:
        changes = pedals[channel]
        if is_down != (bool(changes) and changes[-1][1]):
            changes.append((tick, is_down))
    return pedals


def _let_go(changes: list[tuple[int, bool]], off: int, end: int) -> int:
    """Return when a note falls silent: a pedal that is down at its end holds it."""
    after = bisect_right(changes, (off, True))
    if not after or not changes[after - 1][1]:
        return off
    return max(off, changes[after][0] if after < len(changes) else end)


def _place(pitch: int) -> tuple[float, float]:
    """Return how loud a key is on the left and on the right: low ones are on the left."""
    angle = np.pi / 4 * (1 + WIDTH * np.clip((pitch - 64) / 44, -1, 1))
    return float(np.cos(angle)), float(np.sin(angle))


def _answer(heard: Float64[np.ndarray, "2 block"]) -> Float64[np.ndarray, "2 longer"]:
    """Return the echo of a block, which is longer by that of its last sample."""
    size = BLOCK + ECHO
    return np.fft.irfft(np.fft.rfft(heard.mean(axis=0), size) * _room(), size)


@lru_cache(maxsize=1)
def _room() -> Complex128[np.ndarray, "2 frequencies"]:
    """The room: noise that fades, another one on each side, with less of the high frequencies."""
    noise = np.random.default_rng(0).standard_normal((2, ECHO))
    spectrum = np.fft.rfft(noise) / (1 + np.fft.rfftfreq(ECHO, 1 / RATE) / 2000)
    time = np.arange(ECHO) / RATE
    echo = np.fft.irfft(spectrum) * np.exp(-time / FADING) * (1 - time / time[-1])
    echo *= WET / np.linalg.norm(echo, axis=1, keepdims=True)
    return np.fft.rfft(echo, BLOCK + ECHO)


def _soften(levels: Float64[np.ndarray, "2 samples"]) -> Float64[np.ndarray, "2 samples"]:
    """Return levels below 1, and those below the knee as they are."""
    loud = np.abs(levels) > KNEE
    over = (np.abs(levels[loud]) - KNEE) / (1 - KNEE)
    levels[loud] = np.sign(levels[loud]) * (KNEE + (1 - KNEE) * np.tanh(over))
    return levels
