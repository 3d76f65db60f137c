"""Which of the fills drawn for a gap in music should be the answer, and how many draws are enough.

    CAESURA_DATA=DATA python benchmarks/music_choice.py --model FILE [--split valid] [--gaps 60]
        [--lengths 5,8,32] [--strategy bothways] [--draws 8,24]

Gaps are spread evenly over a split of each set. Every rule chooses among the same draws. Its notes
are given as a share of those of the truth, on the grid of the model, with the F1 of its notes and
the truth's, and its nats by the strategy. "agreement" is the rule of the library without echoes.
"""

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import caesura
from caesura import datasets
from caesura.filler import Request
from caesura.kinds.music.choice import agreement, by_agreement

SETS = ("nottingham", "musedata", "piano_midi")
AROUND, MARGIN = 96, 10
TOGETHER = 16  # gaps that are filled at once
Choice = Callable[[np.ndarray, np.ndarray], int]


class Drawn(NamedTuple):
    """Random fills of one gap, and the truth."""

    name: str
    notes: np.ndarray  # [draws, places]
    log_probs: np.ndarray
    truth: np.ndarray


def typical(draws: np.ndarray, scores: np.ndarray) -> int:
    """The draw whose number of notes is nearest to the mean of all; the likeliest of equals."""
    notes = draws.sum(axis=1)
    return int(np.lexsort((-scores, np.abs(notes - notes.mean())))[0])


RULES: dict[str, Choice] = {
    "likelihood": lambda draws, scores: int(np.argmax(scores)),
    "any draw": lambda draws, scores: 0,
    "typical": typical,
    "agreement with all": lambda draws, scores: int(np.argmax(agreement(draws).round(9))),
    "agreement": lambda draws, scores: int(by_agreement(draws, scores)[0]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", required=True, help="of music in eighths, as the sets are")
    parser.add_argument("--split", default="valid")
    parser.add_argument("--gaps", type=int, default=60, help="of each length in each set")
    parser.add_argument("--lengths", default="5,8,32")
    parser.add_argument("--strategy", default="bothways")
    parser.add_argument("--draws", default="8,24")
    given = parser.parse_args()
    filler = caesura.load(given.model)
    counts = list(map(int, given.draws.split(",")))
    print(f"| steps | draws | rule | notes: {', '.join(SETS)} | F1 | nats |")
    print("|---:|---:|---|---|---:|---:|")
    for length in map(int, given.lengths.split(",")):
        rows = [one for name in SETS for one in draw(filler, name, length, max(counts), given)]
        for count in counts:
            for rule, choose in RULES.items():
                chosen = [choose(one.notes[:count], one.log_probs[:count]) for one in rows]
                print(f"| {length} | {count} | {rule} | {told(rows, chosen)} |", flush=True)


def draw(
    filler: caesura.Filler, name: str, length: int, draws: int, given: argparse.Namespace
) -> list[Drawn]:
    """Random fills of gaps at evenly spread steps of the pieces of a set."""
    pieces = datasets.load(name, given.split)
    places = [(p, t) for p, x in enumerate(pieces) for t in range(MARGIN, len(x) - MARGIN - length)]
    chosen = np.linspace(0, len(places) - 1, given.gaps).astype(int)
    requests, truths = [], []
    for seed, (piece, start) in enumerate(places[i] for i in chosen):
        first = max(0, start - AROUND)
        roll = np.array(pieces[piece][first : start + length + AROUND], float)
        gap = slice(start - first, start - first + length)
        truths.append(roll[gap].astype(bool).reshape(-1))
        roll[gap] = np.nan
        requests.append(
            Request(roll, samples=draws, draws=draws, strategy=given.strategy, seed=seed)
        )
    found = []
    for first in range(0, len(requests), TOGETHER):
        some = requests[first : first + TOGETHER]
        for request, fill in zip(some, filler.fill_many(some), strict=True):
            gap = np.isnan(request.data).any(axis=1)
            notes = np.array([np.asarray(roll)[gap].reshape(-1) for roll in fill.samples], bool)
            found.append(Drawn(name, notes, np.asarray(fill.log_probs), truths[len(found)]))
    return found


def told(rows: list[Drawn], chosen: list[int]) -> str:
    """The columns of a table: the share of notes in each set with its standard error, and means."""
    shares, f1, nats = [], [], []
    for name in SETS:
        own = [(one, best) for one, best in zip(rows, chosen, strict=True) if one.name == name]
        notes = np.array([one.notes[best].sum() for one, best in own], float)
        true = np.array([one.truth.sum() for one, _ in own], float)
        share = notes.sum() / true.sum()
        error = np.std(notes - share * true) * len(true) ** 0.5 / true.sum()
        shares.append(f"{share:.2f} ± {error:.2f}")
    for one, best in zip(rows, chosen, strict=True):
        both, total = np.sum(one.notes[best] & one.truth), one.notes[best].sum() + one.truth.sum()
        f1.append(2 * both / total if total else 1.0)
        nats.append(-one.log_probs[best])
    return f"{', '.join(shares)} | {np.mean(f1):.3f} | {np.mean(nats):.1f}"


if __name__ == "__main__":
    main()
