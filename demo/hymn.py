"""The Old Hundredth, a psalm tune of 1551 by Loys Bourgeois, in the public domain; our own setting.

python -m demo.hymn > src/caesura/web/static/old-hundredth.musicxml
"""

import re
import sys

TITLE = "Old Hundredth"
TEMPO = 84  # quarter notes in a minute

# A quarter note is a name and an octave: C4 is the middle C. "-" makes an eighth of it, and "="
# a half. The upbeat is bar 0.
PARTS = {
    "Soprano": """
G4 | G4 F#4 E4 D4 | G4 A4 B4 B4 | B4 B4 A4 G4 | C5 B4 A4 G4
   | A4 B4 A4 G4 | E4 F#4 G4 D4 | B4 G4 A4 C5 | B4 A4 G4=""",
    "Alto": """
D4 | D4 D4 B3 B3 | B3 D4 D4 D4 | E4 D4 D4 B3 | E4 D4 D4 D4
   | D4 D4 D4 E4 | C4 C4 B3 B3 | D4 B3 D4 D4 | D4 D4- C4- B3=""",
    "Tenor": """
B3 | B3 A3 G3 F#3 | G3 F#3 G3 G3 | G3 G3 F#3 G3 | G3 G3 F#3 G3
   | F#3 G3 A3 B3 | A3 A3 G3 G3 | G3 G3 F#3 A3 | G3 F#3 G3=""",
    "Bass": """
G3 | G3 D3 E3 B2 | E3 D3 G2 G3 | E3 G3 D3 E3 | C3 G2 D3 B2
   | D3 G3 F#3 E3 | A2 D3 G2 G2 | G3- F#3- E3 D3 F#3 | G3 D3 G2=""",
}
CLEFS = {"Soprano": ("G", 2, 0), "Alto": ("G", 2, 0), "Tenor": ("G", 2, -1), "Bass": ("F", 4, 0)}
LENGTHS = {"": (2, "quarter"), "-": (1, "eighth"), "=": (4, "half")}  # in eighths


def score() -> str:
    """The hymn as MusicXML: four parts of nine bars, the first of which is an upbeat."""
    listed, written = [], []
    for number, (name, notes) in enumerate(PARTS.items(), 1):
        listed.append(f'<score-part id="P{number}"><part-name>{name}</part-name></score-part>')
        bars = [_bar(place, bar.split(), name) for place, bar in enumerate(notes.split("|"))]
        written.append(f'<part id="P{number}">\n{"".join(bars)}</part>\n')
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<!DOCTYPE score-partwise PUBLIC "-//Recordare//DTD MusicXML 4.0 Partwise//EN" '
        '"http://www.musicxml.org/dtds/partwise.dtd">\n'
        '<score-partwise version="4.0">\n'
        f"<work><work-title>{TITLE}</work-title></work>\n"
        f"<part-list>{''.join(listed)}</part-list>\n{''.join(written)}</score-partwise>\n"
    )


def _bar(number: int, words: list[str], part: str) -> str:
    start = "" if number else _attributes(part)
    notes = "".join(map(_note, words))
    upbeat = "" if number else ' implicit="yes"'
    return f'<measure number="{number}"{upbeat}>\n{start}{notes}</measure>\n'


def _attributes(part: str) -> str:
    sign, line, octave = CLEFS[part]
    change = f"<clef-octave-change>{octave}</clef-octave-change>" if octave else ""
    tempo = (
        "<direction><direction-type><metronome><beat-unit>quarter</beat-unit>"
        f"<per-minute>{TEMPO}</per-minute></metronome></direction-type>"
        f'<sound tempo="{TEMPO}"/></direction>\n'
    )
    return (
        "<attributes><divisions>2</divisions><key><fifths>1</fifths></key>"
        "<time><beats>4</beats><beat-type>4</beat-type></time>"
        f"<clef><sign>{sign}</sign><line>{line}</line>{change}</clef></attributes>\n"
        f"{tempo if part == 'Soprano' else ''}"
    )


def _note(word: str) -> str:
    found = re.fullmatch(r"([A-G])(#?)(\d)([-=]?)", word)
    assert found, word
    step, sharp, octave, length = found.groups()
    duration, kind = LENGTHS[length]
    alter = "<alter>1</alter>" if sharp else ""
    return (
        f"<note><pitch><step>{step}</step>{alter}<octave>{octave}</octave></pitch>"
        f"<duration>{duration}</duration><voice>1</voice><type>{kind}</type></note>\n"
    )


if __name__ == "__main__":
    sys.stdout.write(score())
