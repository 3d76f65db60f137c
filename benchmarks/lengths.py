"""How probable each length of a gap is: by the forward net, by both nets, and with echoes.

    python benchmarks/lengths.py --data DATA                      # the model text
    python benchmarks/lengths.py --data DATA --model papyri
    python benchmarks/lengths.py --data DATA --workers 14         # as many processes
    python benchmarks/lengths.py --data DATA --write MODEL.safetensors

Gaps of 1 to 12 characters (of papyri, 1 to 10 letters) are cut out of validation texts, with pages
around them. A search fills a gap of every length. "The forward net" compares lengths by p(what
follows), the sum of p(x, what follows) over all fills x. "Both nets" compares them by the square of
the sum of √(p(x, what follows) · q(x)), where q is the bidirectional net. With echoes, both are
multiplied by the normaliser of the echoes. `stated` is the mean probability of the first length,
or of the first three: with a calibrated model, it is the share of gaps in which it is right.
`power` is the power of all that which makes the true lengths most probable. `--write` writes the
model with the one of the forward net with echoes, which is how the library compares lengths
(`length_power`).
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import decoding
import lost_letters
import numpy as np
from hidden_places import gaps_of
from printing import head, line, note, share

import caesura
from caesura import datasets
from caesura.strategies import Search
from caesura.strategies.normaliser import sum_over_fills

LENGTHS = {"text": range(1, 13), "text-large": range(1, 13), "papyri": range(1, 11)}
POWERS = [number / 20 for number in range(6, 27)]
WAYS = ("the forward net", "both nets", "the forward net, echoes", "both nets, echoes")


class Hidden(NamedTuple):
    """A gap whose length is not told."""

    before: str
    truth: str
    after: str


class Kept(Search):
    """The search of the library, which also keeps what lengths can be compared by."""

    def _found(self, one: Any, *others: Any) -> Any:
        known = np.concatenate([one.beam, np.setdiff1d(one.echoing, one.beam)])
        forward, both = (
            sum_over_fills(values, one.log_drawn, known, one.drawn).log_total
            for values in (one.log_p, (one.log_p + one.log_q) / 2)
        )
        echoes = self._weigh(one).log_evidence - forward
        kept[int(one.start.missing.sum())] = (
            forward, 2 * both, forward + echoes, 2 * both + echoes
        )  # fmt: skip
        return super()._found(one, *others)


kept: dict[int, tuple[float, ...]] = {}  # by length, of the last gap


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=LENGTHS, default="text")
    parser.add_argument("--gaps", type=int, default=30, help="of each length")
    parser.add_argument("--seed", type=int, default=5, help="of the places")
    parser.add_argument("--data", help="the data directory")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--write", type=Path, help="the model with its power, in bfloat16")
    given = parser.parse_args()
    places, lengths = hide(given), LENGTHS[given.model]
    with ProcessPoolExecutor(given.workers, get_context("spawn")) as workers:
        rows = []
        for number, row in enumerate(workers.map(partial(compare, given.model), places), 1):
            rows.append(row)
            if number % 20 == 0:
                note(f"{number} of {len(places)}")
    scores = np.array(rows)  # [places, lengths, ways]
    truth = np.array([lengths.index(len(place.truth)) for place in places])
    head("lengths by", "power", "first, %", "stated, %", "first three, %", "stated, %", "nats")
    best = {}
    for way, name in enumerate(WAYS):
        best[name] = min(POWERS, key=lambda power: nats(power * scores[:, :, way], truth))
        for power in (1.0, best[name]):
            line(name, f"{power:.2f}", *judged(power * scores[:, :, way], truth))
    print(f"\n{len(places)} gaps, --seed {given.seed}.")
    if given.write:
        model = loaded(given.model)
        fitted = {"search": {"length_power": best["the forward net, echoes"]}}
        training = model.training | {"strategy_options": fitted}
        replace(model, training=training).save(given.write, dtype="bfloat16")


def judged(scores: np.ndarray, truth: np.ndarray) -> list[str]:
    """Return how often the first length is right, and the first three, as said and as it is."""
    log_prob = normalised(scores)
    rank = np.sum(log_prob > np.take_along_axis(log_prob, truth[:, None], axis=1), axis=1)
    chances = -np.sort(-np.exp(log_prob), axis=1)
    cells = []
    for top in (1, 3):
        cells += [share((rank < top).tolist()), f"{100 * chances[:, :top].sum(1).mean():.1f}"]
    return [*cells, f"{nats(scores, truth):.3f}"]


def nats(scores: np.ndarray, truth: np.ndarray) -> float:
    return -float(np.take_along_axis(normalised(scores), truth[:, None], axis=1).mean())


def normalised(scores: np.ndarray) -> np.ndarray:
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


def hide(given: argparse.Namespace) -> list[Hidden]:
    if given.model == "papyri":
        kind: Any = loaded(given.model).kind
        texts = datasets.load("papyri", "valid", given.data)
        pieces = [lost_letters.letters_of(kind, text)[0] for text in texts]
        cut: Any = lost_letters.at_random
    else:
        pieces, cut = datasets.load("wiki96", "valid", given.data), gaps_of
    return [
        Hidden(*place)
        for length in LENGTHS[given.model]
        for place in cut(pieces, length, given.gaps, given.seed)
    ]


loaded = cache(caesura.load)  # once in each process


def compare(model: str, place: Hidden) -> list[tuple[float, ...]]:
    """Return how well each length fits, by each of the ways."""
    plain = lost_letters.plain if model == "papyri" else decoding.plain
    lengths = LENGTHS[model]
    gap = caesura.Gap(len(place.before), lengths[0], lengths[-1])
    plain(loaded(model)).fill(place.before + place.after, missing=gap, strategy=Kept())
    return [kept[length] for length in lengths]


if __name__ == "__main__":
    main()
