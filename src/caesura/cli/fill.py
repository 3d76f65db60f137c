"""`caesura fill`: a command for each kind of data; text, music and series have their own files."""

from typing import Any

import typer
from typer.core import TyperGroup

from caesura.cli.fill_kind import make_command
from caesura.cli.fill_music import music
from caesura.cli.fill_series import series
from caesura.cli.fill_text import text


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
