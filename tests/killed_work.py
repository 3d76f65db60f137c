"""Work that is killed and begun again: how each kind of work runs, and what it must leave behind.

A job ends by itself, and continues where it was when it is run again. A loop writes one thing after
another until it is killed, and tells what it has finished.
"""

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
import pyarrow.parquet as pq
import safetensors.numpy

import caesura
from caesura.cli import app
from caesura.datasets.registry import DATASETS
from caesura.scale import Run, fill_locally
from caesura.scale.rows import files_as_rows
from caesura.training.checkpoint import Checkpoints
from caesura.training.loop import Member, State, Total
from command_line import TEXT, settings
from model_files import make_filler, tiny_filler
from small_fillers import text_filler
from tiny_paper import PLAN, rows_of, toy_sets

OLD = "what stood there before\n"
ROWS = {f"{n}.txt": f"a a_a {'b' * (n % 3)} x__y {n}" for n in range(24)}
Tell = Callable[[int], None]


class Job(NamedTuple):
    """Work that ends. `left` is what it has written so far, by names, in a form to compare."""

    prepare: Callable[[Path], None]
    run: Callable[[Path], None]
    left: Callable[[Path], dict[str, Any]]
    before: tuple[tuple[str, Any], ...] = ()  # what may stand there instead until it has ended

    def wrong(self, folder: Path, whole: dict[str, Any], ended: bool) -> str:
        """Return what is lost or half-written in the folder, or nothing."""
        left = self.left(folder)
        if ended and left.keys() != whole.keys():
            return f"{len(whole.keys() - left.keys())} of {len(whole)} are not there"
        allowed = {name: [value] for name, value in whole.items()}
        for name, value in self.before:
            if not ended:
                allowed[name].append(value)
        strange = [name for name, value in left.items() if value not in allowed.get(name, [])]
        if not strange:
            return ""
        name = strange[0]
        return f"{name} is {str(left[name])[:400]}, not {str(whole.get(name))[:400]}"


class Loop(NamedTuple):
    """Work without an end. It begins with telling the number of what it finds."""

    prepare: Callable[[Path], None]
    run: Callable[[Path, Tell], None]


def nothing(folder: Path) -> None:
    """There is nothing to prepare."""


def prepare_training(folder: Path) -> None:
    (folder / "text.txt").write_text(TEXT)


def train(folder: Path) -> None:
    """Forty updates, with a checkpoint every two."""
    words = ["train", "text", str(folder / "text.txt"), "-o", str(folder / "a.model"), "--resume"]
    app([*words, *settings("steps=40", "valid_steps=50")])


def trained(folder: Path) -> dict[str, Any]:
    """The weights of the model, if it is there; how long the training took differs each time."""
    if not (model := folder / "a.model").exists():
        return {}
    tensors = safetensors.numpy.load_file(model)
    return {name: (tensor.shape, tensor.tobytes()) for name, tensor in tensors.items()}


def prepare_texts(folder: Path) -> None:
    text_filler().save(folder / "a.model")
    (folder / "in").mkdir()
    for name, text in ROWS.items():
        (folder / "in" / name).write_text(text)
    (folder / "out.txt").write_text(OLD)


def fill_directory(folder: Path) -> None:
    words = ["fill", "text", str(folder / "in"), "--model", str(folder / "a.model")]
    more = ["--engine", "local", "--strategy", "onegram", "--samples", "4"]
    app([*words, *more, "-o", str(folder / "out")])


def fill_in_batches(folder: Path) -> None:
    run = Run(str(folder / "a.model"), draws=4, strategy="onegram")
    fill_locally([files_as_rows("text", folder / "in")], run, folder / "out", batch=4)


def filled(folder: Path) -> dict[str, Any]:
    """The filled files, and the rows of the table of fills."""
    left: dict[str, Any] = {}
    for file in (folder / "out" / "files").glob("*.txt"):
        left[file.name] = file.read_text()
    for part in (folder / "out" / "fills").glob("part-*.parquet"):
        for row in (
            pq.ParquetFile(io.BytesIO(part.read_bytes())).read(use_threads=False).to_pylist()
        ):
            name = f"row {row['id']}"
            left[name] = "twice" if name in left else (row["seed"], row["fill"])
    return left


def fill_one(folder: Path) -> None:
    words = ["fill", "text", str(folder / "in" / "1.txt"), "--model", str(folder / "a.model")]
    app([*words, "--strategy", "onegram", "-o", str(folder / "out.txt")])


def filled_one(folder: Path) -> dict[str, Any]:
    return {"out.txt": (folder / "out.txt").read_text()}


def prepare_paper(folder: Path) -> None:
    (folder / "plan.toml").write_text(PLAN)


def reproduce(folder: Path) -> None:
    """A table of the paper, on toys."""
    shutil.rmtree(folder / "data", ignore_errors=True)
    DATASETS.update(toy_sets(folder / "data"))
    words = ["reproduce", "table1", "--dataset", "piano_midi", "--plan", str(folder / "plan.toml")]
    app([*words, "--data", str(folder / "data"), "--out", str(folder / "out")])


def reproduced(folder: Path) -> dict[str, Any]:
    """What was measured, except for the seconds that it took."""
    if not (table := folder / "out" / "reproduce.csv").exists():
        return {}
    return {f"row {n}": row | {"seconds": ""} for n, row in enumerate(rows_of(table))}


def save(folder: Path, tell: Tell) -> None:
    """Save three models in turn, as fast as may be; a model is found by loading it."""
    place, models = folder / "a.model", [tiny_filler(), make_filler(), text_filler()]
    number = 0
    if place.exists():
        found = caesura.load(place).nets
        (which,) = [n for n, model in enumerate(models) if same_nets(found, model.nets)]
        told = int((folder / "number").read_text())  # by the process before
        number = told + (which - told) % len(models)
    tell(number)
    while True:
        number += 1
        models[number % len(models)].save(place)
        tell(number)


def same_nets(one: dict[str, Any], two: dict[str, Any]) -> bool:
    return one.keys() == two.keys() and all(eqx.tree_equal(one[name], two[name]) for name in one)


def state(number: int) -> State:
    """A state of a training of some size, which follows from its number."""
    weights = {"w": np.random.default_rng(number).random((1, 200, 200), np.float32)}
    total = Total(np.zeros(1), np.full(1, number))
    member = Member(weights, {"count": np.ones(1)}, total, weights, np.zeros(1), np.zeros(1))
    return State(member, number, [], 1.5)


def checkpoint(folder: Path, tell: Tell) -> None:
    """Write one checkpoint after another; the newest is found as a training finds it."""
    said: list[str] = []
    saved = Checkpoints(folder / "saved", "run", said.append)
    found = saved.load(state(0))
    number = 0 if found is None else found.step
    if found is not None:
        wanted = jax.tree.map(np.float32, state(number).members)
        assert eqx.tree_equal(jax.tree.map(np.float32, found.members), wanted)
    assert not said, said  # a damaged one would be reported
    saved.begin(state(number))
    tell(number)
    while True:
        number += 1
        saved.save(state(number))
        tell(number)


# Each kind of work, and its share of all kills: more of what costs less time.
WORK: dict[str, tuple[Job | Loop, float]] = {
    "`caesura train`": (Job(prepare_training, train, trained), 0.12),
    "writing of checkpoints": (Loop(nothing, checkpoint), 0.3),
    "saving of models": (Loop(nothing, save), 0.28),
    "`caesura fill -o FILE`": (
        Job(prepare_texts, fill_one, filled_one, (("out.txt", OLD),)),
        0.06,
    ),
    "`caesura fill --engine local`": (Job(prepare_texts, fill_directory, filled), 0.07),
    "filling many in batches": (Job(prepare_texts, fill_in_batches, filled), 0.07),
    "`caesura reproduce`": (Job(prepare_paper, reproduce, reproduced), 0.1),
}
