"""Trains the nets of a plan when they are needed, as many as possible in one program."""

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from caesura.files import make_folder
from caesura.filler import Filler, join, load
from caesura.reproduce.measures import words
from caesura.reproduce.plan import Plan, Subject, Training
from caesura.reproduce.trainings import Sets, fingerprint, hardware, model_path
from caesura.reproduce.watch import Watch
from caesura.training.checkpoint import Reached, reached
from caesura.training.loop import Progress
from caesura.training.prepare import Prepared
from caesura.training.recipe import fitted_later
from caesura.training.stack import joinable
from caesura.training.together import Ready, make_ready, train_together
from caesura.training.train import train

# More nets than this share a program no better: each step of time then reads more weights than the
# cache of a GPU holds, so the time grows with the number of nets (benchmarks/stack.py).
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
        self, plan: Plan, out: Path, sets: Sets, watch: Watch, most_nets: int = MOST_NETS
    ) -> None:
        self.plan = plan
        self.out = out
        self.sets = sets
        self.watch = watch
        self.most_nets = most_nets
        self._prepared: dict[tuple[str, str], Prepared] = {}

    def obtain(self, of: Subject) -> Obtained:
        """Return one filler with the nets of all trainings of a subject."""
        new = sum(self._train_if_new(training) for training in of.trainings)
        # Loaded in any case, so that we measure what was saved.
        return Obtained(join(*(load(self._model(training)) for training in of.trainings)), new)
