"""Boxes of steps and components, as requests and answers have them."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool

from caesura.errors import CaesuraError
from caesura.kinds.base import Item, Kind
from caesura.kinds.music.roll import KEYS, LOWEST_KEY
from caesura.sequence import runs
from caesura.web.schemas import Box


def place(kind: Kind, item: Item, box: Box) -> tuple[slice, slice]:
    """Return the steps and the components of a box.

    Raises
    ------
    CaesuraError
        If the sequence does not have them.
    """
    steps, components = item.sequence.values.shape
    if not box.first < box.stop <= steps:
        raise CaesuraError(
            f"The steps {box.first} to before {box.stop} are not within the {steps} steps."
        )
    lowest = 0 if box.lowest is None else kind.component(box.lowest)
    highest = components - 1 if box.highest is None else kind.component(box.highest)
    if not 0 <= lowest <= highest < components:
        raise CaesuraError(
            f"A box from {box.lowest} to {box.highest} holds no components of the sequence."
        )
    return slice(box.first, box.stop), slice(lowest, highest + 1)


def mask(kind: Kind, item: Item, boxes: Iterable[Box]) -> Bool[np.ndarray, "T D"]:
    """Return a mask that is True inside the boxes."""
    inside = np.zeros(item.sequence.values.shape, bool)
    for box in boxes:
        inside[place(kind, item, box)] = True
    return inside


def boxes_of_keys(missing: Bool[np.ndarray, "T D"]) -> list[dict[str, int]]:
    """Return the missing keys of music as boxes: the runs of a key grow into the next key."""
    boxes: list[dict[str, int]] = []
    below: dict[tuple[int, int], dict[str, int]] = {}
    for key in range(KEYS):
        here = {}
        for first, stop in runs(missing[:, key]):
            box = below.get((first, stop))
            if box is None:
                box = {"first": first, "stop": stop, "lowest": key + LOWEST_KEY}
                boxes.append(box)
            box["highest"] = key + LOWEST_KEY
            here[first, stop] = box
        below = here
    return boxes
