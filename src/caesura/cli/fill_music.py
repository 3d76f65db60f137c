"""`caesura fill music`: bars of a song or score, or steps of a roll, written to another file."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caesura.cli.engine import fill_many
from caesura.cli.filling import Asked, check_options, check_suffix, fill_one, load_for, write_filled
from caesura.cli.options import (
    Context,
    DataColumn,
    Details,
    EngineOption,
    IdColumn,
    Json,
    ModelOption,
    Seconds,
    Seed,
    StrategyOption,
    Workers,
    documented,
)
from caesura.cli.output import answer_json, answer_table, in_terminal, note
from caesura.cli.parsing import parse_span
from caesura.errors import CaesuraError

if TYPE_CHECKING:
    from caesura.filler import Fill
    from caesura.filler.candidates import Candidate
    from caesura.kinds import Composition, Item

Samples = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        show_default="24; 8 by 'sir'",
        help="How many fills to draw; the best is a copy of a similar place of the piece, or else "
        "the draw whose notes agree most with the others.",
    ),
]


# Of files that a piece can be written to, beside those with the suffix of the item.
OTHER_SUFFIXES = {
    ".mid": (".midi", ".wav"),
    ".musicxml": (".mxl", ".xml", ".wav"),
    ".mxl": (".musicxml", ".xml", ".wav"),
}


class Unit(StrEnum):
    """What a gap is counted in."""

    BARS = "bars"
    STEPS = "steps"


@documented
def music(
    ctx: Context,
    song: Path,
    model: ModelOption = None,
    gaps: list[str] | None = None,
    unit: Unit = Unit.BARS,
    keep: list[str] | None = None,
    voice: str | None = None,
    add: str | None = None,
    force: list[str] | None = None,
    forbid: list[str] | None = None,
    grid: int | None = None,
    samples: Samples = None,
    strategy: StrategyOption = None,
    seed: Seed = 0,
    seconds: Seconds = None,
    output: Path | None = None,
    every: bool = False,
    details: Details = False,
    engine: EngineOption = None,
    workers: Workers = None,
    id_column: IdColumn = "id",
    data_column: DataColumn = "data",
    json: Json = False,
) -> None:
    """Fill gaps in a piece of music.

    Every note and event outside the gaps stays as it is, and so does what is kept inside them:
    `--keep top` harmonises a melody, `--voice Tenor` writes one voice anew, and `--add C2-B3` adds
    a left hand. The paths of the files that were written go to stdout; a terminal also shows how
    many new notes each has.

    Parameters
    ----------
    song : SONG
        A MIDI or MusicXML file, or a roll saved by NumPy: [steps, 88] of 0 and 1, NaN is missing.
    gaps : --gap FROM:TO
        What is missing: 8:12 is from bar 8 to before bar 12, 8 is bar 8 alone; may be given several
        times. Without it, --keep, --voice and --add apply to the whole piece.
    unit : --unit bars|steps
        What --gap counts: bars from 1, or steps of the model's grid from 0.
    keep : --keep PITCHES|top|bottom
        What stays in the gaps: the notes and rests of some keys (60-84, C4-C6), or the highest or
        lowest note of each step; may be given several times.
    voice : --voice TRACK
        Fill only this track, by its name or number, within its range; the others stay. If it has
        one note at a time, so has the fill.
    add : --add PITCHES
        Add a track with new notes of these pitches (C2-B3); the others stay.
    force : --force PITCHES
        Keys that sound throughout the gaps (C3 or 48-52); may be given several times.
    forbid : --forbid PITCHES
        Keys that are silent throughout the gaps; may be given several times.
    grid : --grid STEPS
        How many steps a quarter note has, for models that find it from the piece: 4, or 6 if it has
        triplets.
    output : --output, -o FILE
        Where to write the best fill: as a file like SONG, or as sound if its name ends in .wav.
        Required unless `--json` is given.
    every : --all
        Write the other distinct fills too, best first: FILE-2, FILE-3 and so on, --samples at most.
    """
    check_options(ctx, "gaps", "unit", "keep", "voice", "add", "force", "forbid")
    from caesura.kinds import KINDS, Composition

    composition = Composition(
        gaps=tuple(parse_span(gap) for gap in gaps or []),
        unit=unit.value,
        keep=tuple(keep or ()),
        voice=voice,
        add=add,
        force=tuple(force or ()),
        forbid=tuple(forbid or ()),
    )
    asked = Asked(samples, strategy, seed, output, engine, workers, id_column, data_column, json)
    if engine is not None:
        fill_many("music", model or "music", song, asked, arrangement=composition)
        return
    if output is None and not json:
        raise CaesuraError("Specify the file to write with -o.")
    most = samples or KINDS["music"].draws
    files = [] if output is None else _names(output, most if every else 1)
    filler = load_for("music", model or "music", song, *files)
    kind: Any = filler.kind
    item: Any = _on_grid(kind, grid).open(song)
    if item.steps_per_beat != kind.steps_per_beat:  # it was found from the piece, or asked for
        note(f"{item.name} is read at {item.steps_per_beat} steps to the quarter note.")
    check_suffix(output, item, *OTHER_SUFFIXES.get(item.suffix, ()))
    _check_gaps(song, item, composition)
    item = composition.arrange(item)
    fill = fill_one(filler, item, asked, seconds=seconds)
    written = list(zip(files, fill.top(len(files)), strict=False))
    for file, candidate in written:
        if item.suffix == ".npy":
            write_filled(file, item, candidate.sequence)
        else:
            candidate.sequence.save(file)
    if json:
        answer_json(fill.to_dict() | {"files": [str(file) for file, _ in written]})
    elif details or in_terminal():
        _show_written(fill, written, details)
    else:
        print("\n".join(str(file) for file, _ in written))


def _on_grid(kind: Any, grid: int | None) -> Any:
    """Return the kind with a grid that was asked for, if the model has none of its own."""
    if grid is None:
        return kind
    if own := kind.steps_per_beat:
        raise CaesuraError(
            f"The model has a grid of {own} steps to the quarter note: --grid is for models that "
            "find it from the piece."
        )
    return replace(kind, steps_per_beat=grid)


def _show_written(fill: "Fill", written: "list[tuple[Path, Candidate]]", details: bool) -> None:
    """Show which files were written, and what is new in them."""
    header = ["file", "new notes", *(["nats"] if details else [])]
    rows = [
        [
            str(file),
            str(_new_notes(fill, candidate)),
            *([f"{candidate.log_prob:.3f}"] if details else []),
        ]
        for file, candidate in written
    ]
    answer_table(header, rows)
    if others := len(fill.completions) - len(written):
        note(f"{others} more distinct {'fill was' if others == 1 else 'fills were'} drawn.")


def _new_notes(fill: "Fill", candidate: "Candidate") -> int:
    """Return how many notes begin in the gaps."""
    import numpy as np

    from caesura.kinds.music.struck import STRUCK

    count = 0
    for span, part in zip(fill.sequence.gaps, candidate.parts, strict=True):
        keys = slice(part.shape[1])
        # Nothing is before the first step.
        before = fill.sequence.values[span.start - 1 : span.start, keys]
        before = before if len(before) else np.zeros_like(part[:1])
        begins = (part > 0) & (np.concatenate([before, part[:-1]]) == 0)
        begins |= part == STRUCK
        count += int(np.sum(begins & fill.missing[span.start : span.stop, keys]))
    return count


def _names(output: Path, count: int) -> list[Path]:
    """Return the file for the best fill, and numbered ones beside it."""
    others = (output.with_stem(f"{output.stem}-{number}") for number in range(2, count + 1))
    return [output, *others]


def _check_gaps(song: Path, item: "Item", asked: "Composition") -> None:
    """Raise an error that names the options, if it can be foreseen that they do not suit."""
    apply_to_all = asked.keep or asked.voice or asked.add
    if not (asked.gaps or apply_to_all or item.sequence.missing.any()):
        raise CaesuraError(
            f"Nothing is missing in '{song}': specify what is missing, for example with --gap 8:12."
        )
    if asked.gaps and asked.unit == Unit.BARS and item.suffix == ".npy":
        raise CaesuraError(
            f"The file '{song}' is a roll, which has no bars: count its steps with --unit steps."
        )
