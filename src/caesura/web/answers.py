"""From a request to the library's filler, and from what it returns to an answer."""

import base64
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any, NamedTuple

from caesura.errors import CaesuraError, lookup
from caesura.filler import Fill, Filler, Request
from caesura.kinds.base import Item
from caesura.kinds.text import Text
from caesura.kinds.text.edition import EditionItem
from caesura.strategies import STRATEGIES, Strategy
from caesura.web.boxes import boxes_of_keys, mask
from caesura.web.composing import compose
from caesura.web.editions import accept, edition_of
from caesura.web.gone import GoneError
from caesura.web.lacunae import export, numbered, tell_lacunae, view_lacunae
from caesura.web.limits import STEPS, Limits
from caesura.web.queue import Size
from caesura.web.schemas import (
    ComposedQuestion,
    EditionAnswer,
    EditionQuestion,
    Filled,
    FillQuestion,
    LogProbAnswer,
    MarginalsAnswer,
    OfferedModel,
    Question,
    ViewQuestion,
)

LIKELIEST = 10  # symbols at a place

Fillers = Mapping[str, Filler]


class Task(NamedTuple):
    """A question in the terms of the library."""

    filler: Filler
    item: Item  # as it was sent
    accepted: frozenset[int]  # the numbers of lacunae that have a reading
    request: Request
    like: Hashable  # equal for tasks that are done in one pass; None for one that is done alone
    size: Size


def offered() -> dict[str, type[Strategy]]:
    """Return the strategies that are fast enough for a server."""
    return {name: one for name, one in STRATEGIES.items() if one.interactive}


def offer(name: str, filler: Filler) -> OfferedModel:
    """Return what clients need to know of a model."""
    return OfferedModel(
        name=name,
        kind=filler.kind.name,
        strategy=filler.strategy,
        strategies=[strategy for strategy in offered() if _serves(filler, strategy)],
        fields=asdict(filler.kind),
    )


def read_question(fillers: Fillers, asked: Question, limits: Limits) -> Task:
    """Return the task, if the model can do it and the machine can bear it."""
    filler, sent = _open(fillers, asked)
    name = asked.strategy or filler.strategy
    lookup(offered(), name, "strategy")
    accepted = (
        {one.gap: one.part for one in asked.accepted} if isinstance(asked, FillQuestion) else {}
    )
    item = _within_bounds(accept(sent, accepted))
    missing = None  # a song says everything itself, and so does a text that marks open gaps
    if composed := compose(filler.kind, item, asked):
        item = composed
    elif asked.missing or not item.open_gaps:
        missing = item.missing | mask(filler.kind, item, asked.missing)
    request = Request(item, missing, draws=1, strategy=name, seed=asked.seed)
    if isinstance(asked, FillQuestion):
        request = replace(request, samples=asked.samples, draws=asked.draws, seconds=asked.seconds)
        request = replace(request, **numbered(asked))
    elif item.open_gaps:
        raise CaesuraError("A gap of unknown length has no places: ask for a fill instead.")
    states = filler.states(request)
    if states > limits.states:
        raise CaesuraError(
            f"That is too much for one request by '{name}': ask for fewer draws, or for shorter "
            "gaps that are closer together."
        )
    # Who has a limit of time must not wait for others in the same pass.
    alone = states * limits.together > limits.states or request.seconds is not None
    like = None if alone else (id(filler), filler.group(request))
    size = Size((asked.model, name), filler.work(request), request.seconds or 0.0)
    return Task(filler, sent, frozenset(accepted), request, like, size)


def fill_all(tasks: Sequence[Task], left: Callable[[], bool]) -> list[Fill | Exception]:
    """Return the fills of tasks that are alike; it is given up between passes if all have left."""

    def go_on(*_: int) -> None:
        if left():
            raise GoneError

    requests = [task.request for task in tasks]
    return tasks[0].filler.fill_many(requests, return_exceptions=True, report=go_on)


def tell_fill(fill: Fill, task: Task) -> Filled:
    """Return a fill as the answer to a request."""
    view, *views = (fill.item.view(one) for one in (fill.best, *fill.samples))
    told = fill.to_dict()
    lacunae = tell_lacunae(fill, told["gaps"], task.item, task.accepted)
    return Filled(kind=fill.kind.name, view=view, views=views, lacunae=lacunae, **told)


def log_prob(task: Task) -> LogProbAnswer:
    """Return the log-probability of what the sequence has at its missing places."""
    asked = _verb(task)
    if asked["missing"] is None:  # a song says it
        asked["missing"] = asked["data"].missing
    answer = task.filler.log_prob(**asked)
    return LogProbAnswer(log_prob=_finite(answer), standard_error=_finite(answer.standard_error))


def marginals(task: Task) -> MarginalsAnswer:
    """Return the distribution at each missing place."""
    answer = task.filler.marginals(**_verb(task))
    return MarginalsAnswer(places=answer.places.tolist(), likeliest=answer.top(LIKELIEST))


def view(fillers: Fillers, asked: ComposedQuestion) -> dict[str, Any]:
    """Return what a page needs to draw the sequence as the model sees it."""
    filler, item = _open(fillers, asked)
    if isinstance(item, EditionItem):
        return view_lacunae(item)
    composed = compose(filler.kind, item, asked)
    if composed is None:
        return item.view(item.original)
    return composed.view(composed.original) | {"missing": boxes_of_keys(composed.missing)}


def edition(fillers: Fillers, asked: EditionQuestion) -> EditionAnswer:
    """Return a text with its lacunae filled, in some notation."""
    _, item = _open(fillers, asked)
    return EditionAnswer(content=export(edition_of(item), asked))


def _open(fillers: Fillers, asked: ViewQuestion) -> tuple[Filler, Item]:
    """Return the model and the sequence."""
    filler = lookup(fillers, asked.model, "model")
    if asked.notation is not None or asked.lost is not None:
        if not isinstance(filler.kind, Text):
            raise CaesuraError("The fields 'notation' and 'lost' are for texts.")
        notation = filler.kind.notation if asked.notation is None else asked.notation
        lost = filler.kind.lost if asked.lost is None else " ".join(sorted(set(asked.lost)))
        filler = _with_notation(filler, notation, lost)
    content: str | bytes = asked.sequence
    if filler.kind.binary:
        try:
            content = base64.b64decode(asked.sequence, validate=True)
        except ValueError:
            raise CaesuraError(
                f"The sequence is not in base64, as a file of {filler.kind.name} must be sent."
            ) from None
    return filler, _within_bounds(filler.kind.open_content(content))


def _within_bounds(item: Item) -> Item:
    if (steps := len(item.sequence)) > STEPS:
        raise CaesuraError(
            f"The sequence has {steps} steps, and the server takes {STEPS} at most: send a part."
        )
    return item


@lru_cache(maxsize=64)
def _with_notation(filler: Filler, notation: str, lost: str) -> Filler:
    """Return a filler for texts in a notation; the same one again, so that requests are alike."""
    return filler.with_kind(notation=notation, lost=lost)


def _verb(task: Task) -> dict[str, Any]:
    request = task.request
    return {name: getattr(request, name) for name in ("data", "missing", "strategy", "seed")}


def _serves(filler: Filler, strategy: str) -> bool:
    try:
        filler.method(strategy)
    except CaesuraError:
        return False
    return True


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
