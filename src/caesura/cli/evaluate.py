"""`caesura evaluate`: how well strategies know gaps that are made in complete data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caesura.cli.gap_counter import GapCounter
from caesura.cli.models import kind_of, load_model
from caesura.cli.options import DataFolder, Json, ModelArgument, Seed
from caesura.cli.output import answer_json, answer_table, note
from caesura.cli.places import check_output
from caesura.cli.sources import load_sources, parse_sources
from caesura.errors import CaesuraError
from caesura.pretrained import find_model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from caesura.scoring.gaps import Evaluation


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
            help="One or more of nade, bothways, gsn, bayes, sir, oneway and onegram.",
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
            help="Draw the NLL by position in the gap, and for series the CRPS, the coverage of "
            "intervals and the PIT, as a .png, .svg or .pdf file.",
        ),
    ] = None,
    folder: DataFolder = None,
    json: Json = False,
) -> None:
    """Measure the negative log-likelihood of gaps in data that the model has not seen.

    NLLs are in nats: those of whole gaps, and by position those of each step by itself. For these,
    a last table shows how often what is stated comes true: whether the model can be believed.
    """
    from caesura.filler.filler import make_key
    from caesura.scoring import gaps

    make_key(seed)
    weights = find_model(model)
    if picture is not None:
        from caesura.plots import check_picture, save_picture

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
    results = []
    for method in methods:
        with GapCounter(method.name) as counter:
            results.append(
                gaps.evaluate(
                    method.net,
                    method.strategy,
                    sequences,
                    gap=gap,
                    margin=margin,
                    limit=limit,
                    seed=seed,
                    report=counter.count,
                )
            )
    if picture is not None:
        save_picture(_draw(results), picture)
        note(f"The picture is in '{picture}'.")
    if json:
        asked = {"model": model, "data": data, "gap": gap, "margin": margin, "seed": seed}
        answer_json(asked | {"results": [result.to_dict() for result in results]})
    else:
        _show(results)


def _draw(results: "list[Evaluation]") -> "Figure":
    from caesura.plots import plot_calibration, plot_positions
    from caesura.scoring.calibration import NumberTally

    nll = {result.strategy: result.positions.nll for result in results}
    tallies = {result.strategy: result.positions.tally for result in results}
    numbers = {name: tally for name, tally in tallies.items() if isinstance(tally, NumberTally)}
    if not numbers:
        return plot_positions(nll)
    return plot_calibration(
        nll,
        crps={name: tally.crps for name, tally in numbers.items()},
        coverage={name: tally.coverage for name, tally in numbers.items()},
        pit={name: tally.pit for name, tally in numbers.items()},
    )


def _show(results: "list[Evaluation]") -> None:
    answer_table(
        ["strategy", "NLL", "± SE", "gaps", "left out"],
        [
            [
                result.strategy,
                f"{result.gaps.nll:.3f}",
                f"{result.gaps.standard_error:.3f}",
                str(result.gaps.gaps),
                str(result.gaps.left_out),
            ]
            for result in results
        ],
    )
    for result in results:
        if (worth := result.effective_samples) is not None:
            print(
                f"\nThe particles of a fill by '{result.strategy}' are worth {worth:.1f} "
                "independent ones."
            )
    print()
    curves = [result.positions.nll for result in results]
    answer_table(
        ["position", *(result.strategy for result in results)],
        [
            [str(position), *(f"{nll:.3f}" for nll in step)]
            for position, step in enumerate(zip(*curves, strict=True), 1)
        ],
    )
    print()
    columns = results[0].positions.tally.columns
    answer_table(
        ["strategy", "position", *columns.values()],
        [
            [result.strategy, str(position), *(f"{rate:.3f}" for rate in rates)]
            for result in results
            for position, rates in enumerate(zip(*_rates(result), strict=True), 1)
        ],
    )


def _rates(result: "Evaluation") -> list[list[float]]:
    """The rates of the calibration, column by column."""
    return list(result.positions.tally.to_dict()["by_position"].values())
