"""How often the right reading of a gap is found, on held-out Wikipedia: docs/decoding.md.

    python benchmarks/decoding.py match     exact match of words and of gaps of a known length
    python benchmarks/decoding.py unknown   gaps of 1 to 12 characters whose length is hidden
    python benchmarks/decoding.py samples   is the search worse than the best of 1000 random fills?
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
from caesura.filler.tasks import Method
from caesura.sequence import Sequence, Span
from caesura.strategies import Search, Window, around_missing

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
    parser.add_argument("--samples", type=int, default=1000, help="random fills of each gap")
    parser.add_argument("--widths", type=numbers, default=(96, 1536), help="beams of `samples`")
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
    """The best reading of a search against the best of many random fills, by the nets alone."""
    places = mixed(pieces, given)
    searches = {str(width): Search(width=width, echo=False) for width in given.widths}
    # Random fills follow both nets step by step, which is nearer to the truth than `nade` or `sir`.
    random = Search(width=1, draws=given.samples, negligible=0.0, echo=False)
    gains: dict[str, dict[int, list[float]]] = {name: {n: [] for n in HIDDEN} for name in searches}
    lines = []
    for i, place in enumerate(places):
        rival, score_of_rival = most_probable(filler, random, place)
        for name, strategy in searches.items():
            best, score = most_probable(filler, strategy, place)
            gains[name][len(place.truth)].append(score - score_of_rival)
            lines.append((name, len(place.truth), place.truth, best, rival, score - score_of_rival))
        if not (i + 1) % BATCH:
            note(f"{i + 1} of {len(places)}")
    head("beam", "length", "gaps", "random fills better", "by, nats", "search better", "by, nats")
    for name, n in ((name, n) for name in searches for n in (*HIDDEN, None)):
        some = np.array([g for m in ([n] if n else HIDDEN) for g in gains[name][m]])
        if len(some):
            lost, won = some[some < -TOLERANCE], some[some > TOLERANCE]
            said = (str(part) for each in (-lost, won) for part in (len(each), _mean(each)))
            line(name, str(n or "all"), str(len(some)), *said)
    if given.csv:
        names = ("beam", "length", "truth", "search", "best random fill", "gain")
        write_lines(given.csv, names, lines)


def most_probable(filler: caesura.Filler, search: Search, place: Place) -> tuple[str, float]:
    """Return the best reading that was found, and nats up to what all readings share."""
    method = filler.method(search)
    window = window_of(filler, method, place)
    found = search.search(jax.random.key(0), method.net, window)
    best = int(found.log_prob[0].argmax())
    part = filler.kind.open(place.text).part(found.values[0, best], Span(0, len(place.truth)))
    return part, float(found.log_prob[0, best] + found.log_total[0])


def _mean(values: np.ndarray) -> str:
    return f"{values.mean():.3f}" if len(values) else "–"


TOLERANCE = 1e-3  # nats: what the same fill may differ by


def window_of(filler: caesura.Filler, method: Method, place: Place) -> Window:
    """Return the gap and what a strategy looks at after it."""
    values = filler.read([place.text])[0]
    missing = np.zeros(values.shape, bool)
    missing[place.steps] = True
    stop = method.strategy.stop(place.steps.stop, len(values))
    return around_missing(method.net, Sequence(values, missing), stop)


def log_probs(filler: caesura.Filler, strategy: str, place: Place, parts: list[str]) -> np.ndarray:
    """Return nats of what could stand in a gap, up to what they all share."""
    method = filler.method(NAMED.get(strategy, strategy))
    window = window_of(filler, method, place)
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
