"""The data of trainings, and the names by which trained nets are found again."""

import hashlib
import json
import os
import platform
from pathlib import Path
from typing import Any

import jax

from caesura import datasets
from caesura.datasets.folder import Folder
from caesura.errors import CaesuraError
from caesura.reproduce.measures import words
from caesura.reproduce.plan import Subject, Training
from caesura.reproduce.results import MODELS, Identity


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


def identity_of(subject: Subject, seed: int) -> Identity:
    """Return the identity of the row of a training itself."""
    return Identity(
        item=MODELS,
        dataset=subject.dataset,
        strategy="",
        recipe="+".join(t.choose(t.fields).name for t in subject.trainings),
        x=None,
        seed=seed,
        settings=words(subject.trainings[0].fields),
        fingerprint=fingerprints(subject, seed),
    )


def model_path(out: Path, name: str) -> Path:
    """Return the path of the model with that fingerprint."""
    return out / "models" / f"{name}.model"


def hardware() -> str:
    """Return a description of the devices that JAX computes on."""
    devices = jax.devices()
    if devices[0].platform == "cpu":
        return f"{os.cpu_count()} CPU cores, {platform.machine()}"
    count = f"{len(devices)} × " if len(devices) > 1 else ""
    return f"{count}{devices[0].device_kind}"
