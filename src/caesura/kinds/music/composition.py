"""What a composer asks of a piece, whichever piece it is: gaps, and what sounds in them."""

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from caesura.errors import CaesuraError
from caesura.kinds.music.arrange import Arrangement, arrange
from caesura.kinds.music.midi import Song
from caesura.kinds.music.music import Music, load_music


class Composition(NamedTuple):
    """Gaps from one bar or step to before another, and what `arrange` makes of them.

    Bars are counted from 1, steps of the model's grid from 0. Without gaps, what a roll marks is
    missing; where it marks nothing but something is kept, the whole piece is.
    """

    gaps: tuple[tuple[int, int], ...] = ()
    unit: str = "bars"  # or "steps"
    keep: tuple[str, ...] = ()
    voice: str | None = None
    force: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()

    def arrange(self, kind: Music, music: Any) -> Arrangement:
        """The piece, and what of it is left to fill."""
        name = f"'{music}'" if isinstance(music, str | os.PathLike) else "the song"
        sequence = kind.read(music)
        marked = bool(sequence.missing.any())
        if not (self.gaps or self.keep or self.voice or marked):
            raise CaesuraError(f"Nothing is missing in {name}: say what is, as in --gap 8:12.")
        length = len(sequence)
        steps: Iterable[int] = range(length)
        if self.gaps or marked:
            find = self._bars if self.unit == "bars" else self._steps
            steps = [step for gap in self.gaps for step in find(kind, music, gap, length, name)]
        return arrange(
            kind,
            music,
            steps,
            keep=self.keep,
            voice=self.voice,
            force=self.force,
            forbid=self.forbid,
        )

    def _steps(
        self, kind: Music, music: Any, gap: tuple[int, int], length: int, name: str
    ) -> range:
        if gap[1] > length:
            raise CaesuraError(f"The gap {_told(gap)} ends behind the {length} steps of {name}.")
        return range(*gap)

    def _bars(self, kind: Music, music: Any, gap: tuple[int, int], length: int, name: str) -> range:
        song = load_music(music)
        if not isinstance(song, Song):
            raise CaesuraError(
                f"What {name} holds is a roll, without bars: give its steps with --unit steps."
            )
        bars = len(song.bars)
        if gap[0] < 1 or gap[1] > bars + 1:
            raise CaesuraError(
                f"The gap {_told(gap)} is not within the bars 1 to {bars} of {name}."
            )
        steps = kind.steps_of_bars(song, *gap)
        return range(steps.start, steps.stop)


def _told(gap: tuple[int, int]) -> str:
    first, stop = gap
    return str(first) if stop == first + 1 else f"{first}:{stop}"
