"""What is measured for each table and figure, and with which settings."""

from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Shaped

from caesura.evaluate import score_gaps, score_positions, score_steps
from caesura.filler import Filler
from caesura.reproduce.excerpts import Excerpt, draw_excerpts
from caesura.reproduce.plan import Plan, Training
from caesura.strategies import GSN, Strategy

Sequences = list[Shaped[np.ndarray, "_ D"]]
Report = Callable[[int, int], None]


class Measured(NamedTuple):
    """A result without its origin."""

    x: int | None
    value: float | None
    standard_error: float | None
    gaps: int | None
    excerpt: Excerpt = Excerpt("", "", "", "")


class Task(NamedTuple):
    """Something to measure with one net, which gives a result for each x."""

    item: str
    strategy: str
    xs: tuple[int | None, ...]
    settings: str  # all that the results depend on besides the net, the data and the seed
    measure: Callable[[Filler, Sequences, Report], list[Measured]]


class Gaps(NamedTuple):
    """The gaps that a strategy is measured on."""

    strategy: Strategy
    gap: int
    margin: int
    limit: int | None
    seed: int

    @property
    def settings(self) -> dict[str, Any]:
        """All that a score depends on besides the seed."""
        places = {"gap": self.gap, "margin": self.margin, "limit": self.limit}
        return places | options_of(self.strategy)

    def score(
        self, score: Callable[..., Any], filler: Filler, data: Sequences, report: Report
    ) -> Any:
        """What one of the functions of `evaluate` says of them."""
        method = filler.method(self.strategy)
        chosen = {k: v for k, v in self._asdict().items() if k != "strategy"}
        return score(method.net, method.strategy, data, **chosen, report=report)


def tasks_of(plan: Plan, item: str, training: Training) -> Iterator[Task]:
    """What the net of a training is asked for a table or a figure."""
    if item in training.items and training.dataset in plan.items[item].datasets:
        yield from MAKERS[item](plan, training)


def options_of(strategy: Strategy) -> dict[str, Any]:
    """What a strategy was made with."""
    return {field.name: getattr(strategy, field.name) for field in fields(strategy)}


def words(settings: dict[str, Any]) -> str:
    """Settings as a reader writes them; what is None is not set."""
    return ", ".join(f"{name}={value}" for name, value in settings.items() if value is not None)


def _table1(plan: Plan, training: Training) -> Iterator[Task]:
    for name in training.serves:
        gaps = _gaps(plan, "table1", training, name)
        yield Task("table1", name, (None,), words(gaps.settings), partial(_whole, gaps, None))


def _table2(plan: Plan, training: Training) -> Iterator[Task]:
    """Single steps, each given all that its net may see: nothing is filled."""
    limit = plan.items["table2"].limit(training.dataset, "")
    yield Task("table2", "", (None,), words({"limit": limit}), partial(_steps, limit))


def _table3(plan: Plan, training: Training) -> Iterator[Task]:
    for name in _among(training, "nade", "gsn"):
        gaps = _gaps(plan, "table3", training, name)
        numbers = tuple(range(1, (gaps.limit or 0) + 1))  # the plan has a limit here
        settings = words(gaps.settings | {"margin": None})
        yield Task("table3", name, numbers, settings, partial(_excerpts, gaps))


def _figure2(plan: Plan, training: Training) -> Iterator[Task]:
    positions = tuple(range(1, plan.gap + 1))
    for name in _among(training, "gsn", "nade", "bayes", "oneway"):
        gaps = _gaps(plan, "figure2", training, name)
        yield Task("figure2", name, positions, words(gaps.settings), partial(_positions, gaps))


def _figure3(plan: Plan, training: Training) -> Iterator[Task]:
    for name in _among(training, "nade"):
        gaps = _gaps(plan, "figure3", training, name)
        yield Task("figure3", name, (None,), words(gaps.settings), partial(_whole, gaps, None))
    for name in _among(training, "gsn"):
        gaps = _gaps(plan, "figure3", training, name)
        settings = words(gaps.settings | {"steps": None})  # they are the x
        for steps in plan.items["figure3"].gibbs_steps:
            some = gaps._replace(strategy=GSN(**options_of(gaps.strategy) | {"steps": steps}))
            yield Task("figure3", name, (steps,), settings, partial(_whole, some, steps))


MAKERS: dict[str, Callable[[Plan, Training], Iterator[Task]]] = {
    "table1": _table1,
    "table2": _table2,
    "table3": _table3,
    "figure2": _figure2,
    "figure3": _figure3,
}


def _whole(
    gaps: Gaps, x: int | None, filler: Filler, data: Sequences, report: Report
) -> list[Measured]:
    score = gaps.score(score_gaps, filler, data, report)
    return [Measured(x, score.nll, score.standard_error, score.gaps)]


def _positions(gaps: Gaps, filler: Filler, data: Sequences, report: Report) -> list[Measured]:
    score = gaps.score(score_positions, filler, data, report)
    pairs = zip(score.nll.tolist(), score.standard_error.tolist(), strict=True)
    return [Measured(x, *pair, score.gaps) for x, pair in enumerate(pairs, 1)]


def _steps(limit: int | None, filler: Filler, data: Sequences, report: Report) -> list[Measured]:
    net = next(net for name, net in filler.nets.items() if name != "onegram")
    score = score_steps(net, data, limit=limit)
    return [Measured(None, score.nll, score.standard_error, score.steps)]


def _excerpts(gaps: Gaps, filler: Filler, data: Sequences, report: Report) -> list[Measured]:
    drawn = draw_excerpts(filler, gaps.strategy, data, gaps.limit or 0, gaps.gap, gaps.seed)
    return [Measured(x, None, None, len(drawn), excerpt) for x, excerpt in enumerate(drawn, 1)]


def _gaps(plan: Plan, item: str, training: Training, name: str) -> Gaps:
    limit = plan.items[item].limit(training.dataset, name)
    return Gaps(plan.strategies[name], plan.gap, plan.margin, limit, plan.seed)


def _among(training: Training, *names: str) -> list[str]:
    return [name for name in names if name in training.serves]
