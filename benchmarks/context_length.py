"""The paper's nets for music, taught on stretches of 30 steps, on whole pieces and on parts.

    python benchmarks/context_length.py OUT    after `caesura reproduce all --out OUT`

A state that only ever grew up over 30 steps drifts when it has run over a thousand. The paper does
not say how long the pieces were that its nets were tested on.
"""

import argparse
from pathlib import Path

from caesura import datasets
from caesura.filler.filler import Filler, load
from caesura.reproduce.measures import Sequences, cut
from caesura.reproduce.paper import DATASETS, TABLE1, TABLE2
from caesura.reproduce.plan import Plan, read_plan
from caesura.reproduce.run import read_complete
from caesura.reproduce.trainings import fingerprint, model_path
from caesura.scoring.gaps import score_gaps, score_steps

MUSIC = [name for name in DATASETS if name != "wiki96"]
STRETCHES = (30, 60, 200, None)
EXACT = ("nade", "oneway")  # gsn on a CPU would take hours


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path, help="the folder of caesura reproduce, with its models")
    parser.add_argument("--gaps", type=int, default=4000, help="at most so many of each set")
    given = parser.parse_args()
    plan = read_plan(None)
    columns = [f"in parts of {n}" if n else "whole pieces" for n in STRETCHES]
    print("| | set | the paper | " + " | ".join(columns) + " |")
    print("|---|---|---|" + "---|" * len(columns))
    for row in (*TABLE1, *TABLE2):
        recipe = row.recipes.get("paper")
        if recipe is None or row.strategy not in ("", *EXACT):
            continue
        for dataset, theirs in zip(DATASETS, row.values, strict=True):
            if dataset in MUSIC:
                filler, data = trained(plan, given.out, recipe, dataset)
                ours = [measure(filler, row.strategy, cut(data, n), given.gaps) for n in STRETCHES]
                of = "a gap of five" if row.strategy else "a single step"
                cells = " | ".join(f"{nll:.2f}" for nll in ours)
                print(
                    f"| {row.title}, {of} | {DATASETS[dataset]} | {theirs} | {cells} |", flush=True
                )


def trained(plan: Plan, out: Path, recipe: str, dataset: str) -> tuple[Filler, Sequences]:
    """The net of a recipe for a set, and the set's test pieces."""
    (training,) = plan.only([dataset], [recipe]).trainings
    filler = load(model_path(out, fingerprint(training, plan.seed)))
    return filler, read_complete(filler, datasets.load(dataset, "test"))


def measure(filler: Filler, strategy: str, pieces: Sequences, gaps: int) -> float:
    """Nats of a gap, or of a single step where nothing is filled."""
    if strategy:
        method = filler.method(strategy)
        return score_gaps(method.net, method.strategy, pieces, limit=gaps).nll
    net = next(net for name, net in filler.nets.items() if name != "onegram")
    return score_steps(net, pieces).nll


if __name__ == "__main__":
    main()
