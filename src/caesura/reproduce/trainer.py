"""Trains the nets of a plan when they are needed, as many as possible in one program."""

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from caesura.files import make_folder
from caesura.filler import Filler, join, load
from caesura.reproduce.plan import Plan, Subject, Training
from caesura.reproduce.results import Results
from caesura.reproduce.trainings import Sets, fingerprint, hardware, identity_of, model_path
from caesura.reproduce.watch import Watch
from caesura.training.checkpoint import Reached, reached
from caesura.training.loop import Progress
from caesura.training.prepare import Prepared
from caesura.training.stack import joinable
from caesura.training.together import Ready, make_ready, train_together
from caesura.training.train import train

# Three trainings of nine learning rates. Each step of time reads all recurrent weights, and those
# of 27 nets exceed the cache of a GPU, so more nets hardly gain. Fewer nets finish sooner, and
# their checkpoint is smaller. `benchmarks/stack.py` measures it (docs/performance.md).
MOST_NETS = 27


class Obtained(NamedTuple):
    """A filler with the nets of a subject, and how many trainings were done just now."""

    filler: Filler
    new: int


class Trainer:
    """Returns the nets of a plan, each of which is trained once and found by its fingerprint.

    Nets that can be trained in one program are trained together with the first of them that is
    needed.
    """

    def __init__(
        self, plan: Plan, out: Path, sets: Sets, results: Results, watch: Watch, most_nets: int
    ) -> None:
        self.plan = plan
        self.out = out
        self.sets = sets
        self.results = results
        self.watch = watch
        self.most_nets = most_nets
        self.current: list[Training] = []  # those that are being trained
        self._prepared: dict[tuple[str, str], Prepared] = {}

    def obtain(self, of: Subject) -> Obtained:
        """Return one filler with the nets of all trainings of a subject."""
        new = sum(self._train_if_new(training) for training in of.trainings)
        # Loaded in any case, so that we measure what was saved.
        return Obtained(join(*(load(self._model(training)) for training in of.trainings)), new)

    def reached(self, training: Training) -> Reached | None:
        """Return how far a training has come that was stopped in this run.

        The seconds are its share of those of its stack.
        """
        if not self.current or training not in self.current:
            return None
        found = reached(self._checkpoints(self.current))
        return found and Reached(found.step, found.seconds / len(self.current))

    def done(self, training: Training) -> bool:
        """Return whether there is a model, or was one whose results are in the table."""
        recorded = self.results.hold([identity_of(training, self.plan.seed)])
        return recorded or self._model(training).exists()

    def _model(self, training: Training) -> Path:
        return model_path(self.out, fingerprint(training, self.plan.seed))

    def _train_if_new(self, training: Training) -> int:
        """Return how many trainings were done: none if there is a model, or a stack of them."""
        if self._model(training).exists():
            return 0
        self.current = stack = self._stack(training)
        checkpoints = self._checkpoints(stack)
        if len(stack) == 1:
            fillers = [self._train_alone(training, checkpoints)]
        else:
            fillers = self._train_together(stack, checkpoints)
        for one, filler in zip(stack, fillers, strict=True):
            make_folder(self._model(one).parent)
            # In the file itself: whoever continues after a stop here may be another process.
            where = filler.training | {"hardware": hardware()}
            replace(filler, training=where).save(self._model(one))
        shutil.rmtree(checkpoints, ignore_errors=True)
        self.current = []
        return len(stack)

    def _stack(self, first: Training) -> list[Training]:
        """Return the training and all others that are not done and can be trained with it."""
        recipe = first.choose(first.fields).recipe
        stack = [first]
        for other in self.plan.trainings:
            if other == first or other.kind != first.kind or self.done(other):
                continue
            # The recipes are compared before the data is read, which may take long.
            if not joinable(recipe, other.choose(other.fields).recipe):
                continue
            both = [self._ready(one) for one in (first, other)]
            full = (len(stack) + 1) * both[0].nets > self.most_nets
            if not full and all(self._ready(one).joins(both[1]) for one in stack):
                stack.append(other)
        return stack

    def _checkpoints(self, stack: list[Training]) -> Path:
        names = [fingerprint(training, self.plan.seed) for training in stack]
        joined = hashlib.sha256("+".join(names).encode()).hexdigest()[:16]
        return self.out / "checkpoints" / (names[0] if len(names) == 1 else f"stack-{joined}")

    def _ready(self, training: Training) -> Ready:
        """Return a training with its data, which is prepared once for all recipes that read it."""
        chosen = training.choose(training.fields)
        place = training.dataset, repr(chosen.kind_fields)
        data, valid = (self.sets.load(training.dataset, split) for split in ("train", "valid"))
        known = self._prepared.get(place)
        ready = make_ready(chosen, training.kind, data, valid, self.plan.seed, known)
        self._prepared[place] = ready.prepared
        return ready

    def _train_alone(self, training: Training, checkpoints: Path) -> Filler:
        with self.watch.training(_name(training)) as report:
            return train(
                self.sets.load(training.dataset, "train"),
                kind=training.kind,
                recipe=training.recipe,
                seed=self.plan.seed,
                valid=self.sets.load(training.dataset, "valid"),
                checkpoints=checkpoints,
                resume=True,
                report=report,
                warn=self.watch.note,
                stop=self.watch.stopped,
                **training.fields,
            )

    def _train_together(self, stack: list[Training], checkpoints: Path) -> list[Filler]:
        ready = [self._ready(training) for training in stack]
        nets = sum(one.nets for one in ready)
        with self.watch.training(", ".join(map(_name, stack))) as report:

            def report_stack(progress: Progress) -> None:
                report(f"{nets} nets", progress)

            return train_together(
                ready,
                checkpoints=checkpoints,
                report=report_stack,
                warn=self.watch.note,
                stop=self.watch.stopped,
            )


def _name(training: Training) -> str:
    return f"{training.recipe} on {training.dataset}"
