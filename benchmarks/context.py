"""How much text around a gap is of use: what the nets of `search` give to the truth.

    CAESURA_DATA=DATA python benchmarks/context.py [--model papyri] [--gaps 640]
    CAESURA_DATA=DATA python benchmarks/context.py --holes    and what if some of it is unknown?

Gaps of 8 characters in validation texts. p is the forward net, for the gap and the 20 characters
after it. q is the bidirectional net, for the gap from left to right. The score is half of each, as
in `search`. A row has the mean nats with so many characters on either side, and their difference
from the nats with the most, on the same places. With `--holes`, 192 characters are seen, of which 8
are unknown, at some distance before or after the gap.
"""

import argparse
from typing import Any

import numpy as np

import caesura
from caesura import datasets
from caesura.nets import eager
from caesura.sequence import UNKNOWN

CONTEXTS = (512, 384, 256, 192, 160, 128, 96, 64, 32)
GAP, AHEAD = 8, 20
LEAST = 1200  # characters of a text
BATCH = 64
SETS = {"text": "wiki96", "papyri": "papyri"}
HOLE, DISTANCES, SEEN = 8, (20, 40, 80), 192


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=SETS, default="text")
    parser.add_argument("--gaps", type=int, default=640)
    parser.add_argument("--holes", action="store_true", help="unknown characters in the text")
    given = parser.parse_args()
    filler = caesura.load(given.model)
    net: Any = filler.method("search").net
    texts = filler.read(datasets.load(SETS[given.model], "valid"))
    places = some_places([text[:, 0] for text in texts], given.gaps)
    if given.holes:
        print_holes(net, places)
        return
    print("| characters | p | − most | q | − most | score | − most |")
    print("|---|" + "---:|" * 6)
    most = None
    for context in CONTEXTS:
        batches = np.split(places, range(BATCH, len(places), BATCH))
        p, q = np.concatenate([nats(net, some, context) for some in batches], axis=1)
        found = (p, q, (p + q) / 2)
        most = most or found
        cells = [f"{x.mean():.3f} | {difference(x - y)}" for x, y in zip(found, most, strict=True)]
        print(f"| {context} | " + " | ".join(cells) + " |", flush=True)


def print_holes(net: Any, places: np.ndarray) -> None:
    """Print by how many nats the truth is less probable if the nets do not see some characters."""
    whole = nats(net, places, SEEN)
    print("| unknown | p | q | score |")
    print("|---|" + "---:|" * 3)
    for distance in DISTANCES:
        before, after = CONTEXTS[0] - distance - HOLE, CONTEXTS[0] + GAP + distance
        for side, first in (("before", before), ("after", after)):
            damaged = places.copy()
            damaged[:, first : first + HOLE] = UNKNOWN
            p, q = nats(net, damaged, SEEN) - whole
            cells = " | ".join(difference(x) for x in (p, q, (p + q) / 2))
            print(f"| {HOLE} characters, {distance} {side} the gap | {cells} |", flush=True)


def some_places(texts: list[np.ndarray], count: int) -> np.ndarray:
    """Return random places, each with the largest context around its gap."""
    rng, most = np.random.default_rng(1), CONTEXTS[0]
    long = [text for text in texts if len(text) > LEAST]
    places = []
    for _ in range(count):
        text = long[rng.integers(len(long))]
        start = rng.integers(most, len(text) - most - GAP)
        places.append(text[start - most : start + GAP + most])
    return np.array(places)


def nats(net: Any, places: np.ndarray, context: int) -> np.ndarray:
    """Return −log p and −log q of each place."""
    p, q, start = net.forward, net.bidirectional, CONTEXTS[0]
    left, stop = start - context, start + GAP
    hidden = np.where(np.arange(places.shape[1]) < stop, UNKNOWN, places)

    def read(of: Any, stack: Any, texts: np.ndarray) -> list[Any]:
        return eager.read(of, stack, eager.start(stack, len(texts)), list(texts))

    by_p = read(p, p.forward, places[:, left : stop + AHEAD])
    by_q = read(q, q.forward, places[:, left:stop])
    after = read(q, q.backward, hidden[:, start + 1 : stop + context][:, ::-1])
    found = []
    for place, one, two, back in zip(places, by_p, by_q, after, strict=True):
        ahead = eager.predict(p, eager.take(one, slice(context, context + GAP + AHEAD)), ())
        before = eager.take(two, slice(context, context + GAP))
        inside = eager.predict(q, before, eager.take(back, slice(None, context - 1, -1)))
        found.append(
            (given_to(place[start : stop + AHEAD], ahead), given_to(place[start:stop], inside))
        )
    return -np.array(found).T


def given_to(symbols: np.ndarray, log_probs: np.ndarray) -> float:
    """Return the sum of the log-probabilities of the known symbols."""
    known = np.flatnonzero(symbols != UNKNOWN)
    return float(log_probs[known, symbols[known]].sum())


def difference(values: np.ndarray) -> str:
    return f"{values.mean():+.4f} ± {values.std() / len(values) ** 0.5:.4f}"


if __name__ == "__main__":
    main()
