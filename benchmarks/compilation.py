"""How long the first call of each verb takes, which is the time to compile it.

python benchmarks/compilation.py
"""

import time

import jax
import numpy as np

from caesura.nets.frames import Categorical
from caesura.nets.rnn import bidirectional, unidirectional
from caesura.sequence import Sequence
from caesura.strategies import STRATEGIES, Place, around_gaps

SYMBOLS, HIDDEN, LENGTH = 96, 684, 100
KEY = jax.random.key(0)


def main() -> None:
    frame = Categorical(SYMBOLS)
    nets = {
        "bidirectional": bidirectional(KEY, frame, head="softmax", hidden=HIDDEN),
        "forward": unidirectional(KEY, frame, head="softmax", hidden=HIDDEN),
    }
    values = np.random.default_rng(0).integers(0, SYMBOLS, (LENGTH, 1)).astype(np.int32)
    sequence = Sequence(values, np.zeros_like(values, bool))
    print("| strategy | gap | draw | score | marginals |\n|---|---|---|---|---|")
    for name, gap in [("nade", 5), ("nade", 12), ("gsn", 5), ("oneway", 5)]:
        options = {"steps": 1, "chains": 1} if name == "gsn" else {}
        strategy = STRATEGIES[name](**options)
        net = nets[strategy.net]
        window = around_gaps(net, [sequence], [Place(0, 50, 50 + gap, 50 + gap)])
        fills = window.values[:, None]
        times = []
        for verb, more in (("draw", [1]), ("log_prob", [fills]), ("marginals", [])):
            began = time.perf_counter()
            jax.block_until_ready(getattr(strategy, verb)(KEY, net, window, *more))
            times.append(time.perf_counter() - began)
        print(f"| `{name}` | {gap} | " + " | ".join(f"{took:.1f} s" for took in times) + " |")


if __name__ == "__main__":
    main()
