"""From data to a filler: learn the kind's alphabet, then the nets."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import jax
import numpy as np

from caesura.errors import CaesuraError, lookup, whole_number
from caesura.filler import Filler, make_key
from caesura.kinds import KINDS
from caesura.nets.frames import FRAMES
from caesura.nets.rnn import Net, bidirectional, onegram, unidirectional
from caesura.strategies.base import NetName
from caesura.training.loop import Schedule, fit
from caesura.training.missingness import Gaps, Nothing


def train(
    data: Iterable[Any],
    *,
    kind: str,
    seed: int = 0,
    cell: str = "gru",
    hidden: int = 128,
    layers: int = 1,
    gap: int = 5,
    report: Callable[[str, int, float], None] = lambda net, step, loss: None,
    **schedule: Any,
) -> Filler:
    """A filler with a bidirectional, a forward and a one-gram net, so that any strategy can serve.

    In training the bidirectional net meets gaps of up to `gap` steps, one in every 5 × `gap`.
    `schedule` holds the fields of `Schedule`: how long and how fast to learn.
    """
    for name in schedule:
        lookup(Schedule.__annotations__, name, "training option")
    pace = Schedule(**({"steps": 1000} | schedule))
    whole = {"hidden": hidden, "layers": layers, "gap": gap}
    whole |= {name: getattr(pace, name) for name in ("steps", "batch", "length")}
    for name, value in whole.items():
        whole_number(name, value, 1)
    for name in ("learning_rate", "clip"):
        if not 0 < getattr(pace, name) < float("inf"):
            raise CaesuraError(f"The option '{name}' must be a positive number.")
    if isinstance(data, str):
        raise CaesuraError("The training data is a list of texts, not one text.")
    items = list(data)
    learnt = lookup(KINDS, kind, "kind").learn(items)
    pieces = []
    for number, item in enumerate(items):
        sequence = learnt.read_complete(item)
        if sequence.missing.any():
            raise CaesuraError(f"Item {number} of the training data has missing values.")
        pieces.append(sequence.values.astype(np.int32))
    frame = FRAMES[learnt.frame](learnt.size)
    shape: dict[str, Any] = {"head": learnt.head, "cell": cell, "hidden": hidden, "layers": layers}
    key_f, key_b, key_fit = jax.random.split(make_key(seed), 3)
    both = bidirectional(key_b, frame, **shape)
    forward = unidirectional(key_f, frame, **shape)
    # DEVIATION: one bidirectional net serves `nade` and `gsn`, where the paper trains one for each.
    nets: dict[NetName, Net] = {
        "bidirectional": fit(
            key_fit, both, pieces, Gaps(gap, 5 * gap), pace, partial(report, "bidirectional")
        ),
        "forward": fit(key_fit, forward, pieces, Nothing(), pace, partial(report, "forward")),
        "onegram": onegram(frame, np.concatenate(pieces)),
    }
    return Filler(learnt, nets, strategy="nade")
