"""How often a voice that was written anew is silent, doubled, or crosses the next voice.

    python benchmarks/voices.py --data DATA [--pieces 10] [--bars 9] [--voice Tenor] [--model NAME]
    python benchmarks/voices.py --songs a.mid b.musicxml --voice Tenor
    python benchmarks/voices.py --data DATA --pieces 77 --who

DATA is a directory with `music/jsb16_separated.npz`: chorales of four voices. Each becomes a song
of four tracks. Songs may also be files of your own. A voice of their first bars is filled as by
`caesura fill music --voice`. Of its track, the steps are counted at which it has no note, more than
one, a note beyond one of the next higher or lower voice, or the same as in the song: in the song as
it was, in the fill, and in a fill by the model alone, without the rules for a voice. Without
--voice, each of the four voices is filled in turn.

With --who, nothing is filled: the notes of two bars are given back as keys, and the notes that get
to the voice that they came from are counted.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

import caesura
from caesura.kinds import Composition, Music, Song
from caesura.kinds.music.arrange import find_track
from caesura.kinds.music.midi import END_OF_TRACK, META, NOTE_OFF, NOTE_ON, Event
from caesura.kinds.music.notes import make_roll
from caesura.sequence import runs
from caesura.strategies import BothWays

VOICES = ("Soprano", "Alto", "Tenor", "Bass")
COUNTS = ("silent", "doubled", "crossing", "as in the song", "all")
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


def ranked(item) -> dict[int, np.ndarray]:
    """The rolls of all tracks with notes, from the highest on average to the lowest."""
    tracks = {lane.voice.track for lane in item.lanes}
    rolls = {
        track: make_roll([n for n in item.lanes if n.voice.track == track], item.grid) > 0
        for track in tracks
    }
    return dict(sorted(rolls.items(), key=lambda one: -np.nonzero(one[1])[1].mean()))


def counts(item, original, track: int, steps: slice) -> list[int]:
    """Steps at which a track is silent, doubled, or beyond its neighbours, and so on."""
    rolls, truth, keys = ranked(item), ranked(original), np.arange(88)
    order = list(truth)
    own = rolls[track][steps]
    lowest, highest = (np.where(own, keys, 99).min(axis=1), np.where(own, keys, -1).max(axis=1))
    crossing = np.zeros(len(own), bool)
    at = order.index(track)
    for number, other in enumerate(order):
        if abs(number - at) == 1:
            theirs = rolls[other][steps]
            if number < at:  # it is above
                crossing |= highest > np.where(theirs, keys, 99).min(axis=1)
            else:
                crossing |= lowest < np.where(theirs, keys, -1).max(axis=1)
    sounding = own.sum(axis=1)
    same = (own == truth[track][steps]).all(axis=1)
    found = [sounding == 0, sounding > 1, crossing, same]
    return [*(int(each.sum()) for each in found), len(own)]


def who(pieces: list[Song]) -> tuple[int, int]:
    """How many notes of bars 2 and 3 get back to their own tracks, and how many there are."""
    own = every = 0
    for piece in pieces:
        item = Music(4, struck=True).open(piece)
        steps = item.steps_of_bars(2, 4)
        missing = np.zeros(item.sequence.values.shape, bool)
        missing[steps, :88] = True
        written = replace(item, original=item.write(item.complete.values, missing))
        before, after = (
            {(lane.key, note.first, lane.voice.track) for lane in one.lanes for note in lane.notes}
            for one in (item, written)
        )
        inside = [note for note in after if steps.start <= note[1] < steps.stop]
        every += len(inside)
        own += sum(note in before for note in inside)
    return own, every


class Freely(BothWays):
    """`bothways` without the rules for a voice."""

    def draw(self, key, net, window, samples):
        return super().draw(key, net, replace(window, lines=None), samples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--songs", nargs="*", default=[])
    parser.add_argument("--pieces", type=int, default=10)
    parser.add_argument("--bars", type=int, default=9)
    parser.add_argument("--voice")
    parser.add_argument("--model", default="music")
    parser.add_argument("--who", action="store_true")
    asked = parser.parse_args()
    if not (asked.data or asked.songs):
        parser.error("specify --data or --songs")
    pieces = asked.songs or [song_of(each) for each in chorales(asked.data)[: asked.pieces]]
    if asked.who:
        print("notes that get back to their voice: {} of {}".format(*who(pieces)))
        return
    filler = caesura.load(asked.model)
    names = ("as it was", "by the model alone", "filled")
    together = np.zeros((len(names), len(COUNTS)), int)
    for voice in [asked.voice] if asked.voice else VOICES:
        total = np.zeros_like(together)
        for number, piece in enumerate(pieces):
            item = filler.kind.open(piece)
            last = min(asked.bars, len(item.song.bars))
            steps, track = item.steps_of_bars(1, last + 1), find_track(item, voice)
            arranged = Composition(gaps=((1, last + 1),), voice=voice).arrange(item)
            fills = [
                filler.kind.open(filler.fill(arranged, seed=number, strategy=strategy).best)
                for strategy in (Freely(), BothWays())
            ]
            total += [counts(one, item, track, steps) for one in (item, *fills)]
        show(voice, names, total)
        together += total
    show("together", names, together)


def show(title: str, names: tuple[str, ...], counted: np.ndarray) -> None:
    """Print one line for each row."""
    for name, row in zip(names, counted.tolist(), strict=True):
        print(f"{title}, {name}:", *(f"{n} {c}" for c, n in zip(COUNTS, row, strict=True)))


if __name__ == "__main__":
    main()
