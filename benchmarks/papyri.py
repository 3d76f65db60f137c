"""The model `papyri`: its training, and how well it restores lost letters.

    python benchmarks/papyri.py prepare DIR    the letters of all sets as nets see them, in files
    python benchmarks/papyri.py train DIR      both nets, to DIR/papyri.model; needs a GPU
    python benchmarks/papyri.py measure hidden     letters that are hidden at random, by length
    python benchmarks/papyri.py measure editors    restorations by editors, hidden again
    python benchmarks/papyri.py measure unknown    gaps whose number of letters is hidden

The data is in `greek/` of the directory that CAESURA_DATA names: the Duke Databank of Documentary
Papyri, and literary Greek to begin with.
"""

import argparse
import lzma
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import caesura
from caesura.datasets.folder import data_folder
from caesura.datasets.papyri import Papyrus, documents
from caesura.errors import CaesuraError
from caesura.kinds import Text
from caesura.kinds.text.document import BREAK

SMALL = "αβγδεζηθικλμνξοπρστυφχψωϛϙϡ"
KIND = Text(
    SMALL + SMALL.upper(), gap_char="_", notation="leiden", normalise="letters final starts"
)
SHORTEST = 20  # letters of a document to learn from
UNDIVIDED = 5  # one document in so many is learnt without word division
SETTINGS = {"batch": 512, "length": 160, "hidden": 512, "layers": 2, "validate_every": 500}
GAPS = {"gap": [1, 20], "every": 25, "in_order": 0.8, "targets": "gaps"}
# First on everything, then on papyri alone.
PHASES = {
    "bidirectional": [
        {"steps": 5000, "learning_rate": 0.003, "dropout": 0.05},
        {"steps": 7000, "learning_rate": 0.0015, "dropout": 0.15},
    ],
    "forward": [
        {"steps": 5000, "learning_rate": 0.003, "dropout": 0.05},
        {"steps": 7000, "learning_rate": 0.0015, "dropout": 0.15},
    ],
}
RECIPES = {"bidirectional": "nade", "forward": "rnn"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("prepare", "train"):
        commands.add_parser(name).add_argument("directory", type=Path)
    training = commands.choices["train"]
    training.add_argument("--net", choices=RECIPES, action="append", help="default: both")
    training.add_argument("--share", type=float, default=1.0, help="of the updates, for a trial")
    given = parser.parse_args()
    try:
        if given.command == "prepare":
            prepare(given.directory)
        else:
            train(given.directory, given.net or list(RECIPES), given.share)
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
    works = lzma.open(folder / "greek/literary.txt.xz", "rt", encoding="utf-8").read()
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


def read(path: Path) -> list[str]:
    """Return the documents to learn from; some of them without word division."""
    lines = lzma.open(path, "rt", encoding="utf-8").read().splitlines()
    kept = [line for line in lines if len(line) >= SHORTEST]
    return [line if i % UNDIVIDED else line.lower() for i, line in enumerate(kept)]


# Training


def train(directory: Path, nets: list[str], share: float) -> None:
    """Train each net on everything, then on papyri alone."""
    papyri, valid, literary = (
        read(directory / f"{name}.txt.xz") for name in ("papyri.train", "papyri.valid", "literary")
    )
    trained = []
    for net in nets:
        began, filler = time.monotonic(), None
        gaps = GAPS if net == "bidirectional" else {}
        for data, phase in zip((papyri + literary, papyri), PHASES[net], strict=True):
            steps = max(2, int(share * phase["steps"]))
            kind_fields = {"alphabet": KIND.alphabet} if filler is None else {}
            filler = caesura.train(
                data,
                kind="text",
                recipe=RECIPES[net],
                valid=valid,
                start=filler,
                report=report(began),
                **SETTINGS | gaps | phase | {"steps": steps, "head_hidden": 512} | kind_fields,
            )
            # A file each, since one may be all that there is time for.
            filler.with_kind(notation=KIND.notation, normalise=KIND.normalise).save(
                directory / f"{net}.model", dtype="bfloat16"
            )
        trained.append(filler)


def report(began: float):
    def told(net: str, progress: object) -> None:
        if progress.validation is not None:
            print(
                f"{net} {progress.step}: loss {progress.loss:.4f}, validation "
                f"{progress.validation:.4f}, {time.monotonic() - began:.0f} s",
                flush=True,
            )

    return told


if __name__ == "__main__":
    main()
