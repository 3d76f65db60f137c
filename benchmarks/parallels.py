"""How long it takes to find parallels among all papyri of the training set.

    CAESURA_DATA=... python benchmarks/parallels.py [--index FILE]

Questions are passages of the validation set with a reading of 1 to 20 letters in them. An index
that is given is used, or made there if there is none; it takes about a minute to make.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from caesura.datasets import data_folder
from caesura.datasets.papyri import documents
from caesura.kinds import Text
from caesura.parallels import Parallels

QUESTIONS = 200
AROUND = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--index", type=Path)
    arguments = parser.parse_args()
    folder = data_folder(None) / "greek"
    kind = Text("α", notation="leiden", normalise="letters")
    start = time.perf_counter()
    if arguments.index is not None and arguments.index.exists():
        index = Parallels.load(arguments.index)
        print(f"loaded in {time.perf_counter() - start:.1f} s")
    else:
        train = documents((folder / "papyri.train.jsonl.xz").read_bytes())
        index = Parallels.build(((one.id, one.text) for one in train), kind)
        print(f"built in {time.perf_counter() - start:.0f} s")
        if arguments.index is not None:
            index.save(arguments.index)
            print(f"file of {arguments.index.stat().st_size / 1e6:.1f} MB")
    valid = documents((folder / "papyri.valid.jsonl.xz").read_bytes())
    texts = [letters for one in valid if len(letters := kind.letters(one.text)) > 200]
    rng = np.random.default_rng(0)
    seconds, found = [], 0
    for number in range(QUESTIONS):
        text, length = texts[number % len(texts)], int(rng.integers(1, 21))
        at = int(rng.integers(AROUND, len(text) - AROUND - length))
        start = time.perf_counter()
        answer = index.find(text[at - AROUND : at], text[at : at + length], text[at + length :])
        seconds.append(time.perf_counter() - start)
        found += bool(answer)
    print(f"{len(index.corpus.text)} letters, {QUESTIONS} questions, {found} with an answer")
    shares = np.quantile(seconds, [0.5, 0.95, 1])
    print("seconds a question: median {:.3f}, 95 % {:.3f}, slowest {:.3f}".format(*shares))


if __name__ == "__main__":
    main()
