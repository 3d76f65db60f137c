"""What a composer asks of a piece, whichever piece it is: gaps, and what sounds in them."""

from typing import NamedTuple

from caesura.errors import CaesuraError
from caesura.kinds.music.arrange import arrange
from caesura.kinds.music.items import MusicItem


class Composition(NamedTuple):
    """Gaps in a piece of music, and what must, may and may not sound in them.

    Without gaps, what a roll marks as missing is; if it marks nothing but something is kept or a
    voice is named, the whole piece is missing.

    Parameters
    ----------
    gaps
        Pairs of numbers: the first bar or step of a gap, and the one after the last.
    unit
        What gaps count: "bars", from 1, or "steps" of the grid, from 0.
    keep, voice, force, forbid
        As in `arrange`.

    Examples
    --------
    >>> import numpy as np
    >>> from caesura.kinds import Composition, Music, Song
    >>> item = Music().open(Song.from_roll(np.zeros((32, 88), int), steps_per_beat=2))
    >>> Composition(gaps=((2, 3),)).arrange(item).sequence.gaps
    [Gap(start=8, stop=16)]
    """

    gaps: tuple[tuple[int, int], ...] = ()
    unit: str = "bars"  # or "steps"
    keep: tuple[str, ...] = ()
    voice: str | None = None
    force: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()

    def arrange(self, item: MusicItem) -> MusicItem:
        """Return the piece as an item whose `missing` says what is left to fill.

        Raises
        ------
        CaesuraError
            If nothing is missing, or the piece has no such bars, steps or voice.
        """
        marked = bool(item.missing.any())
        if not (self.gaps or self.keep or self.voice or marked):
            raise CaesuraError(f"{item.name} has no gaps: specify what is missing.")
        steps = list(range(len(item.sequence)))
        if self.gaps or marked:
            steps = [step for gap in self.gaps for step in self._steps(item, gap)]
        return arrange(
            item, steps, keep=self.keep, voice=self.voice, force=self.force, forbid=self.forbid
        )

    def _steps(self, item: MusicItem, gap: tuple[int, int]) -> range:
        if self.unit == "bars":
            steps = item.steps_of_bars(*gap)
            return range(steps.start, steps.stop)
        length = len(item.sequence)
        for step in (gap[0], gap[1] - 1):
            if not 0 <= step < length:
                raise CaesuraError(
                    f"{item.name} has no step {step}; its steps are 0 to {length - 1}."
                )
        return range(*gap)
