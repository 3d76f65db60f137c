"""The options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Answer with one JSON document.")]
Seed = Annotated[
    int, typer.Option(metavar="N", help="The source of all that is random: same seed, same answer.")
]
DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FOLDER",
        help="Where the public sets are kept.",
        show_default="$CAESURA_DATA, or a cache folder",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="The model to fill with: a file, or one that comes with caesura, text or music.",
        show_default="the one for this kind of data",
    ),
]
ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="A model file, or a model that comes with caesura: text or music."
    ),
]
StrategyOption = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        metavar="NAME",
        help="How to fill: nade, bothways, gsn, bayes, sir, oneway or onegram.",
        show_default="the model's own",
    ),
]


class Engine(StrEnum):
    """Who fills many."""

    LOCAL = "local"
    RAY = "ray"


EngineOption = Annotated[
    Engine | None,
    typer.Option(
        "--engine",
        metavar="local|ray",
        help="Fill many at once, in this process or by the workers of Ray: what is given is a "
        "folder of such files, or Parquet files with a row for each; -o is a folder then.",
        show_default="only one is filled",
    ),
]
IdColumn = Annotated[
    str, typer.Option(metavar="COLUMN", help="With --engine: what names the rows of Parquet files.")
]
DataColumn = Annotated[
    str,
    typer.Option(
        metavar="COLUMN",
        help="With --engine: what is to be filled in the rows of Parquet files, as text, as bytes "
        "of MIDI files or as text of CSV files.",
    ),
]
Samples = Annotated[
    int, typer.Option(metavar="N", help="How many fills to draw; the likeliest is the best.")
]
