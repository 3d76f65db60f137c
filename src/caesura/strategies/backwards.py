"""How probable the text before a gap is, given a fill and what follows: read from right to left.

The forward net reads from left to right. A bidirectional net that sees nothing to the left of a
step is a net that reads the other way. For exact nets, both say the same about how well the two
sides of a gap fit together. So each is an opinion of its own about the length of a gap.
"""

import numpy as np
from jaxtyping import Float, Int

from caesura.hardware import few_blas_threads
from caesura.nets import eager
from caesura.nets.cells import State
from caesura.nets.rnn import Net
from caesura.sequence import UNKNOWN

UNSEEN = 5  # steps that are missing before everything: of 0 to 30, as good as any (experiments.md)


def log_backwards(
    net: Net,
    after: State,
    fills: Int[np.ndarray, "n length"],
    before: Int[np.ndarray, " steps"],
) -> Float[np.ndarray, " n"]:
    """Return the log-probabilities of fills together with what stands before them.

    Parameters
    ----------
    net
        A bidirectional net with NumPy's arrays.
    after
        The state of its backward stack after the gap, once.
    fills
        The fills of the gap, from left to right.
    before
        The symbols before the gap; those that are `UNKNOWN` add nothing.
    """
    count = len(fills)
    both = np.concatenate([np.broadcast_to(before, (count, len(before))), fills], axis=1)
    symbols = both.T[::-1]
    nothing = np.full(UNSEEN, UNKNOWN)
    (blind,) = eager.read(net, net.forward, eager.start(net.forward, 1), [nothing])
    rows = eager.table(net, net.backward)
    with few_blas_threads():
        tops, _ = eager.follow(
            net.backward, eager.take(after, np.zeros(count, int)), symbols[:-1], rows
        )
    flat = symbols.reshape(-1)
    unseen = eager.take(blind, np.full(len(flat), UNSEEN))
    said = eager.predict(net, unseen, (eager.join(tops),))
    each = np.where(flat != UNKNOWN, said[np.arange(len(flat)), np.maximum(flat, 0)], 0.0)
    return each.reshape(symbols.shape).sum(axis=0, dtype=np.float64)
