"""`train_together`: several fillers at once, each as `train` would make it alone."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import jax

from caesura.filler import Filler
from caesura.kinds import KINDS
from caesura.nets.rnn import Net, NetName
from caesura.training.checkpoint import Checkpoints
from caesura.training.corpus.stored import lengths_of
from caesura.training.loop import Progress
from caesura.training.prepare import Prepared, fitted, prepare
from caesura.training.recipe import Chosen
from caesura.training.stack import Part, begin_stack, fit_stack, joinable
from caesura.training.train import make_filler, new_net, record_of


class Ready(NamedTuple):
    """One training, with its data read and its recipe fitted to it."""

    chosen: Chosen
    prepared: Prepared
    seed: int

    @property
    def nets(self) -> int:
        """How many nets it trains: one for each learning rate."""
        return len(self.chosen.recipe.learning_rate)

    def joins(self, other: "Ready") -> bool:
        """Return whether both can be trained in one program."""
        alike = joinable(self.chosen.recipe, other.chosen.recipe)
        return alike and self.prepared.kind.frame == other.prepared.kind.frame

    def identity(self) -> dict[str, Any]:
        """Return everything that its weights depend on."""
        kind = asdict(self.prepared.kind)
        recipe = self.chosen.recipe.identity()
        return {"data": self.prepared.record, "kind": kind, "recipe": recipe, "seed": self.seed}


def make_ready(
    chosen: Chosen,
    kind: str,
    data: object,
    valid: object,
    seed: int,
    known: Prepared | None = None,
) -> Ready:
    """Read the data of a training, unless that was done before, and fit its recipe to it."""
    prepared = known or prepare(data, valid, KINDS[kind], chosen, seed)
    recipe = fitted(chosen.recipe, lengths_of(prepared.data.train))
    return Ready(chosen._replace(recipe=recipe), prepared, seed)


def train_together(
    trainings: Sequence[Ready],
    *,
    checkpoints: Path,
    report: Callable[[Progress], None] = lambda progress: None,
    warn: Callable[[str], None] = lambda sentence: None,
    stop: Callable[[], bool] = lambda: False,
) -> list[Filler]:
    """Train all nets in one program, from the beginning or from the checkpoint in the directory.

    If `stop` returns True, the state is saved and `Stopped` is raised. The directory holds one
    checkpoint, with the weights of all nets and the best ones of each training.
    """
    parts = [_part(one) for one in trainings]
    like = begin_stack(parts)
    saved = Checkpoints(checkpoints, _identity(trainings), warn, kept=1)
    state = saved.load(like) or like
    saved.begin(state)
    results = fit_stack(parts, state=state, save=saved.save, report=report, stop=stop)
    fillers = []
    for one, result in zip(trainings, results, strict=True):
        recipe = one.chosen.recipe
        nets: dict[NetName, Net] = {"onegram": one.prepared.onegram, recipe.net: result.net}
        records: dict[NetName, dict[str, Any]] = {recipe.net: record_of(one.chosen, result)}
        fillers.append(make_filler(one.prepared, one.seed, nets, records, recipe.strategy))
    return fillers


def _part(one: Ready) -> Part:
    key, net = new_net(one.prepared.kind, one.chosen.recipe, one.seed)
    return Part(key, net, one.prepared.data, one.chosen.recipe)


def _identity(trainings: Sequence[Ready]) -> str:
    """Return a digest that two stacks share if one may resume the other."""
    document = {"stack": [one.identity() for one in trainings], "jax": jax.__version__}
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
