"""How probable strings are by themselves: by a net that sees no more than the edges of a gap.

A name is improbable wherever it stands, since a net does not know it. What says more is how much
better a string fits into a gap than it fits anywhere: the quotient of two probabilities.
"""

import numpy as np
from jaxtyping import Float, Int

from caesura.nets import eager
from caesura.nets.cells import State
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
    length = strings.shape[1]
    later = np.append(edges[1], np.full(length - 1, UNKNOWN))
    (after,) = eager.read(net, net.backward, eager.start(net.backward, 1), [later])
    parents, symbols, where = np.zeros(1, int), edges[:1], np.zeros(len(strings), int)
    states, ways, places, first = eager.start(net.forward, 1), list[State](), [], 0
    for t in range(length):
        states = eager.step(net, net.forward, states, symbols, rows, parents)
        ways.append(states)
        places.append(first + where)
        first += len(symbols)
        # Strings that begin alike are one lane.
        lanes, where = np.unique(where * len(rows) + strings[:, t], return_inverse=True)
        parents, symbols = divmod(lanes, len(rows))
    steps = np.repeat(np.arange(length), [eager.output(net.forward, way).shape[1] for way in ways])
    said = eager.predict(net, eager.join(ways), eager.take(after, length - steps))
    each = said[np.stack(places), strings.T]
    return each.sum(axis=0, dtype=np.float64)
