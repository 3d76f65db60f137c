"""The paper's nets for music in full, with step sizes that short trainings choose.

    python benchmarks/step_sizes.py --data DATA --out OUT --minutes 9       # the next call goes on
    python benchmarks/step_sizes.py --data DATA --out OUT --recipes paper-nade-masked paper-rnn
    python benchmarks/step_sizes.py --data DATA --out OUT --short           # only the first step
    python benchmarks/step_sizes.py --data DATA --out OUT --toy             # small nets, on a CPU

50 000 updates with each of nine step sizes take too long (docs/performance.md), so:

1. Every step size is tried for 3 000 updates, in which it falls to zero. OUT/trials gets the nets.
2. Gradients have length one, so the sum of all step sizes is how far the weights can go. The best
   step size on the validation split, times 3 000 / 50 000, goes as far in a full training. The two
   of the grid that are nearest to this are chosen; with `--finalists 1`, the nearest one.
   OUT/step_sizes.csv gets all of them, OUT/trainings.toml the trainings for plans/paper.toml.
3. They are trained for 50 000 updates; the better one on the validation split is kept.
4. The tables are measured, then the figures. OUT/reproduce.csv gets the results. Put an earlier
   table of results there to have its rows replaced.

With `--short`, the nets of the first step are measured, and OUT/trials/reproduce.csv gets the
results. What is in OUT is not computed again.
"""

import argparse
import csv
import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from caesura.filler import load
from caesura.reproduce.plan import Plan, Training, read_plan
from caesura.reproduce.results import MODELS
from caesura.reproduce.run import reproduce
from caesura.reproduce.trainings import fingerprint, model_path
from caesura.reproduce.watch import Watch
from caesura.strategies import GSN
from caesura.training.loop import Progress

SETS = ("piano_midi", "nottingham", "musedata", "jsb_chorales")
RECIPES = ("paper-brnn", "paper-nade")
STAGES = ([MODELS], ["table1", "table2"], ["figure2"], ["figure3"])  # what matters most first
NETS = 54  # six trainings of nine step sizes; more are hardly faster (docs/performance.md)
# The scores of JSB are shorter, so that there are two stacks, as with the real recipes.
TOY = {"hidden": 8, "points": 300, "length": 140, "steps": 8}
TOY |= {"validate_every": 2, "valid_steps": 600}
TOY_GAPS = 40


Chosen = dict[tuple[str, str], list[float]]  # step sizes, by data set and recipe


class Tried(NamedTuple):
    """A step size, its lowest validation NLL in a short training, and the update that had it."""

    rate: float
    nll: float
    step: int


class Trial(NamedTuple):
    """A short training, and what it says about each step size."""

    training: Training
    rates: list[Tried]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, help="the data directory")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--recipes", nargs="+", default=list(RECIPES))
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--trial-steps", type=int, default=3000, help="updates of a short training")
    parser.add_argument("--finalists", type=int, default=2, choices=(1, 2), help="trained in full")
    parser.add_argument("--nets", type=int, default=NETS, help="at most, in one program")
    parser.add_argument("--short", action="store_true", help="train none in full")
    parser.add_argument("--toy", action="store_true")
    arguments = parser.parse_args()
    watch = Printing(time.monotonic() + 60 * arguments.minutes)
    plan = replace(read_plan().only(arguments.sets, arguments.recipes), pairs=())
    if arguments.toy:
        plan = small(plan)
    trials = trials_of(plan, arguments.trial_steps)
    out = arguments.out

    def finish(part: Plan, items: list[str], folder: Path) -> bool:
        summary = reproduce(part, items, folder, arguments.data, watch, arguments.nets)
        watch.note(f"{', '.join(items)} in {folder}: {summary.left}")
        return not summary.stopped

    if not finish(trials, [MODELS], out / "trials"):
        return
    tried = [Trial(one, read_tried(out / "trials", one, plan.seed)) for one in trials.trainings]
    chosen = {
        (long.dataset, long.recipe): finalists(
            short.rates, arguments.finalists, steps_of(short.training) / steps_of(long)
        )
        for short, long in zip(tried, plan.trainings, strict=True)
    }
    write_tried(out / "step_sizes.csv", tried, chosen)
    print(f"\n{table(tried, chosen)}\n", flush=True)
    last, folder = (trials, out / "trials") if arguments.short else (in_full(plan, chosen), out)
    (out / "trainings.toml").write_text(as_toml(last), encoding="utf-8")
    if all(finish(last, items, folder) for items in STAGES):
        print("Everything is done.")


class Printing(Watch):
    """Prints a line for each validation and each measurement, and stops when the time is over."""

    def __init__(self, end: float) -> None:
        self.began, self.end = time.monotonic(), end

    def note(self, sentence: str) -> None:
        print(f"[{time.monotonic() - self.began:4.0f} s] {sentence}", flush=True)

    def stopped(self) -> bool:
        return time.monotonic() > self.end

    @contextmanager
    def training(self, name: str) -> Iterator[Callable[[str, Progress], None]]:
        self.note(name)

        def report(nets: str, progress: Progress) -> None:
            if progress.validation is not None:
                self.note(
                    f"{nets}, update {progress.step} of {progress.steps}: mean of the best "
                    f"{progress.validation:.4f}, {progress.seconds_left:.0f} s left"
                )

        yield report

    @contextmanager
    def scoring(self, name: str) -> Iterator[Callable[[int, int], None]]:
        self.note(name)
        yield lambda done, gaps: None


def trials_of(plan: Plan, steps: int) -> Plan:
    """Return the plan with the whole grid of the recipes, and few updates."""

    def short(one: Training) -> Training:
        fields = {name: value for name, value in one.fields.items() if name != "learning_rate"}
        planned = one.choose(fields).recipe.steps
        return replace(one, fields=fields | {"steps": min(steps, planned)})

    return replace(plan, trainings=tuple(map(short, plan.trainings)))


def steps_of(training: Training) -> int:
    """Return the updates of a training."""
    return training.choose(training.fields).recipe.steps


def in_full(plan: Plan, chosen: Chosen) -> Plan:
    """Return the plan with the chosen step sizes."""
    trainings = (
        replace(one, fields=one.fields | {"learning_rate": chosen[one.dataset, one.recipe]})
        for one in plan.trainings
    )
    return replace(plan, trainings=tuple(trainings))


def read_tried(out: Path, training: Training, seed: int) -> list[Tried]:
    """Return what the history in the model of a short training says about each step size."""
    filler = load(model_path(out, fingerprint(training, seed)))
    (record,) = filler.training["nets"].values()
    tried = []
    for number, rate in enumerate(training.choose(training.fields).recipe.learning_rate):
        known = [(h["nll"][number], h["step"]) for h in record["history"]]
        finite = [pair for pair in known if pair[0] is not None and math.isfinite(pair[0])]
        tried.append(Tried(rate, *min(finite, default=(math.inf, 0))))
    return tried


def finalists(tried: list[Tried], count: int, shorter: float) -> list[float]:
    """Return the step sizes nearest to the best one times `shorter`, the smallest first."""
    goal = min(tried, key=lambda one: one.nll).rate * shorter
    return sorted(
        sorted((one.rate for one in tried), key=lambda rate: abs(math.log(rate / goal)))[:count]
    )


def write_tried(path: Path, tried: list[Trial], chosen: Chosen) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("set", "recipe", "updates", *Tried._fields, "chosen"))
        for one, some in tried:
            steps, best = steps_of(one), chosen[one.dataset, one.recipe]
            for line in some:
                row = (one.dataset, one.recipe, steps, *line, int(line.rate in best))
                writer.writerow(row)


def table(tried: list[Trial], chosen: Chosen) -> str:
    """Return the validation NLLs as a table in Markdown; what was chosen is bold."""
    rates = [line.rate for line in tried[0].rates]
    lines = ["| set | recipe | " + " | ".join(f"{rate:g}" for rate in rates) + " |"]
    lines.append("|---|---|" + "---:|" * len(rates))
    for one, some in tried:
        best = chosen[one.dataset, one.recipe]
        cells = [f"**{line.nll:.3f}**" if line.rate in best else f"{line.nll:.3f}" for line in some]
        lines.append(f"| {one.dataset} | `{one.recipe}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def as_toml(plan: Plan) -> str:
    """Return the trainings as a plan has them."""
    entries = []
    for one in plan.trainings:
        about: dict[str, Any] = {"recipe": one.recipe, "datasets": [one.dataset]}
        about["serves"] = list(one.serves)
        if one.items != tuple(plan.items):
            about["items"] = list(one.items)
        lines = [f"{name} = {json.dumps(value)}" for name, value in about.items()]
        fields = ", ".join(f"{name} = {json.dumps(value)}" for name, value in one.fields.items())
        entries.append("\n".join(["[[training]]", *lines, f"fields = {{ {fields} }}"]))
    return "\n\n".join(entries) + "\n"


def small(plan: Plan) -> Plan:
    """Return the plan with small nets, few gaps and few chains."""
    limits = dict.fromkeys(SETS, TOY_GAPS)
    items = {
        name: replace(item, limits=limits, gibbs_steps=item.gibbs_steps[:2])
        for name, item in plan.items.items()
    }
    trainings = tuple(replace(one, fields=one.fields | TOY) for one in plan.trainings)
    strategies = plan.strategies | {"gsn": GSN(steps=10, chains=4)}
    return replace(plan, items=items, trainings=trainings, strategies=strategies)


if __name__ == "__main__":
    main()
