"""Heads, by name: from the states around a step to a distribution over its frame."""

from typing import Any

from caesura.errors import CaesuraError, lookup
from caesura.nets.frames import Frame
from caesura.nets.heads.base import Head
from caesura.nets.heads.linear import Bernoulli, Linear, Softmax
from caesura.nets.heads.mixture import Mixture
from caesura.nets.heads.orderless import Orderless
from caesura.nets.heads.weighing import Weighing

HEADS: dict[str, type[Linear] | type[Orderless] | type[Mixture] | type[Weighing]] = {
    "softmax": Softmax,
    "bernoulli": Bernoulli,
    "orderless": Orderless,
    "mixture": Mixture,
    "weighing": Weighing,
}


def make_head(name: str, key: Any, frame: Frame, sizes: tuple[int, ...], hidden: int = 0) -> Head:
    """Return a new head of that name; `sizes` are those of the states that it joins."""
    head = lookup(HEADS, name, "head")
    if not isinstance(frame, head.frames):
        raise CaesuraError(
            f"The head '{name}' is for {head.frames.__name__.lower()} frames, "
            f"not for {type(frame).__name__.lower()} ones."
        )
    return head(key, frame, sizes, hidden)
