"""Better answers the longer one waits."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from caesura.errors import CaesuraError
from caesura.filler.fill import Fill
from caesura.filler.request import Request
from caesura.strategies import Search, Strategy

EFFORTS = (1 / 8, 1, 4, 16)  # of what a fill takes by default
GROWTH = 4  # the next attempt takes about so many times longer
TOP = 5  # readings of each gap; the ranking has settled if they are the same, in the same order


def improve(
    fill_once: Callable[[Request], Fill], request: Request, strategy: Strategy, draws: int
) -> Fill:
    """Return the best answer to a request that can be had in its time.

    Parameters
    ----------
    fill_once
        Answers a request that has no limit of time.
    request
        The request, with its limit.
    strategy, draws
        What is used by default: the strategy, and how many random fills.
    """
    limit, began = _check_seconds(request.seconds), time.perf_counter()
    fill: Fill | None = None
    ranking: list[bytes | list[bytes]] | None = None
    took = 0.0
    for attempt in _attempts(request, strategy, draws):
        started = time.perf_counter()
        if fill is not None and started - began + GROWTH * took > limit:
            return replace(fill, ended="out of time")
        fill = fill_once(attempt)
        took = time.perf_counter() - started
        before, ranking = ranking, _ranking(fill)
        if before == ranking:
            return replace(fill, ended="settled")
    assert fill is not None
    return fill


def _attempts(request: Request, strategy: Strategy, draws: int) -> Iterator[Request]:
    once = replace(request, seconds=None)
    if isinstance(strategy, Search):
        least, usual = 1, strategy.width
    else:
        least, usual = max(1, request.samples), draws
    # Each number once: the same attempt again would look as if the ranking had settled.
    for size in dict.fromkeys(max(least, int(usual * effort)) for effort in EFFORTS):
        if isinstance(strategy, Search):
            yield replace(once, strategy=replace(strategy, width=size))
        else:
            yield replace(once, draws=size)


def _ranking(fill: Fill) -> list[bytes | list[bytes]]:
    """Return what must not change any more."""
    rows = [[values.tobytes() for values, _ in one.frames[:TOP]] for one in fill.readings]
    return [fill.completions[0].values.tobytes(), *rows]


def _check_seconds(seconds: Any) -> float:
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not 0 < seconds < math.inf:
        raise CaesuraError(f"The option 'seconds' is a number above 0, not {seconds!r}.")
    return float(seconds)
