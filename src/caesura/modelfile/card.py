"""The card of a model in the form of the Hugging Face Hub, from the record in its file."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from caesura.errors import CaesuraError
from caesura.files import read_small, write_text
from caesura.modelfile.files import read_info

MARK = "<!-- Written by caesura: the parts in [brackets] are for you to fill in. -->"
MOST_BYTES = 1_000_000  # of a card; a longer file is not one


def write_card(model: Path) -> Path:
    """Write the card of a model file beside it, with the suffix .md, and return its path.

    Raises
    ------
    CaesuraError
        If there is a file of that name which is not such a card.
    """
    place = model.with_suffix(".md")
    if place.exists() and MARK.encode() not in read_small(place, MOST_BYTES):
        raise CaesuraError(f"The card would replace '{place}', which is not a card: move it away.")
    write_text(place, render(model))
    return place


def render(model: Path) -> str:
    """Return the card: the Hub's header in YAML, then Markdown."""
    info = read_info(model)
    kind, training = info["kind"]["name"], info["training"]
    with model.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    parts = [
        f"---\nlibrary_name: caesura\ntags:\n- caesura\n- gap-filling\n- imputation\n- {kind}\n---",
        MARK,
        f"# {_plain(model.stem)}",
        f"A model for the Python library caesura: it fills gaps in {kind} and "
        "says how sure it is. The file holds numbers and a description of the nets, and no code.",
        "```python\nimport caesura\n\n"
        f'filler = caesura.load("hf://USER/REPO/{_plain(model.name)}@REVISION#sha256={sha256}")\n'
        "```",
        "**For:** [what it is good at]",
        "**Not for:** [what it has not seen, and what it cannot know]",
        "## Data",
        "[Where the data is from, and its licence.]",
        _data(training.get("data", {})),
        "## Nets",
        _table(
            ["net", "cells", "parameters", "recipe", "validation NLL", "best update"],
            [
                _net(name, net, training.get("nets", {}).get(name))
                for name, net in info["nets"].items()
            ],
        ),
        f"The default strategy is `{info['strategy']}`. {_versions(training)}",
        "## Results",
        "[Add what `caesura evaluate` says of data that was not seen in training.]",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _data(data: dict[str, Any]) -> str:
    if not data:
        return ""
    return (
        f"Trained on {data['pieces']} pieces with {data['steps']} steps in all, and chosen on "
        f"{data['valid_pieces']} others with {data['valid_steps']}; the fingerprint of both is "
        f"`{_plain(data['fingerprint'])}`."
    )


def _net(name: str, net: dict[str, Any], record: dict[str, Any] | None) -> list[str]:
    cells = f"{net['layers']} × {net['hidden']} {net['cell']}" if net["layers"] else "none"
    row = [name, cells, str(net["parameters"])]
    if record is None:
        return [*row, "", "", ""]
    numbers = (f"{record['validation_nll']:.4f}", str(record["best_step"]))
    return [*row, f"`{_plain(record['recipe'])}`", *numbers]


def _versions(training: dict[str, Any]) -> str:
    versions = training.get("versions", {})
    if not versions:
        return ""
    made = ", ".join(f"{_plain(name)} {_plain(version)}" for name, version in versions.items())
    return f"Trained with seed {training['seed']}, by {made}."


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _plain(word: Any) -> str:
    """The word without what Markdown would read as its own."""
    return "".join(c for c in str(word) if c.isprintable() and c not in '`|<>[]"\\')
