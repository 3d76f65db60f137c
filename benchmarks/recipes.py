"""What each choice of a modern recipe is worth: one thing changed at a time, on validation data.

    python benchmarks/recipes.py music jsb_chorales
    python benchmarks/recipes.py text wiki96 --limit 20000000
    python benchmarks/recipes.py music musedata --try "hidden=512 layers=2" --try "hidden=512"

The sets are those of `caesura data list`, in the folder that CAESURA_DATA names. Two numbers are
given, both on the validation split: nats a step of the recipe's own objective (the NLL of every
step while some of its neighbours are hidden), which cannot be compared between recipes that hide
more or less, and nats of a gap of five by the recipe's strategy, which can.
"""

import argparse

import jax

import caesura
from caesura import datasets
from caesura.scoring.gaps import score_gaps
from caesura.training.recipe import parse_setting

CHANGES: dict[str, list[dict[str, object]]] = {
    "music": [
        {},
        {"shift": 0},
        {"dropout": 0.0},
        {"dropout": 0.2},
        {"dropout": 0.6},
        {"cell": "gru"},
        {"cell": "tanh"},
        {"hidden": 96},
        {"hidden": 256},
        {"layers": 2},
        {"learning_rate": 0.001},
        {"learning_rate": 0.01},
        {"length": 32},
        {"length": 128},
        {"weight_decay": 0.1},
        {"batch": 16},
    ],
    "text": [
        {},
        {"dropout": 0.1},
        {"dropout": 0.3},
        {"cell": "gru"},
        {"cell": "tanh"},
        {"layers": 2},
        {"learning_rate": 0.002},
        {"learning_rate": 0.008},
        {"length": 50},
        {"length": 200},
        {"batch": 16},
        {"batch": 64},
        {"clip": 0.3},
        {"missing_input": "gating"},
    ],
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=CHANGES)
    parser.add_argument("set")
    parser.add_argument("--recipe", default="nade")
    parser.add_argument("--limit", type=int, help="steps to learn from, at most")
    parser.add_argument("--only", help="numbers of the changes to try, with commas between")
    parser.add_argument("--try", action="append", default=[], dest="tries", help="changes instead")
    parser.add_argument("--gaps", type=int, default=2000, help="of five steps, to score")
    parser.add_argument("--set-field", action="append", default=[], dest="fields")
    arguments = parser.parse_args()
    compare(arguments)


def compare(arguments: argparse.Namespace) -> None:
    train = datasets.load(arguments.set, "train", limit=arguments.limit)
    valid = datasets.load(arguments.set, "valid", limit=500_000)
    common = dict(map(parse_setting, arguments.fields))
    changes = CHANGES[arguments.kind]
    if arguments.only:
        changes = [changes[int(i)] for i in arguments.only.split(",")]
    if arguments.tries:
        changes = [dict(map(parse_setting, fields.split())) for fields in arguments.tries]
    print(f"{arguments.recipe} on {arguments.set}, {jax.default_backend()}; {common}\n")
    print("| change | validation NLL | gap of five | best update | of | seconds |")
    print("|---|---|---|---|---|---|")
    for change in changes:
        filler = caesura.train(
            train, kind=arguments.kind, recipe=arguments.recipe, valid=valid, **common | change
        )
        (record,) = filler.training["nets"].values()
        told = ", ".join(f"{name} = {value}" for name, value in change.items()) or "none"
        method = filler.method(None)
        sequences = filler.read(valid)
        gap = score_gaps(method.net, method.strategy, sequences, limit=arguments.gaps)
        print(
            f"| {told} | {record['validation_nll']:.4f} | {gap.nll:.2f} ± {gap.standard_error:.2f} "
            f"| {record['best_step']} | {record['history'][-1]['step']} | {record['seconds']} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
