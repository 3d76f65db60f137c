"""An estimate of what is left of a plan, from the times of what was done."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from caesura.reproduce.measures import all_tasks
from caesura.reproduce.plan import Pair, Plan, Training
from caesura.reproduce.results import MODELS, Result, Results
from caesura.reproduce.trainer import Trainer
from caesura.reproduce.trainings import hardware, identity_of


@dataclass(frozen=True)
class Left:
    """The trainings and results that are left, and how long they may take.

    `unknown` is the number of trainings and results that the minutes do not cover, because nothing
    like them was timed on this hardware.
    """

    trainings: int
    updates: int
    results: int
    minutes: float
    unknown: int

    def __str__(self) -> str:
        if not self.trainings and not self.results:
            return "Nothing is left."
        what = f"Left: {self.trainings} trainings ({self.updates} updates), {self.results} results"
        if self.unknown == self.trainings + self.results:
            return f"{what}; nothing like them was timed on this hardware yet."
        rest = f" for all but {self.unknown} of them" if self.unknown else ""
        return f"{what}; about {self.minutes:.0f} minutes{rest}."


def estimate(plan: Plan, items: Collection[str], results: Results, trainer: Trainer) -> Left:
    """Return what is left for the items."""
    here = [row for row in results if row.hardware == hardware()]
    updates, count = [], 0
    times: list[float | None] = []
    for subject in plan.subjects:
        itself = identity_of(subject, plan.seed)
        tasks = all_tasks(plan, items, subject)
        left = [task for task in tasks if not results.hold(task.identities(itself))]
        for task in left:
            alike = [r for r in here if (r.item, r.strategy) == (task.item, task.strategy)]
            times += [_mean(r.seconds for r in alike if r.seconds)] * len(task.xs)
            count += len(task.xs)
        if isinstance(subject, Pair) or trainer.done(subject):
            continue
        if left or MODELS in items:
            reached = trainer.reached(subject)
            rest = subject.choose(subject.fields).recipe.steps - (reached.step if reached else 0)
            pace = _seconds_an_update(subject, here, trainer)
            updates.append(rest)
            times.append(None if pace is None else rest * pace)
    known = [time for time in times if time is not None]
    return Left(len(updates), sum(updates), count, sum(known) / 60, len(times) - len(known))


def _seconds_an_update(training: Training, rows: list[Result], trainer: Trainer) -> float | None:
    """Return the pace of the trainings of such nets on such data that were done or begun."""
    alike = [other for other in trainer.plan.trainings if _size(other) == _size(training)]
    begun = [r for other in (training, *alike) if (r := trainer.reached(other)) and r.step]
    if begun:
        return begun[0].seconds / begun[0].step
    places = {(other.dataset, other.recipe) for other in alike}
    done = [r for r in rows if r.item == MODELS and (r.dataset, r.recipe) in places]
    return _mean(row.seconds / max(1, row.updates) for row in done)


def _size(training: Training) -> tuple[Any, ...]:
    """Return what the time of an update depends on."""
    recipe = training.choose(training.fields).recipe
    return training.kind, recipe.net, recipe.cell, recipe.hidden, recipe.layers, recipe.length


def _mean(seconds: Iterable[float]) -> float | None:
    known = list(seconds)
    return fmean(known) if known else None
