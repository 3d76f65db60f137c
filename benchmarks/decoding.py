"""How often the right reading of a gap is found, on held-out Wikipedia: docs/decoding.md.

    python benchmarks/decoding.py match     exact match of words and of gaps of a known length
    python benchmarks/decoding.py unknown   gaps of 1 to 12 characters whose length is hidden
    python benchmarks/decoding.py samples   is the search ever worse than the best of 1000 samples?
    python benchmarks/decoding.py missed    is the truth more probable than what the search found?

Every gap is alone in a text of 500 characters before it and 200 after it, all from one article of
the set wiki96, in the directory that CAESURA_DATA names; with `--article`, in the whole article.
The places are the same for all strategies and on every machine. The strategy `nets` is `search`
without echoes. `--gaps 8` is a quick look. The table is printed as it grows; `--csv FILE`
has a row for every gap.
"""

import argparse
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from hidden_places import AFTER, BEFORE, Place, gaps_of, words_of
from printing import head, line, note, numbers, share, write_lines

import caesura
from caesura import datasets
from caesura.errors import CaesuraError
from caesura.filler.fill import Fill
from caesura.sequence import Sequence
from caesura.strategies import NADE, SIR, Search, around_missing

LENGTHS = (1, 2, 5, 8, 12, 20)
WORDS = tuple(range(3, 13))
HIDDEN = tuple(range(1, 13))  # the lengths of `unknown` and `samples`
TOPS = (1, 5, 20)
BATCH = 64  # requests at a time, to see it grow
NAMED = {"nets": Search(echo=False)}  # strategies that are not the library's own


class Row(NamedTuple):
    """Some places of one kind."""

    what: str
    length: int
    places: list[Place]


class Answer(NamedTuple):
    """What became of one gap: a line of the CSV file."""

    what: str
    strategy: str
    truth: str
    best: str
    rank: int | None  # of the truth, from 1 on; None if it was not found
    stated: float  # the probability of the best reading
    truth_stated: float  # the probability of the truth, 0 if it was not found
    covered: float
    ended: str


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["match", "unknown", "samples", "missed"])
    parser.add_argument("--model", default="text", help="a name or a path")
    parser.add_argument("--strategy", help="one or more, with commas; default search,sir")
    parser.add_argument("--gaps", type=int, default=200, help="for each row of the table")
    parser.add_argument("--article", action="store_true", help="texts are whole articles")
    parser.add_argument("--split", choices=["valid", "test"], default="test")
    parser.add_argument("--data", help="the data directory")
    parser.add_argument("--lengths", type=numbers, default=LENGTHS, help="'1,5', '2-8' or 'none'")
    parser.add_argument("--words", type=numbers, default=WORDS, help="letters: '3-12' or 'none'")
    parser.add_argument("--samples", type=int, default=1000, help="by `nade`, and as many by `sir`")
    parser.add_argument("--timed", type=int, default=5, help="gaps filled alone, to be timed")
    parser.add_argument("--seconds", type=float, help="a limit for each gap; default none")
    parser.add_argument("--seed", type=int, default=0, help="of the places")
    parser.add_argument("--csv", type=Path, help="a line for each gap")
    given = parser.parse_args()
    try:
        filler = plain(caesura.load(given.model))
        pieces = datasets.load("wiki96", given.split, given.data)
        page = f"{BEFORE} characters before and {AFTER} after"
        note(
            f"wiki96 {given.split}, {given.gaps} places a row, "
            f"{'whole articles' if given.article else page}; JAX {jax.__version__}, "
            f"{jax.devices()[0].device_kind}, {platform.machine()}."
        )
        measures = {"match": match, "unknown": unknown, "samples": samples, "missed": missed}
        measures[given.what](filler, pieces, given)
    except CaesuraError as error:
        sys.exit(f"Error: {error}")


def plain(filler: caesura.Filler) -> caesura.Filler:
    """Return the filler with no notation for gaps: an article may well hold a `_` or a `{5}`."""
    off = {"gap_char": "\ue000"} | ({"brackets": ""} if hasattr(filler.kind, "brackets") else {})
    return filler.with_kind(**off)


# What is asked, and what comes back


def fills(
    filler: caesura.Filler, requests: list[caesura.Request], said: str
) -> Iterator[tuple[int, Fill]]:
    """Fill many at a time, and say how far it is."""
    for first in range(0, len(requests), BATCH):
        yield from enumerate(filler.fill_many(requests[first : first + BATCH]), first)
        note(f"{said}: {min(first + BATCH, len(requests))} of {len(requests)}")


def readings(fill: Fill) -> list[tuple[str, float]]:
    """Return what may stand in the only gap, with probabilities, most probable first."""
    return [(one.part, one.probability) for one in fill.gaps[0].candidates]


def answer(what: str, strategy: str, truth: str, fill: Fill) -> Answer:
    found = readings(fill)
    parts = [part for part, _ in found]
    rank = parts.index(truth) + 1 if truth in parts else None
    stated = dict(found).get(truth, 0.0)
    covered = fill.gaps[0].covered
    return Answer(
        what, strategy, truth, *found[0][:1], rank, found[0][1], stated, covered, fill.ended
    )


def seconds_each(
    fill: Callable[[caesura.Request], Any], requests: list[Any]
) -> tuple[float, float]:
    """Return the means of wall and processor time of gaps filled one by one, once compiled."""
    if not requests:
        return float("nan"), float("nan")
    fill(requests[0])
    wall, processor = time.perf_counter(), time.process_time()
    for request in requests:
        fill(request)
    count = len(requests)
    return (time.perf_counter() - wall) / count, (time.process_time() - processor) / count


# Tables


def rows_of(pieces: list[str], given: argparse.Namespace) -> list[Row]:
    rows = [
        Row(f"gap of {n}", n, gaps_of(pieces, n, given.gaps, given.seed, given.article))
        for n in given.lengths
    ]
    words = [
        Row(f"word of {n}", n, words_of(pieces, n, given.gaps, given.seed, given.article))
        for n in given.words
    ]
    return rows + words


def missed(filler: caesura.Filler, pieces: list[str], given: argparse.Namespace) -> None:
    """How often the search is to blame for a wrong reading, and how often the model is."""
    head("hidden", "wrong, %", "the truth is more probable, %")
    (strategy,) = strategies(given, "search")
    for row in rows_of(pieces, given):
        requests = [request(place.text, place.steps, strategy, given) for place in row.places]
        best = [readings(fill)[0][0] for _, fill in fills(filler, requests, row.what)]
        pairs = list(zip(row.places, best, strict=True))
        wrong = [(place, part) for place, part in pairs if part != place.truth]
        scores = [log_probs(filler, strategy, place, [part, place.truth]) for place, part in wrong]
        lost = [bool(score[1] > score[0] + TOLERANCE) for score in scores]
        lost += [False] * (len(pairs) - len(wrong))
        line(row.what, share([part != place.truth for place, part in pairs]), share(lost))


def match(filler: caesura.Filler, pieces: list[str], given: argparse.Namespace) -> None:
    """Exact match among the first 1, 5 and 20 readings."""
    rows = rows_of(pieces, given)
    head("hidden", "strategy", *(f"top {n}, %" for n in TOPS), "stated, %", "CPU s", "wall s")
    answers: list[Answer] = []
    for row in rows:
        for strategy in strategies(given):
            requests = [request(place.text, place.steps, strategy, given) for place in row.places]
            done = fills(filler, requests, f"{row.what}, {strategy}")
            found = [answer(row.what, strategy, row.places[i].truth, fill) for i, fill in done]
            wall, processor = seconds_each(
                lambda one: filler.fill_many([one]), requests[: given.timed]
            )
            ranks = [one.rank or np.inf for one in found]
            line(
                row.what,
                f"`{strategy}`",
                *(share([rank <= top for rank in ranks]) for top in TOPS),
                f"{100 * np.mean([one.stated for one in found]):.1f}",
                f"{processor:.2f}",
                f"{wall:.2f}",
            )
            answers += found
            write(given.csv, answers)


def unknown(filler: caesura.Filler, pieces: list[str], given: argparse.Namespace) -> None:
    """Lengths that are hidden: how often the true one is found, by length."""
    first, last = HIDDEN[0], HIDDEN[-1]
    places = mixed(pieces, given)
    for strategy in strategies(given, "search"):
        requests = [
            request(
                place.before + place.after,
                caesura.Gap(len(place.before), first, last),
                strategy,
                given,
            )
            for place in places
        ]
        head(
            "length",
            "gaps",
            "length is top 1, %",
            "among top 3, %",
            "its probability, %",
            "read, %",
        )
        ranks: dict[int, list[int]] = {n: [] for n in HIDDEN}
        chances: dict[int, list[float]] = {n: [] for n in HIDDEN}
        right: dict[int, list[bool]] = {n: [] for n in HIDDEN}
        answers = []
        for i, fill in fills(filler, requests, f"hidden lengths, {strategy}"):
            truth = places[i].truth
            n, lengths = len(truth), fill.gaps[0].lengths
            order = sorted(lengths, key=lambda length: -lengths[length])
            ranks[n].append(order.index(n) + 1 if n in order else last + 1)
            chances[n].append(lengths.get(n, 0.0))
            answers.append(answer(f"hidden length {n}", strategy, truth, fill))
            right[n].append(answers[-1].rank == 1)
        for n in (*HIDDEN, None):
            some = [n] if n else list(HIDDEN)
            rank, chance, read = (
                [value for m in some for value in by_length[m]]
                for by_length in (ranks, chances, right)
            )
            if rank:
                line(
                    str(n or "all"),
                    str(len(rank)),
                    share([r == 1 for r in rank]),
                    share([r <= 3 for r in rank]),
                    f"{100 * np.mean(chance):.1f}",
                    share(read),
                )
        write(given.csv, answers)


def samples(filler: caesura.Filler, pieces: list[str], given: argparse.Namespace) -> None:
    """The best of a search against the best of many samples, by the log-probabilities of the
    search."""
    places = mixed(pieces, given)
    (strategy,) = strategies(given, "search")
    # One order, or one estimate of the normaliser: samples get a score, which is not used here.
    samplers = {"nade": NADE(exact_up_to=0, orders=1), "sir": SIR(replicas=1)}
    found = dict(
        fills(filler, [request(p.text, p.steps, strategy, given) for p in places], "search")
    )
    best = [readings(found[i])[0][0] for i in range(len(places))]
    gains: dict[int, list[float]] = {n: [] for n in HIDDEN}
    lines = []
    for i, place in enumerate(places):
        drawn: set[str] = set()
        for sampler in samplers.values():
            asked = caesura.Request(
                place.text,
                place.steps,
                samples=given.samples,
                draws=given.samples,
                strategy=sampler,
            )
            drawn |= {sample[place.steps] for sample in filler.fill_many([asked])[0].samples}
        scores = log_probs(filler, strategy, place, [best[i], *sorted(drawn)])
        gain = float(scores[0] - scores[1:].max())
        gains[len(place.truth)].append(gain)
        rival = sorted(drawn)[int(scores[1:].argmax())]
        lines.append((len(place.truth), place.truth, best[i], rival, len(drawn), gain))
        worse = sum(g < -TOLERANCE for some in gains.values() for g in some)
        note(f"{i + 1} of {len(places)}: {best[i]!r} against {rival!r}, {gain:.3f}; worse: {worse}")
    head(
        "length",
        "gaps",
        "samples better",
        "by, nats at most",
        "search better",
        "by, nats on average",
    )
    for n in (*HIDDEN, None):
        some = np.array([g for m in ([n] if n else HIDDEN) for g in gains[m]])
        if len(some):
            lost, won = some[some < -TOLERANCE], some[some > TOLERANCE]
            line(
                str(n or "all"),
                str(len(some)),
                str(len(lost)),
                f"{-lost.min():.3f}" if len(lost) else "–",
                str(len(won)),
                f"{won.mean():.3f}" if len(won) else "–",
            )
    if given.csv:
        names = ("length", "truth", "search", "best sample", "distinct samples", "gain")
        write_lines(given.csv, names, lines)


TOLERANCE = 1e-3  # nats: what the same fill may differ by


def log_probs(filler: caesura.Filler, strategy: str, place: Place, parts: list[str]) -> np.ndarray:
    """Return nats of what could stand in a gap, up to what they all share."""
    method = filler.method(NAMED.get(strategy, strategy))
    values = filler.read([place.text])[0]
    missing = np.zeros(values.shape, bool)
    missing[place.steps] = True
    window = around_missing(
        method.net, Sequence(values, missing), method.strategy.stop(place.steps.stop, len(values))
    )
    symbols = np.stack([filler.read([part])[0] for part in parts])
    scores = []
    for first in range(0, len(parts), SCORED):
        some = symbols[first : first + SCORED]
        padded = np.pad(some, [(0, SCORED - len(some)), (0, 0), (0, 0)], mode="edge")
        inside = np.repeat(np.asarray(window.values)[:, None], SCORED, axis=1)
        inside[0, :, : padded.shape[1]] = padded
        score = method.strategy.log_prob(jax.random.key(0), method.net, window, jnp.asarray(inside))
        scores.append(np.asarray(score.log_prob, np.float64)[0, : len(some)])
    return np.concatenate(scores)


SCORED = 256  # fills at a time


def mixed(pieces: list[str], given: argparse.Namespace) -> list[Place]:
    """Return `--gaps` places in all, of 1 to 12 characters in turn."""
    counts = [len(range(i, given.gaps, len(HIDDEN))) for i in range(len(HIDDEN))]
    return [
        place
        for n, count in zip(HIDDEN, counts, strict=True)
        for place in gaps_of(pieces, n, count, given.seed, given.article)
    ]


def strategies(given: argparse.Namespace, default: str = "search,sir") -> list[str]:
    return (given.strategy or default).split(",")


def request(text: str, missing: Any, strategy: str, given: argparse.Namespace) -> caesura.Request:
    limit = {} if given.seconds is None else {"seconds": given.seconds}
    return caesura.Request(text, missing, strategy=NAMED.get(strategy, strategy), **limit)


def write(path: Path | None, answers: list[Answer]) -> None:
    if path:
        write_lines(path, Answer._fields, answers)


if __name__ == "__main__":
    main()
