"""How probable strings are by themselves: by a net that sees no more than the edges of a gap.

A name is improbable wherever it stands, since a net does not know it. What says more is how much
better a string fits into a gap than it fits anywhere: the quotient of two probabilities.
"""

import numpy as np
from jaxtyping import Float, Int

from caesura.nets import eager
from caesura.nets.rnn import Net
from caesura.sequence import UNKNOWN


def log_alone(
    net: Net,
    rows: Float[np.ndarray, "rows Bc"],
    strings: Int[np.ndarray, "E length"],
    edges: Int[np.ndarray, " 2"],
) -> Float[np.ndarray, " E"]:
    """Return the log-probabilities of strings between two symbols, by a bidirectional net.

    They are read from left to right: what comes later in a string is unknown.

    Parameters
    ----------
    net, rows
        The net, and the `eager.table` of its forward stack.
    strings
        The strings, all of the same length, which is not zero.
    edges
        The symbols before and after them.
    """
    count, length = strings.shape
    first = np.full((1, count), edges[0])
    seen = np.concatenate([first, strings[:, :-1].T])
    later = np.append(edges[1], np.full(length - 1, UNKNOWN))
    tops, _ = eager.follow(net, eager.start(net.forward, count), seen, rows)
    (after,) = eager.read(net, net.backward, eager.start(net.backward, 1), [later])
    before = (eager.join(tops[1:]),)
    after = eager.take(after, np.repeat(np.arange(length, 0, -1), count))
    said = eager.predict(net, before, after)
    symbols = strings.T.reshape(-1)
    each = said[np.arange(len(symbols)), symbols]
    return each.reshape(length, count).sum(axis=0, dtype=np.float64)
