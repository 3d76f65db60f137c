"""`caesura fill text`: the gaps of a text, on stdout or into a file."""

import json as json_format
import os
import sys
from dataclasses import replace
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
from caesura.cli.output import answer_json, answer_table, in_terminal, note
from caesura.cli.places import check_output
from caesura.cli.spans import parse_span
from caesura.errors import CaesuraError
from caesura.pretrained import find_model

if TYPE_CHECKING:
    from caesura.filler.fill import Fill

FEW = 8  # characters, for which compiling is nearly all of the work
SHOWN = 8  # fills in a terminal


def text(
    given: Annotated[
        str,
        typer.Argument(
            metavar="TEXT",
            help="The text itself, with '_' for each missing character; or the path of a file that "
            "exists; or - for stdin.",
        ),
    ],
    model: ModelOption = None,
    gaps: Annotated[
        list[str] | None,
        typer.Option(
            "--gap",
            metavar="FROM:TO",
            help="Characters that are missing too, counted from 0: 10:15 is from 10 to before 15; "
            "may be given several times.",
        ),
    ] = None,
    gap_char: Annotated[
        str | None,
        typer.Option(
            metavar="C", help="What marks a missing character.", show_default="the model's own"
        ),
    ] = None,
    samples: Samples = 32,
    strategy: StrategyOption = None,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the best fill there, not to stdout."
        ),
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="Show all fills with their probabilities; a terminal shows the likeliest."
        ),
    ] = False,
    engine: EngineOption = None,
    id_column: IdColumn = "id",
    data_column: DataColumn = "data",
    json: Json = False,
) -> None:
    """Fill the gaps of a text.

    The likeliest of the fills goes to stdout, and nothing else where that is no terminal.
    """
    if engine is not None:
        fill_many(
            Many(engine, Path(given), output, id_column, data_column, json),
            "text",
            model,
            {
                "samples": samples,
                "strategy": strategy,
                "seed": seed,
                "kind_fields": {} if gap_char is None else {"gap_char": gap_char},
            },
            not_for_many={"--gap": gaps, "--all": every},
        )
        return
    weights = find_model(model or "text")
    if output is not None:
        check_output(output, (given, weights))
    spans = [parse_span(gap) for gap in gaps or []]
    filler = load_for("text", weights)
    kind: Any = filler.kind
    if gap_char is not None:
        kind = replace(kind, gap_char=gap_char)
        filler = replace(filler, kind=kind)
    content = _read(given)
    for span in spans:
        if span.stop > len(content):
            raise CaesuraError(f"The gap {span} ends behind the text's {len(content)} characters.")
    missing = [place for span in spans for place in range(*span)] or None
    exact = filler.method(strategy).name in ("nade", "bothways", "oneway", "onegram")
    if exact and content.count(kind.gap_char) + len(missing or []) <= FEW:
        # Programs that are ready in 2/3 of the time and half as fast.
        import jax

        jax.config.update("jax_disable_most_optimizations", True)
    fill = filler.fill(content, missing=missing, samples=samples, strategy=strategy, seed=seed)
    if not len(fill.places):
        note(f"Nothing is missing: mark what is with '{kind.gap_char}', or give it with --gap.")
    if output is not None:
        from caesura.files import write_text

        write_text(output, fill.best)
    if json:
        answer_json(json_format.loads(fill.to_json()) | _written(output))
        return
    if output is None:
        _show_best(fill)
    if (every or in_terminal()) and samples > 1 and len(fill.places):
        _show_likeliest(fill, None if every else SHOWN)


def _read(given: str) -> str:
    """The text, from wherever it is."""
    if given == "-":
        content = sys.stdin.buffer.read()
        where = "What stdin gives"
    elif os.path.isfile(given):
        from caesura.kinds.text.files import read_text

        return read_text(Path(given))
    else:
        content = os.fsencode(given)
        where = "The text"
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CaesuraError(f"{where} is not UTF-8: byte {error.start} cannot be read.") from error


def _written(output: Path | None) -> dict[str, Any]:
    return {} if output is None else {"files": [str(output)]}


def _show_best(fill: "Fill") -> None:
    end = "" if fill.best.endswith("\n") else "\n"
    if not in_terminal():
        print(fill.best, end=end)
        return
    from rich.console import Console
    from rich.text import Text

    shown = Text(fill.best)
    for step, _ in fill.places:
        shown.stylize("bold green", int(step), int(step) + 1)
    Console(highlight=False).print(shown, end=end, soft_wrap=True)


def _show_likeliest(fill: "Fill", most: int | None) -> None:
    """What fills have in the gaps; one that was drawn several times is shown once."""
    import numpy as np

    starts = np.flatnonzero(np.diff(fill.places[:, 0], prepend=-2) > 1)
    gaps = [(run[0], run[-1] + 1) for run in np.split(fill.places[:, 0], starts[1:])]
    found = {}
    for sample, log_prob, error in zip(
        fill.samples, fill.log_probs, fill.standard_errors, strict=True
    ):
        words = " … ".join(sample[start:stop] for start, stop in gaps)
        found[words.replace("\n", "↵")] = (float(log_prob), float(error))
    answer_table(
        ["fill", "probability", "nats", "± nats"],
        [
            [words, f"{np.exp(log_prob):.3g}", f"{log_prob:.3f}", f"{error:.2g}"]
            for words, (log_prob, error) in sorted(found.items(), key=lambda item: -item[1][0])[
                :most
            ]
        ],
    )
