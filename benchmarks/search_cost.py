"""What a search costs beside the least that it can cost, and what the letters after a gap tell.

    python benchmarks/search_cost.py cost                     parts of a request, and their floors
    CAESURA_DATA=DATA python benchmarks/search_cost.py ahead  do probable fills look improbable?

`cost` fills the texts of benchmarks/serve.py one by one. The floor of a part is the number of its
multiplications and additions in matrix products, divided by how many of them one core does in a
second in a large product. `ahead` takes gaps of validation texts, and the fills that turn out to be
probable when 16 characters after the gap have been scored. It says how much less probable they
seemed to be before that, among all fills that were found.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from decoding import gaps_of, plain
from serve import question

import caesura
from caesura import datasets
from caesura.filler import Request
from caesura.hardware import few_blas_threads
from caesura.nets import eager
from caesura.strategies import Search, beam

GAPS = (2, 5, 8, 12)
LIKELY = (0.2, 0.05, 0.01)
Shares = dict[bytes, tuple[int, float]]
WIDE = Search(width=192, within=12.0, negligible=0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["cost", "ahead"])
    parser.add_argument("--texts", type=int, default=32, help="or gaps of each length")
    given = parser.parse_args()
    {"cost": cost, "ahead": ahead}[given.what](given.texts)


def cost(texts: int) -> None:
    filler = caesura.load("text")
    net: Any = filler.method("search").net
    fill(filler, texts)  # not timed: the first matrix products are slow
    spent, flops = measure()
    began, walls = time.process_time(), []
    for number in range(texts):
        start = time.perf_counter()
        fill(filler, number)
        walls.append(time.perf_counter() - start)
    whole = (time.process_time() - began) / texts
    rate = best_rate(net.forward.forward.cells[0].W_h)
    print(f"One core does {rate / 1e9:.0f} GFLOP/s. A request: p50 {np.median(walls):.3f} s.\n")
    print("| part of a request | GFLOP | floor | processor time |")
    print("|---|---:|---:|---:|")
    for part in flops:
        print(row(part, flops[part] / texts, rate, spent[part] / texts))
    print(row("all else", 0.0, rate, whole - sum(spent.values()) / texts))
    print(row("**together**", sum(flops.values()) / texts, rate, whole))


def row(part: str, flops: float, rate: float, seconds: float) -> str:
    floor = 1000 * flops / rate
    return f"| {part} | {flops / 1e9:.1f} | {floor:.0f} ms | {1000 * seconds:.0f} ms |"


def fill(filler: caesura.Filler, number: int) -> None:
    asked: Any = question(number)
    places = {n for box in asked["missing"] for n in range(box["first"], box["stop"])}
    filler.fill_many([Request(asked["sequence"], sorted(places), seed=number)])


def measure() -> tuple[dict[str, float], dict[str, float]]:
    """Have the parts of a search tell the seconds of their threads and their operations."""
    spent: dict[str, float] = defaultdict(float)
    flops: dict[str, float] = defaultdict(float)

    def watch(place: Any, name: str, part: str, count: Callable[..., float]) -> None:
        real = getattr(place, name)

        def watched(*args: Any) -> Any:
            flops[part] += 2 * count(*args)
            began = time.thread_time()
            try:
                return real(*args)
            finally:
                spent[part] += time.thread_time() - began

        setattr(place, name, watched)

    def read(net: Any, stack: Any, begin: Any, texts: Any) -> int:
        return of_step(stack) * sum(map(len, texts))

    def step(reader: Any, walks: Any) -> int:
        cells = reader.net.forward.cells
        from_itself, from_below = (
            sum(weights.size for weights in some)
            for some in ([cell.W_h for cell in cells], [cell.W_x for cell in cells[1:]])
        )
        parents = sum(len(set(one.parents.tolist())) for one in walks)
        return from_itself * parents + from_below * sum(len(one.symbols) for one in walks)

    def predict_q(net: Any, walks: Any, t: int) -> int:
        lanes = sum(len(one.log_q) for one in walks if one.start.missing[t])
        return of_head(net) * lanes

    def predict_p(net: Any, walks: Any) -> int:
        return of_head(net) * sum(len(one.log_p) for one in walks)

    def score(reader: Any, states: Any, symbols: Any, goes_on: bool) -> int:
        steps = symbols.size if goes_on else symbols[1:].size
        return of_head(reader.net) * symbols.size + of_step(reader.net.forward) * steps

    watch(eager, "read", "reading the text around the gaps", read)
    for name, count in (("_predict_q", predict_q), ("_predict_p", predict_p)):
        watch(beam, name, "in the gaps", count)
    for name in ("_step_q", "_step_p"):
        watch(beam, name, "in the gaps", step)
    watch(beam, "_log_probs", "after the gaps", score)
    return spent, flops


def of_step(stack: Any) -> int:
    """Return the multiplications of one step; the first layer looks its input up."""
    return sum(cell.W_h.size for cell in stack.cells) + sum(c.W_x.size for c in stack.cells[1:])


def of_head(net: Any) -> int:
    head = net.head
    return head.W_y.size + head.join.W_z.size + head.join.V_y.size


def best_rate(W: np.ndarray) -> float:
    """Return the operations of one core in a second, in a product with many columns."""
    h, best = np.ones((W.shape[1], 512), np.float32), np.inf
    with few_blas_threads():
        for _ in range(20):
            began = time.perf_counter()
            W @ h
            best = min(best, time.perf_counter() - began)
    return 2 * W.size * h.shape[1] / best


def ahead(gaps: int) -> None:
    filler = plain(caesura.load("text"))
    pieces = datasets.load("wiki96", "valid")
    looks = defaultdict[tuple[float, int], list[tuple[float, int]]](list)
    watched = watch_drops()
    for length in GAPS:
        for seed, place in enumerate(gaps_of(pieces, length, gaps, 0)):
            watched.clear()
            filler.fill_many([Request(place.text, place.steps, strategy=WIDE, seed=seed)])
            *before, (_, last) = watched
            for fill, (_, log_prob) in last.items():
                for likely in LIKELY:
                    if log_prob > np.log(likely):
                        for steps, shares in before:
                            rank, share = shares[fill]
                            looks[likely, steps].append((log_prob - share, rank))
    print("| in the end | scored | fills | nats less, 95 % | 99 % | rank, 95 % | 99 % |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for (likely, steps), found in sorted(looks.items(), reverse=True):
        nats, ranks = np.quantile(found, [0.95, 0.99], axis=0).T
        cells = (f"{likely:.0%}", steps, len(found), *(f"{x:.1f}" for x in nats))
        print("| " + " | ".join(map(str, (*cells, *(f"{x:.0f}" for x in ranks + 1)))) + " |")


def watch_drops() -> list[tuple[int, Shares]]:
    """Return a list that searches write into: by steps scored, the rank and the share of fills."""
    seen, real = list[tuple[int, Shares]](), beam.Walk.drop

    def drop(walk: beam.Walk, plan: beam.Plan, steps: int) -> None:
        real(walk, plan, steps)
        log_value = plan.mix(walk.log_q, walk.log_p)[walk.beam]
        shares = log_value - np.logaddexp.reduce(log_value)
        names = [values.tobytes() for values in walk.values[walk.beam]]  # the best is the first
        seen.append((steps, dict(zip(names, enumerate(shares), strict=True))))

    beam.Walk.drop = drop  # type: ignore[method-assign]
    return seen


if __name__ == "__main__":
    main()
