"""Songs in requests: what is left to fill once a composer's wishes and kept notes are in them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from caesura.errors import CaesuraError
from caesura.kinds.base import Item, Kind
from caesura.kinds.music import Composition, MusicItem, arrange
from caesura.kinds.music.roll import KEYS
from caesura.kinds.music.struck import HELD, STRUCK
from caesura.web.boxes import mask, place
from caesura.web.schemas import Box, ComposedQuestion

WISHES = "keep", "voice", "add", "force", "forbid"


def compose(kind: Kind, item: Item, asked: ComposedQuestion) -> MusicItem | None:
    """Return a song that has what is wished and pinned; its `missing` is left to fill.

    Parameters
    ----------
    kind, item
        The kind of the model, and what was sent.
    asked
        What is missing, and what is wished there.

    Returns
    -------
    MusicItem or None
        None if it is not music.

    Raises
    ------
    CaesuraError
        If a wish cannot be met, or is made for anything but music.
    """
    wished = [field for field in WISHES if getattr(asked, field)]
    if not isinstance(item, MusicItem):
        for field in wished + ["pinned"] * bool(asked.pinned):
            raise CaesuraError(f"The field '{field}' is for music, not for {kind.name}.")
        return None
    wishes: dict[str, Any] = {"voice": asked.voice, "add": asked.add, "keep": tuple(asked.keep)}
    wishes |= {"force": tuple(asked.force), "forbid": tuple(asked.forbid)}
    missing = item.missing[:, :KEYS] | mask(kind, item, asked.missing)[:, :KEYS]
    if not wished:
        item = replace(item, wanted=missing)
    elif asked.missing:
        item = arrange(item, missing, **wishes)
    else:
        item = Composition(**wishes).arrange(item)
    return _pin(kind, item, asked.pinned) if asked.pinned else item


def _pin(kind: Kind, item: MusicItem, boxes: Sequence[Box]) -> MusicItem:
    """Return the song with these notes, each struck where its box begins."""
    values = item.complete.values.copy()
    pinned = np.zeros((len(values), KEYS), bool)
    for box in boxes:
        steps, keys = place(kind, item, box)
        keys = slice(keys.start, min(keys.stop, KEYS))
        pinned[steps, keys] = True
        values[steps, keys] = HELD
        if item.struck:
            values[box.first, keys] = STRUCK
    # What the song has already keeps its events: so a note may go on from before the gap.
    changed = item.widen(pinned) & (values != item.complete.values)
    left = item.missing[:, :KEYS] & ~pinned
    # What a part has in the gap is taken out when it is filled, and not before.
    piece = replace(item, erased=None).write(values, changed)
    erased = None if item.erased is None else item.erased & ~pinned
    return replace(item, original=piece, wanted=left, erased=erased)
