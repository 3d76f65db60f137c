"""`caesura evaluate`: how well strategies know gaps that are made in complete data."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caesura.cli.options import STRATEGY_NAMES, DataDirectory, Json, ModelArgument, Seed, documented
from caesura.cli.output import answer_json, answer_table, check_output, note
from caesura.cli.parsing import load_sources, parse_source
from caesura.errors import CaesuraError
from caesura.pretrained import find_model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from caesura.scoring.gaps import Evaluation


@documented
def evaluate(
    model: ModelArgument,
    data: list[str],
    gap: int = 5,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME...]",
            help=f"How to fill and score: one or more of {STRATEGY_NAMES}.",
            show_default="the model's own",
        ),
    ] = None,
    margin: int = 10,
    limit: int | None = None,
    seed: Seed = 0,
    picture: Path | None = None,
    folder: DataDirectory = None,
    json: Json = False,
) -> None:
    """Measure the negative log-likelihood of gaps in data that the model has not seen.

    The first table has the NLL of whole gaps, in nats; the second that of each step of a gap by
    itself. The last table shows how often stated probabilities come true: the calibration.

    Parameters
    ----------
    data : DATA
        Files, directories, or public sets by name (`caesura data list`): the split 'test', or
        another as name:split.
    gap : --gap STEPS
        The length of the gaps.
    margin : --margin STEPS
        How far gaps stay from the ends of a sequence.
    limit : --limit GAPS
        The largest number of gaps, evenly spread over the data. Default: all.
    picture : --picture FILE
        Draw the NLL by position in the gap, and for series the CRPS, the coverage of intervals and
        the PIT, as a .png, .svg or .pdf file.
    """
    if picture is not None:
        from caesura.plots import check_picture, save_picture

        check_picture(picture)
        check_output(picture, (find_model(model), *data))
    from caesura.filler import load
    from caesura.training.progress import counting

    filler = load(model)
    names = [name.strip() for name in strategy.split(",")] if strategy else [filler.strategy]
    if len({*names}) < len(names):
        raise CaesuraError(f"The list of strategies '{strategy}' has one of them twice.")
    for name in names:
        filler.method(name)  # mistakes are found before the work begins
    sources = [parse_source(name, filler.kind.name, "test") for name in data]
    items = [filler.kind.open(item) for item in filler.kind.items(load_sources(sources, folder))]
    choice: dict[str, Any] = {"gap": gap, "margin": margin, "limit": limit, "seed": seed}
    results = []
    for name in names:
        with counting(f"{name}: gaps") as count:
            results.append(filler.evaluate(items, strategy=name, report=count, **choice))
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
        {name: tally.crps for name, tally in numbers.items()},
        {name: tally.coverage for name, tally in numbers.items()},
        {name: tally.pit for name, tally in numbers.items()},
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
                "independent draws."
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
    answer_table(
        ["strategy", "position", *results[0].positions.tally.columns.values()],
        [
            [result.strategy, str(position), *(f"{rate:.3f}" for rate in rates)]
            for result in results
            for position, rates in enumerate(_rates(result), 1)
        ],
    )


def _rates(result: "Evaluation") -> Iterable[tuple[float, ...]]:
    """Return how often stated probabilities come true, position by position."""
    return zip(*result.positions.tally.to_dict()["by_position"].values(), strict=True)
