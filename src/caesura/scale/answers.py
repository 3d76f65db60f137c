"""The answers to a batch of rows: like ones come from one pass, and who fails, fails alone."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from caesura.errors import CaesuraError, one_line
from caesura.filler.fill import Fill
from caesura.filler.filler import Filler, Gapped
from caesura.filler.medians import fill_median
from caesura.filler.work import count_states, likeness
from caesura.kinds import Music, Series
from caesura.kinds.music.music import music_bytes
from caesura.kinds.series.csv_cells import filled_csv
from caesura.scale.filling import Filling
from caesura.scale.rows import ID, csv_of, read_row

STATES = 1 << 17  # of the nets in one pass; those of the text model have 14 kB each


class Answer(NamedTuple):
    """What becomes of a row: a fill with how sure it is, or the reason why there is none."""

    fill: str | bytes | None = None
    log_prob: float | None = None
    standard_error: float | None = None
    confidence: list[float] | None = None
    reason: str | None = None


class Question(NamedTuple):
    """A row that could be read."""

    place: int  # in the batch
    row: dict[str, Any]
    gapped: Gapped


class Pass(NamedTuple):
    """What rows must share to be filled in one pass, and how many of them there are in it."""

    like: tuple[int, int] | None
    size: int


def answer_rows(filler: Filler, filling: Filling, rows: Sequence[dict[str, Any]]) -> list[Answer]:
    """One answer to each row, which does not depend on the others."""
    answers: list[Answer] = [Answer()] * len(rows)
    passes: dict[Pass, list[Question]] = defaultdict(list)
    for place, row in enumerate(rows):
        try:
            asked = read_row(filler.kind, row, filling.composition)
            question = Question(place, row, Gapped(*asked, filling.seed_of(row[ID])))
            passes[_pass(filler, filling, question)].append(question)
        except Exception as error:
            answers[place] = _reason(error)
    for (_, size), questions in passes.items():
        for first in range(0, len(questions), size):
            some = questions[first : first + size]
            for question, answer in zip(some, _answer(filler, filling, some, size), strict=True):
                answers[question.place] = answer
    return answers


def _pass(filler: Filler, filling: Filling, question: Question) -> Pass:
    if isinstance(filler.kind, Series):
        return Pass(None, 1)
    strategy = filler.method(filling.strategy).strategy
    missing_steps = filler.read(question.gapped.data, question.gapped.missing).missing_steps
    like = likeness(strategy, missing_steps)
    states = max(1, count_states(strategy, missing_steps, filling.samples))
    return Pass(like, 1 if like is None else max(1, min(filling.together, STATES // states)))


def _answer(
    filler: Filler, filling: Filling, questions: Sequence[Question], size: int
) -> list[Answer]:
    """Where several fail together, each is tried alone: it may be the fault of one."""
    try:
        if isinstance(filler.kind, Series):
            return [_median(filler, filling, question) for question in questions]
        fills = _fill(filler, filling, [question.gapped for question in questions], size)
        return [_tell(filler, fill) for fill in fills]
    except Exception as error:
        if len(questions) == 1:
            return [_reason(error)]
        return [_answer(filler, filling, [question], 1)[0] for question in questions]


def _fill(filler: Filler, filling: Filling, asked: list[Gapped], size: int) -> list[Fill]:
    if size == 1:
        return [
            filler.fill(
                one.data,
                missing=one.missing,
                samples=filling.samples,
                strategy=filling.strategy,
                seed=one.seed,
            )
            for one in asked
        ]
    # As if there were `size` of them: one size is one compiled program.
    padded = asked + asked[:1] * (size - len(asked))
    return filler.fill_together(padded, samples=filling.samples)[: len(asked)]


def _tell(filler: Filler, fill: Fill) -> Answer:
    best = int(np.argmax(fill.log_probs))
    return Answer(
        fill=music_bytes(fill.best) if isinstance(filler.kind, Music) else fill.best,
        log_prob=float(fill.log_probs[best]),
        standard_error=float(fill.standard_errors[best]),
        confidence=fill.confidence.tolist(),
    )


def _median(filler: Filler, filling: Filling, question: Question) -> Answer:
    median = fill_median(
        filler,
        question.gapped.data,
        filling.samples,
        strategy=filling.strategy,
        seed=question.gapped.seed,
    )
    return Answer(
        fill=filled_csv(csv_of(question.row), median.given, median.table),
        log_prob=median.log_prob,
        standard_error=median.log_prob.standard_error,
        confidence=median.confidence.tolist(),
    )


def _reason(error: Exception) -> Answer:
    """A user's mistake by its own sentence; anything else by its name, too."""
    told = str(error) if isinstance(error, CaesuraError) else f"{type(error).__name__}: {error}"
    return Answer(reason=one_line(told))
