"""A score with other notes in its gaps, and every other byte as it was.

What changes is found by comparing how the score sounds with how it sounds once it is filled. Where
they differ, the notes and rests of that voice are written anew. A note that has stayed keeps its
bytes, except that it may lose or get a tie. If a part does not divide a quarter note as finely as
the fill does, all its durations are multiplied by one number.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import NamedTuple
from xml.sax.saxutils import escape

from caesura.kinds.music.musicxml import Group, Mark, Measure, Part, after_tag
from caesura.kinds.music.notate import Tone, decimal, move_xml, note_xml, split
from caesura.kinds.music.roll import KEYS, LOWEST_KEY
from caesura.kinds.music.score import Score

Edit = tuple[int, int, bytes]  # the bytes of the file that go, and those that come
# Whether a pitch was missing anywhere from one time to another.
IsMissing = Callable[[int, Fraction, Fraction], bool]


class Sound(NamedTuple):
    """A note of one voice, in quarter notes from the start of the score."""

    pitch: int
    start: Fraction
    stop: Fraction

    def overlaps(self, start: Fraction, stop: Fraction) -> bool:
        """Whether it sounds between two times."""
        return self.start < stop and self.stop > start


def rescore(
    score: Score,
    before: list[set[Sound]],
    after: list[set[Sound]],
    is_missing: IsMissing,
    steps_per_beat: int,
) -> Score:
    """Return a score that sounds otherwise.

    Parameters
    ----------
    score
        The score as it was.
    before, after
        The notes of each stream of the score, as it has them and as it shall have them.
    is_missing
        Says what was missing: new notes there get a colour, and grace notes there are taken out.
    steps_per_beat
        How finely new notes divide a quarter note.
    """
    changed = [old ^ new for old, new in zip(before, after, strict=True)]
    touched = {stream.part for stream, sounds in zip(score.streams, changed, strict=True) if sounds}
    edits = [edit for part in touched for edit in _finer(score.parts[part], steps_per_beat)]
    if edits:
        score = Score(_edited(score.xml, edits), score.archive, score.name)
        edits = []
    for stream, old, new, sounds in zip(score.streams, before, after, changed, strict=True):
        for measure in score.parts[stream.part].measures if sounds else []:
            inside = [
                s for s in sounds if s.overlaps(measure.start, measure.start + measure.length)
            ]
            if inside:
                edits += Rewriting(score.xml, stream.voice, measure, old, new, is_missing).edits(
                    inside
                )
    return Score(_edited(score.xml, edits), score.archive, score.name)


def _finer(part: Part, steps_per_beat: int) -> Iterator[Edit]:
    """Multiply the numbers of a part so that it can divide a quarter note into steps."""
    divisions = {measure.divisions for measure in part.measures}
    divisions |= {group.divisions for measure in part.measures for group in measure.groups}
    factor = lcm(*((each / steps_per_beat).denominator for each in divisions))
    if factor == 1:
        return
    if not any(name == "divisions" for name, *_ in part.numbers):
        at = part.measures[0].content_start
        yield at, at, f"<attributes><divisions>{factor}</divisions></attributes>".encode()
    for _, start, stop, number in part.numbers:
        yield start, stop, decimal(number * factor).encode()


class Rewriting:
    """One voice in one measure, to be written anew where it has changed."""

    def __init__(
        self,
        xml: bytes,
        voice: str,
        measure: Measure,
        old: set[Sound],
        new: set[Sound],
        is_missing: IsMissing,
    ) -> None:
        self.xml, self.voice, self.bar, self.is_missing = xml, voice, measure, is_missing
        stop = measure.start + measure.length
        self.old = old
        self.new = sorted(sound for sound in new if sound.overlaps(measure.start, stop))
        self.groups = [group for group in measure.groups if group.voice == voice]

    def edits(self, changed: list[Sound]) -> Iterator[Edit]:
        """Yield what changes in the file."""
        run: list[Group] = []
        for group in self.groups:
            start, stop = self.bar.start + group.onset, self.bar.start + group.stop
            if not group.length:
                yield from (
                    self._without(mark) for mark in group.marks if self._is_gone(mark, start)
                )
            elif any(sound.overlaps(start, stop) for sound in changed):
                if run and not self._follows(run[-1], group):
                    yield from self._rewrite(run)
                    run = []
                run.append(group)
        if run:
            yield from self._rewrite(run)
        yield from self._added()

    def _is_gone(self, grace: Mark, at: Fraction) -> bool:
        return grace.pitch is not None and self.is_missing(grace.pitch, at, at)

    def _follows(self, group: Group, other: Group) -> bool:
        """Whether nothing stands between two groups, neither in time nor in the file."""
        between = self.xml[group.marks[-1].stop : other.marks[0].start]
        return group.stop == other.onset and group.staff == other.staff and not between.strip()

    def _rewrite(self, groups: list[Group]) -> Iterator[Edit]:
        """Write groups that follow each other anew."""
        parts: list[bytes] = []
        for start, stop in pairwise(self._cuts(groups)):
            group = next(group for group in groups if group.onset <= start < group.stop)
            if (group.onset, group.stop) == (start, stop):
                parts += self._same_length(group)
            else:
                parts += self._written(start, stop, group.divisions, group.staff)
        end = groups[-1].stop
        for group in groups:  # what no piano can play stays as it is, beside the rest
            if unseen := [mark for mark in group.marks if not _is_seen(mark)]:
                parts += move_xml(group.onset - end, group.divisions)
                parts += [self._kept(mark, n > 0) for n, mark in enumerate(unseen)]
                parts += move_xml(end - group.stop, group.divisions)
        first, *others = [mark for group in groups for mark in group.marks]
        yield first.start, first.stop, self._indent(first).join(parts)
        yield from (self._without(mark) for mark in others)

    def _cuts(self, groups: list[Group]) -> list[Fraction]:
        """The times at which something begins or ends, from the start of the measure.

        Old notes are also divided where the score divides them.
        """
        first, last = groups[0].onset, groups[-1].stop
        cuts = {first, last}
        for sound in self.new:
            cuts |= {sound.start - self.bar.start, sound.stop - self.bar.start}
            if sound in self.old:
                start, stop = sound.start - self.bar.start, sound.stop - self.bar.start
                cuts |= {group.onset for group in groups if start < group.onset < stop}
        return sorted(time for time in cuts if first <= time <= last)

    def _same_length(self, group: Group) -> list[bytes]:
        """A chord or a rest that has the length of a group; notes that stay keep their bytes."""
        tones = self._tones(group.onset, group.stop)
        rests = [mark for mark in group.marks if "rest" in mark.flags]
        if not tones:
            return [self._kept(rests[0], False)] if rests else self._rest(group)
        seen = {mark.pitch: mark for mark in group.marks if _is_seen(mark)}
        parts: list[bytes] = []
        for tone in tones:
            mark = seen.get(tone.pitch)
            if mark is not None and mark.length == group.length:
                ties = {"stop": tone.from_before, "start": tone.goes_on}
                parts.append(self._kept(mark, bool(parts), ties))
            else:
                parts.append(self._note(tone, group.length, group.divisions, group.staff, parts))
        return parts

    def _rest(self, group: Group) -> list[bytes]:
        return self._written(group.onset, group.stop, group.divisions, group.staff)

    def _written(
        self, start: Fraction, stop: Fraction, divisions: Fraction, staff: str
    ) -> list[bytes]:
        """What sounds in a stretch of time, in lengths that can be written."""
        written: list[bytes] = []
        for length in split(start, stop - start):
            chord: list[bytes] = []
            tones: list[Tone | None] = [*self._tones(start, start + length)]
            for tone in tones or [None]:
                chord.append(self._note(tone, length, divisions, staff, chord))
            written += chord
            start += length
        return written

    def _tones(self, start: Fraction, stop: Fraction) -> list[Tone]:
        """What sounds in a stretch of the measure, from low to high."""
        begin, end = self.bar.start + start, self.bar.start + stop
        return [
            Tone(
                sound.pitch,
                self.is_missing(sound.pitch, begin, end),
                sound.start < begin,
                sound.stop > end,
            )
            for sound in self.new
            if sound.overlaps(begin, end)
        ]

    def _note(
        self,
        tone: Tone | None,
        length: Fraction,
        divisions: Fraction,
        staff: str,
        chord: list[bytes],
    ) -> bytes:
        return note_xml(
            tone,
            self.bar.fifths,
            self.bar.transposition,
            length,
            divisions,
            escape(self.voice),
            escape(staff),
            is_chord=bool(chord),
        ).encode()

    def _added(self) -> Iterator[Edit]:
        """Notes at times at which the voice has nothing in the file, not even a rest."""
        covered = sorted((group.onset, group.stop) for group in self.groups if group.length)
        free, at = [], Fraction(0)
        for start, stop in [*covered, (self.bar.length, self.bar.length)]:
            if start > at:
                free.append((at, start))
            at = max(at, stop)
        parts: list[bytes] = []
        at, divisions = self.bar.cursor, self.bar.divisions
        staff = self.groups[0].staff if self.groups else ""
        for start, stop in free:
            times = [sound.start - self.bar.start for sound in self.new]
            times += [sound.stop - self.bar.start for sound in self.new]
            cuts = sorted({start, stop, *(time for time in times if start < time < stop)})
            for first, last in pairwise(cuts):
                if self._tones(first, last):
                    parts += move_xml(first - at, divisions)
                    parts += self._written(first, last, divisions, staff)
                    at = last
        if parts:
            parts += move_xml(self.bar.cursor - at, divisions)
            place = self.bar.content_stop
            yield place, place, b"\n" + b"\n".join(parts)

    def _kept(self, mark: Mark, is_chord: bool, ties: dict[str, bool] | None = None) -> bytes:
        """The bytes of a note, as the first or another one of a chord, and with other ties."""
        edits: list[Edit] = []
        if mark.chord and not is_chord:
            edits.append((*mark.chord, b""))
        elif is_chord and not mark.chord:
            at = after_tag(self.xml, mark.start)
            edits.append((at, at, b"<chord/>"))
        for kind, start, stop in mark.ties:
            if ties is not None and not ties.get(kind, True):
                edits.append((start, stop, b""))
        for kind, is_tied in (ties or {}).items():
            if is_tied and not mark.is_tied(kind):
                tied = f'<notations><tied type="{kind}"/></notations>'
                edits.append((mark.tie_at, mark.tie_at, f'<tie type="{kind}"/>'.encode()))
                edits.append((mark.tied_at, mark.tied_at, tied.encode()))
        return _edited(self.xml, edits, mark.start, mark.stop)

    def _without(self, mark: Mark) -> Edit:
        """Take a note out, with the blanks before it."""
        return mark.start - len(self._indent(mark)), mark.stop, b""

    def _indent(self, mark: Mark) -> bytes:
        """The blanks before a note."""
        before = self.xml[max(mark.start - 200, 0) : mark.start]
        return before[len(before.rstrip()) :]


def _is_seen(mark: Mark) -> bool:
    """Whether a note is one of a piano, or a rest: both can be written anew."""
    if "rest" in mark.flags:
        return True
    is_key = mark.pitch is not None and LOWEST_KEY <= mark.pitch < LOWEST_KEY + KEYS
    return is_key and "cue" not in mark.flags


def _edited(xml: bytes, edits: list[Edit], start: int = 0, stop: int | None = None) -> bytes:
    """A part of the file with all edits, which do not overlap."""
    parts, at = [], start
    for first, last, new in sorted(edits, key=lambda edit: edit[:2]):
        parts += [xml[at:first], new]
        at = last
    return b"".join([*parts, xml[at:stop]])
