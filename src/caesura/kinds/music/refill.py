"""A song with other notes in its gaps, and every other event as it was.

A note's beginning belongs to the first of its steps and its end to the last. What belongs to a
missing step is taken out; what belongs to an observed one stays, with its tick and its bytes. New
events are put where the observed ones need them: so that every note ends, and none ends another.

Where keys are struck and held, there is one exception: a note that ends just where a gap begins
ends later, if its key is held there.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Shaped

from caesura.kinds.music.midi import NOTE_OFF, NOTE_ON, Event, Song
from caesura.kinds.music.notes import Grid, Lane, Note, Voice
from caesura.kinds.music.roll import LOWEST_KEY
from caesura.kinds.music.struck import HELD
from caesura.kinds.music.voices import NewNote, Voices
from caesura.sequence import runs

Keys = Bool[np.ndarray, "T 88"]
Roll = Shaped[np.ndarray, "T 88"]
FIRST, LAST = 0, 2  # where new events stand among those that are there, which have 1


class Edit:
    """What goes out of the tracks of a song, and what comes in."""

    def __init__(self, song: Song, grid: Grid):
        self.song, self.grid = song, grid
        self._out: list[set[int]] = [set() for _ in song.tracks]
        self._in: list[list[tuple[int, int, Event]]] = [[] for _ in song.tracks]

    def remove(self, voice: Voice, place: int) -> None:
        """Take an event out of the voice's track."""
        self._out[voice.track].add(place)

    def end(self, lane: Lane, tick: int) -> None:
        """End a note, before anything else happens at the tick."""
        data = bytes([NOTE_OFF | lane.voice.channel, LOWEST_KEY + lane.key, 64])
        self._in[lane.voice.track].append((tick, FIRST, Event(tick, data)))

    def strike(self, lane: Lane, tick: int, velocity: int) -> None:
        """Begin a note, after everything else has happened at the tick."""
        data = bytes([NOTE_ON | lane.voice.channel, LOWEST_KEY + lane.key, velocity])
        self._in[lane.voice.track].append((tick, LAST, Event(tick, data)))

    def done(self) -> Song:
        """The song with all this; a track ends later if its last new note does."""
        tracks = []
        for track, out, new in zip(self.song.tracks, self._out, self._in, strict=True):
            *old, end = track
            kept = [(e.tick, 1, e) for place, e in enumerate(old) if place not in out]
            events = [event for *_, event in sorted(kept + new, key=lambda entry: entry[:2])]
            last = max(end.tick, events[-1].tick) if events else end.tick
            tracks.append((*events, Event(last, end.data)))
        return replace(self.song, tracks=tuple(tracks))


class Space:
    """A lane once its missing events are out, and the room that is left there for new ones."""

    def __init__(
        self,
        lane: Lane,
        edit: Edit,
        missing: Bool[np.ndarray, " T"],
        prolonged: Collection[Note] = (),
    ):
        self.lane, self._edit, self._grid = lane, edit, edit.grid
        self._prolonged = prolonged
        self._ons = [note.on_tick for note in lane.notes if not missing[note.first]]
        gone = {stray for stray in lane.strays if missing[stray.step]}
        for note in prolonged:  # no other end may cut it off
            gone |= {s for s in lane.strays if s.tick >= note.off_tick and s.step < note.stop}
        ends = [stray.tick for stray in lane.strays if stray not in gone]
        stays = {note: note not in prolonged and not missing[note.stop - 1] for note in lane.notes}
        ends += [note.off_tick for note in lane.notes if stays[note]]
        self._ends = sorted(ends)
        for stray in gone:
            edit.remove(lane.voice, stray.off)
        for number, note in enumerate(lane.notes):
            if missing[note.first]:
                edit.remove(lane.voice, note.on)
            if note.off is not None and not stays[note]:
                edit.remove(lane.voice, note.off)
            ended_by = lane.notes[number + 1 : number + 2] if note.off is None else []
            if ended_by and missing[ended_by[0].first] and stays[note]:
                edit.end(lane, note.off_tick)

    def across(self, line: int) -> Note | None:
        """The note that sounds on both sides of a line; all before it have ended there."""
        note = last_before(self.lane, line)
        if note and note.stop == line and note in self._prolonged:
            return note
        return note if note and note.stop > line else None

    def end(self, line: int) -> None:
        """End a note at a line, or sooner if the lane's next note comes a little early."""
        tick = self._grid.tick(line)
        coming = bisect_left(self._ons, line, key=self._grid.line)
        self._edit.end(self.lane, min([tick, *self._ons[coming : coming + 1]]))

    def strike(self, line: int, velocity: int) -> None:
        """Begin a note at a line, or later if the lane's last note goes a little late."""
        tick = self._grid.tick(line)
        gone = bisect_right(self._ends, line, key=self._grid.line)
        self._edit.strike(self.lane, max([tick, *self._ends[max(gone - 1, 0) : gone]]), velocity)


def last_before(lane: Lane, line: int) -> Note | None:
    """Return the last note that begins before a line."""
    before = bisect_left(lane.notes, line, key=lambda note: note.first)
    return lane.notes[before - 1] if before else None


def refill(
    song: Song,
    grid: Grid,
    lanes: list[Lane],
    missing: Keys,
    values: Roll,
    *,
    struck: bool = False,
) -> Song:
    """Return the song that has `values` where `missing`.

    Parameters
    ----------
    song, grid
        The song and its steps.
    lanes
        The notes that may change: all, or those of one track, which then gets all new notes.
    missing
        The steps of each key whose notes are taken out.
    values
        What sounds there: 1 where a key is on; or with `struck`, 1 where it is held and 2 where it
        is struck.
    """
    edit = Edit(song, grid)
    voices = Voices(song, grid, lanes, missing)
    of_keys: dict[int, dict[Voice, Space]] = {}
    new: list[NewNote] = []
    for key in np.flatnonzero(missing.any(axis=0)).tolist():
        gone = missing[:, key]
        spans = runs(gone)
        held = [start for start, _ in spans if struck and values[start, key] == HELD]
        of_key = [lane for lane in lanes if lane.key == key]
        longer = [_prolonged(of_key, start) for start in held]
        spaces = {
            lane.voice: Space(
                lane, edit, gone, [one.note for one in longer if one and one.lane is lane]
            )
            for lane in of_key
        }
        for start, stop in spans:
            there = list(spaces.values())
            goes_on = any(space.across(start) for space in there)
            stretches = _stretches(values[start:stop, key], start, goes_on)
            for first, end in _fill_key(there, start, stop, stretches, voices):
                new.append(NewNote(first, end, key))
        of_keys[key] = spaces
    for (first, end, key), voice, velocity in voices.assign(new):
        if voice not in of_keys[key]:
            of_keys[key][voice] = Space(Lane(voice, key), edit, missing[:, key])
        of_keys[key][voice].strike(first, velocity)
        of_keys[key][voice].end(end)
    return edit.done()


class Prolonged(NamedTuple):
    """A note that ends later than it did."""

    lane: Lane
    note: Note


def _prolonged(lanes: list[Lane], start: int) -> Prolonged | None:
    """Return the last note of a key that ends at a line, unless another one sounds across it."""
    found = None
    for lane in lanes:
        note = last_before(lane, start)
        if note and note.stop > start:
            return None
        if note and note.stop == start and (found is None or note.on_tick > found.note.on_tick):
            found = Prolonged(lane, note)
    return found


def _stretches(
    values: Shaped[np.ndarray, " n"], start: int, goes_on: bool
) -> list[tuple[int, int]]:
    """Return from where to where notes sound in a gap, one after the other.

    The first one is of what goes on from before the gap; it may be empty.
    """
    stretches = [(start, start)]
    for step, value in enumerate(values.tolist(), start):
        first, end = stretches[-1]
        if value == HELD and end == step and (first < step or (goes_on and step == start)):
            stretches[-1] = first, step + 1
        elif value:
            stretches.append((step, step + 1))
    return stretches


def _fill_key(
    spaces: list[Space], start: int, stop: int, stretches: list[tuple[int, int]], voices: Voices
) -> list[tuple[int, int]]:
    """Fit the notes across a gap's edges to the stretches where the key is on; give the others.

    A note from before goes on in the first stretch, and is cut off after it. A note that sounds
    after the gap begins where the key was last struck in it, or else at its end.
    """
    coming = {space for space in spaces if space.across(start)}
    leaving = {space for space in spaces if space.across(stop)}
    begin, new = stop, []
    for number, (first, end) in enumerate(stretches):
        held = coming if number == 0 else set()
        kept = leaving if end == stop else set()
        for space in spaces:
            if space in held - kept:
                space.end(end)
            if space in held:
                voices.take(space.lane.voice, first, end)
        if kept and number:
            begin = first
        elif number:
            new.append((first, end))
    through = coming if stretches == [(start, stop)] else set()
    for space in spaces:
        note = space.across(stop)
        if note and space not in through:
            space.strike(begin, note.velocity)
            voices.take(space.lane.voice, begin, stop)
    return new
