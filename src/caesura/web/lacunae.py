"""What clients are told of lacunae, and the filled texts that they download."""

from collections.abc import Set
from dataclasses import replace
from typing import Any

from caesura.errors import CaesuraError
from caesura.filler import Fill
from caesura.kinds.base import Item
from caesura.kinds.text import TextItem
from caesura.kinds.text.document import Run
from caesura.kinds.text.edition import EditionItem, EpiDocItem
from caesura.kinds.text.normalise import with_final_sigmas, words_of
from caesura.kinds.text.notation import ANY
from caesura.sequence import Span
from caesura.web.editions import begins_word, restore, stretches
from caesura.web.schemas import EditionQuestion, FillQuestion, Lacuna
from caesura.web.shown import as_leiden, as_plain, pieces


def view_lacunae(item: EditionItem) -> dict[str, Any]:
    """Return what a page needs to draw a text with lacunae: their boxes in the running text."""
    shown = [
        {"text": one} if isinstance(one, str) else {"gap": one.number, "further": one.further}
        for one in pieces(item)
    ]
    return {
        "format": "epidoc" if isinstance(item, EpiDocItem) else "leiden",
        "pieces": shown,
        "gaps": [
            {
                "marks": stretches(item, run),
                "shortest": run.gap.shortest,
                "longest": run.gap.longest,
                "stated": (run.gap.shortest, run.gap.longest) != ANY,
            }
            for run in item.document.runs
        ],
    }


def numbered(asked: FillQuestion) -> dict[str, Any]:
    """Return the patterns and readings of a question by the numbers of the gaps that are left."""
    accepted = {one.gap for one in asked.accepted}
    numbers = [one.gap for one in asked.patterns] + [one.gap for one in asked.readings]
    if taken := accepted & set(numbers):
        raise CaesuraError(f"The lacuna {min(taken)} has a reading that is accepted already.")
    patterns = {_left(one.gap, accepted): one.pattern for one in asked.patterns}
    readings: dict[int, list[str]] = {}
    for reading in asked.readings:
        readings.setdefault(_left(reading.gap, accepted), []).append(reading.part)
    return {"patterns": patterns or None, "readings": readings or None}


def _left(number: int, accepted: Set[int]) -> int:
    return number - sum(other < number for other in accepted)


def tell_lacunae(
    fill: Fill, gaps: list[dict[str, Any]], item: Item, accepted: Set[int]
) -> list[Lacuna]:
    """Return the lacunae of a filled text; their readings get blanks and final letters.

    Parameters
    ----------
    fill
        The fill.
    gaps
        What it says of each gap; the readings in it are changed.
    item
        The text as it was sent.
    accepted
        The numbers of lacunae that have a reading.
    """
    if not isinstance(item, EditionItem):
        return []
    runs = [(n, run) for n, run in enumerate(item.document.runs) if n not in accepted]
    if len(runs) != len(gaps):  # since more is missing than the text itself marks
        return []
    found = []
    for place, ((number, run), gap) in enumerate(zip(runs, gaps, strict=True)):
        new = _new_words(fill, place)
        for one in gap["candidates"]:
            one["part"] = _written(item, run, one["part"], one["part"] in new)
        part = fill.candidates[0].parts[place]
        marks = [(span.start, span.stop) for span in stretches(item, run)]
        part = _written(item, run, part, part in new)
        found.append(Lacuna(number=number, part=part, marks=marks))
    return found


def export(item: EditionItem, asked: EditionQuestion) -> str:
    """Return a text with its lacunae filled, in the notation that is asked for."""
    if asked.format == "epidoc" and not isinstance(item, EpiDocItem):
        raise CaesuraError("Only an EpiDoc file can be written as one.")
    parts = {one.gap: one.part for one in asked.parts}
    readings = {
        one.gap: [(other.part.strip(), other.probability) for other in one.readings]
        for one in asked.parts
    }
    text = restore(item, parts, readings, asked.others and asked.format == "epidoc")
    if asked.format == "epidoc":
        return text
    filled = replace(item, original=text, kind=replace(item.kind, lost=""), edited=None)
    return as_leiden(filled) if asked.format == "leiden" else as_plain(filled)


def _written(item: EditionItem, run: Run, part: str, new: bool) -> str:
    """Return a reading as it is written, if it begins with a new word or goes on with one."""
    begins = begins_word(item, run)
    if "final" in words_of(item.kind.normalise):
        before = "" if new or begins else "α"  # a letter, so that a word goes on after it
        part = with_final_sigmas(before + part, run.marks[-1].ends)[len(before) :]
    return " " + part if new and not begins else part


def _new_words(fill: Fill, place: int) -> set[str]:
    """Return the readings of a gap that rather begin with a word than go on with one."""
    assert isinstance(fill.item, TextItem)
    chances: dict[str, float] = {}
    for values, chance in fill.readings[place].frames:
        span = Span(0, len(values))
        seen = TextItem.part(fill.item, values, span)  # in which capitals begin words
        part = fill.item.part(values, span)
        chances[part] = chances.get(part, 0.0) + (chance if seen[:1].isupper() else -chance)
    return {part for part, more in chances.items() if more > 0}
