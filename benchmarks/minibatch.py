"""How the paper's "about 3 000 data points" are read: many short stretches, or a few long ones.

    python benchmarks/minibatch.py --out OUT                       # Piano, 100×30, 10×300, 3×900
    python benchmarks/minibatch.py --out OUT --minutes 8           # the next call goes on
    python benchmarks/minibatch.py --lengths                       # the shapes of the recipe
    python benchmarks/minibatch.py --out OUT --shapes 30x100 --steps 12000 --gaps 2000

Each shape is rows × steps of a minibatch. `paper-brnn` learns from such minibatches with every
learning rate of its grid; the rate that is best on the validation split is kept. The numbers are
nats on the test split: of gaps of five steps by GSN (Table 1), on whole pieces, and of single steps
(Table 2). The sets are in the folder that CAESURA_DATA names. OUT/minibatch.csv gets a row for each
shape; rows in it are not computed again, and OUT/checkpoints holds the training in progress.
"""

import argparse
import csv
import math
import shutil
import time
from pathlib import Path

import jax
import numpy as np

import caesura
from caesura import datasets
from caesura.scoring.gaps import score_gaps, score_steps
from caesura.strategies import GSN
from caesura.training.loop import Progress, Stopped
from caesura.training.prepare import fitted
from caesura.training.recipe import choose, parse_setting

SETS = ("piano_midi", "nottingham", "musedata", "jsb_chorales")
COLUMNS = ("set", "recipe", "shape", "updates", "learning_rate", "best_update", "validation_nll")
COLUMNS += ("gap_nll", "standard_error", "gaps", "step_nll", "chains", "fields")
COLUMNS += ("hardware", "training_seconds")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("minibatch"))
    parser.add_argument("--lengths", action="store_true")
    parser.add_argument("--set", default="piano_midi")
    parser.add_argument("--recipe", default="paper-brnn")
    parser.add_argument("--shapes", nargs="+", default=["100x30", "10x300", "3x900"])
    parser.add_argument("--steps", type=int, default=50_000, help="updates")
    parser.add_argument("--gaps", type=int, help="at most; all unless given")
    parser.add_argument("--chains", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--set-field", nargs="*", default=[], help="such as hidden=8")
    arguments = parser.parse_args()
    if arguments.lengths:
        show_lengths(arguments.recipe)
        return
    end = time.monotonic() + 60 * arguments.minutes
    arguments.out.mkdir(parents=True, exist_ok=True)
    for shape in arguments.shapes:
        if not known(arguments, shape):
            try:
                write(arguments.out / "minibatch.csv", measure(arguments, shape, end))
                shutil.rmtree(checkpoints(arguments, shape))
            except Stopped:
                print("Stopped; the same command goes on.")
                return
    print((arguments.out / "minibatch.csv").read_text())


def show_lengths(recipe: str) -> None:
    """Print how long the training scores are, and the minibatches that the recipe makes of them."""
    print("| set | median length | longest | rows | steps | points on average |")
    print("|---|---:|---:|---:|---:|---:|")
    for name in SETS:
        lengths = np.array([len(score) for score in datasets.load(name, "train")])
        found = fitted(choose(recipe, "music", (), {}).recipe, lengths)
        mean = np.sum(lengths * np.minimum(lengths, found.length)) / np.sum(lengths)
        print(
            f"| {name} | {np.median(lengths):.0f} | {lengths.max()} | {found.batch} "
            f"| {found.length} | {found.batch * mean:.0f} |"
        )


def known(arguments: argparse.Namespace, shape: str) -> bool:
    path = arguments.out / "minibatch.csv"
    if not path.exists():
        return False
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    wanted = (arguments.set, arguments.recipe, shape, str(arguments.steps), str(arguments.chains))
    wanted += (" ".join(arguments.set_field),)
    names = ("set", "recipe", "shape", "updates", "chains", "fields")
    return any(tuple(row[name] for name in names) == wanted for row in rows)


def checkpoints(arguments: argparse.Namespace, shape: str) -> Path:
    name = f"{arguments.set}-{arguments.recipe}-{shape}-{arguments.steps}"
    return arguments.out / "checkpoints" / name


def measure(arguments: argparse.Namespace, shape: str, end: float) -> dict[str, object]:
    batch, length = map(int, shape.split("x"))
    train, valid, test = (
        datasets.load(arguments.set, split) for split in ("train", "valid", "test")
    )
    filler = caesura.train(
        train,
        kind="music",
        recipe=arguments.recipe,
        valid=valid,
        checkpoints=checkpoints(arguments, shape),
        resume=True,
        stop=lambda: time.monotonic() > end,
        report=show,
        **{"batch": batch, "length": length, "steps": arguments.steps}
        | dict(map(parse_setting, arguments.set_field)),
    )
    (record,) = filler.training["nets"].values()
    net, pieces = filler.nets["bidirectional"], filler.read(test)

    def show_or_stop(done: int, gaps: int) -> None:
        if time.monotonic() > end:
            raise Stopped  # the trained net is in the last checkpoint

    gsn = GSN(chains=arguments.chains)
    gap = score_gaps(net, gsn, pieces, limit=arguments.gaps, report=show_or_stop)
    return dict(
        zip(
            COLUMNS,
            (
                arguments.set,
                arguments.recipe,
                shape,
                arguments.steps,
                record["learning_rate"],
                record["best_step"],
                record["validation_nll"],
                gap.nll,
                gap.standard_error,
                gap.gaps,
                score_steps(net, pieces).nll,
                arguments.chains,
                " ".join(arguments.set_field),
                jax.devices()[0].device_kind,
                record["seconds"],
            ),
            strict=True,
        )
    )


def show(net: str, progress: Progress) -> None:
    if progress.validation is not None:
        print(
            f"{progress.step}/{progress.steps}: validation {progress.validation:.4f}, "
            f"{progress.seconds_left:.0f} s left",
            flush=True,
        )


def write(path: Path, row: dict[str, object]) -> None:
    new = not path.exists()
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    main()
