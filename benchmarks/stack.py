"""Updates a second of many nets: one after another, a grid of learning rates, or a stack.

    python benchmarks/stack.py                   # on a GPU: the paper's nets for music, T = 300
    python benchmarks/stack.py --nets 9 27 54    # other sizes of a stack
    python benchmarks/stack.py --toy             # on a CPU: small nets and short scores

A net update is one update of one net. "alone" trains one net with one learning rate at a time;
"grid" one training at a time, with all learning rates of the recipe side by side, as `caesura
train` does; "stack" as `caesura reproduce` does. Scores are random: their content does not change
the time. Compilation is not counted. The memory is the peak of the device so far.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from caesura.nets.architecture import Architecture
from caesura.nets.frames import Binary
from caesura.training.batches import Corpus
from caesura.training.loop import Data, Program, begin
from caesura.training.recipe import Recipe, choose, parse_setting
from caesura.training.stack import Part, StackProgram, begin_stack, make_lessons

KEYS = 88
PIECES, STEPS = 100, 600  # of a data set
TOY = {"hidden": 64, "batch": 4, "length": 60, "valid_steps": 600}
SECONDS = 1.0  # of a measurement
ROUNDS = 3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--toy", action="store_true")
    parser.add_argument("--recipe", default="paper-brnn")
    parser.add_argument("--nets", type=int, nargs="+", default=[27, 54])
    parser.add_argument("--set-field", nargs="*", default=[], help="such as precision=bfloat16")
    arguments = parser.parse_args()
    given = dict(map(parse_setting, arguments.set_field))
    fields = (TOY if arguments.toy else {"batch": 10}) | given
    recipe = choose(arguments.recipe, "music", (), fields | {"steps": 10**6}).recipe
    where = jax.devices()[0].device_kind
    print(
        f"{arguments.recipe} on {where}, JAX {jax.__version__}: {recipe.hidden} units, "
        f"{recipe.batch} × {recipe.length} steps, {recipe.precision}; best of {ROUNDS}\n"
    )
    print("| way | nets | ms an update of all | net updates/s | against alone | memory |")
    print("|---|---:|---:|---:|---:|---:|")
    rates = len(recipe.learning_rate)
    alone = row("alone", 1, alone_updates(one_rate(recipe)), None)
    row("grid", rates, alone_updates(recipe), alone)
    for nets in arguments.nets:
        row("stack", nets // rates * rates, stacked_updates(recipe, nets // rates), alone)
    print(f"\n{least_work(recipe)}")


def least_work(recipe: Recipe) -> str:
    """Return what an update of one net needs at least: operations, and reading W_h at each step."""
    units = recipe.hidden * (2 if recipe.net == "bidirectional" else 1)
    # Of each product forth, there are two back; from the frame, one.
    weights = units * (3 * recipe.hidden + 3 * KEYS + 2 * KEYS)
    operations = 2 * weights * recipe.batch * recipe.length
    size = 4 if recipe.precision == "float32" else 2
    read = 2 * recipe.length * units * recipe.hidden * size
    return (
        f"An update of one net needs {operations / 1e9:.1f} GFLOP. Its recurrent weights take "
        f"{units * recipe.hidden * size / 1e6:.2f} MB, and each of {2 * recipe.length} steps forth "
        f"and back reads them: {read / 1e9:.2f} GB."
    )


def row(way: str, nets: int, update: Callable[[int], None], alone: float | None) -> float:
    """Print how fast `update(n)` makes n updates of all nets; return the net updates a second."""
    update(1)  # compiles
    count, took = 1, 0.0
    while took < SECONDS:
        took = timed(update, count)
        count = max(count + 1, int(count * min(8.0, 1.2 * SECONDS / took)))
    seconds = min(timed(update, count) for _ in range(ROUNDS)) / count
    speed = nets / seconds
    ratio = "" if alone is None else f"{speed / alone:.1f}"
    print(
        f"| {way} | {nets} | {seconds * 1e3:.2f} | {speed:.1f} | {ratio} | {memory()} |", flush=True
    )
    return speed


def timed(update: Callable[[int], None], count: int) -> float:
    began = time.perf_counter()
    update(count)
    return time.perf_counter() - began


def memory() -> str:
    stats = jax.local_devices()[0].memory_stats()
    return f"{stats['peak_bytes_in_use'] / 2**30:.1f} GiB" if stats else "–"


def one_rate(recipe: Recipe) -> Recipe:
    return replace(recipe, learning_rate=recipe.learning_rate[:1])


def make_part(recipe: Recipe, seed: int) -> Part:
    draw = np.random.default_rng(seed)
    pieces = [(draw.random((STEPS, KEYS)) < 0.05).astype(np.int8) for _ in range(PIECES)]
    shape = (recipe.hidden, recipe.layers, recipe.missing_input)
    architecture = Architecture(recipe.net, Binary(KEYS).spec, "bernoulli", recipe.cell, *shape)
    net = architecture.build(jax.random.key(seed))
    return Part(jax.random.key(seed), net, Data(pieces, pieces[:5]), recipe)


def alone_updates(recipe: Recipe) -> Callable[[int], None]:
    part = make_part(recipe, 0)
    program = Program(part.net, recipe)
    members = program.everywhere(begin(part.net, recipe).members)
    corpus = program.everywhere(Corpus(part.data.train))
    return lambda n: _wait(program.update(part.key, members, corpus, 0, n))


def stacked_updates(recipe: Recipe, trainings: int) -> Callable[[int], None]:
    parts = [make_part(recipe, seed) for seed in range(trainings)]
    program = StackProgram([recipe] * trainings, [part.net for part in parts])
    lessons, corpus = make_lessons(parts, program.recipe)
    lessons, nets = program.shared((lessons, begin_stack(parts).members))
    corpus = program.everywhere(corpus)
    return lambda n: _wait(program.update(lessons, nets, corpus, 0, n))


def _wait(tree: Any) -> None:
    jax.block_until_ready(tree)


if __name__ == "__main__":
    main()
