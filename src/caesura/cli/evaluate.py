"""`caesura evaluate`: how well strategies know gaps that are made in complete data."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caesura.cli.live_line import LiveLine
from caesura.cli.models import kind_of, load_model
from caesura.cli.options import DataFolder, Json, ModelArgument, Seed
from caesura.cli.output import answer_json, answer_table, note
from caesura.cli.places import check_output
from caesura.cli.sources import load_sources, parse_sources
from caesura.errors import CaesuraError
from caesura.pretrained import find_model

if TYPE_CHECKING:
    from caesura.evaluate import Evaluation


def evaluate(
    model: ModelArgument,
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help="Files, folders, or public sets by name (`caesura data list`), of which the split "
            "'test' is meant unless it is given as name:split.",
        ),
    ],
    gap: Annotated[int, typer.Option(metavar="STEPS", help="How long the gaps are.")] = 5,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME...]",
            help="One or more of nade, gsn, bayes, oneway and onegram.",
            show_default="the model's own",
        ),
    ] = None,
    margin: Annotated[
        int, typer.Option(metavar="STEPS", help="How far gaps stay from the ends of a sequence.")
    ] = 10,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="GAPS",
            help="At most so many gaps, evenly spread over the data.",
            show_default="all",
        ),
    ] = None,
    seed: Seed = 0,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw the NLL by position in the gap, as a .png, .svg or .pdf file.",
        ),
    ] = None,
    folder: DataFolder = None,
    json: Json = False,
) -> None:
    """Measure the negative log-likelihood of gaps in data that the model has not seen.

    NLLs are in nats: those of whole gaps, and by position those of each step by itself.
    """
    from caesura.evaluate import evaluate as score
    from caesura.filler import make_key

    make_key(seed)
    weights = find_model(model)
    if picture is not None:
        from caesura.plot import check_picture

        check_picture(picture)
        check_output(picture, (weights, *data))
    filler = load_model(weights)
    methods = [filler.method(name.strip() or None) for name in (strategy or "").split(",")]
    if len({method.name for method in methods}) < len(methods):
        raise CaesuraError(f"The strategies '{strategy}' hold one of them twice.")
    sources = parse_sources(data, kind_of(filler), "test")
    sequences = []
    for number, item in enumerate(filler.kind.items(load_sources(sources, folder))):
        sequence = filler.kind.read_complete(item)
        if sequence.missing.any():
            raise CaesuraError(f"Item {number} of the data has missing values.")
        sequences.append(sequence.values)
    results = {}
    for method in methods:
        with _Counter(method.name) as counter:
            results[method.name] = score(
                method.net,
                method.strategy,
                sequences,
                gap=gap,
                margin=margin,
                limit=limit,
                seed=seed,
                report=counter.count,
            )
    if picture is not None:
        from caesura.plot import plot_positions, save_picture

        curves = {name: result.nll_by_position for name, result in results.items()}
        save_picture(plot_positions(curves), picture)
        note(f"The picture is in '{picture}'.")
    if json:
        asked = {"model": model, "data": data, "gap": gap, "margin": margin, "seed": seed}
        answer_json(asked | {"results": [_told(*result) for result in results.items()]})
    else:
        _show(results)


class _Counter(LiveLine):
    """Counts gaps: on one line in a terminal, else at each quarter of them."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.quarters = 0

    def __enter__(self) -> "_Counter":
        return self

    def count(self, done: int, gaps: int) -> None:
        """What `evaluate` calls after some gaps."""
        text = f"{self.name}: {done}/{gaps} gaps"
        self.show(text)
        if 4 * done // gaps > self.quarters and not sys.stderr.isatty():
            self.quarters = 4 * done // gaps
            note(text)


def _told(name: str, result: "Evaluation") -> dict[str, Any]:
    return {"strategy": name} | vars(result) | {"nll_by_position": result.nll_by_position.tolist()}


def _show(results: dict[str, "Evaluation"]) -> None:
    answer_table(
        ["strategy", "NLL", "± SE", "gaps", "left out"],
        [
            [
                name,
                f"{result.nll:.3f}",
                f"{result.standard_error:.3f}",
                str(result.gaps),
                str(result.left_out),
            ]
            for name, result in results.items()
        ],
    )
    print()
    gap = len(next(iter(results.values())).nll_by_position)
    answer_table(
        ["position", *results],
        [
            [str(step + 1), *(f"{result.nll_by_position[step]:.3f}" for result in results.values())]
            for step in range(gap)
        ],
    )
