"""The command line: each command parses, calls the library and shows, in a file of its own."""

import gc
from typing import Annotated

import typer

from caesura import __version__
from caesura.cli import data, fill, parallels
from caesura.cli.evaluate import evaluate
from caesura.cli.group import OneSentence
from caesura.cli.info import info
from caesura.cli.reproduce import reproduce
from caesura.cli.serve import serve
from caesura.cli.train import train

# What takes time to import (JAX, NumPy, rich) is imported inside the commands.
app = typer.Typer(
    name="caesura",
    cls=OneSentence,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> bool:
    if asked:
        typer.echo(f"caesura {__version__}")
        raise typer.Exit
    return asked


@app.callback()
def caesura(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    """Fill gaps in sequences, and know how sure you are.

    Answers go to stdout, progress and notes to stderr. A mistake ends with exit code 2 and one
    sentence, a training that is stopped by Ctrl-C with 130 or by `kill` with 143.
    """


app.command()(train)
app.add_typer(fill.app, name="fill")
app.add_typer(parallels.app, name="parallels")
app.command()(evaluate)
app.command()(info)
app.command()(serve)
app.command()(reproduce)
app.add_typer(data.app, name="data")


def main() -> None:
    """Run the command `caesura`."""
    # Imports make 220 thousand objects that stay: the collector need not look at them.
    gc.set_threshold(300_000)
    app(prog_name="caesura")
