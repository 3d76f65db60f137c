"""The bodies of requests and answers; the OpenAPI description is made from them."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from caesura.web.limits import (
    BOXES,
    CHARACTERS,
    COLUMNS,
    CSV_CHARACTERS,
    DRAWS,
    LACUNAE,
    PART,
    READINGS,
    SECONDS,
    STEPS,
    WISH,
    WISHES,
)

Name = Annotated[str, Field(max_length=100)]
Seed = Annotated[int, Field(ge=0, lt=2**32, description="The same seed gives the same answer.")]
Plain = Annotated[
    str | list[Any] | dict[str, Any],
    Field(description="A text; a file's bytes in base64; a table as columns, index and data."),
]


class Asked(BaseModel):
    """What clients send: no number in quotes, and no unknown field."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Box(Asked):
    """Some steps, and in them some components.

    Steps run from `first` to before `stop`, counted from 0. A step is a character (a code point) of
    a text, a row of a table, and a step of the model's grid for music. Components run from `lowest`
    to `highest`; for music they are the MIDI numbers of keys, 21 to 108. By default, all.
    """

    first: int = Field(ge=0, le=STEPS)
    stop: int = Field(ge=1, le=STEPS)
    lowest: int | None = Field(None, ge=0, le=STEPS)
    highest: int | None = Field(None, ge=0, le=STEPS)


Number = Annotated[int, Field(ge=0, le=CHARACTERS, description="The number of a lacuna, from 0.")]
Part = Annotated[str, Field(min_length=1, max_length=PART)]


class LacunaPart(Asked):
    """A reading of a lacuna.

    A blank at its beginning says that a word begins there, if no blank stands before the lacuna.
    """

    gap: Number
    part: Part


class LacunaPattern(Asked):
    """A regular expression that the letters of a lacuna have to match as a whole."""

    gap: Number
    pattern: Part


class KnownReading(Asked):
    """A reading of a lacuna, with its probability."""

    part: Part
    probability: float = Field(ge=0, le=1)


class LacunaReadings(LacunaPart):
    """What stands in a lacuna, and what else could."""

    readings: list[KnownReading] = Field(
        [], max_length=READINGS, description="EpiDoc says by them how certain the part is."
    )


class ViewQuestion(Asked):
    """A sequence to be drawn."""

    model: Name = Field(description="A name that `/api/models` offers.")
    sequence: str = Field(
        min_length=1,
        max_length=CHARACTERS,
        description="The content of a file: a text or CSV as it is, a MIDI or MusicXML file in "
        "base64.",
    )
    notation: Literal["plain", "leiden", "epidoc"] | None = Field(
        None,
        description="How a text marks what is lost; 'leiden' may be an EpiDoc file, too. By "
        "default as the model was trained.",
    )
    lost: list[Literal["restored", "doubtful"]] | None = Field(
        None, max_length=2, description="Which letters of such a text count as lost, too."
    )


class EditionQuestion(ViewQuestion):
    """A text with a notation, and what stands in its lacunae."""

    format: Literal["leiden", "epidoc", "plain"] = Field(
        description="The notation to write; 'plain' has none. Only an EpiDoc file can be written "
        "as one."
    )
    parts: list[LacunaReadings] = Field([], max_length=LACUNAE)
    others: bool = Field(False, description="Whether EpiDoc has the other readings as `<rdg>`.")


Pitches = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=WISH)]], Field(max_length=WISHES)
]


class ComposedQuestion(ViewQuestion):
    """A sequence, what is missing in it, and for music what is wished there."""

    missing: list[Box] = Field(
        [], max_length=BOXES, description="What is missing beside what the sequence itself marks."
    )
    pinned: list[Box] = Field(
        [],
        max_length=BOXES,
        description="For music: notes that sound, whatever the song has there. A note begins where "
        "its box does.",
    )
    voice: Name | None = Field(
        None,
        min_length=1,
        description="For music: the only part to fill, by its name or its number from 1.",
    )
    add: Annotated[str, Field(min_length=1, max_length=WISH)] | None = Field(
        None, description="For music: the pitches of a new part, the only one to fill: 'C2-B3'."
    )
    keep: Pitches = Field(
        [],
        description="For music: keys whose notes and rests stay, such as 'C4-C6' or '60-84'; 'top' "
        "or 'bottom' is the outermost note of every step.",
    )
    force: Pitches = Field([], description="For music: keys that sound in all missing steps.")
    forbid: Pitches = Field([], description="For music: keys that sound in none of them.")


class Question(ComposedQuestion):
    """A sequence to be filled or scored."""

    strategy: Name | None = Field(None, description="By default the model's own.")
    seed: Seed = 0


class FillQuestion(Question):
    """A sequence to be filled."""

    samples: int = Field(0, ge=0, le=DRAWS, description="How many random fills to return.")
    draws: int | None = Field(
        None,
        ge=1,
        le=DRAWS,
        description="How many random fills the answer is made of: more find more candidates, and "
        "take longer. By default as many as suit the kind. A search needs none.",
    )
    seconds: float | None = Field(
        None,
        gt=0,
        le=SECONDS,
        description="How long to look for better fills, beside the first answer and the wait in "
        "line. By default as long as the strategy takes.",
    )
    accepted: list[LacunaPart] = Field(
        [],
        max_length=LACUNAE,
        description="Lacunae of a text with a notation that have these readings; the others are "
        "filled given them.",
    )
    patterns: list[LacunaPattern] = Field(
        [], max_length=LACUNAE, description="What some lacunae must match."
    )
    readings: list[LacunaPart] = Field(
        [], max_length=READINGS, description="Readings whose probability and rank are asked for."
    )


class TableQuestion(Asked):
    """A table to be drawn."""

    sequence: str = Field(
        min_length=1,
        max_length=CSV_CHARACTERS,
        description="CSV with a header; an empty cell is missing.",
    )


class TableFillQuestion(TableQuestion):
    """A table to be filled."""

    model: Name | None = Field(
        None,
        description="A name that `/api/models` offers; by default the pretrained model for tables.",
    )
    adapt: Literal["none", "quick", "full"] = Field(
        "none",
        description="Without a `model`: 'none' fills with the pretrained one, 'quick' tunes it on "
        "the table for half a minute, 'full' trains a model on the table.",
    )
    columns: list[Annotated[str, Field(max_length=1000)]] | None = Field(
        None,
        max_length=COLUMNS,
        description="The columns to learn and to fill; by default all columns of numbers and of "
        "few levels.",
    )
    seed: Seed = 0


class Problem(BaseModel):
    """Why a request was not answered."""

    detail: str = Field(description="One sentence.")


class Health(BaseModel):
    """The server is running."""

    status: Literal["ok"] = "ok"
    waiting: int = Field(description="How many requests wait for the model.")


class Ready(BaseModel):
    """The server is ready."""

    status: Literal["ready"] = "ready"
    shapes: int = Field(description="How many shapes it has compiled programs for.")


class OfferedModel(BaseModel):
    """A model that the server offers."""

    name: str
    kind: str
    strategy: str = Field(description="The default strategy.")
    strategies: list[str]
    fields: dict[str, Any] = Field(
        description="What the kind has learnt or was given, such as `gap_char` of a text and "
        "`steps_per_beat` of music."
    )


class Candidate(BaseModel):
    """One possible completion."""

    sequence: Plain
    log_prob: float | None = Field(description="Nats of all missing values together.")


class Reading(BaseModel):
    """One possible fill of a single gap."""

    part: str | list[Any] = Field(description="What stands in the gap; for music its frames.")
    probability: float = Field(description="Given everything observed.")


class AskedReading(BaseModel):
    """A reading that was asked for."""

    part: str
    probability: float = Field(description="Given everything observed, and patterns.")
    rank: int = Field(description="1 if no candidate is more probable.")


class GapFilled(BaseModel):
    """What is said of one gap."""

    start: int = Field(description="Its first step in `best`.")
    stop: int = Field(description="The step after its last.")
    covered: float = Field(description="The candidates' share of the probability.")
    lengths: dict[str, float] = Field(
        description="The probability of each length, most probable first; 1 if it is known."
    )
    candidates: list[Reading] = Field(description="Distinct readings, most probable first.")
    asked: list[AskedReading] = Field([], description="The `readings` that were asked for.")
    matching: float | None = Field(
        None, description="The probability that the pattern of the gap holds; null without one."
    )


class Lacuna(BaseModel):
    """A lacuna of a text with a notation, and what `best` has there."""

    number: int = Field(description="From left to right, from 0; accepted ones are counted, too.")
    part: str
    marks: list[tuple[int, int]] = Field(
        description="Its places in the text that was sent, as characters: first, and after last."
    )


class Filled(BaseModel):
    """What `caesura fill --json` answers, and what a page needs to draw the samples.

    A number that is not finite is null.
    """

    kind: str
    best: Plain
    gaps: list[GapFilled] = Field(
        description="What is said of each gap, from left to right; none for real numbers."
    )
    log_prob: float | None = Field(description="Nats of `best`.")
    standard_error: float | None = Field(description="Zero if `log_prob` is exact.")
    candidates: list[Candidate] = Field(
        description="Distinct completions, most probable first; none for real numbers."
    )
    covered: float | None = Field(description="The candidates' share of the probability.")
    samples: list[Plain]
    log_probs: list[float | None] = Field(description="Nats of each sample.")
    standard_errors: list[float | None]
    places: list[tuple[int, int]] = Field(description="Step and component of each missing value.")
    confidence: list[float | None] = Field(
        description="For each place, the probability of the value that `best` has there."
    )
    strategy: str
    seed: int
    ended: Literal["finished", "settled", "out of time"] = Field(
        description="How the work ended; with a limit of time, whether the ranking has settled."
    )
    view: dict[str, Any] = Field(
        description="What a page needs to draw `best`; for music `notes`, each a list of MIDI "
        "number, first step, step after the last, velocity, and the number of the part."
    )
    views: list[dict[str, Any]] = Field(description="The same for each sample.")
    lacunae: list[Lacuna] = Field(
        description="For each of the gaps of a text with a notation its place in that text."
    )


class ChainStep(BaseModel):
    """The fill after some steps of a Gibbs chain."""

    steps: int
    fill: Filled


class LogProbAnswer(BaseModel):
    """The log-probability of the missing values, given the rest."""

    log_prob: float | None = Field(description="In nats.")
    standard_error: float | None


class EditionAnswer(BaseModel):
    """A text with its lacunae filled."""

    content: str


class MarginalsAnswer(BaseModel):
    """The distribution at each missing place by itself."""

    places: list[tuple[int, int]]
    likeliest: list[list[tuple[str | int | float, float]]] = Field(
        description="For each place, up to ten symbols with their probabilities."
    )


class Column(BaseModel):
    """A column of numbers."""

    name: str
    values: list[float | None] = Field(description="One for each row; null if missing.")


class TableAnswer(BaseModel):
    """A table that can be drawn."""

    time: str | None = Field(description="The column that holds the times of the rows.")
    x: list[float] = Field(
        description="The time of each row in seconds since 1970 by its own clock, or its number."
    )
    columns: list[Column]
    others: list[str] = Field(description="Columns that hold no numbers: they are not drawn.")


class FitWaits(BaseModel):
    """The table waits in line."""

    state: Literal["waits"] = "waits"


class FitTrains(BaseModel):
    """A model is being trained on the table."""

    state: Literal["trains"] = "trains"
    step: int = Field(description="How many updates are done.")
    steps: int
    validation: float | None = Field(
        description="Nats of a held-out value; of 'quick', the mean error of held-out values."
    )
    seconds_left: float | None


class FitDraws(BaseModel):
    """The gaps are being filled."""

    state: Literal["draws"] = "draws"


class FilledColumn(BaseModel):
    """The missing values of a column."""

    name: str
    rows: list[int] = Field(description="The rows in which a value was missing.")
    quantiles: list[list[float]] = Field(description="For each level, the values of these rows.")
    samples: list[list[float]] = Field(description="Some random fills of these rows.")


class TableFilled(BaseModel):
    """A filled table."""

    state: Literal["filled"] = "filled"
    sequence: str = Field(description="CSV with medians in the gaps; other cells are unchanged.")
    levels: list[float] = Field(description="The levels of the quantiles.")
    columns: list[FilledColumn]
    seed: int


FitLine = Annotated[FitWaits | FitTrains | FitDraws | TableFilled, Field(discriminator="state")]
