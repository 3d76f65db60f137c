"""The model `papyri`: how it was trained. How good it is: benchmarks/lost_letters.py.

    python benchmarks/papyri.py prepare DIR    the letters of all sets as nets see them, in files
    python benchmarks/papyri.py train DIR      each net to a file of its own; needs a GPU
    python benchmarks/papyri.py further DIR    one of the library's own nets, once more
    python benchmarks/papyri.py make A B       both nets in one file, as it comes with the library

The data is in `greek/` of the directory that CAESURA_DATA names: the Duke Databank of Documentary
Papyri, and literary Greek to begin with.
"""

import argparse
import lzma
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import caesura
from caesura import pretrained
from caesura.datasets.folder import data_folder
from caesura.datasets.papyri import Papyrus, documents
from caesura.errors import CaesuraError
from caesura.filler import join
from caesura.kinds import Text
from caesura.kinds.text.document import BREAK

SMALL = "αβγδεζηθικλμνξοπρστυφχψωϛϙϡ"
KIND = Text(
    SMALL + SMALL.upper(), gap_char="_", notation="leiden", normalise="letters final starts"
)
AS_NETS_SEE = {"notation": "plain", "normalise": "", "gap_char": "_", "brackets": ""}
SHORTEST = 20  # letters of a document to learn from
UNDIVIDED = 5  # one document in so many is learnt without word division
SETTINGS = {"batch": 512, "length": 160, "layers": 2, "validate_every": 500}
SIZES = {  # together less than 20 MB
    "bidirectional": {"hidden": 496, "head_hidden": 448},
    "forward": {"hidden": 480, "head_hidden": 256},
}
TRIAL_STEPS = {"batch": 4, "steps": 4, "validate_every": 2}
TRIAL = TRIAL_STEPS | {"hidden": 8, "head_hidden": 8}
GAPS = {"gap": [1, 20], "every": 25, "in_order": 0.8, "targets": "gaps"}
# First on everything, then on papyri alone.
PHASES = {
    "bidirectional": [
        {"steps": 4500, "learning_rate": 0.003, "dropout": 0.05},
        {"steps": 6500, "learning_rate": 0.0015, "dropout": 0.15},
    ],
    "forward": [
        {"steps": 5000, "learning_rate": 0.003, "dropout": 0.05},
        {"steps": 7000, "learning_rate": 0.0015, "dropout": 0.15},
    ],
}
RECIPES = {"bidirectional": "nade", "forward": "rnn"}
# Then once more on papyri, in longer stretches, since names recur in a document. The loss of the
# bidirectional net in training was above that in validation, so it does not need so much dropout.
# The forward net gets worse without.
LONGER = {"batch": 320, "length": 256, "learning_rate": 0.001, "clip": 0.5}
FURTHER = {
    "bidirectional": {"steps": 6000, "dropout": 0.02},
    "forward": {"steps": 16000, "dropout": 0.15},
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("prepare", "train", "further"):
        commands.add_parser(name).add_argument("directory", type=Path)
        commands.choices[name].add_argument("--trial", action="store_true", help="tiny; a test")
    training = commands.choices["train"]
    training.add_argument("--net", choices=RECIPES, action="append", help="default: both")
    commands.choices["further"].add_argument("--net", choices=RECIPES, default="bidirectional")
    commands.add_parser("make").add_argument("models", nargs=2)
    given = parser.parse_args()
    try:
        if given.command == "prepare":
            prepare(given.directory)
        elif given.command == "make":
            joined = join(*map(caesura.load, given.models))
            place = pretrained.DIRECTORY / "papyri.safetensors"
            replace(joined, strategy="search").save(place, dtype="bfloat16")
        elif given.command == "train":
            train(given.directory, given.net or list(RECIPES), TRIAL if given.trial else {})
        else:
            further(given.directory, given.net, TRIAL_STEPS if given.trial else {})
    except CaesuraError as error:
        sys.exit(f"Error: {error}")


# Preparation: reading the notation takes minutes, which a GPU need not wait for.


def prepare(directory: Path) -> None:
    """Write the letters of all documents as nets see them, one document a line."""
    directory.mkdir(parents=True, exist_ok=True)
    folder = data_folder()
    for split in ("train", "valid", "test"):
        content = (folder / f"greek/papyri.{split}.jsonl.xz").read_bytes()
        write(directory / f"papyri.{split}.txt.xz", map(letters, documents(content)))
    works = unpacked(folder / "greek/literary.txt.xz")
    plain = Text(KIND.alphabet, normalise=KIND.normalise)
    pieces = (net_letters(plain, work) for work in works.split("\n\n") if work.strip())
    write(directory / "literary.txt.xz", pieces)


def letters(papyrus: Papyrus) -> str:
    return net_letters(KIND, papyrus.text)


def net_letters(kind: Text, text: str) -> str:
    """Return the letters of a text as nets see them; what they do not know is one character."""
    values = kind.open(text).complete.values[:, 0]
    return "".join(kind.alphabet[value] if value >= 0 else BREAK for value in values)


def write(path: Path, lines: Iterator[str]) -> None:
    count = 0
    with lzma.open(path, "wt", encoding="utf-8", preset=6) as file:
        for line in lines:
            file.write(line + "\n")
            count += len(line)
    print(f"{path}: {count} letters, {path.stat().st_size} bytes", flush=True)


def unpacked(path: Path) -> str:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return file.read()


def read(path: Path) -> list[str]:
    """Return the documents to learn from; some of them without word division."""
    kept = [line for line in unpacked(path).splitlines() if len(line) >= SHORTEST]
    return [line if i % UNDIVIDED else line.lower() for i, line in enumerate(kept)]


# Training


def train(directory: Path, nets: list[str], trial: dict[str, Any]) -> None:
    """Train each net on everything, then on papyri alone."""
    papyri, valid, literary = (
        read(directory / f"{name}.txt.xz") for name in ("papyri.train", "papyri.valid", "literary")
    )
    for net in nets:
        began, filler = time.monotonic(), None
        gaps = GAPS if net == "bidirectional" else {}
        for data, phase in zip((papyri + literary, papyri), PHASES[net], strict=True):
            kind_fields = {"alphabet": KIND.alphabet} if filler is None else {}
            filler = caesura.train(
                data,
                kind="text",
                recipe=RECIPES[net],
                valid=valid,
                start=filler,
                report=report(began),
                **SETTINGS | SIZES[net] | gaps | phase | kind_fields | trial,
            )
            save(filler, directory, net)


def further(directory: Path, net: str, trial: dict[str, Any]) -> None:
    """Train a net that comes with the library further, on papyri alone."""
    papyri, valid = (read(directory / f"papyri.{name}.txt.xz") for name in ("train", "valid"))
    gaps = GAPS if net == "bidirectional" else {}
    filler = caesura.train(
        papyri,
        kind="text",
        recipe=RECIPES[net],
        valid=valid,
        start=caesura.load("papyri").with_kind(**AS_NETS_SEE),
        report=report(time.monotonic()),
        **SETTINGS | SIZES[net] | gaps | LONGER | FURTHER[net] | trial,
    )
    save(filler, directory, net)


def save(filler: caesura.Filler, directory: Path, net: str) -> None:
    """Write a file for each net, since one may be all that there is time for."""
    filler.with_kind(notation=KIND.notation, normalise=KIND.normalise).save(
        directory / f"{net}.model", dtype="bfloat16"
    )


def report(began: float) -> Callable[[str, Any], None]:
    def told(net: str, progress: Any) -> None:
        if progress.validation is not None:
            print(
                f"{net} {progress.step}: loss {progress.loss:.4f}, validation "
                f"{progress.validation:.4f}, {time.monotonic() - began:.0f} s",
                flush=True,
            )

    return told


if __name__ == "__main__":
    main()
