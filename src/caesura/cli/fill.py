"""`caesura fill`: a command for each kind of data; text, music and series have their own files."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from caesura.cli.engine import fill_many
from caesura.cli.fill_music import music
from caesura.cli.fill_series import series
from caesura.cli.fill_text import text
from caesura.cli.filling import Asked, check_options, check_suffix, fill_one, load_for, write_best
from caesura.cli.options import (
    Context,
    DataColumn,
    EngineOption,
    IdColumn,
    Json,
    Seed,
    StrategyOption,
    Workers,
    documented,
)
from caesura.cli.parsing import parse_span, steps_in
from caesura.errors import CaesuraError


def make_command(kind: str) -> Any:
    """Return the command that fills files of a kind, by the name that KINDS has for it."""
    app = typer.Typer(add_completion=False, rich_markup_mode="markdown")

    @app.command(kind, help=f"Fill the gaps of a file of the kind '{kind}'.")
    @documented
    def fill(
        ctx: Context,
        file: Path,
        model: str,
        gaps: list[str] | None = None,
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
        output: Path | None = None,
        engine: EngineOption = None,
        workers: Workers = None,
        id_column: IdColumn = "id",
        data_column: DataColumn = "data",
        json: Json = False,
    ) -> None:
        """Fill the gaps of a file.

        Parameters
        ----------
        file : FILE
            The file to fill.
        model : --model MODEL
            The model file to fill with.
        gaps : --gap FROM:TO
            Steps that are missing too, counted from 0: 10:15 is from 10 to before 15; may be given
            several times.
        output : --output, -o FILE
            Write the best fill there, not to stdout.
        """
        check_options(ctx)
        asked = Asked(
            samples, strategy, seed, output, engine, workers, id_column, data_column, json
        )
        if engine is not None:
            fill_many(kind, model, file, asked)
            return
        spans = [parse_span(gap) for gap in gaps or []]
        filler = load_for(kind, model, file, output)
        if filler.kind.binary and output is None and not json:
            raise CaesuraError("Specify the file to write with -o: the filled file is not text.")
        item = filler.kind.open(file)
        check_suffix(output, item)
        missing = steps_in(spans, len(item.sequence), "steps")
        answer = fill_one(filler, item, asked, missing=missing)
        write_best(answer, asked)
        if output is not None and not json:
            print(output)
        elif not json:
            print(item.content(answer.best), end="")

    return typer.main.get_command(app)


class KindCommands(TyperGroup):
    """The commands below, and one for every other kind in `caesura.kinds.KINDS`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all kinds."""
        from caesura.kinds import KINDS

        return list(dict.fromkeys([*super().list_commands(ctx), *KINDS]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a kind, or None."""
        if (own := super().get_command(ctx, cmd_name)) is not None:
            return own
        from caesura.kinds import KINDS

        return make_command(cmd_name) if cmd_name in KINDS else None


app = typer.Typer(
    cls=KindCommands,
    no_args_is_help=True,
    help="Fill gaps with a trained model.\n\nAny other kind that is registered in "
    "`caesura.kinds.KINDS` has a command, too: `caesura fill KIND FILE --model MODEL`.",
)
for command in (text, music, series):
    app.command()(command)
