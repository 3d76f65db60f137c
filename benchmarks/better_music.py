"""Better nets for music: one net for all four sets, tuned on each, and the mean of several.

    python benchmarks/better_music.py --out OUT                    # on a GPU
    python benchmarks/better_music.py --out OUT --minutes 9        # the next call goes on
    python benchmarks/better_music.py --out OUT --split test       # once the way is chosen
    python benchmarks/better_music.py --out OUT --toy              # on a CPU: to see that it runs

Every model has a bidirectional and a forward net with dependent notes (`frames`, `frames-rnn`).
"alone" learns from its set alone, with the fields of the plan of `caesura reproduce`. "tuned"
starts from nets that learnt from the training parts of all four sets, in all twelve keys. "mean of
n" gives a gap the mean of the probabilities of n models that differ in their seed. The numbers are
nats of gaps of five steps; those of the validation split choose, and the test split is for the way
that was chosen. The sets are in the folder that CAESURA_DATA names. OUT/models gets the models, and
OUT/better_music.csv a row for each result; what is there is not done again.
"""

import argparse
import csv
import hashlib
import math
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import caesura
from caesura import datasets
from caesura.filler import Filler
from caesura.scoring.gaps import over_gaps
from caesura.strategies import NADE, SIR, Strategy
from caesura.training.loop import Progress, Stopped
from caesura.training.recipe import parse_setting

ALL = "all"
LARGE = {"hidden": 512, "dropout": 0.3, "learning_rate": 0.005, "steps": 6000}
ALONE: dict[str, dict[str, Any]] = {
    "jsb_chorales": {"hidden": 256, "dropout": 0.5},
    "piano_midi": {"hidden": 384, "dropout": 0.5},
    "nottingham": LARGE,
    "musedata": LARGE,
}
PRETRAIN = {"hidden": 512, "dropout": 0.3, "learning_rate": 0.005, "steps": 12_000, "shift": 6}
TUNE = {"hidden": 512, "dropout": 0.5, "learning_rate": 0.001, "steps": 2000, "shift": 6}
TOY = {"hidden": 4, "head_hidden": 4, "steps": 2, "validate_every": 1, "batch": 2, "length": 12}
TOY |= {"valid_steps": 60}
STRATEGIES: dict[str, Strategy] = {
    "nade": NADE(),
    "sir": SIR(particles=100, replicas=5, lookahead=15),
}
COLUMNS = ("set", "split", "way", "strategy", "models", "nll", "standard_error", "gaps", "fields")
COLUMNS += ("hardware", "seconds")


class Setup(NamedTuple):
    """What the command line chose."""

    out: Path
    split: str
    seeds: int
    limit: int | None
    end: float
    toy: bool
    pretrain: dict[str, Any]
    tune: dict[str, Any]

    def fields(self, way: str, name: str) -> dict[str, Any]:
        """Return the fields of a training."""
        chosen = self.pretrain if name == ALL else self.tune if way == "tuned" else ALONE[name]
        return {"patience": 0} | chosen | (TOY if self.toy else {})

    def late(self) -> bool:
        """Return whether the time is over."""
        return time.monotonic() > self.end


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=list(ALONE), choices=ALONE)
    parser.add_argument("--ways", nargs="+", default=["tuned", "alone"], choices=["alone", "tuned"])
    parser.add_argument("--split", default="valid", choices=["valid", "test"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--gaps", type=int, help="at most; all unless given")
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--pretrain", nargs="*", default=[], help="fields, such as steps=20000")
    parser.add_argument("--tune", nargs="*", default=[], help="fields, such as dropout=0.6")
    parser.add_argument("--toy", action="store_true")
    given = parser.parse_args()
    setup = Setup(
        out=given.out,
        split=given.split,
        seeds=given.seeds,
        limit=given.gaps,
        end=time.monotonic() + 60 * given.minutes,
        toy=given.toy,
        pretrain=PRETRAIN | dict(map(parse_setting, given.pretrain)),
        tune=TUNE | dict(map(parse_setting, given.tune)),
    )
    try:
        for way in given.ways:
            for name in given.sets:
                compare(setup, way, name)
    except Stopped:
        print("Stopped; the same command goes on.")


def compare(setup: Setup, way: str, name: str) -> None:
    """Measure the models of all seeds, and the mean of their probabilities."""
    whole = f"{way}, mean of {setup.seeds}"
    left = [strategy for strategy in STRATEGIES if not known(setup, name, whole, strategy)]
    if not left:
        return
    models = [obtain(setup, way, name, seed) for seed in range(setup.seeds)]
    pieces = datasets.load(name, setup.split)
    for strategy in left:
        began, log_probs = time.monotonic(), []
        for model in models:
            if setup.late():
                raise Stopped
            log_probs.append(of_gaps(model, STRATEGIES[strategy], pieces, setup.limit))
        seconds = (time.monotonic() - began) / len(models)
        for seed, some in enumerate(log_probs):
            write(setup, name, f"{way}, seed {seed}", strategy, 1, some, seconds)
        mean = mixture(np.stack(log_probs))
        write(setup, name, whole, strategy, len(models), mean, seconds * len(models))


def known(setup: Setup, name: str, way: str, strategy: str) -> bool:
    """Return whether there is such a row, which is the last one of its models."""
    path = setup.out / "better_music.csv"
    if not path.exists():
        return False
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    wanted = (name, setup.split, way, strategy, told_fields(setup, name, way))
    names = ("set", "split", "way", "strategy", "fields")
    return any(tuple(row[column] for column in names) == wanted for row in rows)


def told_fields(setup: Setup, name: str, way: str) -> str:
    kind = way.split(",")[0]
    fields = {"gaps": setup.limit or ALL} | setup.fields(kind, name)
    if kind == "tuned":
        fields |= {f"pretrain_{key}": value for key, value in setup.fields(kind, ALL).items()}
    return " ".join(f"{key}={value}" for key, value in fields.items())


def of_gaps(
    model: Filler, strategy: Strategy, pieces: list[Any], limit: int | None
) -> np.ndarray[Any, Any]:
    """Return the log-probability of each gap."""
    net = model.method(strategy).net

    def ask(key: Any, windows: Any) -> Any:
        return strategy.log_prob(key, net, windows, windows.values[:, None]).log_prob[:, 0]

    found: np.ndarray[Any, Any] = over_gaps(
        ask, net, strategy, model.read(pieces), limit=limit
    ).of_gaps
    return found


def mixture(log_probs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the logarithm of the mean of the probabilities of several models."""
    total: np.ndarray[Any, Any] = np.logaddexp.reduce(log_probs, axis=0)
    return total - math.log(len(log_probs))


def obtain(setup: Setup, way: str, name: str, seed: int) -> Filler:
    """Return a trained model, from its file if there is one."""
    fields = setup.fields(way, name)
    told = hashlib.sha256(told_fields(setup._replace(limit=None), name, way).encode()).hexdigest()
    path = setup.out / "models" / f"{way}-{name}-{seed}-{told[:8]}.model"
    if path.exists():
        return caesura.load(path)
    sets = list(ALONE) if name == ALL else [name]
    start = obtain(setup, way, ALL, seed) if way == "tuned" and name != ALL else None
    model = caesura.train(
        [piece for one in sets for piece in datasets.load(one, "train")],
        kind="music",
        recipe="frames,frames-rnn",
        valid=[piece for one in sets for piece in datasets.load(one, "valid")],
        seed=seed,
        start=start,
        checkpoints=setup.out / "checkpoints" / path.stem,
        resume=True,
        report=show,
        stop=setup.late,
        **fields,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    model.save(path)
    return model


def show(net: str, progress: Progress) -> None:
    if progress.validation is not None:
        print(f"{net} {progress.step}/{progress.steps}: {progress.validation:.4f}", flush=True)


def write(
    setup: Setup,
    name: str,
    way: str,
    strategy: str,
    models: int,
    log_probs: np.ndarray[Any, Any],
    seconds: float,
) -> None:
    error = log_probs.std() / math.sqrt(len(log_probs))
    row = (name, setup.split, way, strategy, models, -log_probs.mean(), error, len(log_probs))
    print(f"{name}, {way}, {strategy}: {-log_probs.mean():.3f} ± {error:.3f}", flush=True)
    path = setup.out / "better_music.csv"
    new = not path.exists()
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        writer.writerow(
            (*row, told_fields(setup, name, way), jax.devices()[0].device_kind, round(seconds, 1))
        )


if __name__ == "__main__":
    main()
