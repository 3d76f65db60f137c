"""`caesura fill music`: bars of a MIDI file or steps of a roll, written to another file."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caesura.cli.engine import Many, fill_many
from caesura.cli.filling import check_options, check_suffix, fill_one, load_for, write_filled
from caesura.cli.options import (
    Context,
    DataColumn,
    EngineOption,
    IdColumn,
    Json,
    ModelOption,
    Samples,
    Seed,
    StrategyOption,
)
from caesura.cli.output import answer_json, answer_table, in_terminal
from caesura.cli.places import check_output
from caesura.cli.spans import parse_span
from caesura.errors import CaesuraError
from caesura.pretrained import find_model

if TYPE_CHECKING:
    from caesura.kinds import Composition, Item


class Unit(StrEnum):
    """What a gap is counted in."""

    BARS = "bars"
    STEPS = "steps"


def music(
    ctx: Context,
    song: Annotated[
        Path,
        typer.Argument(
            metavar="SONG",
            help="A MIDI file, or a roll saved by NumPy: [steps, 88] of 0 and 1, NaN is missing.",
        ),
    ],
    model: ModelOption = None,
    gaps: Annotated[
        list[str] | None,
        typer.Option(
            "--gap",
            metavar="FROM:TO",
            help="What is missing: 8:12 is from bar 8 to before bar 12, 8 is bar 8 alone; may be "
            "given several times. Without it, --keep or --voice stand for the whole piece.",
        ),
    ] = None,
    unit: Annotated[
        Unit,
        typer.Option(
            metavar="bars|steps",
            help="What --gap counts: bars from 1, or steps of the model's grid from 0.",
        ),
    ] = Unit.BARS,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PITCHES|top|bottom",
            help="What stays in the gaps: the notes and rests of some keys (60-84, C4-C6), or the "
            "highest or lowest note of each step; may be given several times.",
        ),
    ] = None,
    voice: Annotated[
        str | None,
        typer.Option(
            metavar="TRACK",
            help="Fill only this track, by its name or number, within its range; the others stay.",
        ),
    ] = None,
    force: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PITCHES",
            help="Keys that sound throughout the gaps (C3 or 48-52); may be given several times.",
        ),
    ] = None,
    forbid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PITCHES",
            help="Keys that are silent throughout the gaps; may be given several times.",
        ),
    ] = None,
    samples: Samples = 8,
    strategy: StrategyOption = None,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write the best fill. Required unless `--json` is given.",
        ),
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Write the other distinct fills too, likeliest first: FILE-2, FILE-3 and so on.",
        ),
    ] = False,
    engine: EngineOption = None,
    id_column: IdColumn = "id",
    data_column: DataColumn = "data",
    json: Json = False,
) -> None:
    """Fill gaps in a piece of music.

    Every note and event outside the gaps stays as it is, and so does what is kept inside them:
    `--keep top` harmonises a melody, `--voice Tenor` writes one voice anew. The paths of the files
    that were written go to stdout.
    """
    check_options(ctx, engine, "gaps", "unit", "keep", "voice", "force", "forbid")
    from caesura.kinds import Composition

    composition = Composition(
        gaps=tuple(parse_span(gap) for gap in gaps or []),
        unit=unit.value,
        keep=tuple(keep or ()),
        voice=voice,
        force=tuple(force or ()),
        forbid=tuple(forbid or ()),
    )
    name = model or "music"
    asked: dict[str, Any] = {"draws": samples, "strategy": strategy, "seed": seed}
    if engine is not None:
        many = Many("music", engine, song, output, id_column, data_column, json)
        fill_many(many, name, asked | {"arrangement": composition})
        return
    if output is None and not json:
        raise CaesuraError("Specify the file to write with -o.")
    files = [] if output is None else _names(output, samples if every else 1)
    for file in files:
        check_output(file, (song, find_model(name)))
    filler = load_for("music", name)
    item: Any = filler.kind.open(song)
    if output is not None:
        check_suffix(output, item, *([".midi"] if item.suffix == ".mid" else []))
    _check_gaps(song, item, composition)
    item = composition.arrange(item)
    from caesura.filler import Request

    fill = fill_one(filler, Request(item, samples=samples, **asked))
    written = list(zip(files, fill.candidates, strict=False))
    for file, candidate in written:
        write_filled(file, item, candidate.sequence)
    if json:
        answer_json(fill.to_dict() | {"files": [str(file) for file, _ in written]})
    elif in_terminal():
        rows = [[str(file), f"{candidate.log_prob:.3f}"] for file, candidate in written]
        answer_table(["file", "nats"], rows)
    else:
        print("\n".join(str(file) for file, _ in written))


def _names(output: Path, count: int) -> list[Path]:
    """Return the file for the best fill, and numbered ones beside it."""
    others = (output.with_stem(f"{output.stem}-{number}") for number in range(2, count + 1))
    return [output, *others]


def _check_gaps(song: Path, item: "Item", asked: "Composition") -> None:
    """Raise an error that names the options, if it can be foreseen that they do not suit."""
    if not (asked.gaps or asked.keep or asked.voice or item.sequence.missing.any()):
        raise CaesuraError(
            f"Nothing is missing in '{song}': specify what is, for example with --gap 8:12."
        )
    if asked.gaps and asked.unit == Unit.BARS and item.suffix == ".npy":
        raise CaesuraError(
            f"'{song}' is a roll, which has no bars: count its steps with --unit steps."
        )
