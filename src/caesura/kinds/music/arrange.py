"""What a composer may ask of a gap: notes that stay, keys that sound or stay silent, one voice."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Shaped

from caesura.errors import CaesuraError
from caesura.kinds.music.midi import META, Song
from caesura.kinds.music.music import Music, load_music
from caesura.kinds.music.notes import Grid, Lane, find_lanes, make_roll
from caesura.kinds.music.roll import KEYS, LOWEST_KEY

SEMITONES = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
ACCIDENTALS = {"#": 1, "b": -1, "": 0}
TRACK_NAME = 3


class Arrangement(NamedTuple):
    """Music that holds what was asked for, and the keys that are left to fill."""

    music: Any
    missing: Bool[np.ndarray, "T 88"]


def arrange(
    kind: Music,
    data: Any,
    steps: Iterable[int],
    *,
    keep: Iterable[str] = (),
    voice: str | None = None,
    force: Iterable[str] = (),
    forbid: Iterable[str] = (),
) -> Arrangement:
    """What is missing in some steps, once a composer has spoken: `Filler.fill` takes both parts.

    Where a roll marks its own gaps, they count beside `steps`. `keep` names keys whose notes and
    rests stay ('60-84', 'C4-C6'), or the 'top' or 'bottom' note of every step, beyond which nothing
    new may sound; `voice` is the only track to fill, by its name or its number. Keys of `force`
    sound in all of these steps, those of `forbid` in none.
    """
    music = load_music(data)
    sequence = kind.read(music)
    roll, own_gaps = sequence.values, sequence.missing
    missing = own_gaps.copy()
    missing[list(steps)] = True
    in_gap = missing.any(axis=1, keepdims=True)
    if voice is not None:
        missing &= _free_keys(kind, music, voice)
    for what in keep:
        missing &= own_gaps | ~_kept(roll, what)  # what is not there cannot be kept
    wanted = {1: _keys(force), 0: _keys(forbid)}
    both = np.flatnonzero(wanted[0] & wanted[1])
    if both.size:
        raise CaesuraError(f"The key {both[0] + LOWEST_KEY} is forced and forbidden at once.")
    for value, keys in wanted.items():
        pinned = in_gap & keys
        missing &= ~pinned
        music = kind.write(music, pinned, np.full(roll.shape, value, np.int8))
    if not missing.any():
        raise CaesuraError("Nothing is left to fill: every key is kept, forced or forbidden.")
    return Arrangement(music, missing)


def parse_keys(text: str) -> range:
    """The keys from one pitch to another, as '60', 'C4', '60-84' or 'Bb3-F#5', counted from 0."""
    first, dash, last = text.partition("-")
    ends = [_pitch(first, text), _pitch(last if dash else first, text)]
    if ends[1] < ends[0]:
        raise CaesuraError(f"The pitches '{text}' run downwards: the lower comes first.")
    return range(ends[0] - LOWEST_KEY, ends[1] - LOWEST_KEY + 1)


def _pitch(name: str, text: str) -> int:
    """The number that MIDI has for it; C4 is the middle C, 60."""
    found = re.fullmatch(r"([A-Ga-g])([#b]?)(\d)", name.strip())
    if found:
        letter, accidental, octave = found.groups()
        number = 12 * (int(octave) + 1) + SEMITONES[letter.upper()] + ACCIDENTALS[accidental]
    elif re.fullmatch(r"\d{1,3}", name.strip(), re.ASCII):
        number = int(name)
    else:
        raise CaesuraError(f"A pitch is written as 60 or C4, a range as 60-84, not as '{text}'.")
    if not LOWEST_KEY <= number < LOWEST_KEY + KEYS:
        raise CaesuraError(f"The pitch '{name.strip()}' is not on a piano, which has 21 to 108.")
    return number


def _keys(texts: Iterable[str]) -> Bool[np.ndarray, " 88"]:
    on = np.zeros(KEYS, bool)
    for text in texts:
        on[parse_keys(text)] = True
    return on


def _kept(roll: Shaped[np.ndarray, "n 88"], what: str) -> Bool[np.ndarray, "n 88"]:
    """The keys that stay; where nothing sounds there is no top, and nothing is kept of it."""
    if what in ("top", "bottom"):
        ordered = roll if what == "bottom" else roll[:, ::-1]
        # Up to and with the outermost note: none sounds before it.
        before = np.cumsum(ordered, axis=1) - ordered
        outer = (before == 0) & (ordered.any(axis=1, keepdims=True))
        return outer if what == "bottom" else outer[:, ::-1]
    return np.broadcast_to(_keys([what]), roll.shape)


def _free_keys(kind: Music, music: Any, voice: str) -> Bool[np.ndarray, "T 88"]:
    """The range of one voice, but for what the others play in it."""
    if not isinstance(music, Song):
        raise CaesuraError("A roll has no voices, only a song has.")
    grid = Grid.of(music, kind.steps_per_beat)
    lanes = find_lanes(music, grid)
    track = _find_track(music, lanes, voice)
    own = [lane.key for lane in lanes if lane.voice.track == track]
    free = make_roll([lane for lane in lanes if lane.voice.track != track], grid) == 0
    free[:, : min(own)] = free[:, max(own) + 1 :] = False
    return free


def _find_track(song: Song, lanes: list[Lane], voice: str) -> int:
    """By its name, or its number among those with notes, from 1."""
    tracks = sorted({lane.voice.track for lane in lanes})
    names = [_track_name(song, track) for track in tracks]
    matching = [t for t, name in zip(tracks, names, strict=True) if name.lower() == voice.lower()]
    if len(matching) == 1:
        return matching[0]
    if voice.isdecimal() and 1 <= int(voice) <= len(tracks):
        return tracks[int(voice) - 1]
    known = ", ".join(f"{n} ({name})" if name else str(n) for n, name in enumerate(names, 1))
    raise CaesuraError(f"{song.name} has no one voice '{voice}'; its voices are {known or 'none'}.")


def _track_name(song: Song, track: int) -> str:
    for event in song.tracks[track]:
        if event.data[:2] == bytes([META, TRACK_NAME]):
            return event.data[3:].decode("utf-8", "replace").strip()
    return ""
