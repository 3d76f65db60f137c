"""The options of commands: those that several share, and those that a docstring describes."""

import inspect
import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caesura.errors import CaesuraError

if TYPE_CHECKING:
    Context = typer.Context
else:
    Context = typer.Context.__bases__[0]  # that of the Click which this version of Typer uses

# Written out, since help must not import JAX; a test compares it with STRATEGIES.
STRATEGY_NAMES = "search, nade, bothways, gsn, bayes, sir, oneway or onegram"

# A parameter in a docstring: `NAME : METAVAR` or `NAME : --option, -o METAVAR`, and its help.
PARAMETER = re.compile(r"^(\w+) : ((?:-\S+ ?)*)(.*)\n((?: {4}.+\n?)+)", re.MULTILINE)


def documented(command: Callable[..., None]) -> Callable[..., None]:
    """Make arguments and options of the section "Parameters" of a command's docstring.

    A sentence "Default: ..." at the end of a help text is shown as the default value. Parameters
    that are not in the docstring have their options in their annotations.
    """
    command.__doc__, _, section = (inspect.getdoc(command) or "").partition("\nParameters\n")
    for name, names, metavar, text in PARAMETER.findall(section):
        text, _, default = " ".join(text.split()).partition(" Default: ")
        shown: Any = {"metavar": metavar or None, "help": text}
        shown |= {"show_default": default.rstrip(".")} if default else {}
        declared = names.replace(",", "").split()
        info = typer.Option(*declared, **shown) if declared else typer.Argument(**shown)
        command.__annotations__[name] = Annotated[command.__annotations__[name], info]
    return command


Json = Annotated[bool, typer.Option("--json", help="Answer with one JSON document.")]
Seed = Annotated[
    int,
    typer.Option(
        metavar="N", help="The seed of the random numbers: the same seed gives the same answer."
    ),
]
DataDirectory = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIRECTORY",
        help="The directory of the public sets.",
        show_default="$CAESURA_DATA, or the cache directory",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="The model to fill with: a file, a model that comes with caesura (text, "
        "text-large, music, papyri), or one on the Hugging Face Hub, hf://user/repo/file@revision.",
        show_default="the model for this kind of data",
    ),
]
ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A model file, a model that comes with caesura (text, text-large, music, papyri, "
        "series), or one on the Hugging Face Hub, hf://user/repo/file@revision.",
    ),
]
StrategyOption = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        metavar="NAME",
        help=f"How to fill: {STRATEGY_NAMES}.",
        show_default="the model's own",
    ),
]


NotationOption = Annotated[
    str | None,
    typer.Option(
        "--notation",
        metavar="NAME",
        help="How the text marks what is lost: plain, leiden (which is EpiDoc if the text is XML) "
        "or epidoc.",
        show_default="the model's own, or plain",
    ),
]
Leiden = Annotated[
    bool, typer.Option("--leiden", help="The text is an edition: short for --notation leiden.")
]


def notation_of(notation: str | None, leiden: bool) -> str | None:
    """Return the notation that the two options ask for; None if they say nothing."""
    if leiden and notation not in (None, "leiden"):
        raise CaesuraError("Specify either --leiden or --notation.")
    return "leiden" if leiden else notation


class Engine(StrEnum):
    """What fills many files."""

    LOCAL = "local"
    RAY = "ray"


EngineOption = Annotated[
    Engine | None,
    typer.Option(
        "--engine",
        metavar="local|ray",
        help="Fill many, on this machine or by the workers of Ray: the input is a directory of "
        "such files, or Parquet files with a row for each. Then -o is a directory: OUT/fills gets "
        "Parquet files with all answers and, for a directory of files, OUT/files the filled files.",
        show_default="one file is filled",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="With --engine: how many processes share the rows, 256 at a time; up to 256 rows are "
        "filled by one.",
        show_default="one for each core",
    ),
]
IdColumn = Annotated[
    str, typer.Option(metavar="COLUMN", help="With --engine: the column of the rows' ids.")
]
DataColumn = Annotated[
    str,
    typer.Option(
        metavar="COLUMN",
        help="With --engine: the column of what is to be filled: texts, or the content of MIDI, "
        "MusicXML or CSV files.",
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        help="How long to look for better fills: until the ranking has settled, or the time is up. "
        "The first answer is given in any case.",
        show_default="as long as the strategy takes",
    ),
]
Details = Annotated[
    bool,
    typer.Option("--details", help="Show log-probabilities, too, in nats of all gaps together."),
]
