"""The work: every net of the plan in turn, with all that is measured with it."""

import math
import os
import platform
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

from caesura.datasets.folder import Folder
from caesura.files import make_folder
from caesura.filler.filler import Filler
from caesura.reproduce.measures import Measured, Sequences, Task, tasks_of, words
from caesura.reproduce.plan import Pair, Plan, Subject, Training
from caesura.reproduce.results import MODELS, NAME, Identity, Result, Results
from caesura.reproduce.trainings import Sets, fingerprints, model_path, obtain
from caesura.reproduce.watch import Watch
from caesura.training.loop import Stopped


@dataclass
class Summary:
    """What a run did: nets trained, and results that it computed or found."""

    trained: int = 0
    computed: int = 0
    found: int = 0


def reproduce(
    plan: Plan, items: Collection[str], out: Path, folder: Folder, watch: Watch
) -> Summary:
    """Measure what the items ask for and the table of results in `out` does not hold yet.

    However this ends, only the result in work is lost, and of a training what came after its last
    checkpoint.
    """
    make_folder(out)
    results, sets, summary = Results(out / NAME), Sets(folder), Summary()
    for subject in plan.subjects:
        about = _About(subject, plan.seed, fingerprints(subject, plan.seed))
        tasks = [t for item in items if item != MODELS for t in tasks_of(plan, item, subject)]
        left = [task for task in tasks if not results.hold(about.identities(task))]
        summary.found += sum(len(t.xs) for t in tasks) - sum(len(t.xs) for t in left)
        told = isinstance(subject, Pair) or results.hold([about.itself(subject)])
        known = told and model_path(out, about.fingerprint).exists()
        if not left and (MODELS not in items or isinstance(subject, Pair) or known):
            continue
        filler, new = obtain(subject, plan.seed, out, sets, watch)
        summary.trained += new
        if isinstance(subject, Training) and not told:
            results.add([about.training(subject, filler, bool(new))])
        sequences = read_complete(filler, sets.load(subject.dataset, "test")) if left else []
        for task in left:
            measured, seconds = _measure(task, filler, sequences, about, watch)
            results.add([about.result(task, one, seconds, filler) for one in measured])
            summary.computed += len(measured)
    return summary


@dataclass(frozen=True)
class _About:
    """What is measured, and how its results are called."""

    of: Subject
    seed: int
    fingerprint: str

    def itself(self, training: Training) -> Identity:
        """A training's own row."""
        return self._identity(MODELS, "", None, words(training.fields))

    def identities(self, task: Task) -> list[Identity]:
        """The rows of a task."""
        return [self._identity(task.item, task.strategy, x, task.settings) for x in task.xs]

    def training(self, training: Training, filler: Filler, new: bool) -> Result:
        """The validation NLL of the net, and what its training took."""
        (record,) = _records(filler)
        # Of one that was trained in another run, the model file says no more than this.
        where = hardware() if new else filler.training["versions"]["platform"]
        nll = record["validation_nll"]  # null in the file where it was not finite
        measured = Measured(None, math.nan if nll is None else nll, None, None)
        return self._result(self.itself(training), measured, filler, where, record["seconds"])

    def result(self, task: Task, measured: Measured, seconds: float, filler: Filler) -> Result:
        """A row of a task; the time it took is shared by all of them."""
        identity = self._identity(task.item, task.strategy, measured.x, task.settings)
        return self._result(identity, measured, filler, hardware(), seconds / len(task.xs))

    def _identity(self, item: str, strategy: str, x: int | None, settings: str) -> Identity:
        recipe = "+".join(t.choose(t.fields).name for t in self.of.trainings)
        return Identity(
            item, self.of.dataset, strategy, recipe, x, self.seed, settings, self.fingerprint
        )

    def _result(
        self, identity: Identity, measured: Measured, filler: Filler, where: str, seconds: float
    ) -> Result:
        return Result(
            **identity._asdict(),
            value=measured.value,
            standard_error=measured.standard_error,
            gaps=measured.gaps,
            updates=sum(record["history"][-1]["step"] for record in _records(filler)),
            planned_updates=sum(t.choose(t.fields).recipe.steps for t in self.of.trainings),
            recipe_updates=sum(t.choose({}).recipe.steps for t in self.of.trainings),
            hardware=where,
            seconds=round(seconds, 2),
            **measured.excerpt._asdict(),
        )


def _measure(
    task: Task, filler: Filler, sequences: Sequences, about: _About, watch: Watch
) -> tuple[list[Measured], float]:
    name = f"{task.item}: {task.strategy or 'single steps'} by {about.of.recipe}"
    began = time.monotonic()
    with watch.scoring(f"{name} on {about.of.dataset}") as report:

        def told(done: int, gaps: int) -> None:
            report(done, gaps)
            if watch.stopped():
                raise Stopped

        if watch.stopped():
            raise Stopped
        measured = task.measure(filler, sequences, told)
    return measured, time.monotonic() - began


def read_complete(filler: Filler, items: list[Any]) -> Sequences:
    """The items of a set as the filler's nets see them."""
    return [filler.kind.read_complete(item).values for item in items]


def hardware() -> str:
    """What computes here."""
    devices = jax.devices()
    if devices[0].platform == "cpu":
        return f"{os.cpu_count()} CPU cores, {platform.machine()}"
    count = f"{len(devices)} × " if len(devices) > 1 else ""
    return f"{count}{devices[0].device_kind}"


def _records(filler: Filler) -> list[dict[str, Any]]:
    """What the model files say of the trainings, one of each."""
    return list(filler.training["nets"].values())
