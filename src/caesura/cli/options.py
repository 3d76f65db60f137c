"""The options that several commands share."""

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
Samples = Annotated[
    int, typer.Option(metavar="N", help="How many fills to draw; the likeliest is the best.")
]
