"""The nets: each configuration is trained once, and found again by its fingerprint."""

import hashlib
import json
import os
import platform
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax

from caesura import datasets
from caesura.datasets.folder import Folder
from caesura.errors import CaesuraError
from caesura.files import make_folder
from caesura.filler import Filler, join, load
from caesura.reproduce.plan import Subject, Training
from caesura.reproduce.watch import Watch
from caesura.training.train import train


class Sets:
    """The public data sets; each is verified and loaded once."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._items: dict[tuple[str, str], list[Any]] = {}

    def load(self, name: str, split: str) -> list[Any]:
        """Return the items of a split."""
        if (name, split) not in self._items:
            states = datasets.verify(name, self.folder)
            for path in (path for path, state in states.items() if state == "altered"):
                raise CaesuraError(
                    f"The file '{path}' differs from that of the public data set '{name}'."
                )
            self._items[name, split] = datasets.load(name, split, self.folder)
        return self._items[name, split]


def fingerprints(of: Subject, seed: int) -> str:
    """Return the fingerprints of all trainings of a subject, joined by "+"."""
    return "+".join(fingerprint(training, seed) for training in of.trainings)


def fingerprint(training: Training, seed: int) -> str:
    """Return sixteen digits that identify the recipe with its fields, the data and the seed."""
    chosen = training.choose(training.fields)
    holding = datasets.DATASETS[training.dataset].holding
    document = {
        "recipe": chosen.recipe.identity(),
        "kind": chosen.kind_fields,
        "data": [holding["train"].sha256, holding["valid"].sha256],
        "seed": seed,
    }
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]


def model_path(out: Path, name: str) -> Path:
    """Return the path of the model with that fingerprint."""
    return out / "models" / f"{name}.model"


def obtain(of: Subject, seed: int, out: Path, sets: Sets, watch: Watch) -> tuple[Filler, int]:
    """Return one filler with the nets of all trainings, and how many were trained just now."""
    new = [_train_if_new(training, seed, out, sets, watch) for training in of.trainings]
    # Loaded in any case, so that we measure what was saved.
    fillers = (load(model_path(out, fingerprint(training, seed))) for training in of.trainings)
    return join(*fillers), sum(new)


def _train_if_new(training: Training, seed: int, out: Path, sets: Sets, watch: Watch) -> bool:
    """Train, from a checkpoint if there is one, unless there is a model; return whether we did."""
    name = fingerprint(training, seed)
    path, checkpoints = model_path(out, name), out / "checkpoints" / name
    if new := not path.exists():
        with watch.training(f"{training.recipe} on {training.dataset}") as report:
            filler = train(
                sets.load(training.dataset, "train"),
                kind=training.kind,
                recipe=training.recipe,
                seed=seed,
                valid=sets.load(training.dataset, "valid"),
                checkpoints=checkpoints,
                resume=True,
                report=report,
                warn=watch.note,
                stop=watch.stopped,
                **training.fields,
            )
        make_folder(path.parent)
        # In the file itself: whoever continues after a stop here may be another process.
        where = filler.training | {"hardware": hardware()}
        replace(filler, training=where).save(path)
    shutil.rmtree(checkpoints, ignore_errors=True)
    return new


def hardware() -> str:
    """Return a description of the devices that JAX computes on."""
    devices = jax.devices()
    if devices[0].platform == "cpu":
        return f"{os.cpu_count()} CPU cores, {platform.machine()}"
    count = f"{len(devices)} × " if len(devices) > 1 else ""
    return f"{count}{devices[0].device_kind}"
