"""Which strategy should be the default of an embedded model: NLL against seconds, in one run.

    python benchmarks/defaults.py text --data DATA [--gaps 200]

For each strategy that the server offers: the NLL of gaps of five steps in the model's test set, and
the seconds of wall and processor time that `Filler.fill` takes for one such gap, compiled.
"""

import argparse
import time

import numpy as np

import caesura
from caesura import datasets
from caesura.errors import CaesuraError

SETS = {"text": ("wiki96",), "music": ("nottingham", "musedata", "piano_midi")}
GAP, AROUND, FILLS = 5, 200, 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="of text, or of music in eighths, as the sets are")
    parser.add_argument("--data", help="the data directory")
    parser.add_argument("--gaps", type=int, default=200, help="scored for each set")
    parser.add_argument("--strategies", default="nade,sir,oneway,onegram")
    given = parser.parse_args()
    filler = caesura.load(given.model)
    print(
        "| set | strategy | NLL | ± SE | wall s a fill | CPU s a fill |\n|---|---|---|---|---|---|"
    )
    for name in SETS[filler.kind.name]:
        pieces = datasets.load(name, "test", given.data, limit=60_000)
        for strategy in given.strategies.split(","):
            try:
                filler.method(strategy)
            except CaesuraError as error:
                print(f"| {name} | {strategy} | {error} |")
                continue
            score = filler.evaluate(pieces, gap=GAP, limit=given.gaps, strategy=strategy).gaps
            wall, processor = seconds_a_fill(filler, pieces, strategy)
            numbers = f"{score.nll:.3f} | {score.standard_error:.3f} | {wall:.2f} | {processor:.2f}"
            print(f"| {name} | {strategy} | {numbers} |", flush=True)


def seconds_a_fill(filler: caesura.Filler, pieces: list, strategy: str) -> tuple[float, float]:
    """The medians over some gaps, without the first, which compiles."""
    long = [piece for piece in pieces if len(piece) > 2 * AROUND + GAP][: FILLS + 1]
    walls, processors = [], []
    for piece in long:
        some = piece[: 2 * AROUND + GAP]
        wall, processor = time.perf_counter(), time.process_time()
        filler.fill_many([caesura.Request(some, slice(AROUND, AROUND + GAP), strategy=strategy)])
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    return float(np.median(walls[1:])), float(np.median(processors[1:]))


if __name__ == "__main__":
    main()
