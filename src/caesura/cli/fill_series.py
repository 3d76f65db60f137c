"""`caesura fill series`: the gaps of a table, written to another file."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caesura.cli.fill_many import Many, fill_many
from caesura.cli.models import load_for
from caesura.cli.options import DataColumn, EngineOption, IdColumn, Json, Seed, StrategyOption
from caesura.cli.output import answer_json, answer_table, in_terminal, note, noted_warnings
from caesura.cli.places import check_output
from caesura.cli.settings import parse_settings
from caesura.errors import CaesuraError
from caesura.files import make_folder

if TYPE_CHECKING:
    from caesura.filler.filler import Filler

INTERVAL = (0.05, 0.95)  # in pictures
MEDIAN = 0.5


def series(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="A CSV or Parquet file; empty cells and NaN are missing, a row is a step in time.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write the filled table, as CSV or as Parquet.",
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="The model file to fill with.",
            show_default="one that is trained on TABLE itself",
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column that holds the times of the rows.",
            show_default="the first column, if it holds times",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN[,COLUMN]",
            help="The columns to fill.",
            show_default="all columns of numbers and of few levels",
        ),
    ] = None,
    categorical: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN[,COLUMN]",
            help="Columns that are categories, whatever they hold: codes, say.",
            show_default="truth values, 0 and 1, at most 20 different words",
        ),
    ] = None,
    covariates: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN[,COLUMN]", help="Columns that inform and are not filled; complete ones."
        ),
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[COLUMN=]LEAST:MOST",
            help="What the fills of a column, or of all, must lie between: 0: is never negative, "
            "humidity=0:100 is for one column; may be given several times.",
        ),
    ] = None,
    freq: Annotated[
        str | None,
        typer.Option(
            metavar="FREQ",
            help="The frequency of the times, as pandas writes it: h, 15min, MS.",
            show_default="found out",
        ),
    ] = None,
    add_rows: Annotated[
        bool,
        typer.Option("--add-rows", help="Write rows that are absent between the others, too."),
    ] = False,
    quantiles: Annotated[
        str | None,
        typer.Option(
            metavar="Q[,Q]",
            help="Quantiles to write beside the medians, such as 0.05,0.95, as columns NAME_q0.05; "
            "of categories, the shares of their levels are written, as NAME=LEVEL.",
        ),
    ] = None,
    samples: Annotated[
        int, typer.Option(metavar="N", help="How many draws medians and quantiles are made of.")
    ] = 100,
    samples_to: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the draws themselves there: the filled tables one below the other, "
            "numbered in a column 'sample'.",
        ),
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write a picture of each column of numbers that has gaps there: observed points, "
            "medians and the interval of 90 %.",
        ),
    ] = None,
    recipe: Annotated[
        str, typer.Option(metavar="NAME", help="How to train where no model is given.")
    ] = "series",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A field of the recipe or of the kind, such as steps=500; may be given several "
            "times.",
        ),
    ] = None,
    strategy: StrategyOption = None,
    seed: Seed = 0,
    engine: EngineOption = None,
    id_column: IdColumn = "id",
    data_column: DataColumn = "data",
    json: Json = False,
) -> None:
    """Fill the gaps of a table.

    Without a model, one is trained on the table itself, which takes a minute or so. The gaps get
    the medians of the draws, or the level that was drawn most often; every other cell of a CSV file
    is written as it was read, and columns of many different words come through untouched. The path
    of what was written goes to stdout.
    """
    if engine is not None:
        if model is None:
            raise CaesuraError(
                "Many tables are filled by one model: train it with `caesura train series`, and "
                "give it with --model."
            )
        fill_many(
            Many(engine, table, output, id_column, data_column, json),
            "series",
            model,
            {
                "samples": samples,
                "strategy": strategy,
                "seed": seed,
                "kind_fields": {"add_rows": add_rows} | ({} if time is None else {"time": time}),
            },
            not_for_many={
                "--columns": columns,
                "--covariates": covariates,
                "--bounds": bounds,
                "--freq": freq,
                "--set": settings,
                "--quantiles": quantiles,
                "--samples-to": samples_to,
                "--pictures": pictures,
            },
        )
        return
    outputs = [output] if samples_to is None else [output, samples_to]
    for file in outputs:
        check_output(file, (table, *([model] if model else [])))
        _check_suffix(file)
    levels = _levels(quantiles)
    asked = {
        "columns": _names(columns),
        "categorical": _names(categorical),
        "covariates": _names(covariates),
        "bounds": _bounds(bounds or []),
        "freq": freq,
    }
    overrides = {name: value for name, value in asked.items() if value is not None}
    overrides |= parse_settings(settings or [])
    if model and overrides:
        raise CaesuraError(
            f"'{min(overrides)}' is said in training, but the model '{model}' is trained already."
        )
    if pictures is not None:
        from caesura.plots import check_picture

        check_picture("a.png")
        make_folder(pictures)

    from caesura.kinds.series.table import read_table

    given = read_table(table)
    from caesura.hardware import use_all_cores

    use_all_cores()
    with noted_warnings():
        if model:
            filler = load_for("series", model)
        else:
            filler = _train(given, recipe, seed, overrides | {"time": time})
        kind: Any = filler.kind
        when = kind.time if time is None else time
        filler = replace(filler, kind=replace(kind, time=when, add_rows=add_rows))
        files = _fill(
            filler,
            table,
            given,
            output,
            levels=levels,
            samples=samples,
            samples_to=samples_to,
            pictures=pictures,
            how={"strategy": strategy, "seed": seed},
        )
    _answer(filler, given, files, json)


def _train(given: Any, recipe: str, seed: int, fields: dict[str, Any]) -> "Filler":
    from caesura.hardware import keep_compiled

    keep_compiled()
    from caesura.training.progress import showing
    from caesura.training.train import train

    with showing() as report:
        return train(
            [given], kind="series", recipe=recipe, seed=seed, report=report, warn=note, **fields
        )


def _fill(
    filler: "Filler",
    table: Path,
    given: Any,
    output: Path,
    *,
    levels: list[float],
    samples: int,
    samples_to: Path | None,
    pictures: Path | None,
    how: dict[str, Any],
) -> list[Path]:
    """The files that were written."""
    from caesura.cli.table_files import write_samples, write_table
    from caesura.filler.imputation import fill_quantiles, fill_samples, level_shares

    asked = [MEDIAN, *levels, *(INTERVAL if pictures is not None else ())]
    answers = fill_quantiles(filler, [given], asked, samples, **how)
    median, *others = (tables[0] for tables in answers)
    kind: Any = filler.kind
    beside = {
        f"{name}_q{level:g}": other[name]
        for name in kind.names[: kind.numbers]
        for level, other in zip(levels, others, strict=False)
    }
    if levels and kind.categories:
        (shares,) = level_shares(filler, [given], samples, **how)
        beside |= {f"{n}={level}": share[level] for n, share in shares.items() for level in share}
    write_table(output, table, given, median.assign(**beside))
    files = [output]
    if samples_to is not None:
        drawn = fill_samples(filler, [given], samples, **how)
        write_samples(samples_to, [tables[0] for tables in drawn])
        files.append(samples_to)
    if pictures is not None:
        files += _draw(kind, given, pictures, median, *others[-2:])
    return files


def _draw(kind: Any, given: Any, folder: Path, median: Any, low: Any, high: Any) -> list[Path]:
    import numpy as np

    from caesura.kinds.series.times import times_of
    from caesura.plots import Filled, plot_filled, save_picture

    index = times_of(median, kind.time)
    x = np.arange(len(median)) if index is None else index.tz_localize(None).to_numpy()
    files = []
    for name in kind.names[: kind.numbers]:
        known = given[name] if len(given) == len(median) else _aligned(kind, given, name, index)
        missing = known.isna().to_numpy()
        if not missing.any():
            continue
        curves = [t[name].to_numpy(dtype=float, na_value=np.nan) for t in (median, low, high)]
        file = folder / f"{_file_name(name)}.png"
        save_picture(plot_filled([Filled(name, x, missing, *curves)], "90 % interval"), file)
        files.append(file)
    return files


def _aligned(kind: Any, given: Any, name: str, index: Any) -> Any:
    """A column of the user's table with the rows that were added."""
    from caesura.kinds.series.times import times_of

    return given[name].set_axis(times_of(given, kind.time)).reindex(index)


def _file_name(column: str) -> str:
    """The column's name without what a path could mean."""
    return "".join(c if c.isalnum() or c in "-_. " else "_" for c in column).strip(". ") or "_"


def _answer(filler: "Filler", given: Any, files: list[Path], json: bool) -> None:
    kind: Any = filler.kind
    gaps = {name: int(given[name].isna().sum()) for name in kind.names[: kind.filled]}
    if json:
        told = {"files": [str(file) for file in files], "rows": len(given), "filled": gaps}
        times = {"time": kind.time, "freq": kind.freq, "calendar": kind.calendar}
        answer_json(told | times)
    elif in_terminal():
        rows = [[name, str(count), f"{count / len(given):.1%}"] for name, count in gaps.items()]
        answer_table(["column", "filled", "share"], rows)
        print("\n".join(map(str, files)))
    else:
        print("\n".join(map(str, files)))


def _check_suffix(file: Path) -> None:
    from caesura.kinds.series.table import SUFFIXES

    if file.suffix.lower() not in SUFFIXES:
        raise CaesuraError(f"A table is written as *.csv or *.parquet, not as '{file.name}'.")


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _levels(text: str | None) -> list[float]:
    try:
        return [] if text is None else [float(level) for level in text.split(",")]
    except ValueError:
        raise CaesuraError(f"Quantiles are written as 0.05,0.5,0.95, not as '{text}'.") from None


def _bounds(given: list[str]) -> Any:
    """A pair for all columns, or pairs by their names."""
    pairs = dict(map(_bound, given))
    if "" not in pairs:
        return pairs or None
    if len(given) > 1:
        raise CaesuraError("Bounds are given for all columns at once, or for each by its name.")
    return pairs[""]


def _bound(text: str) -> tuple[str, tuple[float | None, float | None]]:
    name, _, span = text.rpartition("=")
    low, colon, high = span.partition(":")
    try:
        if not colon:
            raise ValueError
        return name, (float(low) if low else None, float(high) if high else None)
    except ValueError:
        raise CaesuraError(
            f"Bounds are written as 0:, as 0:100 or as column=0:100, not as '{text}'."
        ) from None
