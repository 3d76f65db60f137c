"""From a request to the filler of the library, and from what it says to an answer."""

import base64
import binascii
import json
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool

from caesura.errors import CaesuraError, lookup
from caesura.filler import work
from caesura.filler.fill import Fill
from caesura.filler.filler import Filler, Gapped
from caesura.kinds import Music, Song, Text
from caesura.kinds.music.midi import TEMPO
from caesura.kinds.music.notes import Grid, find_lanes
from caesura.kinds.music.roll import KEYS, LOWEST_KEY
from caesura.strategies import Strategy
from caesura.web.limits import STEPS, Limits, check_work
from caesura.web.schemas import (
    Box,
    LogProbAnswer,
    MarginalsAnswer,
    MusicFill,
    MusicFilled,
    MusicQuestion,
    Note,
    SongAnswer,
    SongQuestion,
    Span,
    TextFill,
    TextFilled,
    TextQuestion,
)

LIKELIEST = 10  # symbols at a place
BEAT = 500_000  # microseconds, until a song says otherwise


class Task(NamedTuple):
    """A question in the words of the library."""

    filler: Filler
    data: Any
    missing: Bool[np.ndarray, "T D"]
    strategy: Strategy
    seed: int
    samples: int


Fillers = Mapping[str, Filler]


def read_question(fillers: Fillers, asked: TextQuestion | MusicQuestion, limits: Limits) -> Task:
    """What is asked, if the model can do it and the machine can bear it."""
    filler = lookup(fillers, asked.model, "model")
    samples = asked.samples if isinstance(asked, TextFill | MusicFill) else 1
    strategy = filler.method(asked.strategy).strategy
    read = _read_text if isinstance(asked, TextQuestion) else _read_music
    data, missing = read(filler, asked)
    check_work(strategy, np.any(missing, axis=1), samples, limits)
    return Task(filler, data, missing, strategy, asked.seed, samples)


def _read_text(filler: Filler, asked: Any) -> tuple[str, Bool[np.ndarray, "T 1"]]:
    if not isinstance(filler.kind, Text):
        raise CaesuraError(f"The model '{asked.model}' is not for text.")
    sequence = filler.kind.read(asked.sequence)
    return asked.sequence, sequence.missing | _mask(asked.missing, len(sequence))[:, None]


def _read_music(filler: Filler, asked: Any) -> tuple[Song, Bool[np.ndarray, "T 88"]]:
    kind, song = _song(filler, asked.model, asked.sequence)
    steps = len(kind.read(song))
    missing, pinned = (_boxes(boxes, steps) for boxes in (asked.missing, asked.pinned))
    if pinned.any():
        song = kind.write(song, pinned, np.ones(pinned.shape, np.int8))
    return song, missing & ~pinned


def _song(filler: Filler, model: str, sequence: str) -> tuple[Music, Song]:
    if not isinstance(filler.kind, Music):
        raise CaesuraError(f"The model '{model}' is not for music.")
    try:
        content = base64.b64decode(sequence, validate=True)
    except binascii.Error:
        raise CaesuraError("The song is not in base64.") from None
    song = Song.from_bytes(content)
    steps = Grid.of(song, filler.kind.steps_per_beat).steps
    if steps > STEPS:
        raise CaesuraError(f"The song has {steps} steps, and the server takes {STEPS} at most.")
    return filler.kind, song


def _mask(spans: Iterable[Span], length: int) -> Bool[np.ndarray, " T"]:
    mask = np.zeros(length, bool)
    for span in spans:
        _check(span, length)
        mask[span.first : span.stop] = True
    return mask


def _boxes(boxes: Iterable[Box], steps: int) -> Bool[np.ndarray, "T 88"]:
    mask = np.zeros((steps, KEYS), bool)
    for box in boxes:
        _check(box, steps)
        if box.highest < box.lowest:
            raise CaesuraError(f"The keys {box.lowest} to {box.highest} run downwards.")
        mask[box.first : box.stop, box.lowest - LOWEST_KEY : box.highest - LOWEST_KEY + 1] = True
    return mask


def _check(span: Span, length: int) -> None:
    if not span.first < span.stop <= length:
        raise CaesuraError(
            f"The span from {span.first} to before {span.stop} is not within the {length} steps."
        )


def fill(task: Task) -> TextFilled | MusicFilled:
    """The task's sequence, completed."""
    return _tell_fill(
        task,
        task.filler.fill(
            task.data,
            missing=task.missing,
            samples=task.samples,
            strategy=task.strategy,
            seed=task.seed,
        ),
    )


def fill_all(tasks: Sequence[Task], size: int) -> list[TextFilled | MusicFilled]:
    """As `fill` does, but for several tasks that are alike: in one pass, as if of `size` tasks.

    One size means one compiled program; what there is too much of is thrown away.
    """
    if len(tasks) == 1:
        return [fill(tasks[0])]
    asked = [Gapped(task.data, task.missing, task.seed) for task in tasks]
    first = tasks[0]
    padded = asked + asked[:1] * (size - len(asked))
    fills = first.filler.fill_together(padded, samples=first.samples)
    return [_tell_fill(*both) for both in zip(tasks, fills, strict=False)]


def likeness(task: Task, limits: Limits) -> Hashable:
    """What tasks must share to be done together, or None for one that is done alone."""
    missing_steps = np.any(task.missing, axis=1)
    like = work.likeness(task.strategy, missing_steps)
    states = limits.together * work.count_states(task.strategy, missing_steps, task.samples)
    if like is None or states > limits.states:
        return None
    return id(task.filler), task.samples, like


def _tell_fill(task: Task, fill: Fill) -> TextFilled | MusicFilled:
    """A fill as the answer to a request."""
    told = json.loads(fill.to_json())
    told["log_probs"] = [_finite(log_prob) for log_prob in told["log_probs"]]
    if not isinstance(task.filler.kind, Music):
        return TextFilled(**told)
    steps_per_beat = task.filler.kind.steps_per_beat
    return MusicFilled(**told, notes=[_notes(song, steps_per_beat) for song in fill.samples])


def log_prob(task: Task) -> LogProbAnswer:
    """Of what the sequence has at its missing places."""
    answer = task.filler.log_prob(
        task.data, missing=task.missing, strategy=task.strategy, seed=task.seed
    )
    return LogProbAnswer(
        log_prob=_finite(float(answer)), standard_error=_finite(answer.standard_error)
    )


def marginals(task: Task) -> MarginalsAnswer:
    """The distribution at each missing place."""
    answer = task.filler.marginals(
        task.data, missing=task.missing, strategy=task.strategy, seed=task.seed
    )
    return MarginalsAnswer(places=answer.places.tolist(), likeliest=answer.top(LIKELIEST))


def song(fillers: Fillers, asked: SongQuestion) -> SongAnswer:
    """The song on the grid of a model."""
    kind, song = _song(lookup(fillers, asked.model, "model"), asked.model, asked.sequence)
    grid = Grid.of(song, kind.steps_per_beat)
    return SongAnswer(
        steps=grid.steps,
        bars=sorted({min(grid.line(start), grid.steps) for start in song.bars}),
        seconds=_seconds(song, grid),
        notes=_notes(song, kind.steps_per_beat),
    )


def _notes(song: Song, steps_per_beat: int) -> list[Note]:
    lanes = find_lanes(song, Grid.of(song, steps_per_beat))
    notes = [
        Note(LOWEST_KEY + lane.key, note.first, note.stop, note.velocity)
        for lane in lanes
        for note in lane.notes
    ]
    return sorted(notes, key=lambda note: (note.first, note.key))


def _seconds(song: Song, grid: Grid) -> list[float]:
    """When each line of the grid is reached, as the song's tempo has it."""
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


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
