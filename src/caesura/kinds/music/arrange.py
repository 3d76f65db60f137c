"""Conditions for a gap in music: notes that stay, keys that sound or stay silent, one voice."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from caesura.errors import CaesuraError
from caesura.kinds.music.items import MusicItem, SongItem
from caesura.kinds.music.roll import KEYS, LOWEST_KEY

SEMITONES = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
ACCIDENTALS = {"#": 1, "b": -1, "": 0}
MIDDLE_C = 39  # counted from the first key


def arrange(
    item: MusicItem,
    steps: Iterable[int] | Bool[np.ndarray, "T 88"],
    *,
    keep: Iterable[str] = (),
    voice: str | None = None,
    add: str | None = None,
    force: Iterable[str] = (),
    forbid: Iterable[str] = (),
) -> MusicItem:
    """Return a piece in which some steps are missing, except for what a composer wants there.

    Parameters
    ----------
    item
        The piece, as `Music.open` gives it.
    steps
        The missing steps, from 0, or an array [steps, 88] that is True where a key is missing. What
        a roll marks as missing is missing, too.
    keep
        Keys whose notes and rests stay ("60-84", "C4-C6"), or "top" or "bottom": the outermost note
        of every step, beyond which nothing new may sound.
    voice
        The only track to fill, by its name or its number among those with notes, from 1.
    add
        The pitches of a new track ("C2-B3"), the only one to fill.
    force, forbid
        Keys that sound in all of these steps, and in none of them.

    Returns
    -------
    MusicItem
        The piece with the forced and forbidden keys written into it; its `missing` says what is
        left to fill. `Filler.fill` takes it as it is.

    Raises
    ------
    CaesuraError
        If a pitch or voice does not exist, or nothing is left to fill.

    Examples
    --------
    >>> from caesura.kinds import Music
    >>> item = Music().open(np.zeros((4, 88), int))
    >>> arranged = arrange(item, [1, 2], keep=["C4-C8"], force=["C2"])
    >>> int(arranged.missing.sum()), arranged.original[:, 15].tolist()
    (76, [0, 1, 1, 0])
    """
    own_gaps = item.missing[:, :KEYS]
    missing = own_gaps.copy()
    missing[steps if isinstance(steps, np.ndarray) else list(steps)] = True
    in_gap = missing.any(axis=1, keepdims=True)
    if voice is not None or add is not None:
        if not isinstance(item, SongItem):
            raise CaesuraError(f"{item.name} has no voices, which only a song has.")
        if voice is not None and add is not None:
            raise CaesuraError("Fill a voice or add a new one: both at once are not possible.")
        if voice is not None:
            item = replace(item, track=find_track(item, voice))
            item = replace(item, sings=item.filled_part.sings)
    if add is not None and isinstance(item, SongItem):
        new = _keys([add])
        missing &= new
        item = item.with_new_track(is_low=bool(np.flatnonzero(new).mean() < MIDDLE_C))
    for what in keep:
        missing &= own_gaps | ~_kept(item.roll, what)  # what is not there is not kept
    wanted = {1: _keys(force), 0: _keys(forbid)}
    both = np.flatnonzero(wanted[0] & wanted[1])
    if both.size:
        raise CaesuraError(f"The key {both[0] + LOWEST_KEY} is forced and forbidden at once.")
    for value, keys in wanted.items():
        pinned = in_gap & keys
        missing &= ~pinned
        if pinned.any():
            pinned = item.widen(pinned)
            piece = item.write(np.full(pinned.shape, value, np.int8), pinned)
            item = replace(item, original=piece, wanted=None)
    erased = None
    if isinstance(item, SongItem) and item.track is not None:
        erased = item.filled_part.without_unison(missing)
        missing = item.filled_part.free_keys(erased)
    if not missing.any():
        raise CaesuraError("Nothing is left to fill: every key is kept, forced or forbidden.")
    return replace(item, wanted=missing, erased=erased)


class Composition(NamedTuple):
    """Gaps in a piece of music, and what must, may and may not sound in them.

    Without gaps, what a roll marks as missing is; if it marks nothing but something is kept, or a
    voice is named or added, the whole piece is missing.

    Parameters
    ----------
    gaps
        Pairs of numbers: the first bar or step of a gap, and the one after the last.
    unit
        What gaps count: "bars", from 1, or "steps" of the grid, from 0.
    keep
        Keys whose notes and rests stay ("60-84", "C4-C6"), or "top" or "bottom": the outermost note
        of every step, beyond which nothing new may sound.
    voice
        The only track to fill, by its name or its number among those with notes, from 1.
    add
        The pitches of a new track ("C2-B3"), the only one to fill.
    force
        Keys that sound in all of these steps.
    forbid
        Keys that sound in none of these steps.

    Examples
    --------
    >>> import numpy as np
    >>> from caesura.kinds import Composition, Music, Song
    >>> item = Music().open(Song.from_roll(np.zeros((32, 88), int), steps_per_beat=2))
    >>> Composition(gaps=((2, 3),)).arrange(item).sequence.gaps
    [Span(start=8, stop=16)]
    """

    gaps: tuple[tuple[int, int], ...] = ()
    unit: str = "bars"  # or "steps"
    keep: tuple[str, ...] = ()
    voice: str | None = None
    force: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    add: str | None = None

    def arrange(self, item: MusicItem) -> MusicItem:
        """Return the piece as an item whose `missing` says what is left to fill.

        Raises
        ------
        CaesuraError
            If nothing is missing, or the piece has no such bars, steps or voice.
        """
        marked = bool(item.missing.any())
        if not (self.gaps or self.keep or self.voice or self.add or marked):
            raise CaesuraError(f"{item.name} has no gaps: specify what is missing.")
        steps = list(range(len(item.sequence)))
        if self.gaps or marked:
            steps = [step for gap in self.gaps for step in steps[self._steps(item, *gap)]]
        wishes = {"keep": self.keep, "force": self.force, "forbid": self.forbid}
        return arrange(item, steps, voice=self.voice, add=self.add, **wishes)

    def _steps(self, item: MusicItem, first: int, stop: int) -> slice:
        if self.unit == "bars":
            return item.steps_of_bars(first, stop)
        last = len(item.sequence) - 1
        for step in (first, stop - 1):
            if not 0 <= step <= last:
                raise CaesuraError(f"{item.name} has no step {step}; its steps are 0 to {last}.")
        return slice(first, stop)


def parse_keys(text: str) -> range:
    """Return keys, counted from 0, from pitches such as '60', 'C4', '60-84' or 'Bb3-F#5'."""
    first, dash, last = text.partition("-")
    ends = [_pitch(first, text), _pitch(last if dash else first, text)]
    if ends[1] < ends[0]:
        raise CaesuraError(
            f"The pitches '{text}' are in the wrong order: write the lower pitch first."
        )
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


def _kept(roll: Bool[np.ndarray, "n 88"], what: str) -> Bool[np.ndarray, "n 88"]:
    """The keys that stay; where nothing sounds there is no top, and nothing is kept of it."""
    if what in ("top", "bottom"):
        ordered = roll if what == "bottom" else roll[:, ::-1]
        # Up to and with the outermost note: none sounds before it.
        before = np.cumsum(ordered, axis=1) - ordered.astype(int)
        outer = (before == 0) & (ordered.any(axis=1, keepdims=True))
        return outer if what == "bottom" else outer[:, ::-1]
    return np.broadcast_to(_keys([what]), roll.shape)


def find_track(item: SongItem, voice: str) -> int:
    """By its name, or its number among those with notes, from 1."""
    matching = [part.track for part in item.parts if part.name.lower() == voice.lower()]
    if len(matching) == 1:
        return matching[0]
    if voice.isdecimal() and 1 <= int(voice) <= len(item.parts):
        return item.parts[int(voice) - 1].track
    names = [part.name for part in item.parts]
    known = ", ".join(f"{n} ({name})" if name else str(n) for n, name in enumerate(names, 1))
    raise CaesuraError(
        f"{item.song.name} has no single voice '{voice}'; its voices are {known or 'none'}."
    )
