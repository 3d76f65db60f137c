"""Which of the fills drawn for a gap in music should be the answer.

    python benchmarks/music_choice.py --data DATA [--split valid] [--gaps 60] [--lengths 5,8,32]

32 particles are drawn for each gap, as by `nade`. From them come the draws of `nade` (the first 8),
those of `sir` (8 of all, chosen by their weights) and those of `sir` with particles of its own for
each draw (one of each 4). Every rule chooses among the same draws. Its notes are given as a share
of those of the truth, with the F1 of its notes and the truth's, and the nats of the forward net,
which is what the score of `sir` ranks fills by. Gaps are spread evenly over a split.
"""

import argparse
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np

import caesura
from caesura import datasets
from caesura.kinds.music.choice import by_agreement
from caesura.sequence import Sequence
from caesura.strategies import around_each
from caesura.strategies.base import on_copies
from caesura.strategies.keys import keys_of_windows
from caesura.strategies.sir import _all_missing, _propose, judge

SETS = ("nottingham", "musedata", "piano_midi")
LENGTHS = (5, 8, 32)  # a bar of eighth notes has 8 steps
AROUND, MARGIN = 96, 10
PARTICLES, DRAWS = 32, 8
Choice = Callable[[np.ndarray, np.ndarray], int]


class Particles(NamedTuple):
    """Fills of one gap, with the truth as the last one."""

    notes: np.ndarray  # [PARTICLES + 1, places]
    log_p: np.ndarray  # [PARTICLES + 1], by the forward net
    log_weight: np.ndarray  # [PARTICLES]


def typical(draws: np.ndarray, scores: np.ndarray) -> int:
    """The draw whose number of notes is nearest to the mean of all; the likeliest of equals."""
    notes = draws.sum(axis=1)
    return int(np.lexsort((-scores, np.abs(notes - notes.mean())))[0])


RULES: dict[str, Choice] = {
    "likelihood": lambda draws, scores: int(np.argmax(scores)),
    "any draw": lambda draws, scores: 0,
    "typical": typical,
    "agreement": lambda draws, scores: int(by_agreement(draws, scores)[0]),
}


def sources(gap: Particles, seed: int) -> dict[str, np.ndarray]:
    """The numbers of the particles that each strategy draws."""
    draw = np.random.default_rng(seed)

    def some(of: np.ndarray, count: int) -> np.ndarray:
        weights = np.exp(gap.log_weight[of] - gap.log_weight[of].max())
        return draw.choice(of, count, p=weights / weights.sum())

    everything = np.arange(PARTICLES)
    apart = [some(group, 1) for group in everything.reshape(DRAWS, -1)]
    return {
        "nade": everything[:DRAWS],
        "sir": some(everything, DRAWS),
        "sir, apart": np.concatenate(apart),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="the data directory")
    parser.add_argument("--split", default="valid")
    parser.add_argument("--gaps", type=int, default=60, help="of each length in each set")
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)))
    given = parser.parse_args()
    filler = caesura.load("music")
    pieces = {name: datasets.load(name, given.split, given.data) for name in SETS}
    print(f"| steps | draws by | distinct | rule | notes: {', '.join(SETS)} | F1 | nats |")
    print("|---|---|---|---|---|---|---|")
    for length in map(int, given.lengths.split(",")):
        gaps = {name: drawn_gaps(filler, pieces[name], length, given.gaps) for name in SETS}
        truths = [Row.of(name, gap, PARTICLES) for name in SETS for gap in gaps[name]]
        print(f"| {length} | | | the truth | {told(truths)} |", flush=True)
        for source in sources(gaps[SETS[0]][0], 0):
            for rule, choose in RULES.items():
                rows, distinct = [], []
                for name in SETS:
                    for number, gap in enumerate(gaps[name]):
                        drawn = sources(gap, number)[source]
                        best = choose(gap.notes[drawn], gap.log_p[drawn])
                        rows.append(Row.of(name, gap, drawn[best]))
                        distinct.append(len(set(drawn)))
                count = f"{np.mean(distinct):.1f} of {DRAWS}"
                print(f"| {length} | {source} | {count} | {rule} | {told(rows)} |", flush=True)


class Row(NamedTuple):
    """One gap as a rule fills it."""

    name: str
    notes: int
    true_notes: int
    f1: float
    log_p: float

    @classmethod
    def of(cls, name: str, gap: Particles, chosen: int) -> "Row":
        fill, truth = gap.notes[chosen], gap.notes[PARTICLES]
        both, total = int(np.sum(fill & truth)), int(fill.sum() + truth.sum())
        f1 = 2 * both / total if total else 1.0
        return cls(name, int(fill.sum()), int(truth.sum()), f1, float(gap.log_p[chosen]))


def told(rows: list[Row]) -> str:
    """The columns of a table: the share of notes in each set with its standard error, and means."""
    shares = []
    for name in SETS:
        notes, true = np.array([row[1:3] for row in rows if row.name == name], float).T
        share = notes.sum() / true.sum()
        error = np.std(notes - share * true) * len(true) ** 0.5 / true.sum()
        shares.append(f"{share:.2f} ± {error:.2f}")
    means = np.mean([[row.f1, row.log_p] for row in rows], axis=0)
    return f"{', '.join(shares)} | {means[0]:.3f} | {means[1]:.1f}"


def drawn_gaps(
    filler: caesura.Filler, pieces: list[np.ndarray], length: int, count: int
) -> list[Particles]:
    """Particles for gaps at evenly spread steps of the pieces."""
    places = [(p, t) for p, x in enumerate(pieces) for t in range(MARGIN, len(x) - MARGIN - length)]
    found = []
    for number, place in enumerate(np.linspace(0, len(places) - 1, count).astype(int)):
        piece, start = places[place]
        first = max(0, start - AROUND)
        steps = pieces[piece][first : start + length + AROUND]
        found.append(particles(filler, steps, start - first, length, number))
    return found


def particles(
    filler: caesura.Filler, steps: np.ndarray, start: int, length: int, seed: int
) -> Particles:
    strategy, net = filler.method("sir")[:2]
    missing = np.zeros(steps.shape, bool)
    missing[start : start + length] = True
    stop = strategy.stop(start + length, len(steps))
    hidden, whole = (Sequence(v, missing) for v in (np.where(missing, 0, steps), steps))
    drawn, log_p = _particles(jax.random.key(seed), net, around_each(net, [hidden], [stop]))
    true_log_p = judge(net.forward, around_each(net, [whole], [stop]))
    fills = [*np.asarray(drawn.values)[0, :, :length], steps[start : start + length]]
    return Particles(
        notes=np.stack(fills).reshape(len(fills), -1).astype(int),
        log_p=np.concatenate([log_p[0], true_log_p]),
        log_weight=np.asarray(drawn.log_weight[0], np.float64),
    )


@eqx.filter_jit
def _particles(key, net, window):
    def run(keys, lanes):
        drawn = _propose(keys, net, lanes, _all_missing(net, lanes))
        return drawn, judge(net.forward, lanes.with_fills(drawn.values[:, None]))

    return on_copies(keys_of_windows(key, 1), window, PARTICLES, run)


if __name__ == "__main__":
    main()
