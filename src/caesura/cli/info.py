"""`caesura info`: what a model file says about itself."""

import os
from typing import Any

from caesura.cli.options import Json, ModelArgument
from caesura.cli.output import answer_json, answer_table
from caesura.errors import CaesuraError, one_line
from caesura.pretrained import default_strategy, find_model

BLOCKS = "▁▂▃▄▅▆▇█"
WIDEST = 48  # characters of a curve


def info(model: ModelArgument, json: Json = False) -> None:
    """Show what a model is and where it comes from, without reading its weights."""
    from caesura.modelfile import read_info

    weights = find_model(model)
    told = read_info(weights)
    told["strategy"] = default_strategy(model) or told["strategy"]  # as `caesura.load` has it
    if json:
        answer_json(told)
        return
    try:
        lines, rows, curves = _told(weights, told)
    except (LookupError, TypeError, AttributeError, ValueError):
        raise CaesuraError(
            f"The training record of '{weights}' was not written by `caesura train`: use --json to "
            "see it."
        ) from None
    for name, value in lines.items():
        print(one_line(f"{name:9} {value}"))
    print()
    answer_table(
        ["net", "recipe", "cells", "parameters", "validation NLL", "best update", "seconds"],
        rows,
        left=3,
    )
    for curve in curves:
        print(curve)


def _told(
    weights: str | os.PathLike[str], told: dict[str, Any]
) -> tuple[dict[str, str], list[list[str]], list[str]]:
    """Return all that is shown, before printing any: a file may hold any training record."""
    from rich.filesize import decimal

    training = told["training"]
    versions = training.get("versions", {}) | {"caesura": told["caesura"]}
    lines = {
        "file": f"{weights}, {decimal(told['bytes'])}, {' and '.join(told['dtypes'])}",
        "kind": _kind(told["kind"]),
        "strategy": f"{told['strategy']} (the default)",
        "seed": training.get("seed"),
        "data": _data(training.get("data")),
        "versions": "; ".join(f"{name} {version}" for name, version in versions.items()),
        "sha256": told["sha256"],
    }
    records = training.get("nets", {})
    return (
        {name: str(value) for name, value in lines.items() if value is not None},
        [
            [one_line(str(cell)) for cell in _row(name, net, records.get(name))]
            for name, net in told["nets"].items()
        ],
        [_history(name, record) for name, record in records.items() if record["history"]],
    )


def _kind(kind: dict[str, Any]) -> str:
    fields = ", ".join(f"{name} {value!r}" for name, value in kind["fields"].items())
    return f"{kind['name']} ({fields})"


def _data(data: dict[str, Any] | None) -> str | None:
    if data is None:
        return None
    return (
        f"{data['steps']} steps in {data['pieces']} pieces, validated on {data['valid_steps']} in "
        f"{data['valid_pieces']}, fingerprint {data['fingerprint'][:16]}"
    )


def _row(name: str, net: dict[str, Any], record: dict[str, Any] | None) -> list[str]:
    cells = f"{net['layers']} x {net['hidden']} {net['cell']}" if net["layers"] else "none"
    row = [name, record["recipe"] if record else "", cells, str(net["parameters"])]
    if record is None:
        return [*row, "", "", ""]
    nll = record["validation_nll"]
    shown = "" if nll is None else f"{nll:.4f}"
    return [*row, shown, str(record["best_step"]), f"{record['seconds']:.0f}"]


def _history(name: str, record: dict[str, Any]) -> str:
    """Return the validation NLL over the updates, as a curve of small bars."""
    curve = [_least(entry["nll"]) for entry in record["history"]]
    known = [nll for nll in curve if nll is not None]
    if not known:
        return ""
    first, last = record["history"][0]["step"], record["history"][-1]["step"]
    of = one_line(f"{name} net, updates {first} to {last}")
    return (
        f"\nvalidation NLL of the {of}, from {known[0]:.3f} to {known[-1]:.3f}:\n{sparkline(curve)}"
    )


def _least(values: list[float | None]) -> float | None:
    """Return the best of the step sizes; a number that is not finite is null in the file."""
    return min((value for value in values if value is not None), default=None)


def sparkline(values: list[float | None]) -> str:
    """Return the values as bars, scaled from the least to the largest; an unknown one is blank."""
    if len(values) > WIDEST:
        values = [values[i * (len(values) - 1) // (WIDEST - 1)] for i in range(WIDEST)]
    known = [value for value in values if value is not None]
    low, span = min(known), max(known) - min(known) or 1.0
    return "".join(
        " " if value is None else BLOCKS[int((value - low) / span * (len(BLOCKS) - 1) + 0.5)]
        for value in values
    )
