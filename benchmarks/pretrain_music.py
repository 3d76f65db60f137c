"""Trains the model `music`: keys that are silent, held or struck, on scores and piano rolls.

    python benchmarks/score_corpus.py scores
    python benchmarks/pretrain_music.py pack scores frames.npz --data DATA
    python benchmarks/pretrain_music.py train frames.npz music.model --steps 20000

`pack` reads the scores, which takes minutes, and three sets of piano rolls of DATA (a directory
with `music/nottingham.npz` and so on). Their steps are eighths, so each becomes two sixteenths, and
their metre is not known. `train` follows the recipe `keys`. Small sets are seen more often.
"""

import argparse
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from caesura import datasets
from caesura.errors import CaesuraError
from caesura.kinds import Music
from caesura.nets.frames import make_frame
from caesura.nets.rnn import onegram
from caesura.training.loop import Data, Progress, fit
from caesura.training.prepare import Prepared, record_of_data
from caesura.training.recipe import choose, parse_setting
from caesura.training.train import make_filler, new_net, record_of

KIND = Music(0, struck=True)
ROLLS = ("nottingham", "musedata", "piano_midi")
PARTS = ("train", "valid")
SHORTEST = 16  # steps of a piece
# A set of fewer steps than this is seen as if it had the mean of both numbers, by products.
EVEN = 1_000_000
MOST_COPIES = 8
VALIDATED = 8_000  # steps of each set


class Piece(NamedTuple):
    of: str  # set and part
    frames: np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    tasks = parser.add_subparsers(dest="task", required=True)
    packs = tasks.add_parser("pack")
    packs.add_argument("scores", type=Path)
    packs.add_argument("output", type=Path)
    packs.add_argument("--data", type=Path, help="default: CAESURA_DATA")
    trains = tasks.add_parser("train")
    trains.add_argument("frames", type=Path)
    trains.add_argument("output", type=Path)
    trains.add_argument("--steps", type=int, required=True)
    trains.add_argument("--set", action="append", default=[], help="a field of the recipe")
    trains.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    pack(given) if given.task == "pack" else train(given)


def pack(given: argparse.Namespace) -> None:
    pieces = [*read_scores(given.scores), *read_rolls(given.data)]
    arrays = {
        "of": np.array([piece.of for piece in pieces]),
        "lengths": np.array([len(piece.frames) for piece in pieces]),
        "frames": np.concatenate([piece.frames for piece in pieces]),
    }
    np.savez_compressed(given.output, **arrays)
    for name in np.unique(arrays["of"]):
        here = arrays["lengths"][arrays["of"] == name]
        print(f"{name}: {len(here)} pieces, {here.sum()} steps")


def read_scores(folder: Path) -> Iterator[Piece]:
    files = [file for part in PARTS for file in sorted(folder.glob(f"*/{part}/*"))]
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for file, frames in zip(files, pool.map(_frames, files, chunksize=16), strict=True):
            if frames is not None:
                yield Piece(f"{file.parent.parent.name}/{file.parent.name}", frames)


def _frames(file: Path) -> np.ndarray | None:
    try:
        frames = KIND.open(file).complete.values.astype(np.int8)
    except CaesuraError as error:
        print(f"Left out: {error}")
        return None
    return frames if len(frames) >= SHORTEST else None


def read_rolls(data: Path | None) -> Iterator[Piece]:
    for name in ROLLS:
        for part in PARTS:
            for roll in datasets.load(name, part, data):
                frames = KIND.open(np.repeat(roll, 2, axis=0)).complete.values
                if len(frames) >= SHORTEST:
                    yield Piece(f"{name}/{part}", frames.astype(np.int8))


def read_pack(path: Path) -> Data:
    """Return the pieces to train on, those of small sets several times, and those to validate."""
    with np.load(path) as arrays:
        of, lengths, frames = (arrays[name] for name in ("of", "lengths", "frames"))
    pieces = np.split(frames, np.cumsum(lengths)[:-1])
    parts: dict[str, list[np.ndarray]] = {"train": [], "valid": []}
    for name in np.unique(of):
        here = np.flatnonzero(of == name)
        if name.endswith("train"):
            copies = int(np.clip((EVEN / lengths[here].sum()) ** 0.5, 1, MOST_COPIES))
            parts["train"] += [pieces[n] for n in here] * copies
        else:
            some = here[np.cumsum(lengths[here]) - lengths[here] < VALIDATED]
            parts["valid"] += [pieces[n][:VALIDATED] for n in some]
    return Data(**parts)


def train(given: argparse.Namespace) -> None:
    fields = dict(parse_setting(text) for text in given.set) | {"steps": given.steps}
    chosen = choose("keys", "music", Music.options, fields)
    data = read_pack(given.frames)
    known = onegram(make_frame(KIND.frame), np.concatenate(data.train))
    prepared = Prepared(KIND, data, known, record_of_data(data))
    print(prepared.record, flush=True)
    key, net = new_net(KIND, chosen.recipe, given.seed)
    began = time.monotonic()

    def report(progress: Progress) -> None:
        if progress.validation is not None:
            at = f"{progress.step} of {progress.steps}, {time.monotonic() - began:.1f} s"
            print(
                f"{at}: loss {progress.loss:.4f}, validation {progress.validation:.4f}", flush=True
            )

    result = fit(key, net, data, chosen.recipe, report=report)
    nets = {"onegram": known, chosen.recipe.net: result.net}
    records = {chosen.recipe.net: record_of(chosen, result)}
    filler = make_filler(prepared, given.seed, nets, records, chosen.recipe.strategy)
    filler.save(given.output, dtype="bfloat16")


if __name__ == "__main__":
    main()
