"""`caesura fill music`: bars of a MIDI file or steps of a roll, written to another file."""

import json as json_format
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caesura.cli.fill_many import Many, fill_many
from caesura.cli.models import load_for
from caesura.cli.options import (
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
    from caesura.filler.fill import Fill


class Unit(StrEnum):
    """What a gap is counted in."""

    BARS = "bars"
    STEPS = "steps"


def music(
    song: Annotated[
        Path,
        typer.Argument(
            metavar="SONG",
            help="A MIDI file, or a roll that NumPy saved: [steps, 88] of 0 and 1, NaN is missing.",
        ),
    ],
    model: ModelOption = None,
    gaps: Annotated[
        list[str] | None,
        typer.Option(
            "--gap",
            metavar="FROM:TO",
            help="What is missing: 8:12 is from bar 8 to before bar 12, 8 is bar 8 alone; may be "
            "given several times. With --keep or --voice alone, it is the whole piece.",
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
            help="Fill this track alone, by its name or number, within its range; the others stay.",
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
    samples: Samples = 5,
    strategy: StrategyOption = None,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write the best fill. Needed but with --json.",
        ),
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="Write the other fills too, likeliest first: FILE-2, FILE-3 and so on."
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
    if output is None and not json:
        raise CaesuraError("Music needs a file to be written to: give it with -o.")
    from caesura.files import write_bytes
    from caesura.kinds import Composition
    from caesura.kinds.music.music import music_bytes

    composition = Composition(
        gaps=tuple(parse_span(gap) for gap in gaps or []),
        unit=unit.value,
        keep=tuple(keep or ()),
        voice=voice,
        force=tuple(force or ()),
        forbid=tuple(forbid or ()),
    )
    if engine is not None:
        fill_many(
            Many(engine, song, output, id_column, data_column, json),
            "music",
            model,
            {
                "samples": samples,
                "strategy": strategy,
                "seed": seed,
                "composition": composition,
            },
            not_for_many={"--all": every},
        )
        return
    weights = find_model(model or "music")
    files = [] if output is None else _files(output, samples if every else 1)
    for file in files:
        check_output(file, (song, weights))
    filler = load_for("music", weights)
    kind: Any = filler.kind  # of music, then
    arrangement = composition.arrange(kind, song)
    fill = filler.fill(
        arrangement.music,
        missing=arrangement.missing,
        samples=samples,
        strategy=strategy,
        seed=seed,
    )
    order = fill.log_probs.argsort()[::-1]
    for file, number in zip(files, order, strict=False):
        write_bytes(file, music_bytes(fill.samples[number]))
    if json:
        answer_json(json_format.loads(fill.to_json()) | {"files": [str(file) for file in files]})
    elif in_terminal():
        _show(fill, files, [int(number) for number in order])
    else:
        print("\n".join(map(str, files)))


def _files(output: Path, count: int) -> list[Path]:
    """The file itself for the best fill, and numbered ones beside it."""
    others = (output.with_stem(f"{output.stem}-{number}") for number in range(2, count + 1))
    return [output, *others]


def _show(fill: "Fill", files: list[Path], order: list[int]) -> None:
    answer_table(
        ["file", "nats", "± nats"],
        [
            [str(file), f"{fill.log_probs[n]:.3f}", f"{fill.standard_errors[n]:.2g}"]
            for file, n in zip(files, order, strict=False)
        ],
    )
