"""Whether one text model is better in gaps of some length than another: paired differences.

    python benchmarks/long_gaps.py OLD NEW

For each length, the nats that the bidirectional net gives to the truth from left to right, with
tokens for the steps that are not filled yet, and that the forward net gives to it and to the 20
characters after it. On validation articles of the set wiki96, in the directory that CAESURA_DATA
names; the places are the same for both models.
"""

import argparse
import sys

import equinox as eqx
import numpy as np

import caesura
from caesura import datasets
from caesura.errors import CaesuraError
from caesura.nets.pair import Pair
from caesura.sequence import Sequence, Span
from caesura.strategies import around_each
from caesura.strategies.search import score

BEFORE, AFTER, FOLLOWING, BATCH = 500, 200, 20, 64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--gaps", type=int, default=256)
    given = parser.parse_args()
    try:
        models = [caesura.load(given.old), caesura.load(given.new)]
        text = "".join(datasets.load("wiki96", "valid"))
    except CaesuraError as error:
        sys.exit(f"Error: {error}")
    rng = np.random.default_rng(5)
    print("| length | bidirectional, old | new − old | forward, new − old |\n|---|---|---|---|")
    for length in (1, 2, 5, 8, 12, 20, 40):
        places = rng.integers(BEFORE, len(text) - length - AFTER, given.gaps)
        old, new = (nats(model, text, places, length) for model in models)
        gain = new - old
        error = gain.std(axis=0, ddof=1) / len(gain) ** 0.5
        cells = [f"{mean:+.3f} ± {e:.3f}" for mean, e in zip(gain.mean(axis=0), error, strict=True)]
        print(f"| {length} | {old[:, 0].mean():.3f} | {' | '.join(cells)} |", flush=True)


def nats(model: caesura.Filler, text: str, places: np.ndarray, length: int) -> np.ndarray:
    """Return, for each place, the nats by the bidirectional and by the forward net."""
    net = Pair(model.nets["forward"], model.nets["bidirectional"])
    inside, found = Span(BEFORE, BEFORE + length), []
    for first in range(0, len(places), BATCH):
        sequences = []
        for place in places[first : first + BATCH].tolist():
            piece = text[place - BEFORE : place + length + AFTER]
            values = model.kind.open(piece).complete.values
            missing = np.zeros(values.shape, bool)
            missing[slice(*inside)] = True
            sequences.append(Sequence(values, missing))
        count = len(sequences)
        window = around_each(net, sequences, [inside] * count, [inside.stop + FOLLOWING] * count)
        both = eqx.filter_jit(score)(net, window, window.values[:, None])
        found.append(np.concatenate([np.asarray(part) for part in both], axis=1))
    return np.concatenate(found).astype(np.float64)


if __name__ == "__main__":
    main()
