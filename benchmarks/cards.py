"""The cards of `text` and `text-large`: their own records, and measurements.

    python benchmarks/cards.py make text a.model b.model   the file, of nets trained one by one
    python benchmarks/cards.py measure text    on test data; the results go to benchmarks/cards/
    python benchmarks/cards.py write text      the card, from these results and the model file

`--share 0.01` measures on a hundredth of the gaps, to see that it runs. `--only search` measures
one strategy, and keeps the results that the others have for the same model. The sets are those of
`caesura data list`, in the directory that CAESURA_DATA names. `music_card.py` is for music.
"""

import argparse
import json
import platform
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax

import caesura
from caesura import datasets, pretrained
from caesura.datasets import DATASETS
from caesura.errors import CaesuraError
from caesura.files import make_folder, write_text
from caesura.filler import join
from caesura.kinds import KINDS
from caesura.kinds.text.alphabet import PAPER
from caesura.modelfile import read_info
from caesura.scoring.calibration import BINS, SymbolTally
from caesura.scoring.gaps import score_gaps, score_positions
from caesura.strategies import STRATEGIES
from caesura.training.recipe import OLD_NAMES, choose

RESULTS = Path(__file__).parent / "cards"
GAP, MARGIN = 5, 10
STEPS = 300_000  # of a test split, from its beginning: one pass over them for every strategy


class Card(NamedTuple):
    """What a model file cannot say of itself."""

    sets: tuple[str, ...]
    serves: str
    fails: str
    gaps: dict[str, int]  # by strategy, how many of each set: some are slow
    dtype: str = "bfloat16"


SERVES = (
    "Lost characters in English prose: letters, words and short phrases that are lost through OCR, "
    "damage or a bad line, if the text around them is complete. It ranks restorations and says how "
    "sure it is of each."
)
FAILS = (
    "It knows how English looks. It does not know what is true: a filled name, number or date is a "
    "guess. It was not trained on other languages, tables, programs or verse. Most readings of "
    "gaps of more than eight characters are wrong (docs/decoding.md). It has learnt the biases of "
    "its source."
)
CARDS = {
    "text": Card(
        sets=("wiki96",),
        serves=SERVES,
        fails=FAILS,
        gaps={"search": 200, "sir": 1_000, "nade": 5_000, "oneway": 5_000, "onegram": 5_000},
    ),
    "text-large": Card(
        sets=("wiki96",),
        serves=f"{SERVES} It is better than the model `text` and takes about five times as long.",
        fails=FAILS,
        gaps={"search": 200, "nade": 1_000, "oneway": 1_000, "onegram": 1_000},
        dtype="int8",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["make", "measure", "write"])
    parser.add_argument("name", choices=CARDS)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--only", choices=STRATEGIES)
    arguments = parser.parse_args()
    try:
        if arguments.what == "make":
            make(arguments.name, arguments.models)
        elif arguments.what == "measure":
            measure(arguments.name, arguments.share, arguments.only)
        else:
            write(arguments.name)
    except CaesuraError as error:
        sys.exit(f"Error: {error}")


def make(name: str, models: Sequence[str | Path]) -> None:
    """All nets of the models, in fewer bytes; the first model gives the rest."""
    first, *others = map(caesura.load, models)
    for other in others:
        if any(other.training[of] != first.training[of] for of in ("data", "seed")):
            raise CaesuraError("The nets were trained on other data, or by another seed.")
    place = pretrained.DIRECTORY / f"{name}.safetensors"
    joined = replace(join(first, *others), strategy=pretrained.STRATEGIES[name])
    joined.save(place, dtype=CARDS[name].dtype)
    print(f"{place}: {place.stat().st_size} bytes")


def measure(name: str, share: float, only: str | None = None) -> None:
    """Score and calibrate every strategy on every set, or only one."""
    card, filler = CARDS[name], caesura.load(name)
    machine = f"JAX {jax.__version__}, {jax.devices()[0].device_kind}, {platform.machine()}"
    sha256 = read_info(pretrained.find_model(name))["sha256"]
    found: dict[str, dict[str, Any]] = {}
    if only is not None:
        before = json.loads((RESULTS / f"{name}.json").read_text())
        if before["sha256"] != sha256:
            raise CaesuraError(f"The other results are not those of this model '{name}'.")
        found, machine = before["sets"], f"{before['machine']}; `{only}`: {machine}"
    for set_name in card.sets:
        sequences = filler.read(datasets.load(set_name, "test", limit=STEPS))
        found.setdefault(set_name, {})
        for strategy, most in card.gaps.items():
            if only not in (None, strategy):
                continue
            options = filler.kind.strategy_options.get(strategy, {})
            method = filler.method(STRATEGIES[strategy](**options))
            limit = max(1, int(most * share))
            asked = (method.net, method.strategy, sequences)
            whole = score_gaps(*asked, gap=GAP, margin=MARGIN, limit=limit)
            steps = score_positions(*asked, gap=GAP, margin=MARGIN, limit=limit)
            found[set_name][strategy] = {
                "options": options,
                "nll": whole.nll,
                "standard_error": whole.standard_error,
                "gaps": whole.gaps,
                "nll_by_position": steps.nll.tolist(),
                "calibration": steps.tally.to_dict(),
            }
            print(f"{set_name} {strategy}: {whole.nll:.3f} ± {whole.standard_error:.3f}")
    document = {
        "sha256": sha256,
        "share": share,
        "gap": GAP,
        "margin": MARGIN,
        "steps": STEPS,
        "machine": machine,
        "sets": found,
    }
    make_folder(RESULTS)
    write_text(RESULTS / f"{name}.json", json.dumps(document, indent=1) + "\n")


def write(name: str) -> None:
    """The card, beside the model."""
    file = Path(pretrained.find_model(name))
    info = read_info(file)
    results = json.loads((RESULTS / f"{name}.json").read_text())
    if (results["sha256"], results["share"]) != (info["sha256"], 1):
        raise CaesuraError(f"The results are not those of all of this model '{name}'.")
    place = file.with_suffix(".md")
    write_text(place, page(name, info, results))
    print(place)


def page(name: str, info: dict[str, Any], results: dict[str, Any]) -> str:
    card, training = CARDS[name], info["training"]
    default = pretrained.default_strategy(name) or info["strategy"]
    calibration = {s: r[default]["calibration"] for s, r in results["sets"].items()}
    of_kind, named = _kind(name), "" if name in KINDS else f" --model {name}"
    parts = [
        f"# The model `{name}`",
        "<!-- Made by `python benchmarks/cards.py`: change that, not this. -->",
        f'`caesura.load("{name}")`, or `caesura fill {of_kind}{named}`. '
        f"{info['bytes'] / 1e6:.1f} MB, {' and '.join(info['dtypes'])}; sha256 "
        f"`{info['sha256']}`.",
        f"**For:** {card.serves}",
        f"**Not for:** {card.fails}",
        "## Data",
        table(
            ["set", "what", "licence"],
            [[f"`{s}`", DATASETS[s].description, DATASETS[s].licence] for s in card.sets],
        ),
        "Trained on {pieces} pieces with {steps} steps in all, and chosen on {valid_pieces} others "
        "with {valid_steps}, which are the sets' own splits; fingerprint of both "
        "`{fingerprint}`. Nothing below was seen in training.".format(**training["data"]),
        *recipe_part(commands(name, info, card), info),
        f"## Test: gaps of {results['gap']} steps",
        f"Nats of a whole gap, with the standard error. The gaps are spread evenly over the first "
        f"{results['steps']} steps of the test split (or all of it), at least {results['margin']} "
        f"steps from the ends. ({results['machine']}.) Not measured: {_unmeasured(results)}.",
        table(
            ["set", "strategy", "NLL", "± SE", "gaps", "calibration error"],
            [
                [
                    f"`{s}`",
                    _called(strategy, r["options"]),
                    f"{r['nll']:.3f}",
                    f"{r['standard_error']:.3f}",
                    str(r["gaps"]),
                    f"{r['calibration']['calibration_error']:.4f}",
                ]
                for s, by_strategy in results["sets"].items()
                for strategy, r in by_strategy.items()
            ],
        ),
        "## Calibration",
        f"Each step of a gap is predicted by itself. The statement is that the likeliest character "
        f"is the right one. The calibration error is the mean difference between the stated share "
        f"and the true share, in {BINS} bins. With `{default}`, the default, by position:",
        table(
            ["set", "position", *SymbolTally.columns.values()],
            [
                [f"`{s}`", str(step + 1), *(f"{c[step]:.3f}" for c in said["by_position"].values())]
                for s, said in calibration.items()
                for step in range(results["gap"])
            ],
        ),
        "By what is stated, at all positions:",
        table(
            ["set", "statements", "stated", "true"],
            [
                [f"`{s}`", str(b["statements"]), f"{b['stated']:.3f}", f"{b['true']:.3f}"]
                for s, said in calibration.items()
                for b in said["reliability"]
                if b["statements"]
            ],
        ),
    ]
    return "\n\n".join(parts) + "\n"


def recipe_part(lines: list[str], info: dict[str, Any]) -> list[str]:
    """How the model of a file was made: what to type, the nets, and the versions."""
    training = info["training"]
    return [
        "## Recipe",
        "```\n" + "\n".join(lines) + "\n```",
        table(
            ["net", "recipe", "cells", "parameters", "validation NLL", "best update", "seconds"],
            [_net_row(n, net, training["nets"].get(n)) for n, net in info["nets"].items()],
        ),
        f"Seed {training['seed']}; "
        + ", ".join(f"{k} {v}" for k, v in training["versions"].items())
        + ".",
    ]


def commands(name: str, info: dict[str, Any], card: Card) -> list[str]:
    """What to type for this model: nets whose fields differ from their recipes alike are one."""
    kind, records = _kind(name), info["training"]["nets"]
    recipes: dict[str, list[str]] = {}
    for record in records.values():
        first = record.get("before", record)
        recipes.setdefault(settings_of(kind, first), []).append(first["recipe"])
    of_kind = " ".join(f"--set {k}={v}" for k, v in _kind_settings(info["kind"]).items())
    trainings, begun = {}, {}
    for settings, names in recipes.items():
        file = f"{'-'.join(names)}.model"
        trainings[file] = f"--recipe {','.join(names)} {settings} {of_kind}"
        begun |= dict.fromkeys(names, file)
    seed = info["training"]["seed"]
    start = " ".join(["caesura", "train", kind, *card.sets])
    further = {
        f"{net}.model": f"--start {begun[record['recipe']]} --recipe {record['recipe']} "
        + settings_of(kind, record)
        for net, record in records.items()
        if "before" in record
    }
    files = " ".join([*trainings, *further])
    return [
        f"{start} -o {file} {options} --seed {seed}"
        for file, options in [*trainings.items(), *further.items()]
    ] + [f"python benchmarks/cards.py make {name} {files}"]


def settings_of(kind: str, record: dict[str, Any]) -> str:
    """The fields that differ from those of the recipe, as options."""
    plain = choose(record["recipe"], kind, KINDS[kind].options, {}).recipe
    own = {OLD_NAMES.get(k, k): v for k, v in record["fields"].items()}
    fields = {k: v for k, v in own.items() if v != _listed(getattr(plain, k))}
    return " ".join(f"--set {shlex.quote(_setting(*field))}" for field in fields.items())


def _kind(name: str) -> str:
    return pretrained.KINDS.get(name, name)


def _setting(field: str, value: Any) -> str:
    return f"{field}={value if isinstance(value, str) else json.dumps(value)}"


def _kind_settings(kind: dict[str, Any]) -> dict[str, Any]:
    return {"alphabet": "paper"} if kind["fields"]["alphabet"] == PAPER else {}


def _listed(value: Any) -> Any:
    """As JSON gives it back."""
    return list(value) if isinstance(value, tuple) else value


def _net_row(name: str, net: dict[str, Any], record: dict[str, Any] | None) -> list[str]:
    cells = f"{net['layers']} × {net['hidden']} {net['cell']}" if net["layers"] else "none"
    row = [name, f"`{record['recipe']}`" if record else "", cells, str(net["parameters"])]
    if record is None:
        return [*row, "", "", ""]
    numbers = (f"{record['validation_nll']:.4f}", record["best_step"], f"{record['seconds']:.0f}")
    return [*row, *map(str, numbers)]


def _unmeasured(results: dict[str, Any]) -> str:
    measured = {name for by_strategy in results["sets"].values() for name in by_strategy}
    return ", ".join(f"`{name}`" for name in STRATEGIES if name not in measured) or "nothing"


def _called(strategy: str, options: dict[str, int]) -> str:
    return f"`{strategy}`" + "".join(f", {name} {value}" for name, value in options.items())


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()
