"""Train every net of the plan in turn, and measure everything with it."""

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
from caesura.filler import Filler
from caesura.reproduce.measures import Measured, Sequences, Task, tasks_of, words
from caesura.reproduce.plan import Pair, Plan, Subject, Training
from caesura.reproduce.results import MODELS, NAME, Identity, Result, Results
from caesura.reproduce.trainings import Sets, fingerprints, model_path, obtain
from caesura.reproduce.watch import Watch
from caesura.training.loop import Stopped


@dataclass
class Summary:
    """The number of nets that a run trained, and of results that it computed or found."""

    trained: int = 0
    computed: int = 0
    found: int = 0


def reproduce(
    plan: Plan, items: Collection[str], out: Path, folder: Folder, watch: Watch
) -> Summary:
    """Measure everything for the items that is not yet in the table of results.

    If it is stopped, only the current result is lost, and of a training the updates after its last
    checkpoint; the same call continues from there.

    Parameters
    ----------
    plan : Plan
        What to train and to measure.
    items : collection of str
        The tables and figures, and "models" to train all nets.
    out : Path
        The directory for the table of results, the models and the checkpoints.
    folder : Folder
        Where the data sets are.
    watch : Watch
        Shows the progress, and may stop the work.

    Returns
    -------
    Summary
        What was trained, computed and found.

    Raises
    ------
    Stopped
        If `watch` asks for it.
    """
    make_folder(out)
    results, sets, summary = Results(out / NAME), Sets(folder), Summary()
    for subject in plan.subjects:
        about = _About(subject, plan.seed, fingerprints(subject, plan.seed))
        tasks = [t for item in items if item != MODELS for t in tasks_of(plan, item, subject)]
        left = [task for task in tasks if not results.hold(about.identities(task))]
        summary.found += sum(len(t.xs) for t in tasks) - sum(len(t.xs) for t in left)
        recorded = isinstance(subject, Pair) or results.hold([about.itself(subject)])
        known = recorded and model_path(out, about.fingerprint).exists()
        if not left and (MODELS not in items or isinstance(subject, Pair) or known):
            continue
        filler, new = obtain(subject, plan.seed, out, sets, watch)
        summary.trained += new
        if isinstance(subject, Training) and not recorded:
            results.add([about.training(subject, filler, bool(new))])
        sequences = read_complete(filler, sets.load(subject.dataset, "test")) if left else []
        for task in left:
            measured, seconds = _measure(task, filler, sequences, about, watch)
            results.add([about.result(task, one, seconds, filler) for one in measured])
            summary.computed += len(measured)
    return summary


@dataclass(frozen=True)
class _About:
    """What is measured, and the identity of its results."""

    of: Subject
    seed: int
    fingerprint: str

    def itself(self, training: Training) -> Identity:
        """Return the identity of a training's own row."""
        return self._identity(MODELS, "", None, words(training.fields))

    def identities(self, task: Task) -> list[Identity]:
        """Return the identities of the rows of a task."""
        return [self._identity(task.item, task.strategy, x, task.settings) for x in task.xs]

    def training(self, training: Training, filler: Filler, new: bool) -> Result:
        """Return the validation NLL of a net, and what its training took."""
        (record,) = _records(filler)
        # If another run trained it, the model file knows no more than the platform.
        where = hardware() if new else filler.training["versions"]["platform"]
        nll = record["validation_nll"]  # null in the file where it was not finite
        measured = Measured(None, math.nan if nll is None else nll, None, None)
        return self._result(self.itself(training), measured, filler, where, record["seconds"])

    def result(self, task: Task, measured: Measured, seconds: float, filler: Filler) -> Result:
        """Return a row of a task; all of its rows share the time that it took."""
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

        def report_or_stop(done: int, gaps: int) -> None:
            report(done, gaps)
            if watch.stopped():
                raise Stopped

        if watch.stopped():
            raise Stopped
        measured = task.measure(filler, sequences, report_or_stop)
    return measured, time.monotonic() - began


def read_complete(filler: Filler, items: list[Any]) -> Sequences:
    """Return the items of a data set as the filler's nets see them."""
    return [filler.kind.open(item).complete.values for item in items]


def hardware() -> str:
    """Return a description of the devices that JAX computes on."""
    devices = jax.devices()
    if devices[0].platform == "cpu":
        return f"{os.cpu_count()} CPU cores, {platform.machine()}"
    count = f"{len(devices)} × " if len(devices) > 1 else ""
    return f"{count}{devices[0].device_kind}"


def _records(filler: Filler) -> list[dict[str, Any]]:
    """Return the record of the training of each net."""
    return list(filler.training["nets"].values())
