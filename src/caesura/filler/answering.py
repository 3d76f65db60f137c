"""Answers to opened requests: by a search, by random fills, or at once if nothing is missing."""

from typing import Any

from caesura.filler.assemble import from_draws, from_search, nothing_missing
from caesura.filler.fill import Fill
from caesura.filler.passes import fill_pass
from caesura.filler.running import Opened, Report, run_all, work_of
from caesura.filler.searching import search_all
from caesura.kinds.base import Kind


def fill_opened(
    kind: Kind, opened: dict[int, Opened], report: Report | None
) -> dict[int, Fill | Exception]:
    """Return the answer to each request."""
    whole = {number: one for number, one in opened.items() if not one.has_gaps}
    searched = {
        number: one
        for number, one in opened.items()
        if one.has_gaps and one.method.strategy.searches
    }
    drawn = {n: one for n, one in opened.items() if n not in whole and n not in searched}
    answers: dict[int, Any] = {n: nothing_missing(kind, one) for n, one in whole.items()}
    work = {number: work_of(one) for number, one in drawn.items()}
    for number, parts in run_all(fill_pass, work, report).items():
        failed = isinstance(parts, Exception)
        answers[number] = parts if failed else from_draws(kind, drawn[number], parts)
    for number, found in search_all(searched, report).items():
        if isinstance(found, Exception):
            answers[number] = found
        else:
            answers[number] = from_search(kind, searched[number], *found)
    return answers
