"""Train every net of the plan in turn, and measure everything with it."""

import math
import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from caesura.datasets.folder import Folder
from caesura.files import make_folder
from caesura.filler import Filler
from caesura.reproduce.left import Left, estimate
from caesura.reproduce.measures import Measured, Sequences, Task, all_tasks
from caesura.reproduce.plan import Pair, Plan, Subject
from caesura.reproduce.results import MODELS, NAME, Identity, Result, Results
from caesura.reproduce.trainer import MOST_NETS, Trainer
from caesura.reproduce.trainings import Sets, hardware, identity_of, model_path
from caesura.reproduce.watch import Watch
from caesura.training.loop import Stopped


@dataclass
class Summary:
    """The number of nets that a run trained, of results that it computed or found, and the rest."""

    trained: int = 0
    computed: int = 0
    found: int = 0
    stopped: bool = False
    left: Left | None = None


def reproduce(
    plan: Plan,
    items: Collection[str],
    out: Path,
    folder: Folder,
    watch: Watch,
    most_nets: int = MOST_NETS,
) -> Summary:
    """Measure everything for the items that is not yet in the table of results.

    If it is stopped, only the current result is lost, and of a training the updates after its last
    checkpoint; the same call continues from there. `items` are tables and figures, and "models" to
    train all nets; `out` gets the table of results, the models and the checkpoints; the data sets
    are in `folder`. One program trains at most `most_nets` nets. `watch` may ask for a stop.
    """
    make_folder(out)
    results, sets, summary = Results(out / NAME), Sets(folder), Summary()
    trainer = Trainer(plan, out, sets, results, watch, most_nets)
    try:
        _work(plan, items, out, sets, results, trainer, watch, summary)
        summary.stopped = False
    except Stopped:
        summary.stopped = True
    summary.left = estimate(plan, items, results, trainer)
    return summary


def _work(
    plan: Plan,
    items: Collection[str],
    out: Path,
    sets: Sets,
    results: Results,
    trainer: Trainer,
    watch: Watch,
    summary: Summary,
) -> None:
    for subject in plan.subjects:
        itself = identity_of(subject, plan.seed)
        tasks = all_tasks(plan, items, subject)
        left = [task for task in tasks if not _known(task, itself, results)]
        summary.found += sum(len(t.xs) for t in tasks) - sum(len(t.xs) for t in left)
        recorded = isinstance(subject, Pair) or results.hold([itself])
        known = recorded and model_path(out, itself.fingerprint).exists()
        if not left and (MODELS not in items or isinstance(subject, Pair) or known):
            continue
        filler, new = trainer.obtain(subject)
        summary.trained += new
        if not recorded:
            results.add([_training_result(itself, subject, filler)])
        items_left = sets.load(subject.dataset, "test") if left else []
        sequences = [filler.kind.open(item).complete.values for item in items_left]
        for task in left:
            if _known(task, itself, results):  # since Table 1 was measured
                summary.found += 1
                continue
            began = time.monotonic()
            measured = _measure(task, subject, filler, sequences, watch)
            # All results of a task share the time that it took.
            spent = hardware(), (time.monotonic() - began) / len(task.xs)
            pairs = zip(task.identities(itself), measured, strict=True)
            results.add([_result(*pair, subject, filler, *spent) for pair in pairs])
            summary.computed += len(measured)


def _known(task: Task, itself: Identity, results: Results) -> bool:
    """Return whether a task has its results; one that Table 1 has, too, is taken from there."""
    identities = task.identities(itself)
    if results.hold(identities):
        return True
    same = results.find(task.in_table1(itself))
    if same is None:
        return False
    results.add([replace(same, **identities[0]._asdict(), seconds=0.0)])
    return True


def _training_result(itself: Identity, subject: Subject, filler: Filler) -> Result:
    """Return the validation NLL of a net, and what its training took."""
    (record,) = filler.training["nets"].values()
    # Older model files know no more than the platform.
    where = filler.training.get("hardware") or filler.training["versions"]["platform"]
    nll = record["validation_nll"]  # null in the file where it was not finite
    measured = Measured(math.nan if nll is None else nll, None, None)
    return _result(itself, measured, subject, filler, where, record["seconds"])


def _result(
    identity: Identity,
    measured: Measured,
    subject: Subject,
    filler: Filler,
    where: str,
    seconds: float,
) -> Result:
    records = filler.training["nets"].values()
    return Result(
        **identity._asdict(),
        value=measured.value,
        standard_error=measured.standard_error,
        gaps=measured.gaps,
        updates=sum(record["history"][-1]["step"] for record in records),
        planned_updates=sum(t.choose(t.fields).recipe.steps for t in subject.trainings),
        recipe_updates=sum(t.choose({}).recipe.steps for t in subject.trainings),
        hardware=where,
        seconds=round(seconds, 2),
        **measured.excerpt._asdict(),
    )


def _measure(
    task: Task, subject: Subject, filler: Filler, sequences: Sequences, watch: Watch
) -> list[Measured]:
    name = f"{task.item}: {task.strategy or 'single steps'} by {subject.recipe}"
    with watch.scoring(f"{name} on {subject.dataset}") as report:

        def report_or_stop(done: int, gaps: int) -> None:
            report(done, gaps)
            if watch.stopped():
                raise Stopped

        if watch.stopped():
            raise Stopped
        return task.measure(filler, sequences, report_or_stop)
