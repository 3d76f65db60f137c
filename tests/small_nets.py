"""Small nets and sequences that several tests share."""

import jax
import numpy as np

from caesura.nets.frames import Binary, Categorical, Continuous, Frame
from caesura.nets.pair import Nets, Pair
from caesura.nets.rnn import bidirectional, onegram, unidirectional

FRAME_OF_HEAD: dict[str, Frame] = {"softmax": Categorical(4), "bernoulli": Binary(3)}
FRAME_OF_HEAD |= {"orderless": Binary(3), "mixture": Continuous(3), "weighing": Continuous(4, 3)}
HEAD_HIDDEN = {"orderless": 5, "mixture": 5, "weighing": 5}  # the others can do without


def random_values(frame: Frame, length: int, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    if isinstance(frame, Continuous):
        return draw.normal(size=(length, frame.components)).astype(np.float32)
    return draw.integers(0, frame.cardinality, (length, frame.components)).astype(np.int32)


def make_net(name: str, head: str, *, cell: str = "tanh", hidden: int = 4, **options: int) -> Nets:
    """One of a filler's nets, with random weights, or a pair of them."""
    if name == "pair":
        names = ("forward", "bidirectional")
        return Pair(*(make_net(n, head, cell=cell, hidden=hidden, **options) for n in names))
    frame = FRAME_OF_HEAD[head]
    shape = {"head": head, "cell": cell, "hidden": hidden}
    shape |= {"head_hidden": HEAD_HIDDEN.get(head, 0)} | options
    if name == "onegram":
        return onegram(frame, random_values(frame, 20))
    make = bidirectional if name == "bidirectional" else unidirectional
    return make(jax.random.key(7), frame, **shape)
