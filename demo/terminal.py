"""What the demo prints in the terminal."""

from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from demo.bars import Refilled
from demo.carbon import Weeks
from demo.chance import chance, percent
from demo.restoration import CONTESTANTS, Candidate, Reading, Restoration
from demo.tune import TITLE

NAMES = ("C", "C♯", "D", "E♭", "E", "F", "F♯", "G", "G♯", "A", "B♭", "B")
LEVELS = {0.8: "bold green", 0.4: "bold yellow", 0.0: "bold red"}  # from which confidence on


def greet(console: Console) -> None:
    told = Text("\nFilled letters are ")
    for sure, word in zip(LEVELS, ("sure", "likely", "a guess"), strict=True):
        told.append(word, _style(sure)).append(", " if sure else ".")
    console.print(told)


def show(console: Console, restoration: Restoration) -> None:
    """A text with its gaps, its best fills, and the characters that are possible at each place."""
    _head(console, restoration.title, restoration.damaged)
    restored = Text(restoration.fill.best)
    for letter in restoration.letters:
        restored.stylize(_style(letter.chosen.probability), letter.place, letter.place + 1)
    console.print(restored)
    for reading in restoration.readings:
        console.print(_reading(reading))
    places = Table.grid(padding=(0, 2))
    places.add_column()
    columns = [(letter.chosen, *letter.others) for letter in restoration.letters]
    for row, candidates in enumerate(zip(*columns, strict=True)):
        cells = [
            _candidate(one, _style(one.probability) if not row else "dim") for one in candidates
        ]
        places.add_row("" if row else "each:", *cells)
    console.print(Padding(places, (1, 0, 0, 2)))


def show_contest(console: Console, contest: list[Restoration]) -> None:
    """The same text by several strategies."""
    _head(console, "What follows matters", contest[0].damaged)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("strategy", "looks at", "best guess", "its chance", "the truth's"):
        table.add_column(name)
    for one in contest:
        chances = chance(one.best.probability), chance(one.truth_probability)
        table.add_row(one.title, CONTESTANTS[one.title], _words(one.best), *chances)
    console.print(table)


def show_bars(console: Console, refilled: Refilled) -> None:
    """The highest notes in the gap: as they were, and as they were filled."""
    first, stop = refilled.bars
    _head(console, TITLE, f"bars {first} and {stop - 1} erased")
    for name in refilled.songs:
        console.print(Text(f"  {name:10}").append(_melody(refilled, name)))


def show_weeks(console: Console, weeks: Weeks) -> None:
    """What was missing in the series, and how wide the intervals of the fills are."""
    day, length = weeks.longest
    told = f"{weeks.missing} of {len(weeks.filled.missing)} weeks were never measured"
    _head(console, "Carbon dioxide at Mauna Loa", told)
    console.print(f"  the longest gap: {length} weeks from {day} on")
    console.print(f"  the 90 % intervals are at most {weeks.width:.1f} ppm wide")


def farewell(console: Console, folder: Path, seconds: float) -> None:
    console.print(f"\nDone in {seconds:.0f} seconds. Open the page with pictures and sound:")
    console.print(f"  [bold]{folder / 'index.html'}[/]", soft_wrap=True)
    console.print("Or listen to the tune with any player, filled and as it was:")
    for name in ("filled-1", "original"):
        console.print(f"  [bold]{folder / name}.wav[/]", soft_wrap=True)
    console.print()


def _head(console: Console, title: str, told: str) -> None:
    console.print("", Text(title, "bold underline"), Text(told, "dim"), sep="\n")


def _reading(reading: Reading) -> Text:
    told = Text(f"  {chance(reading.probability):>16}  ").append_text(_words(reading))
    return told.append("  ✓ true", "green") if reading.true else told


def _words(reading: Reading) -> Text:
    words = (Text(_visible(word), "green" if reading.true else "") for word in reading.words)
    return Text(" … ").join(words)


def _candidate(candidate: Candidate, style: str) -> Text:
    return Text(f"{_visible(candidate.character)} {percent(candidate.probability):>4}", style)


def _melody(refilled: Refilled, name: str) -> str:
    """The highest note at each eighth: its name if it is new there, a dash while it is held."""
    notes = refilled.notes(name)
    told, eighth = [], refilled.steps_per_beat // 2
    for step in range(refilled.gap.start, refilled.gap.stop, eighth):
        top = max((n for n in notes if n.first <= step < n.stop), default=None)
        begins = top is not None and top.first > step - eighth
        told.append("·" if top is None else NAMES[top.key % 12] if begins else "-")
    return " ".join(f"{word:2}" for word in told)


def _visible(word: str) -> str:
    return word.replace(" ", "␣").replace("\n", "↵")


def _style(confidence: float) -> str:
    return next(style for least, style in LEVELS.items() if confidence >= least)
