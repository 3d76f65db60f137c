"""What is measured for each table and figure, and with which settings."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Shaped

from caesura.filler import Filler
from caesura.nets.eager import with_jax
from caesura.reproduce.excerpts import Excerpt, draw_excerpts
from caesura.reproduce.plan import Plan, Subject
from caesura.reproduce.results import Identity
from caesura.scoring.gaps import score_gaps, score_positions, score_steps
from caesura.strategies import GSN, Strategy

Sequences = list[Shaped[np.ndarray, "_ D"]]
Report = Callable[[int, int], None]


class Measured(NamedTuple):
    """A result without its origin."""

    value: float | None
    standard_error: float | None
    gaps: int | None
    excerpt: Excerpt = Excerpt("", "", "", "")


class Task(NamedTuple):
    """One measurement with one net; it gives a result for each x."""

    item: str
    strategy: str
    xs: tuple[int | None, ...]
    settings: str  # everything that the results depend on besides the net, the data and the seed
    measure: Callable[[Filler, Sequences, Report], list[Measured]]
    table1: str | None = None  # the settings with which Table 1 has the same result

    def identities(self, training: Identity) -> list[Identity]:
        """Return the identities of the results, given that of the training."""
        of_task = training._replace(item=self.item, strategy=self.strategy, settings=self.settings)
        return [of_task._replace(x=x) for x in self.xs]

    def in_table1(self, training: Identity) -> Identity | None:
        """Return the identity of the same result in Table 1, if it can have it."""
        if self.table1 is None:
            return None
        return training._replace(item="table1", strategy=self.strategy, settings=self.table1)


class Gaps(NamedTuple):
    """The gaps that a strategy is measured on."""

    strategy: Strategy
    stretch: int | None  # the length of the parts into which sequences are cut
    gap: int
    margin: int
    limit: int | None
    seed: int

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that a score depends on besides the seed."""
        chosen = {"stretch": self.stretch, "gap": self.gap, "margin": self.margin}
        return chosen | {"limit": self.limit} | options_of(self.strategy)

    def score(
        self, score: Callable[..., Any], filler: Filler, data: Sequences, report: Report
    ) -> Any:
        """Return what `score`, a function of `caesura.scoring.gaps`, gives for these gaps."""
        net, parts = filler.method(self.strategy).net, cut(data, self.stretch)
        chosen = {"gap": self.gap, "margin": self.margin, "limit": self.limit, "seed": self.seed}
        return score(net, self.strategy, parts, **chosen, report=report)


def tasks_of(plan: Plan, item: str, subject: Subject) -> Iterator[Task]:
    """Yield the measurements for a table or a figure with the nets of a subject."""
    if item in subject.items and subject.dataset in plan.items[item].datasets:
        yield from MAKERS[item](plan, subject)


def all_tasks(plan: Plan, items: Collection[str], subject: Subject) -> list[Task]:
    """Return the measurements for all of these tables and figures."""
    return [task for item in items if item in MAKERS for task in tasks_of(plan, item, subject)]


def cut(sequences: Sequences, stretch: int | None) -> Sequences:
    """Return the sequences cut into parts of that length, many of which a net processes at once."""
    if stretch is None:
        return sequences
    return [s[t : t + stretch] for s in sequences for t in range(0, len(s), stretch)]


def options_of(strategy: Strategy) -> dict[str, Any]:
    """Return the options that a strategy was made with."""
    return {field.name: getattr(strategy, field.name) for field in fields(strategy)}


def words(settings: dict[str, Any]) -> str:
    """Return settings as text; those that are None are left out."""
    return ", ".join(f"{name}={value}" for name, value in settings.items() if value is not None)


def _table1(plan: Plan, subject: Subject) -> Iterator[Task]:
    for name in subject.serves:
        gaps = _gaps(plan, "table1", subject, name)
        yield Task("table1", name, (None,), words(gaps.settings), partial(_whole, gaps))


def _table2(plan: Plan, subject: Subject) -> Iterator[Task]:
    """Yield the measurement of single steps: nothing is filled."""
    limit = plan.items["table2"].limit(subject.dataset, "")
    stretch = plan.cut(subject.dataset).stretch
    settings = words({"stretch": stretch, "limit": limit})
    yield Task("table2", "", (None,), settings, partial(_steps, stretch, limit))


def _table3(plan: Plan, subject: Subject) -> Iterator[Task]:
    for name in _among(subject, "nade", "gsn"):
        gaps = _gaps(plan, "table3", subject, name)
        numbers = tuple(range(1, (gaps.limit or 0) + 1))  # the plan has a limit here
        settings = words(gaps.settings | {"margin": None})
        yield Task("table3", name, numbers, settings, partial(_excerpts, gaps))


def _figure2(plan: Plan, subject: Subject) -> Iterator[Task]:
    positions = tuple(range(1, plan.gap + 1))
    for name in _among(subject, "gsn", "nade", "bayes", "oneway"):
        gaps = _gaps(plan, "figure2", subject, name)
        yield Task("figure2", name, positions, words(gaps.settings), partial(_positions, gaps))


def _figure3(plan: Plan, subject: Subject) -> Iterator[Task]:
    for name in _among(subject, "nade"):
        gaps = _gaps(plan, "figure3", subject, name)
        settings = words(gaps.settings)
        yield Task("figure3", name, (None,), settings, partial(_whole, gaps), settings)
    for name in _among(subject, "gsn"):
        gaps = _gaps(plan, "figure3", subject, name)
        settings = words(gaps.settings | {"steps": None})  # they are the x
        for steps in plan.items["figure3"].gibbs_steps:
            # As an array: one compiled program for all of them.
            chosen = options_of(gaps.strategy) | {"steps": jnp.asarray(steps)}
            some = gaps._replace(strategy=GSN(**chosen))
            same = words(gaps.settings | {"steps": steps})
            yield Task("figure3", name, (steps,), settings, partial(_whole, some), same)


MAKERS: dict[str, Callable[[Plan, Subject], Iterator[Task]]] = {
    "table1": _table1,
    "table2": _table2,
    "table3": _table3,
    "figure2": _figure2,
    "figure3": _figure3,
}


def _whole(gaps: Gaps, filler: Filler, data: Sequences, report: Report) -> list[Measured]:
    score = gaps.score(score_gaps, filler, data, report)
    return [Measured(score.nll, score.standard_error, score.gaps)]


def _positions(gaps: Gaps, filler: Filler, data: Sequences, report: Report) -> list[Measured]:
    score = gaps.score(score_positions, filler, data, report)
    pairs = zip(score.nll.tolist(), score.standard_error.tolist(), strict=True)
    return [Measured(*pair, score.gaps) for pair in pairs]


def _steps(
    stretch: int | None, limit: int | None, filler: Filler, data: Sequences, report: Report
) -> list[Measured]:
    net = next(net for name, net in filler.nets.items() if name != "onegram")
    score = score_steps(with_jax(net), cut(data, stretch), limit=limit)
    return [Measured(score.nll, score.standard_error, score.steps)]


def _excerpts(gaps: Gaps, filler: Filler, data: Sequences, report: Report) -> list[Measured]:
    texts = cut(data, gaps.stretch)
    drawn = draw_excerpts(filler, gaps.strategy, texts, gaps.limit or 0, gaps.gap, gaps.seed)
    return [Measured(None, None, len(drawn), excerpt) for excerpt in drawn]


def _gaps(plan: Plan, item: str, subject: Subject, name: str) -> Gaps:
    limit = plan.items[item].limit(subject.dataset, name)
    cut = plan.cut(subject.dataset)
    return Gaps(plan.strategies[name], cut.stretch, plan.gap, cut.margin, limit, plan.seed)


def _among(subject: Subject, *names: str) -> list[str]:
    return [name for name in names if name in subject.serves]
