"""What scoring a row of Table 1 costs, against the fewest operations that it needs.

    python benchmarks/evaluation.py            on a GPU: one batch of gaps, a few chains of each
    python benchmarks/evaluation.py --quick    small nets and few gaps, to see that it runs

The floor is the multiplications and additions of the net's matrix products, each counted once, over
the rate of one large product of the same precision on the same device. Times are without
compilation, and carried from the gaps and chains that were timed to those of the paper's protocol.
"""

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from caesura.nets.frames import Categorical
from caesura.nets.rnn import Net, bidirectional, unidirectional
from caesura.scoring.gaps import score_gaps
from caesura.strategies import GSN, NADE, Bayes, OneWay, Strategy

GAP, STEPS, LOOKAHEAD, SYMBOLS, STRETCH = 5, 100, 15, 96, 2048
KEY = jax.random.key(0)


class Row(NamedTuple):
    """A strategy as it is timed, and how much of it the protocol asks for."""

    name: str
    net: Net
    strategy: Callable[[int], Strategy]  # with so many chains
    gaps: int  # timed
    asked: int  # gaps of the protocol
    chains: int  # of the protocol; 1: there are none
    cell_steps: float  # for one gap and one chain
    heads: float  # outputs, likewise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    hidden, gaps, some, texts = (16, 20, 10, 2) if quick else (684, 16384, 1000, 512)
    rng = np.random.default_rng(0)
    pieces = [rng.integers(0, SYMBOLS, (STRETCH, 1)) for _ in range(texts)]
    rate = matmul_rate(256 if quick else 8192)
    print(f"{jax.devices()[0].device_kind}: {rate / 1e12:.1f} TFLOP/s in a large matrix product\n")
    print(
        "| strategy | gaps | chains | TFLOP | floor | time | ratio | of it: the pass and a chain |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for row in rows(hidden, gaps, some):
        least = flops(row, texts) / rate
        one, took = seconds(row, pieces)
        print(
            f"| {row.name} | {row.asked} | {row.chains} | {flops(row, texts) / 1e12:.1f} "
            f"| {least:.2f} s | {took:.1f} s | {took / least:.1f} | {one:.1f} s |",
            flush=True,
        )


def seconds(row: Row, pieces: list[np.ndarray]) -> tuple[float, float]:
    """With one chain, and with all; the time of a chain is what two more of them take."""

    def timed(chains: int) -> float:
        strategy = row.strategy(chains)
        took = clock(lambda: score_gaps(row.net, strategy, pieces, limit=row.gaps))
        return took * row.asked / row.gaps

    one = timed(1)
    return one, one if row.chains == 1 else one + (timed(3) - one) / 2 * (row.chains - 1)


def rows(hidden: int, gaps: int, some: int) -> list[Row]:
    """The paper's nets for text; their weights do not matter here."""
    frame = Categorical(SYMBOLS)
    both = bidirectional(KEY, frame, head="softmax", hidden=hidden)
    forward = unidirectional(KEY, frame, head="softmax", hidden=hidden * 1000 // 684)
    way = (GAP + 1) / 3  # from one place to the next, on average
    ahead = SYMBOLS * (LOOKAHEAD + (GAP + 1) / 2)
    return [
        Row(
            "nade", both, lambda _: NADE(), gaps, 50_000, 1, 2 * (2**GAP - 2), GAP * 2 ** (GAP - 1)
        ),
        Row("gsn", both, lambda n: GSN(STEPS, n), gaps, 50_000, 100, STEPS * way, STEPS),
        Row("oneway", forward, lambda _: OneWay(), gaps, 50_000, 1, GAP - 1, GAP),
        Row(
            "bayes",
            forward,
            lambda n: Bayes(STEPS, n, lookahead=LOOKAHEAD),
            some,
            1_000,
            100,
            STEPS * (way + ahead),
            STEPS * ahead,
        ),
    ]


def flops(row: Row, texts: int) -> float:
    """Two for each weight of a cell's recurrence and of the head, and one pass over the text."""
    cell, head = row.net.forward.cells[0].W_h.size, row.net.head.W_y.size  # type: ignore[attr-defined]
    directions = 2 if row.net.backward.cells else 1
    text = texts * STRETCH * directions * cell / row.gaps
    return 2 * row.asked * (text + row.chains * (row.cell_steps * cell + row.heads * head))


def matmul_rate(size: int) -> float:
    a = jax.random.normal(KEY, (size, size))
    product = jax.jit(jnp.matmul)
    return 2 * size**3 / clock(lambda: product(a, a).block_until_ready())


def clock(run: Callable[[], object]) -> float:
    """Seconds of the quicker of two runs, after one that compiles."""
    run()
    times = []
    for _ in range(2):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times)


if __name__ == "__main__":
    main()
