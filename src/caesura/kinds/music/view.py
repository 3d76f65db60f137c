"""Songs as JSON values that a page can draw and play."""

from typing import Any

import numpy as np

from caesura.kinds.music.midi import TEMPO, Song
from caesura.kinds.music.notes import Grid, Lane
from caesura.kinds.music.roll import LOWEST_KEY

BEAT = 500_000  # microseconds, until a song says otherwise


def view_notes(lanes: list[Lane]) -> list[list[int]]:
    """Return [key, first, stop, velocity] of each note: its MIDI number, and steps of the grid."""
    notes = [
        [LOWEST_KEY + lane.key, note.first, note.stop, note.velocity]
        for lane in lanes
        for note in lane.notes
    ]
    return sorted(notes, key=lambda note: (note[1], note[0]))


def view_grid(song: Song, grid: Grid) -> dict[str, Any]:
    """Return the number of steps, the steps that bars begin at, and when each step begins."""
    bars = sorted({min(grid.line(start), grid.steps) for start in song.bars})
    return {"steps": grid.steps, "bars": bars, "seconds": _seconds(song, grid)}


def _seconds(song: Song, grid: Grid) -> list[float]:
    """When each line of the grid is reached, at the song's tempo."""
    tempo = {0: BEAT}
    for track in song.tracks:
        for tick, data in track:
            if data[:2] == TEMPO and len(data) == 6:
                tempo[tick] = int.from_bytes(data[3:], "big")
    last = max(grid.tick(grid.steps), song.end) + 1
    ticks = np.array([*sorted(tempo), last])
    lengths = np.diff(ticks) * [tempo[int(tick)] / 1e6 for tick in ticks[:-1]] / song.ticks_per_beat
    reached = np.concatenate([[0.0], np.cumsum(lengths)])
    lines = [grid.tick(line) for line in range(grid.steps + 1)]
    return [round(second, 4) for second in np.interp(lines, ticks, reached).tolist()]
