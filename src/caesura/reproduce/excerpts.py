"""Gaps at random places in texts: the truth, and what a strategy draws."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Int, Shaped

from caesura.errors import CaesuraError
from caesura.filler import Filler
from caesura.sequence import UNKNOWN, Sequence
from caesura.strategies import Strategy, around_missing

AROUND = 20  # characters that are shown on either side of a gap, as in the paper


class Excerpt(NamedTuple):
    """The text around a gap, the true text in it, and the text that was drawn."""

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
    """Return one fill for each of `count` gaps, which are the same for all strategies."""
    method, symbols = filler.method(strategy), filler.kind.symbols() or []

    def spell(values: Int[np.ndarray, " n"]) -> str:
        return "".join(symbols[value] for value in values)

    excerpts = []
    for number, (text, start) in enumerate(_places(texts, count, gap, seed)):
        missing = np.zeros(texts[text].shape, bool)
        missing[start : start + gap] = True
        key = jax.random.fold_in(jax.random.key(seed), number)
        stop = method.strategy.stop(start + gap, len(texts[text]))
        window = around_missing(method.net, Sequence(texts[text], missing), stop)
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
    """Return texts and first steps of gaps; a text is used twice only if there are too few."""
    starts = {number: np.flatnonzero(_clear(text, gap)) for number, text in enumerate(texts)}
    usable = [number for number, some in starts.items() if len(some)]
    if not usable:
        raise CaesuraError(
            f"No text is long enough for a gap of {gap} between two margins of {AROUND}."
        )
    generator = np.random.default_rng(seed)
    chosen = generator.choice(usable, count, replace=count > len(usable)).tolist()
    return [(number, int(generator.choice(starts[number]))) for number in chosen]


def _clear(text: Shaped[np.ndarray, "T 1"], gap: int) -> Bool[np.ndarray, " T"]:
    """Return where a gap may start: its excerpt is inside the text and has no unknown symbol."""
    unknown = np.cumsum(np.append(0, text[:, 0] == UNKNOWN))
    clear = np.zeros(len(text), bool)
    first = np.arange(max(0, len(text) - gap - 2 * AROUND + 1))
    clear[first + AROUND] = unknown[first + gap + 2 * AROUND] == unknown[first]
    return clear
