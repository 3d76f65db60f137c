"""A new track of a song, or a new part of a score: there is nothing in it yet."""

import re
from dataclasses import replace
from fractions import Fraction
from math import lcm
from xml.sax.saxutils import quoteattr

from caesura.kinds.music.midi import END_OF_TRACK, META, Event, Song
from caesura.kinds.music.musicxml import Measure
from caesura.kinds.music.score import TRACK_NAME, Score

NAME = "New"
SIGNATURES = re.compile(rb"<(key|time)\b.*?</\1\s*>", re.DOTALL)
CLEFS = {False: "<sign>G</sign><line>2</line>", True: "<sign>F</sign><line>4</line>"}


def add_track(song: Song) -> Song:
    """Return the song with an empty last track."""
    name = Event(0, bytes([META, TRACK_NAME, len(NAME)]) + NAME.encode())
    end = Event(song.end, END_OF_TRACK + b"\0")
    return replace(song, tracks=(*song.tracks, (name, end)), format=1)


def add_part(score: Score, is_low: bool) -> Score:
    """Return the score with a last part of rests, in the bass clef if it is low.

    It has the measures of the longest part, and the keys and times that are written there.
    """
    taken = {part.id for part in score.parts}
    identity = next(name for n in range(1, len(taken) + 2) if (name := f"P{n}") not in taken)
    divisions = lcm(*(measure.length.denominator for measure in score.measures))
    clef = f"<clef>{CLEFS[is_low]}</clef>".encode()
    body = b"".join(
        _measure(score.xml, measure, divisions, clef if number == 0 else b"")
        for number, measure in enumerate(score.measures)
    )
    listed = f'<score-part id="{identity}"><part-name>{NAME}</part-name></score-part>'
    new = b'<part id="%s">' % identity.encode() + body + b"</part>"
    list_stop, stop = score.list_stop, score.stop
    xml = score.xml[:stop] + new + score.xml[stop:]
    if list_stop is not None:
        xml = xml[:list_stop] + listed.encode() + xml[list_stop:]
    return Score(xml, score.archive, score.name)


def _measure(xml: bytes, measure: Measure, divisions: int, clef: bytes) -> bytes:
    """A rest as long as a measure, with what its attributes say of the key and the time."""
    inside = xml[measure.content_start : measure.content_stop]
    said = b"".join(found.group() for found in SIGNATURES.finditer(inside))
    if clef:
        said = f"<divisions>{divisions}</divisions>".encode() + said + clef
    attributes = b"<attributes>" + said + b"</attributes>" if said else b""
    duration = Fraction(measure.length * divisions)
    rest = f'<note><rest measure="yes"/><duration>{duration}</duration><voice>1</voice></note>'
    start = f"<measure number={quoteattr(measure.number)}>"
    return start.encode() + attributes + rest.encode() + b"</measure>"
