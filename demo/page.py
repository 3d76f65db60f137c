"""The page of the demo: one file that loads nothing from other servers."""

from html import escape
from pathlib import Path
from string import Template

import caesura
from demo.bars import Refilled
from demo.carbon import Weeks
from demo.chance import chance, percent
from demo.restoration import CONTESTANTS, Letter, Reading, Restoration
from demo.rolls import BAR, draw_roll
from demo.tune import EIGHTHS_PER_BAR, SECONDS_PER_EIGHTH, TITLE

TEMPLATE = Path(__file__).parent / "page.html"


def write_page(
    restorations: list[Restoration],
    contest: list[Restoration],
    refilled: Refilled,
    weeks: Weeks,
) -> str:
    """The page as HTML."""
    first, stop = refilled.bars
    seconds_per_bar = EIGHTHS_PER_BAR * SECONDS_PER_EIGHTH
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        texts="\n".join(map(_restoration, restorations)),
        contest="\n".join(map(_contestant, contest)),
        tune=escape(TITLE),
        bars=f"{first} and {stop - 1}",
        rolls=_figures(refilled),
        weeks=len(weeks.filled.missing),
        missing=weeks.missing,
        longest=weeks.longest[1],
        width=f"{weeks.width:.1f}",
        version=caesura.__version__,
        bar=BAR,
        seconds_per_bar=seconds_per_bar,
        start=seconds_per_bar * refilled.shown.start / refilled.steps_per_bar,
    )


def _restoration(one: Restoration) -> str:
    readings = "\n".join(map(_reading, one.readings))
    letters = "\n".join(map(_letter, one.letters))
    return (
        f"<article>\n<h3>{escape(one.title)}</h3>\n<p class='text'>{_text(one)}</p>\n"
        f"<div class='columns'>\n<ol class='readings'>\n{readings}\n</ol>\n"
        f"<div class='letters'>\n{letters}\n</div>\n</div>\n</article>"
    )


def _text(one: Restoration) -> str:
    """The restored text, the background of each new character shows how sure the model is."""
    letters = {letter.place: letter for letter in one.letters}
    parts, at = [], 0
    for start, stop in one.gaps:
        gap = "".join(_shaded(letters[place]) for place in range(start, stop))
        parts += [escape(one.truth[at:start]), f"<span class='gap'>{gap}</span>"]
        at = stop
    return "".join(parts) + escape(one.truth[at:])


def _shaded(letter: Letter) -> str:
    character, probability = letter.chosen
    wrong = "" if character == letter.truth else " wrong"
    told = ", ".join(f"{_visible(c)} {chance(p)}" for c, p in (letter.chosen, *letter.others))
    return (
        f"<span class='sure{wrong}' style='--p:{probability:.4f}' title='{escape(told)}'>"
        f"{escape(character)}</span>"
    )


def _reading(reading: Reading) -> str:
    truth = " <span class='tag'>✓ true</span>" if reading.true else ""
    return (
        f"<li style='--p:{reading.probability:.4f}'><span>{_words(reading)}{truth}</span>"
        f"<span>{chance(reading.probability)}</span></li>"
    )


def _words(reading: Reading) -> str:
    return " … ".join(f"<code>{_visible(word)}</code>" for word in reading.words)


def _letter(letter: Letter) -> str:
    character, probability = letter.chosen
    others = "".join(f"<i>{_visible(c)} {percent(p)}</i>" for c, p in letter.others)
    return (
        f"<div><span class='sure' style='--p:{probability:.4f}'><b>{_visible(character)}</b>"
        f"{percent(probability)}</span>{others}</div>"
    )


def _visible(word: str) -> str:
    return escape(word.replace(" ", "␣").replace("\n", "↵"))


def _contestant(one: Restoration) -> str:
    return (
        f"<div><p><code>{one.title}</code> looks at {CONTESTANTS[one.title]}</p>"
        f"<p>{_text(one)}</p><p>the truth: {chance(one.truth_probability)}</p></div>"
    )


def _figures(refilled: Refilled) -> str:
    """The song before, without the bars, and with others in their place."""
    told = {
        "original": ("As it was", "for comparison"),
        "erased": ("Erased", "with the notes that the model expects"),
        "filled-1": ("Filled", "the best"),
        "filled-2": ("Filled again", "the second"),
        "filled-3": ("And again", "the third"),
    }
    return "\n".join(_figure(refilled, name, *told[name]) for name in refilled.songs)


def _figure(refilled: Refilled, name: str, title: str, more: str) -> str:
    files = f"<a href='{name}.mid' download>MIDI</a> <a href='{name}.wav' download>WAV</a>"
    return (
        f"<figure data-sound='{name}.wav'>\n"
        f"<figcaption><button aria-label='play: {title}'></button>"
        f"<span>{title}<small>{more}</small></span>{files}</figcaption>\n"
        f"{draw_roll(refilled, name)}\n</figure>"
    )
