"""Small scores in MusicXML, written by hand."""

DOCTYPE = (
    '<!DOCTYPE score-partwise PUBLIC "-//Recordare//DTD MusicXML 4.0 Partwise//EN" '
    '"http://www.musicxml.org/dtds/partwise.dtd">'
)


def note(
    pitch: str, duration: int, *, ties: tuple[str, ...] = (), chord: bool = False, more: str = ""
) -> str:
    """A note such as 'C4', 'F#3' or 'Bb5', or a rest: 'r'."""
    if pitch == "r":
        what = "<rest/>"
    else:
        alter = {"#": "<alter>1</alter>", "b": "<alter>-1</alter>"}.get(pitch[1:-1], "")
        what = f"<pitch><step>{pitch[0]}</step>{alter}<octave>{pitch[-1]}</octave></pitch>"
    tied = "".join(f'<tie type="{tie}"/>' for tie in ties)
    marks = "".join(f'<tied type="{tie}"/>' for tie in ties)
    notations = f"<notations>{marks}</notations>" if marks else ""
    start = "<note><chord/>" if chord else "<note>"
    voice, _, rest = more.partition("|")
    voice = voice or "<voice>1</voice>"
    return (
        f"      {start}{what}<duration>{duration}</duration>{tied}{voice}{notations}{rest}</note>\n"
    )


def score(parts: dict[str, list[str]], *, before: str = DOCTYPE) -> bytes:
    """A score from the measures of its parts, by the names of the parts."""
    listed = "".join(
        f'<score-part id="P{n}"><part-name>{name}</part-name></score-part>'
        for n, name in enumerate(parts, 1)
    )
    body = ""
    for n, measures in enumerate(parts.values(), 1):
        body += f'  <part id="P{n}">\n'
        for number, measure in enumerate(measures, 1):
            body += f'    <measure number="{number}">\n{measure}    </measure>\n'
        body += "  </part>\n"
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n{before}\n<score-partwise version="4.0">\n'
        f"  <part-list>{listed}</part-list>\n{body}</score-partwise>\n"
    ).encode()


def attributes(divisions: int, more: str = "") -> str:
    return (
        f"      <attributes><divisions>{divisions}</divisions><key><fifths>-1</fifths></key>"
        f"<time><beats>4</beats><beat-type>4</beat-type></time>{more}</attributes>\n"
    )


def small_score() -> bytes:
    """Two parts: a melody with words and ties, and a piano of two staves that counts finely."""
    lyric = "|<lyric><syllabic>single</syllabic><text>la &amp; la</text></lyric>"
    melody = [
        attributes(1)
        + "      <direction><direction-type><words>dolce</words></direction-type>"
        + '<offset>1</offset><sound tempo="90"/></direction>\n'
        + note("F4", 1, more=lyric)
        + note("G4", 1)
        + note("A4", 2, ties=("start",)),
        note("A4", 2, ties=("stop",)) + note("Bb4", 1) + note("C5", 1, ties=("start",)),
        note("C5", 4, ties=("stop",))
        + '      <barline location="right"><bar-style>light-heavy</bar-style></barline>\n',
        note("r", 4),
    ]
    one, five = "<voice>1</voice>|<staff>1</staff>", "<voice>5</voice>|<staff>2</staff>"
    back = "      <backup><duration>48</duration></backup>\n"
    grace = (
        "      <note><grace/><pitch><step>E</step><octave>4</octave></pitch>"
        "<voice>1</voice><staff>1</staff></note>\n"
    )
    chord = note("F4", 24, more=one) + note("A4", 24, chord=True, more=one)
    piano = [
        attributes(12, "<staves>2</staves>")
        + chord
        + "      <!-- kept -->\n"
        + chord
        + back
        + note("F2", 48, more=five),
        grace
        + chord
        + note("C4", 8, more=one) * 3
        + back
        + note("F2", 36, more=five)
        + note("r", 12, more=five),
        chord * 2
        + back
        + "      <forward><duration>24</duration><voice>5</voice></forward>\n"
        + note("C3", 24, more=five),
        note("r", 48, more=one),
    ]
    return score({"Song": melody, "Piano": piano})
