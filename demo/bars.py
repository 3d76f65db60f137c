"""Two bars of a song erased, and filled in several ways."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from caesura import Fill, Filler
from caesura.kinds import Song
from caesura.kinds.music.notes import Grid, find_lanes
from caesura.kinds.music.roll import KEYS, LOWEST_KEY
from demo.tune import EIGHTHS_PER_BAR

SHOWN = 3


class Note(NamedTuple):
    """A note of a song on the grid of a model."""

    key: int  # its MIDI number
    first: int  # the first step in which it sounds
    stop: int  # the one after its last


@dataclass(frozen=True)
class Refilled:
    """A song, the same with some of its bars erased, and with other ones in their place."""

    original: Song
    erased: Song
    filled: list[Song]  # the best of the fills, which are all different
    bars: tuple[int, int]  # those that were erased: the first, and the one after the last
    gap: slice  # the same in steps
    steps_per_beat: int
    expected: Float[np.ndarray, "T 88"]  # how probable it is that a key sounds; 0 outside the gap
    fill: Fill

    @property
    def songs(self) -> dict[str, Song]:
        """All of them, by the names of their files."""
        fills = {f"filled-{number}": song for number, song in enumerate(self.filled, 1)}
        return {"original": self.original, "erased": self.erased} | fills

    @property
    def steps_per_bar(self) -> int:
        """How many steps of the model's grid a bar of the tune has."""
        return EIGHTHS_PER_BAR * self.steps_per_beat // 2

    @property
    def shown(self) -> slice:
        """What is drawn and played, in steps: the gap with two bars on each side."""
        return slice(
            self.gap.start - 2 * self.steps_per_bar, self.gap.stop + 2 * self.steps_per_bar
        )

    def notes(self, name: str) -> list[Note]:
        """What sounds in one of the songs."""
        song = self.songs[name]
        lanes = find_lanes(song, Grid.of(song, self.steps_per_beat))
        return [Note(LOWEST_KEY + lane.key, n.first, n.stop) for lane in lanes for n in lane.notes]


def refill(filler: Filler, song: Song, bars: tuple[int, int]) -> Refilled:
    """Erase bars of a song, and fill them in the best ways."""
    item = filler.kind.open(song)
    gap = item.steps_of_bars(*bars)
    fill = filler.fill(song, missing=gap)
    expected = np.zeros((len(fill.values), KEYS))
    silent = filler.marginals(song, missing=gap).log_probs[:, 0]
    expected[gap] = 1 - np.exp(silent).reshape(-1, KEYS)
    return Refilled(
        original=song,
        erased=fill.item.write(np.zeros_like(fill.values), fill.missing),
        filled=[one.sequence for one in fill.candidates[:SHOWN]],
        bars=bars,
        gap=gap,
        steps_per_beat=item.steps_per_beat,
        expected=expected,
        fill=fill,
    )
