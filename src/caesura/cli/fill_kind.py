"""`caesura fill KIND`: a file of a kind that has no command of its own."""

from pathlib import Path
from typing import Annotated, Any

import typer

from caesura.cli.engine import Many, fill_many
from caesura.cli.filling import check_options, check_suffix, fill_one, load_for, write_filled
from caesura.cli.options import (
    Context,
    DataColumn,
    EngineOption,
    IdColumn,
    Json,
    Seed,
    StrategyOption,
)
from caesura.cli.output import answer_json
from caesura.cli.places import check_output
from caesura.cli.spans import parse_span, steps_in
from caesura.errors import CaesuraError
from caesura.pretrained import find_model


def make_command(kind: str) -> Any:
    """Return the command that fills files of a kind, by the name that KINDS has for it."""
    app = typer.Typer(add_completion=False, rich_markup_mode="markdown")

    @app.command(kind, help=f"Fill the gaps of a file of the kind '{kind}'.")
    def fill(
        ctx: Context,
        file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to fill.")],
        model: Annotated[str, typer.Option(metavar="MODEL", help="The model file to fill with.")],
        gaps: Annotated[
            list[str] | None,
            typer.Option(
                "--gap",
                metavar="FROM:TO",
                help="Steps that are missing too, counted from 0: 10:15 is from 10 to before 15; "
                "may be given several times.",
            ),
        ] = None,
        samples: Annotated[
            int | None,
            typer.Option(
                metavar="N",
                min=1,
                help="How many fills to draw.",
                show_default="as many as suit the kind",
            ),
        ] = None,
        strategy: StrategyOption = None,
        seed: Seed = 0,
        output: Annotated[
            Path | None,
            typer.Option(
                "--output",
                "-o",
                metavar="FILE",
                help="Write the best fill there, not to stdout.",
            ),
        ] = None,
        engine: EngineOption = None,
        id_column: IdColumn = "id",
        data_column: DataColumn = "data",
        json: Json = False,
    ) -> None:
        check_options(ctx, engine)
        if engine is not None:
            many = Many(kind, engine, file, output, id_column, data_column, json)
            fill_many(many, model, {"draws": samples, "strategy": strategy, "seed": seed})
            return
        spans = [parse_span(gap) for gap in gaps or []]
        if output is not None:
            check_output(output, (file, find_model(model)))
        filler = load_for(kind, model)
        if filler.kind.binary and output is None and not json:
            raise CaesuraError("Specify the file to write with -o: the filled file is not text.")
        item = filler.kind.open(file)
        if output is not None:
            check_suffix(output, item)
        from caesura.filler import Request

        missing = steps_in(spans, len(item.sequence), "steps")
        request = Request(item, missing, samples or 0, samples, strategy, seed)
        answer = fill_one(filler, request)
        if output is not None:
            write_filled(output, item, answer.best)
        if json:
            answer_json(answer.to_dict() | ({"files": [str(output)]} if output else {}))
        elif output is not None:
            print(output)
        else:
            print(item.content(answer.best), end="")

    return typer.main.get_command(app)
