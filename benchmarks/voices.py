"""How often a voice that was written anew is silent or doubled.

    python benchmarks/voices.py --data DATA [--pieces 2] [--bars 9] [--voice Tenor]

DATA is a directory with `music/jsb16_separated.npz`: chorales of four voices. Each becomes a song
of four tracks. One voice of its first bars is filled as by `caesura fill music --voice`, and the
steps at which its track has no note, or more than one, are counted: for the chorale and the fill.
"""

import argparse
from pathlib import Path

import numpy as np

import caesura
from caesura.kinds import Composition, Song
from caesura.kinds.music.midi import END_OF_TRACK, META, NOTE_OFF, NOTE_ON, Event
from caesura.sequence import runs

VOICES = ("Soprano", "Alto", "Tenor", "Bass")
TICKS = 120  # of a sixteenth note


def chorales(data: Path) -> list[np.ndarray]:
    """The pitches of the test chorales: [sixteenths, 4], below 1 for rests."""
    with np.load(data / "music" / "jsb16_separated.npz", allow_pickle=False) as arrays:
        pitches, lengths = arrays["test_pitch"], arrays["test_len"]
    if pitches.ndim == 3:
        return [piece[:length] for piece, length in zip(pitches, lengths, strict=True)]
    return np.split(pitches, np.cumsum(lengths)[:-1])


def song_of(pitches: np.ndarray) -> Song:
    """A song of four tracks; a pitch that stays is one long note."""
    tracks = []
    for name, voice in zip(VOICES, pitches.T, strict=True):
        played = []
        for pitch in np.unique(voice[voice > 0]).tolist():
            for start, stop in runs(voice == pitch):
                played.append(Event(start * TICKS, bytes([NOTE_ON, pitch, 80])))
                played.append(Event(stop * TICKS, bytes([NOTE_OFF, pitch, 64])))
        title = Event(0, bytes([META, 3, len(name)]) + name.encode())
        end = Event(len(voice) * TICKS, END_OF_TRACK + b"\0")
        tracks.append((title, *sorted(played), end))
    return Song(4 * TICKS, tuple(tracks))


def counts(item, track: int, steps: slice) -> tuple[int, int, int]:
    """Steps at which a track is silent, steps at which it is doubled, and all steps."""
    sounding = np.zeros(item.grid.steps, int)
    for lane in item.lanes:
        for note in lane.notes if lane.voice.track == track else []:
            sounding[note.first : note.stop] += 1
    inside = sounding[steps]
    return int((inside == 0).sum()), int((inside > 1).sum()), len(inside)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pieces", type=int, default=2)
    parser.add_argument("--bars", type=int, default=9)
    parser.add_argument("--voice", choices=VOICES, default="Tenor")
    asked = parser.parse_args()
    filler = caesura.load("music")
    track, total = VOICES.index(asked.voice), np.zeros((2, 3), int)
    for number, pitches in enumerate(chorales(asked.data)[: asked.pieces]):
        item = filler.kind.open(song_of(pitches))
        last = min(asked.bars, len(item.song.bars))
        steps = item.steps_of_bars(1, last + 1)
        arranged = Composition(gaps=((1, last + 1),), voice=asked.voice).arrange(item)
        filled = filler.kind.open(filler.fill(arranged, seed=number).best)
        each = [counts(one, track, steps) for one in (item, filled)]
        total += each
        print(f"{number}: silent, doubled and all steps: chorale {each[0]}, fill {each[1]}")
    print(f"together: chorale {total[0].tolist()}, fill {total[1].tolist()}")


if __name__ == "__main__":
    main()
