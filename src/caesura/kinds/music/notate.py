"""Notes as MusicXML writes them: how long, how spelled, and tied to which others."""

from fractions import Fraction
from math import ceil
from typing import NamedTuple

from caesura.kinds.music.musicxml import SEMITONES

COLOUR = "#1A6595"  # of notes that a fill has written
TYPES = {
    "breve": Fraction(8),
    "whole": Fraction(4),
    "half": Fraction(2),
    "quarter": Fraction(1),
    "eighth": Fraction(1, 2),
    "16th": Fraction(1, 4),
    "32nd": Fraction(1, 8),
    "64th": Fraction(1, 16),
    "128th": Fraction(1, 32),
}
FIFTHS = "FCGDAEB"


class Value(NamedTuple):
    """How a length is written: a type, its dots, and whether it is one of a triplet."""

    type: str
    dots: int
    triplet: bool


def _values() -> dict[Fraction, Value]:
    values: dict[Fraction, Value] = {}
    for triplet in (False, True):
        for dots in (0, 1, 2):
            for name, length in TYPES.items():
                whole = length * (2 - Fraction(1, 2**dots))
                values.setdefault(
                    whole * Fraction(2, 3) if triplet else whole, Value(name, dots, triplet)
                )
    return values


VALUES = _values()
PLAIN = sorted((length for length, value in VALUES.items() if not value.triplet), reverse=True)


class Tone(NamedTuple):
    """A key that sounds in a stretch of time."""

    pitch: int  # the MIDI number that sounds
    is_new: bool
    from_before: bool  # tied to a note before this stretch
    goes_on: bool  # tied to a note after it


def split(onset: Fraction, length: Fraction) -> list[Fraction]:
    """Return lengths that can be written, one after the other; what cannot be is left whole.

    Examples
    --------
    >>> [str(part) for part in split(Fraction(1, 2), Fraction(5, 2))]
    ['1/2', '2']
    """
    parts = []
    while length not in VALUES and length > 0:
        to_beat = ceil(onset) - onset
        shorter = [value for value in PLAIN if value < length]
        if 0 < to_beat < length and to_beat in VALUES:
            part = to_beat
        elif shorter and (length - shorter[0]).denominator <= length.denominator <= 96:
            part = shorter[0]
        else:
            break
        parts.append(part)
        onset, length = onset + part, length - part
    return [*parts, length] if length else parts


def spell(pitch: int, fifths: int) -> tuple[str, int, int]:
    """Return the letter, the alteration and the octave of a pitch in a key.

    Examples
    --------
    >>> spell(61, 2), spell(61, -4), spell(71, 0)
    (('C', 1, 4), ('D', -1, 4), ('B', 0, 4))
    """
    low = fifths - 3  # of the twelve fifths that belong to the key: E flat to G sharp in C major
    place = low + (7 * pitch - low) % 12
    letter, alter = FIFTHS[(place + 1) % 7], (place + 1) // 7
    return letter, alter, (pitch - alter - SEMITONES[letter]) // 12 - 1


def note_xml(
    tone: Tone | None,
    fifths: int,
    transposition: int,
    length: Fraction,
    divisions: Fraction,
    voice: str,
    staff: str,
    is_chord: bool = False,
) -> str:
    """Return a `<note>`; without a tone it is a rest.

    Parameters
    ----------
    tone
        What sounds.
    fifths, transposition
        The key signature, and the semitones from what is written to what sounds.
    length, divisions
        In quarter notes, and in how many divisions each of them is counted.
    voice, staff
        Whose note it is, as XML; a part of one staff does not name it.
    is_chord
        Whether it begins together with the note before it.
    """
    colour = f' color="{COLOUR}"' if tone and tone.is_new else ""
    parts = [f"<note{colour}>", "<chord/>" if is_chord else ""]
    ties = []
    if tone is None:
        parts.append("<rest/>")
    else:
        letter, alter, octave = spell(tone.pitch - transposition, fifths)
        altered = f"<alter>{alter}</alter>" if alter else ""
        parts.append(f"<pitch><step>{letter}</step>{altered}<octave>{octave}</octave></pitch>")
        ties = ["stop"] * tone.from_before + ["start"] * tone.goes_on
    parts.append(duration_xml(length, divisions))
    parts += [f'<tie type="{tie}"/>' for tie in ties]
    parts.append(f"<voice>{voice}</voice>")
    if length in VALUES:
        value = VALUES[length]
        parts.append(f"<type>{value.type}</type>" + "<dot/>" * value.dots)
        if value.triplet:
            parts.append(
                "<time-modification><actual-notes>3</actual-notes>"
                "<normal-notes>2</normal-notes></time-modification>"
            )
    parts.append(f"<staff>{staff}</staff>" if staff else "")
    if ties:
        tied = "".join(f'<tied type="{tie}"/>' for tie in ties)
        parts.append(f"<notations>{tied}</notations>")
    return "".join(parts) + "</note>"


def move_xml(by: Fraction, divisions: Fraction) -> list[bytes]:
    """Return a `<backup>` or `<forward>` by some time, or nothing."""
    name = "forward" if by > 0 else "backup"
    return [f"<{name}>{duration_xml(abs(by), divisions)}</{name}>".encode()] if by else []


def duration_xml(length: Fraction, divisions: Fraction) -> str:
    """Return a `<duration>`; `length` is in quarter notes."""
    return f"<duration>{decimal(length * divisions)}</duration>"


def decimal(number: Fraction) -> str:
    """Return a number without a point where it has no fraction."""
    return str(number.numerator) if number.denominator == 1 else f"{float(number):.12g}"
