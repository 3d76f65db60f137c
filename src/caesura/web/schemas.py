"""What requests and answers are made of; the OpenAPI description is made from these."""

from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from caesura.kinds.music.roll import KEYS, LOWEST_KEY
from caesura.web.limits import (
    CHARACTERS,
    COLUMNS,
    CSV_CHARACTERS,
    MIDI_BYTES,
    SAMPLES,
    SPANS,
    STEPS,
)

# All but `bayes`, which needs minutes for what the others do in a second.
StrategyName = Literal["nade", "bothways", "gsn", "sir", "oneway", "onegram"]
Base64 = Annotated[str, Field(max_length=MIDI_BYTES * 4 // 3 + 4, pattern="^[A-Za-z0-9+/]*={0,2}$")]
Pitch = Annotated[int, Field(ge=LOWEST_KEY, lt=LOWEST_KEY + KEYS)]


class Asked(BaseModel):
    """Whatever a client sends: no number in quotes, and no field that means nothing here."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Span(Asked):
    """Steps from `first` to before `stop`, counted from 0; in a text they are code points."""

    first: int = Field(ge=0, le=STEPS)
    stop: int = Field(ge=1, le=STEPS)


class Box(Span):
    """Some steps, and in them the keys from `lowest` to `highest`, by their MIDI numbers."""

    lowest: Pitch = LOWEST_KEY
    highest: Pitch = LOWEST_KEY + KEYS - 1


class Question(Asked):
    """What all questions have in common."""

    model: str = Field(max_length=100, description="A name that `/api/models` offers.")
    strategy: StrategyName | None = Field(None, description="The model's own where none is given.")
    seed: int = Field(0, ge=0, lt=2**32, description="The same seed, the same answer.")


class TextQuestion(Question):
    """A text, with what is missing in it."""

    kind: Literal["text"]
    sequence: str = Field(
        min_length=1,
        max_length=CHARACTERS,
        description="The text; the model's gap character marks a missing one.",
    )
    missing: list[Span] = Field([], max_length=SPANS, description="What is missing besides.")


class MusicQuestion(Question):
    """A song, with what is missing in it."""

    kind: Literal["music"]
    sequence: Base64 = Field(description="A MIDI file, in base64.")
    missing: list[Box] = Field(max_length=SPANS, description="On the model's grid of steps.")
    pinned: list[Box] = Field(
        [], max_length=SPANS, description="What shall sound, whatever the song has there."
    )


class TextFill(TextQuestion):
    """A text to be filled."""

    samples: int = Field(8, ge=1, le=SAMPLES)


class MusicFill(MusicQuestion):
    """A song to be filled."""

    samples: int = Field(8, ge=1, le=SAMPLES)


class SongQuestion(Asked):
    """A song to be laid on a model's grid."""

    model: str = Field(max_length=100)
    sequence: Base64


Csv = Annotated[str, Field(min_length=1, max_length=CSV_CHARACTERS)]


class TableQuestion(Asked):
    """A table to be looked at."""

    sequence: Csv = Field(description="CSV with a header; an empty cell is missing.")


class SeriesFill(TableQuestion):
    """A table to be filled."""

    model: str | None = Field(
        None,
        max_length=100,
        description="A name that `/api/models` offers; where none is given, a model is trained on "
        "the table itself.",
    )
    columns: list[Annotated[str, Field(max_length=1000)]] | None = Field(
        None,
        max_length=COLUMNS,
        description="Those to train on and to fill; all of numbers, and of few levels, where none "
        "are given.",
    )
    seed: int = Field(0, ge=0, lt=2**32, description="The same seed, the same answer.")


AnyQuestion = Annotated[TextQuestion | MusicQuestion, Field(discriminator="kind")]
AnyFill = Annotated[TextFill | MusicFill, Field(discriminator="kind")]


class Problem(BaseModel):
    """What is wrong with a request, or with the moment it came at."""

    detail: str = Field(description="One sentence.")


class Health(BaseModel):
    """That the server serves."""

    status: Literal["ok"] = "ok"
    waiting: int = Field(description="How many requests wait for the model.")


class OfferedModel(BaseModel):
    """A model that the server has."""

    name: str
    kind: Literal["text", "music", "series"]
    strategy: str = Field(description="The one that serves where none is asked for.")
    strategies: list[StrategyName]
    gap_char: str | None = Field(None, description="What marks a missing character of a text.")
    steps_per_beat: int | None = Field(None, description="The grid that songs are laid on.")


class Note(NamedTuple):
    """A note on the grid: a key by its MIDI number, from step `first` to before step `stop`."""

    key: int
    first: int
    stop: int
    velocity: int


class SongAnswer(BaseModel):
    """A song on a model's grid."""

    steps: int
    bars: list[int] = Field(description="The steps that bars begin at.")
    seconds: list[float] = Field(description="When each step begins, and when the last one ends.")
    notes: list[Note]


class Filled(BaseModel):
    """What `caesura fill --json` answers with."""

    best: str
    samples: list[str]
    log_probs: list[float | None] = Field(description="Nats of each sample.")
    standard_errors: list[float | None] = Field(description="Zero where nothing is random.")
    places: list[tuple[int, int]] = Field(description="Step and component of what is missing.")
    confidence: list[float] = Field(description="The probability of what `best` has there.")
    strategy: str
    seed: int


class TextFilled(Filled):
    """A text, filled."""

    kind: Literal["text"] = "text"


class MusicFilled(Filled):
    """A song, filled: MIDI files in base64, and their notes."""

    kind: Literal["music"] = "music"
    notes: list[list[Note]] = Field(description="Of each sample.")


AnyFilled = Annotated[TextFilled | MusicFilled, Field(discriminator="kind")]


class ChainStep(BaseModel):
    """What a Gibbs chain has come to."""

    steps: int = Field(description="How many steps it has made.")
    fill: AnyFilled


class LogProbAnswer(BaseModel):
    """How probable it is that the missing places hold what they hold, given the rest."""

    log_prob: float | None = Field(description="In nats.")
    standard_error: float | None


class MarginalsAnswer(BaseModel):
    """The distribution at each missing place by itself."""

    places: list[tuple[int, int]]
    likeliest: list[list[tuple[str | int, float]]] = Field(
        description="Of each place, up to ten symbols with their probabilities."
    )


class Column(BaseModel):
    """A column of numbers."""

    name: str
    values: list[float | None] = Field(description="Of each row; null where it is missing.")


class TableAnswer(BaseModel):
    """A table as it can be drawn."""

    time: str | None = Field(description="The column that holds the times of the rows.")
    x: list[float] = Field(
        description="When each row was, in seconds since 1970 by its own clock; or its number."
    )
    columns: list[Column]
    others: list[str] = Field(description="Columns that are not of numbers: they are not drawn.")


class FitWaits(BaseModel):
    """It has a place in the line: others may be before it."""

    state: Literal["waits"] = "waits"


class FitTrains(BaseModel):
    """A model is being trained on the table."""

    state: Literal["trains"] = "trains"
    step: int = Field(description="How many updates have been made.")
    steps: int
    validation: float | None = Field(description="Nats of a number that is held out.")
    seconds_left: float | None


class FitDraws(BaseModel):
    """The gaps are being filled."""

    state: Literal["draws"] = "draws"


class FilledColumn(BaseModel):
    """What was missing in a column."""

    name: str
    rows: list[int] = Field(description="Those in which it was missing.")
    quantiles: list[list[float]] = Field(description="Of each level, the numbers of these rows.")
    samples: list[list[float]] = Field(description="Some draws, which could have been.")


class SeriesFilled(BaseModel):
    """A table, filled."""

    state: Literal["filled"] = "filled"
    sequence: str = Field(
        description="CSV with medians in the gaps; other cells are as they were sent."
    )
    levels: list[float] = Field(description="Of the quantiles.")
    columns: list[FilledColumn]
    seed: int


FitLine = Annotated[FitWaits | FitTrains | FitDraws | SeriesFilled, Field(discriminator="state")]
