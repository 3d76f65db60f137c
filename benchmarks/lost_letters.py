"""How well a model restores lost letters of papyri: the tables of docs/lost-letters.md.

    python benchmarks/lost_letters.py hidden     letters hidden at random, 1 to 20 of them
    python benchmarks/lost_letters.py editors    restorations by editors, hidden again
    python benchmarks/lost_letters.py unknown    gaps whose number of letters is not told
    python benchmarks/lost_letters.py speed      a document of 500 letters with ten lacunae
    python benchmarks/lost_letters.py card       the card of the model, from what was saved

`--save` keeps a table in benchmarks/cards/, of which the card of the model is made.

The documents are those of the test split of the set `papyri`, in the directory that CAESURA_DATA
names. A gap has up to 500 letters of its document before it and 300 after it, with all restorations
of the editor but its own. Readings that differ only in word division are one.
"""

import argparse
import difflib
import io
import math
import platform
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext, redirect_stdout
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from printing import head, line, note, numbers, share, write_lines

import caesura
from caesura import datasets, pretrained
from caesura.errors import CaesuraError
from caesura.filler.fill import Fill
from caesura.kinds import Text
from caesura.kinds.text.document import BREAK
from caesura.modelfile import read_info
from caesura.sequence import runs

BEFORE, AFTER = 500, 300
TOPS = (1, 5, 20)
GROUPS = {"1–10": range(1, 11), "11–20": range(11, 21)}
LENGTHS = range(1, 11)  # of gaps whose length is not told
BATCH = 16  # requests at a time
RESULTS = Path(__file__).parent / "cards"
BINS = 10


class Place(NamedTuple):
    """A gap in the letters of a document, and what stands there."""

    before: str
    truth: str
    after: str


class Answer(NamedTuple):
    """What became of one gap: a line of the CSV file."""

    length: int
    truth: str
    best: str
    rank: int | None
    stated: float  # the probability of the best reading
    nats: float  # of the truth, with its word division
    paper_error: float  # as E. Cullhed counts it: 1 − the ratio of difflib
    edit_error: float  # the edit distance over the length


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    measures = {"hidden": hidden, "editors": editors, "unknown": unknown, "speed": speed}
    parser.add_argument("what", choices=[*measures, "card"])
    parser.add_argument("--model", default="papyri", help="a name or a path")
    parser.add_argument("--gaps", type=int, default=50, help="of each length")
    parser.add_argument("--split", choices=["valid", "test"], default="test")
    parser.add_argument("--weight", type=float, help="of the bidirectional net in the search")
    parser.add_argument("--no-echo", action="store_true", help="by the nets alone")
    parser.add_argument("--nats", action="store_true", help="those of the truth; takes longer")
    parser.add_argument("--lengths", type=numbers, default=tuple(range(1, 21)), help="'1-20'")
    parser.add_argument("--seed", type=int, default=0, help="of the places")
    parser.add_argument("--seeds", type=int, default=1, help="unknown: so many, from --seed on")
    parser.add_argument("--save", action="store_true", help="keep the table for the card")
    parser.add_argument("--csv", type=Path, help="a line for each gap")
    parser.add_argument("--workers", type=int, default=1, help="processes that share the gaps")
    given = parser.parse_args()
    try:
        if given.what == "card":
            write_card()
            return
        filler = caesura.load(given.model)
        texts = datasets.load("papyri", given.split)
        machine = f"JAX {jax.__version__}, {jax.devices()[0].device_kind}, {platform.machine()}"
        table = io.StringIO()
        with redirect_stdout(table) if given.save else nullcontext():
            measures[given.what](filler, texts, given)
        note(machine)
        if given.save:
            print(table.getvalue())
            most = given.gaps * given.seeds
            said = f"(Split {given.split}, at most {most} gaps of each length; {machine}.)"
            (RESULTS / f"papyri.{given.what}.md").write_text(f"{table.getvalue()}\n{said}\n")
    except CaesuraError as error:
        sys.exit(f"Error: {error}")


# The places


def letters_of(kind: Text, text: str) -> tuple[str, np.ndarray]:
    """Return the letters as nets see them, and which of them an editor has restored."""
    item: Any = kind.open(text)
    lost = np.repeat(item._places, np.maximum(item._sizes, 1))
    number = np.arange(len(item.document.letters))
    values = item.complete.values[:, 0]
    restored = np.zeros(len(values), bool)
    restored[number + np.searchsorted(lost, number, side="right")] = item.document.bracketed
    seen = "".join(kind.alphabet[value] if value >= 0 else BREAK for value in values)
    return seen, restored & (values >= 0)


def cut(seen: str, start: int, length: int) -> Place:
    stop = start + length
    return Place(seen[max(0, start - BEFORE) : start], seen[start:stop], seen[stop : stop + AFTER])


def at_random(pieces: list[str], length: int, count: int, seed: int) -> list[Place]:
    """Return gaps in known letters; every place of every document is equally likely."""
    starts = [
        (number, start)
        for number, piece in enumerate(pieces)
        for span in runs(np.array([letter != BREAK for letter in piece]))
        for start in range(span.start, span.stop - length + 1)
        if length < len(piece)
    ]
    chosen = np.random.default_rng([seed, length]).choice(len(starts), count, replace=False)
    return [cut(pieces[starts[i][0]], starts[i][1], length) for i in chosen]


# What is asked


def fills(given: argparse.Namespace, requests: list[caesura.Request]) -> Iterator[Fill]:
    """Fill the gaps in order, some at a time, in as many processes as are asked for."""
    chunks = [requests[first : first + BATCH] for first in range(0, len(requests), BATCH)]
    processes = (
        ProcessPoolExecutor(given.workers, get_context("spawn")) if given.workers > 1 else None
    )
    each = (processes.map if processes else map)(partial(filled, given.model), chunks)
    with processes or nullcontext():
        for number, some in enumerate(each, 1):
            note(f"{given.what}: {number} of {len(chunks)} parts")
            yield from some


def filled(model: str, requests: list[caesura.Request]) -> list[Fill]:
    return plain(loaded(model)).fill_many(requests)


loaded = cache(caesura.load)  # once in each process


def plain(filler: caesura.Filler) -> caesura.Filler:
    """Return the filler for letters as nets see them."""
    return filler.with_kind(notation="plain", normalise="", gap_char="_", brackets="")


def strategy_of(filler: caesura.Filler, given: argparse.Namespace) -> Any:
    if given.weight is None and not given.no_echo:
        return None
    make: Any = type(filler.method("search").strategy)
    weight = {} if given.weight is None else {"weight": given.weight}
    return make(echo=not given.no_echo, **weight)


def merged(fill: Fill) -> list[tuple[str, float]]:
    """Return the readings, most probable first; word division does not count."""
    chances: dict[str, float] = {}
    for one in fill.gaps[0].candidates:
        chances[one.part.lower()] = chances.get(one.part.lower(), 0.0) + one.probability
    return sorted(chances.items(), key=lambda one: -one[1])


def asked(filler: caesura.Filler, places: list[Place], given: Any) -> list[Answer]:
    strategy = strategy_of(filler, given)
    requests = [
        caesura.Request(
            "".join(place),
            slice(len(place.before), len(place.before) + len(place.truth)),
            strategy=strategy,
            readings={0: [place.truth]} if given.nats else {},
        )
        for place in places
    ]
    pairs = zip(places, fills(given, requests), strict=True)
    return [answer(place.truth, fill) for place, fill in pairs]


def answer(truth: str, fill: Fill) -> Answer:
    found = merged(fill)
    own = fill.gaps[0].asked
    wanted, (best, stated) = truth.lower(), found[0]
    parts = [part for part, _ in found]
    return Answer(
        len(truth),
        wanted,
        best,
        parts.index(wanted) + 1 if wanted in parts else None,
        stated,
        -float(np.log(max(own[0].probability, 1e-300))) if own else float("nan"),
        1 - difflib.SequenceMatcher(None, best, wanted).ratio(),
        distance(best, wanted) / len(wanted),
    )


def distance(one: str, other: str) -> int:
    """Return the edit distance."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (a != b)))
    return row[-1]


# Tables

COLUMNS = ("letters", "gaps", "top 1, %", "top 5, %", "top 20, %", "character error, %")
COLUMNS = (*COLUMNS, "edit distance, %", "stated, %")


def table(answers: list[Answer], by: dict[str, list[int]]) -> None:
    with_nats = not np.isnan(answers[0].nats)
    head(*COLUMNS, *(["nats"] if with_nats else []))
    for name, lengths in by.items():
        some = [one for one in answers if one.length in lengths]
        if not some:
            continue
        ranks = [one.rank or np.inf for one in some]
        line(
            name,
            str(len(some)),
            *(share([rank <= top for rank in ranks]) for top in TOPS),
            *(
                f"{100 * np.mean([getattr(one, error) for one in some]):.1f}"
                for error in ("paper_error", "edit_error")
            ),
            f"{100 * np.mean([one.stated for one in some]):.1f}",
            *([f"{np.mean([one.nats for one in some]):.2f}"] if with_nats else []),
        )


def calibration(answers: list[Answer]) -> None:
    """Print how far what is stated of the best reading is from what comes true."""
    stated = np.array([one.stated for one in answers])
    true = np.array([one.rank == 1 for one in answers])
    where = np.minimum((stated * BINS).astype(int), BINS - 1)
    sums = [abs(np.sum(stated[where == b] - true[where == b])) for b in range(BINS)]
    error = sum(sums) / len(answers)
    print(f"\nCalibration error of the best reading, in {BINS} bins: {error:.3f}.")


def done(answers: list[Answer], by: dict[str, list[int]], given: argparse.Namespace) -> None:
    table(answers, by | {name: list(lengths) for name, lengths in GROUPS.items()})
    calibration(answers)
    if given.csv:
        write_lines(given.csv, Answer._fields, answers)


def hidden(filler: caesura.Filler, texts: list[str], given: argparse.Namespace) -> None:
    """Letters hidden at random."""
    pieces = [letters_of(filler.kind, text)[0] for text in texts]
    places = [p for n in given.lengths for p in at_random(pieces, n, given.gaps, given.seed)]
    done(asked(filler, places, given), {str(n): [n] for n in given.lengths}, given)


def editors(filler: caesura.Filler, texts: list[str], given: argparse.Namespace) -> None:
    """Restorations of editors, hidden again: how often they are found."""
    by_length: dict[int, list[Place]] = {n: [] for n in given.lengths}
    for text in texts:
        seen, restored = letters_of(filler.kind, text)
        for span in runs(restored):
            length = span.stop - span.start
            if length in by_length and length < len(seen):
                by_length[length].append(cut(seen, span.start, length))
    places = []
    for length, some in by_length.items():
        order = np.random.default_rng([given.seed, length]).permutation(len(some))
        places += [some[i] for i in order[: given.gaps]]
    done(asked(filler, places, given), {str(n): [n] for n in by_length}, given)


def unknown(filler: caesura.Filler, texts: list[str], given: argparse.Namespace) -> None:
    """Gaps whose number of letters is not told."""
    pieces = [letters_of(filler.kind, text)[0] for text in texts]
    seeds = range(given.seed, given.seed + given.seeds)
    places = [p for n in LENGTHS for s in seeds for p in at_random(pieces, n, given.gaps, s)]
    strategy = strategy_of(filler, given)
    requests = [
        caesura.Request(
            place.before + place.after,
            caesura.Gap(len(place.before), LENGTHS[0], LENGTHS[-1]),
            strategy=strategy,
        )
        for place in places
    ]
    ranks: dict[int, list[int]] = {n: [] for n in LENGTHS}
    right: dict[int, list[bool]] = {n: [] for n in LENGTHS}
    chances: dict[int, list[list[float]]] = {n: [] for n in LENGTHS}  # the most probable first
    nats: dict[int, list[float]] = {n: [] for n in LENGTHS}
    for place, fill in zip(places, fills(given, requests), strict=True):
        truth, lengths = place.truth, list(fill.gaps[0].lengths)
        ranks[len(truth)].append(lengths.index(len(truth)) + 1)
        right[len(truth)].append(merged(fill)[0][0] == truth.lower())
        chances[len(truth)].append(list(fill.gaps[0].lengths.values()))
        nats[len(truth)].append(-math.log(max(fill.gaps[0].lengths[len(truth)], 1e-300)))
    head(
        "letters", "gaps", "length is top 1, %", "stated, %", "among top 3, %", "stated, %", "nats",
        "read, %",
    )  # fmt: skip
    for name, some in [(str(n), [n]) for n in LENGTHS] + [("all", list(LENGTHS))]:
        rank, read, chance, own = (
            [value for n in some for value in by_length[n]]
            for by_length in (ranks, right, chances, nats)
        )
        cells = [str(len(rank))]
        for top in (1, 3):
            stated = 100 * np.mean([sum(each[:top]) for each in chance])
            cells += [share([r <= top for r in rank]), f"{stated:.1f}"]
        line(name, *cells, f"{np.mean(own):.2f}", share(read))


def speed(filler: caesura.Filler, texts: list[str], given: argparse.Namespace) -> None:
    """Ten lacunae of one to ten letters in a document of about 500 letters."""
    pieces = [letters_of(filler.kind, text)[0] for text in texts]
    piece = next(p for p in pieces if len(p) >= 500 and BREAK not in p[:500])[:500]
    marked = list(piece)
    for number in range(10):
        start = 20 + 46 * number
        marked[start : start + number + 1] = "_" * (number + 1)
    text, one = "".join(marked), plain(filler)
    head("fill", "wall time", "processor time", "gaps")
    for what in ("first, with compilation", "second", "third"):
        wall, processor = time.perf_counter(), time.process_time()
        fill = one.fill(text)
        line(
            what,
            f"{time.perf_counter() - wall:.1f} s",
            f"{time.process_time() - processor:.1f} CPU s",
            f"{len(fill.gaps)} gaps",
        )


# The card

CARD = RESULTS / "papyri.card.md"  # with places for what is measured


def write_card() -> None:
    """Write the card beside the model."""
    file = Path(pretrained.find_model("papyri"))
    info = read_info(file)
    training = info["training"]
    rows = [
        f"| {name} | {net['layers']} × {net['hidden']} {net['cell']} | {net['parameters']} | "
        f"{training['nets'][name]['validation_nll']:.4f} |"
        for name, net in info["nets"].items()
        if name in training["nets"]
    ]
    tables = {
        name: (RESULTS / f"papyri.{name}.md").read_text()
        for name in ("hidden", "editors", "unknown")
    }
    card = CARD.read_text(encoding="utf-8").format(
        bytes=info["bytes"] / 1e6,
        dtypes=" and ".join(info["dtypes"]),
        sha256=info["sha256"],
        nets="\n".join(rows),
        seed=training["seed"],
        versions=", ".join(f"{k} {v}" for k, v in training["versions"].items()),
        **training["data"],
        **tables,
    )
    file.with_suffix(".md").write_text(card, encoding="utf-8")
    print(file.with_suffix(".md"))


if __name__ == "__main__":
    main()
