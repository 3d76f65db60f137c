"""Scores with rhythm and metre to train on: the corpus that comes with music21, in three parts.

    pip install music21
    python benchmarks/score_corpus.py scores         an hour or two; it goes on where it stopped
    caesura train music scores/*/train -o scores.model

MusicXML is copied as it is. Tunes in ABC and scores in Humdrum become MIDI, with one track a part.
A work, with all its movements, is in the part that a hash of its name says: 80 % train, 10 % valid,
10 % test. The encodings belong to their makers, and some are not for commercial use: the folder
`corpus` of music21 says so.
"""

import argparse
import hashlib
import shutil
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import music21
from music21 import converter

# Keyboard, choral and chamber music and dance tunes. Left out: medieval music, whose notes are
# too long for a grid of sixteenths, and single songs without metre.
SETS = {
    "chorales": ("bach", (".mxl",)),
    "quartets": ("beethoven", (".mxl",)),
    "haydn": ("haydn", (".mxl",)),
    "mozart": ("mozart", (".mxl",)),
    "madrigals": ("monteverdi", (".mxl",)),
    "romantic": ("schumann_robert", (".mxl", ".xml")),
    "clara": ("schumann_clara", (".mxl", ".xml")),
    "ragtime": ("joplin", (".mxl",)),
    "fiddle": ("ryansMammoth", (".abc",)),
    "irish": ("oneills1850", (".abc",)),
    "airs": ("airdsAirs", (".abc",)),
    "masses": ("palestrina", (".krn",)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--most", type=int, help="works of a set, for a trial")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # music21 warns of every odd measure
    found = Path(music21.__file__).parent / "corpus"
    print("| set | train | valid | test | not readable |")
    print("|---|---:|---:|---:|---:|")
    for name in given.sets:
        folder, suffixes = SETS[name]
        files = [f for f in sorted((found / folder).rglob("*")) if f.suffix in suffixes]
        parts: Counter[str] = Counter()
        for file in files[: given.most]:
            for part in _add(file, found / folder, given.output / name):
                parts[part] += 1
        print("|", name, *(f"| {parts[p]}" for p in ("train", "valid", "test", "failed")), "|")


def _add(file: Path, folder: Path, output: Path) -> Iterator[str]:
    """Write the works of a file; yield the part that each went to."""
    inside = file.relative_to(folder).with_suffix("")
    title = "-".join(inside.parts)
    if file.suffix not in (".abc", ".krn"):
        part = _part(inside.parts[0])  # the movements of a work share a folder
        suffix = ".musicxml" if file.suffix == ".xml" else file.suffix
        target = output / part / f"{title}{suffix}"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        yield part
        return
    try:
        parsed = converter.parse(file)
        works = parsed.scores if isinstance(parsed, music21.stream.Opus) else [parsed]
    except Exception:  # of the corpus itself: some tunes are not valid ABC
        yield "failed"
        return
    for number, work in enumerate(works):
        name = f"{title}-{number}" if len(works) > 1 else title
        part = _part(name)
        target = output / part / f"{name}.mid"
        yield part if target.exists() or _write(work, target) else "failed"


def _part(name: str) -> str:
    share = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) / 2**32
    return "train" if share < 0.8 else "valid" if share < 0.9 else "test"


def _write(work: Any, target: Path) -> bool:
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    try:
        work.write("midi", fp=part)
    except Exception:
        part.unlink(missing_ok=True)
        return False
    part.rename(target)
    return True


if __name__ == "__main__":
    main()
