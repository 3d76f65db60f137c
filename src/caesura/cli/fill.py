"""`caesura fill`: one command for each kind of data, in a file of its own."""

import typer

from caesura.cli.fill_music import music
from caesura.cli.fill_series import series
from caesura.cli.fill_text import text

app = typer.Typer(no_args_is_help=True, help="Fill gaps with a trained model.")
for command in (text, music, series):
    app.command()(command)
