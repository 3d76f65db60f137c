"""Gaps at random places of texts, as they were and as a strategy fills them."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Int, Shaped

from caesura.errors import CaesuraError
from caesura.filler.filler import Filler, make_key
from caesura.sequence import UNKNOWN, Sequence
from caesura.strategies import Strategy

AROUND = 20  # characters that are shown on both sides of a gap, as in the paper


class Excerpt(NamedTuple):
    """What stands around a gap, what stood in it, and what was drawn."""

    before: str
    truth: str
    filled: str
    after: str


def draw_excerpts(
    filler: Filler,
    strategy: Strategy,
    texts: list[Shaped[np.ndarray, "_ 1"]],
    count: int,
    gap: int,
    seed: int,
) -> list[Excerpt]:
    """One fill each of `count` gaps, which are the same for all strategies."""
    method, symbols = filler.method(strategy), filler.kind.symbols()

    def spell(values: Int[np.ndarray, " n"]) -> str:
        return "".join(symbols[value] for value in values)

    excerpts = []
    for number, (text, start) in enumerate(_places(texts, count, gap, seed)):
        missing = np.zeros(texts[text].shape, bool)
        missing[start : start + gap] = True
        key = jax.random.fold_in(make_key(seed), number)
        window = method.window(Sequence(texts[text], missing))
        drawn = np.asarray(method.strategy.draw(key, method.net, window, 1))[0, 0, :gap, 0]
        values = texts[text][:, 0]
        excerpts.append(
            Excerpt(
                spell(values[start - AROUND : start]),
                spell(values[start : start + gap]),
                spell(drawn),
                spell(values[start + gap : start + gap + AROUND]),
            )
        )
    return excerpts


def _places(
    texts: list[Shaped[np.ndarray, "_ 1"]], count: int, gap: int, seed: int
) -> list[tuple[int, int]]:
    """Texts and the first steps of gaps in them; a text is taken twice only where they are few."""
    starts = {number: np.flatnonzero(_clear(text, gap)) for number, text in enumerate(texts)}
    usable = [number for number, some in starts.items() if len(some)]
    if not usable:
        raise CaesuraError(
            f"No text is long enough for a gap of {gap}, {AROUND} clear of its ends."
        )
    generator = np.random.default_rng(seed)
    chosen = generator.choice(usable, count, replace=count > len(usable)).tolist()
    return [(number, int(generator.choice(starts[number]))) for number in chosen]


def _clear(text: Shaped[np.ndarray, "T 1"], gap: int) -> Bool[np.ndarray, " T"]:
    """Where a gap may begin whose excerpt is inside the text and holds nothing unknown."""
    unknown = np.cumsum(np.append(0, text[:, 0] == UNKNOWN))
    clear = np.zeros(len(text), bool)
    first = np.arange(max(0, len(text) - gap - 2 * AROUND + 1))
    clear[first + AROUND] = unknown[first + gap + 2 * AROUND] == unknown[first]
    return clear
