"""Fills with a time limit: repeated with more effort until the ranking settles or time is up."""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from caesura.errors import CaesuraError
from caesura.filler.fill import Fill
from caesura.filler.request import Request
from caesura.filler.running import Opened, Report
from caesura.filler.searching import search_tasks
from caesura.strategies import Search, Strategy

EFFORTS = (1 / 32, 1 / 8, 1.0, 4.0, 16.0)  # of what a fill takes by default
MANY = 8  # more tasks than this begin with the least effort
FIXED = 0.5  # the share of the time of an attempt that does not grow with the effort
TOP = 5  # readings of each gap; the ranking has settled if they are the same, in the same order


class Attempt(NamedTuple):
    """A request without a limit of time, and how much effort it takes."""

    effort: float
    request: Request


class _TimeIsUpError(Exception):
    """Ends an attempt between two passes."""


def fill_in_time(fill_many: Callable[..., list[Fill]], one: Opened, report: Report | None) -> Fill:
    """Return the best answer to an opened request that can be had in its time."""
    strategy = one.method.strategy
    tasks = search_tasks(one) if strategy.searches else one.tasks

    def fill_once(request: Request, report: Report) -> Fill:
        return fill_many([request], report=report)[0]

    attempts = attempts_at(one.request, strategy, one.draws, len(tasks))
    return improve(fill_once, attempts, one.request.seconds, report)


def first_attempt(one: Opened) -> Request:
    """Return what is tried first for a request with many gaps, which is the least."""
    return attempts_at(one.request, one.method.strategy, one.draws, MANY + 1)[0].request


def improve(
    fill_once: Callable[[Request, Report], Fill],
    attempts: Iterable[Attempt],
    seconds: Any,
    report: Report | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Fill:
    """Return the best answer that can be had in some time.

    The first attempt is always finished. Another one is not begun if it is predicted to take longer
    than what is left, and ended between two passes when the time is up. A pass cannot be
    interrupted, nor can its compilation.

    Parameters
    ----------
    fill_once
        Answers a request that has no limit of time, and reports after each pass.
    attempts
        What to try, each with more effort than the one before.
    seconds
        The limit.
    report
        As for `Filler.fill`.
    clock
        Returns seconds.
    """
    limit = _check_seconds(seconds)
    began, answers, times = clock(), list[Fill](), list[tuple[float, float]]()

    def after_pass(done: int, total: int) -> None:
        if report is not None:
            report(done, total)
        if answers and done < total and clock() - began > limit:
            raise _TimeIsUpError

    for effort, request in attempts:
        started = clock()
        if answers and started - began + _predicted(times, effort) > limit:
            return replace(answers[-1], ended="out of time")
        try:
            answers.append(fill_once(request, after_pass))
        except _TimeIsUpError:
            return replace(answers[-1], ended="out of time")
        times.append((effort, clock() - started))
        # Two narrow searches may agree by being narrow.
        if len(answers) > 1 and effort >= 1 and _ranking(answers[-2]) == _ranking(answers[-1]):
            return replace(answers[-1], ended="settled")
    return answers[-1]


def attempts_at(request: Request, strategy: Strategy, draws: int, tasks: int) -> list[Attempt]:
    """Return what is tried for a request.

    Parameters
    ----------
    request
        The request, with its limit of time.
    strategy, draws
        What is used by default: the strategy, and how many random fills.
    tasks
        How many stretches there are to fill.
    """
    once, found = replace(request, seconds=None), list[Attempt]()
    seen = set()  # the same attempt again would look as if the ranking had settled
    for effort in EFFORTS if tasks > MANY else EFFORTS[1:]:
        if isinstance(strategy, Search):
            size = tuple(max(1, int(n * effort)) for n in (strategy.width, strategy.draws))
            some = replace(once, strategy=replace(strategy, width=size[0], draws=size[1]))
        else:
            size = (max(1, request.samples, int(draws * effort)),)
            some = replace(once, draws=size[0])
        if size not in seen:
            found.append(Attempt(effort, some))
        seen.add(size)
    return found


def _predicted(times: list[tuple[float, float]], effort: float) -> float:
    """Return how long an attempt will take, from the efforts and the times of those before."""
    last, took = times[-1]
    grown = took * max(1.0, FIXED * effort / last)
    if len(times) == 1:
        return grown
    before, took_before = times[-2]
    return max(grown, took + (took - took_before) / (last - before) * (effort - last))


def _ranking(fill: Fill) -> list[bytes | list[bytes]]:
    """Return what must not change any more."""
    rows = [[values.tobytes() for values, _ in one.frames[:TOP]] for one in fill.readings]
    return [fill.completions[0].values.tobytes(), *rows]


def _check_seconds(seconds: Any) -> float:
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not 0 < seconds < math.inf:
        raise CaesuraError(f"The option 'seconds' must be a number above 0, not {seconds!r}.")
    return float(seconds)
