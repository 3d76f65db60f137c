"""`caesura fill series`: the gaps of a table, written to another file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caesura.cli.engine import fill_many
from caesura.cli.filling import Asked, check_options, fill_one, load_for, write_filled
from caesura.cli.options import (
    Context,
    DataColumn,
    EngineOption,
    IdColumn,
    Json,
    Seed,
    StrategyOption,
    Workers,
    documented,
)
from caesura.cli.output import answer_json, answer_table, check_output, in_terminal, note
from caesura.cli.parsing import parse_settings
from caesura.errors import CaesuraError
from caesura.files import make_folder, replacing

if TYPE_CHECKING:
    from caesura.filler import Filler, SeriesFill
    from caesura.filler.tables import TableFiller
    from caesura.kinds import Item

SUFFIXES = (".csv", ".parquet")  # of tables that are written


@documented
def series(
    ctx: Context,
    table: Path,
    output: Path,
    model: str | None = None,
    time: str | None = None,
    columns: str | None = None,
    categorical: str | None = None,
    covariates: str | None = None,
    bounds: list[str] | None = None,
    freq: str | None = None,
    add_rows: bool = False,
    quantiles: str | None = None,
    samples: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="How many draws medians and quantiles are computed from."
        ),
    ] = 100,
    samples_to: Path | None = None,
    pictures: Path | None = None,
    adapt: str = "none",
    budget: str | None = None,
    recipe: str | None = None,
    settings: list[str] | None = None,
    strategy: StrategyOption = None,
    seed: Seed = 0,
    engine: EngineOption = None,
    workers: Workers = None,
    id_column: IdColumn = "id",
    data_column: DataColumn = "data",
    json: Json = False,
) -> None:
    """Fill the gaps of a table.

    By default the pretrained model `series` fills the table at once. With --adapt quick, it is
    tuned on the table first. With --adapt full, a net is trained on the table alone, which takes
    about a minute, and pooled with a Gaussian model of the table. Gaps get the medians, or the most
    probable level. Every other cell of a CSV file is written as it was read; columns of many
    different words stay as they are. The paths of the files that were written go to stdout.

    Parameters
    ----------
    table : TABLE
        A CSV or Parquet file; empty cells and NaN are missing, a row is a step in time.
    output : --output, -o FILE
        Where to write the filled table, as CSV or as Parquet.
    model : --model MODEL
        The model file to fill with. Default: the pretrained model for any table.
    time : --time COLUMN
        The column that holds the times of the rows. Default: the first column, if it holds times.
    columns : --columns COLUMN[,COLUMN]
        The columns to fill. Default: all columns of numbers and of few levels.
    categorical : --categorical COLUMN[,COLUMN]
        Columns to read as categories, whatever they hold, such as codes. Default: truth values, 0
        and 1, at most 20 different words.
    covariates : --covariates COLUMN[,COLUMN]
        Complete columns that help to fill the others, and are not filled themselves.
    bounds : --bounds [COLUMN=]LEAST:MOST
        Bounds of the fills of all columns, or of one: 0: is never negative, humidity=0:100 is for
        one column; may be given several times.
    freq : --freq FREQ
        The frequency of the times, as pandas writes it: h, 15min, MS. Default: inferred.
    add_rows : --add-rows
        Also write the rows that are absent between others.
    quantiles : --quantiles Q[,Q]
        Quantiles to write beside the medians, such as 0.05,0.95, as columns NAME_q0.05; for
        categories, the probabilities of their levels, as columns NAME=LEVEL.
    samples_to : --samples-to FILE
        Write the draws there: the filled tables one below the other, numbered in a column 'sample'.
    pictures : --pictures DIRECTORY
        Write there a picture of each column of numbers with gaps: observed points, medians and the
        interval of 90 %.
    adapt : --adapt none|quick|full
        none: the pretrained model as it is. quick: tuned on TABLE. full: a model that is trained on
        TABLE.
    budget : --budget TIME
        How long --adapt quick takes, and how long --adapt full fits the Gaussian model, such as 30s
        or 2min. Default: 30s.
    recipe : --recipe NAME
        How to train with --adapt full. Default: series.
    settings : --set NAME=VALUE
        A field of the recipe, such as steps=500, with --adapt full; may be given several times.
    """
    check_options(ctx, "time", "add_rows")
    asked = Asked(samples, strategy, seed, output, engine, workers, id_column, data_column, json)
    if engine is not None:
        if model is None:
            raise CaesuraError(
                "The option --engine needs a trained model: train one with `caesura train series`, "
                "and specify it with --model."
            )
        fields = {"add_rows": add_rows} | ({} if time is None else {"time": time})
        fill_many("series", model, table, asked, kind_fields=fields)
        return
    for file in [output] if samples_to is None else [output, samples_to]:
        check_output(file, (table, *([model] if model else [])))
        if file.suffix.lower() not in SUFFIXES:
            raise CaesuraError(f"The output '{file}' must end in .csv or .parquet.")
    levels = _levels(quantiles, samples)
    if adapt not in ("none", "quick", "full"):
        raise CaesuraError(f"The option --adapt is none, quick or full, not '{adapt}'.")
    if budget is not None and adapt == "none":
        raise CaesuraError("The option --budget is for --adapt quick and --adapt full.")
    learnt = _given(
        columns=_names(columns),
        categorical=_names(categorical),
        covariates=_names(covariates),
        bounds=_bounds(bounds or []),
        freq=freq,
    )
    training = _given(recipe=recipe, **parse_settings(settings or []))
    if model and (learnt or training or adapt != "none"):
        name = min(learnt | training, default="adapt")
        raise CaesuraError(
            f"The setting '{name}' is chosen in training, but the model '{model}' is already "
            "trained."
        )
    if not model and adapt != "full" and (training or strategy):
        name = min(training, default="strategy")
        raise CaesuraError(f"The setting '{name}' is for training: it needs --adapt full.")
    if pictures is not None:
        from caesura.plots import check_picture

        check_picture("a.png")
        make_folder(pictures)
    from caesura.hardware import keep_memory, use_all_cores

    if adapt == "full":
        keep_memory()
    use_all_cores()
    from caesura.kinds.series.table import read_table
    from caesura.kinds.series.times import seconds_of

    seconds = seconds_of(budget or "30s")
    if model:
        filler = load_for("series", model, table)
        given: Any = table
    else:
        given = read_table(table)  # once, to learn from and to fill
        fields = learnt | {"time": time}
        if adapt == "full":
            filler = _train(given, seed, seconds, training | fields)
        else:
            fitted = _fit(given, fields)
            filler = fitted if adapt == "none" else _tune(fitted, given, seed, seconds)
    kind: Any = filler.kind
    filler = filler.with_kind(time=kind.time if time is None else time, add_rows=add_rows)
    drawn = 0 if samples_to is None else samples
    fill = fill_one(filler, filler.kind.open(given), asked, samples=drawn)
    write_table(output, fill.item, _with_more_columns(fill, levels))
    files = [output]
    if samples_to is not None:
        write_table(samples_to, fill.item, stack(fill.samples))
        files.append(samples_to)
    if pictures is not None:
        files += _draw(fill, pictures)
    _answer(fill, files, json)


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _fit(table: Any, fields: dict[str, Any]) -> "TableFiller":
    from caesura.filler import load
    from caesura.filler.tables import TableFiller

    pretrained = load("series")
    assert isinstance(pretrained, TableFiller)
    return pretrained.fitted([table], **fields)


def _tune(fitted: "TableFiller", table: Any, seed: int, seconds: float) -> "Filler":
    from caesura.training.progress import showing
    from caesura.training.tuning import tune

    with showing() as report:
        found = tune(fitted, [table], seconds, seed=seed, report=report)
    if found.after < found.before:
        errors = f"{found.before:.3f} to {found.after:.3f} standard deviations"
        note(f"Tuning reduced the error of held-out numbers from {errors}.")
    else:
        note("Tuning did not help on held-out numbers: the pretrained model fills the table.")
    return found.filler


def _train(table: Any, seed: int, seconds: float, fields: dict[str, Any]) -> "Filler":
    from caesura.hardware import keep_compiled
    from caesura.training.progress import showing
    from caesura.training.train import train

    keep_compiled()
    with showing() as report:
        filler = train(
            [table], kind="series", seed=seed, pool=seconds, report=report, warn=note, **fields
        )
    if "pool" in filler.training:
        share = filler.training["pool"]["share"]
        note(f"A share of {share:.0%} of the fills comes from the Gaussian model of the table.")
    return filler


def write_table(output: Path, item: "Item", table: Any) -> None:
    """Write a filled table as CSV, like the table that was read, or as Parquet."""
    if output.suffix.lower() != ".parquet":
        write_filled(output, item, table)
        return
    import pandas as pd

    with replacing(output) as part:
        table.to_parquet(part, index=None if isinstance(table.index, pd.RangeIndex) else True)


def stack(tables: list[Any]) -> Any:
    """Return tables below each other, with the number of each in a column 'sample'."""
    import pandas as pd

    numbered = [table.assign(sample=number) for number, table in enumerate(tables, 1)]
    return pd.concat(numbered, ignore_index=isinstance(tables[0].index, pd.RangeIndex))


def _with_more_columns(fill: "SeriesFill", levels: list[float]) -> Any:
    """Return the best table with columns for quantiles and for the probabilities of levels."""
    if not levels:
        return fill.best
    kind: Any = fill.kind
    tables = fill.quantile(levels)
    more = {
        f"{column.name}_q{level:g}": table[column.name]
        for column in kind.filled[: kind.numbers]
        for level, table in zip(levels, tables, strict=True)
    }
    for name, shares in fill.probabilities().items():
        more |= {f"{name}={level}": shares[level].to_numpy() for level in shares}
    return fill.best.assign(**more)


def _draw(fill: "SeriesFill", directory: Path) -> list[Path]:
    """Draw each column of numbers that has gaps."""
    from caesura.plots import plot_filled, save_picture

    kind: Any = fill.kind
    files = []
    for column in kind.drawn(fill):
        # The column's name without what a path could mean.
        name = "".join(c if c.isalnum() or c in "-_. " else "_" for c in column.name).strip(". ")
        files.append(directory / f"{name or '_'}.png")
        save_picture(plot_filled([column], "90 % interval"), files[-1])
    return files


def _answer(fill: "SeriesFill", files: list[Path], json: bool) -> None:
    kind: Any = fill.kind
    table: Any = fill.item.original
    gaps = {column.name: int(table[column.name].isna().sum()) for column in kind.filled}
    if json:
        answer = {"files": [str(file) for file in files], "rows": len(table), "filled": gaps}
        answer_json(answer | {name: getattr(kind, name) for name in ("time", "freq", "calendar")})
        return
    if in_terminal():
        rows = [[name, str(count), f"{count / len(table):.1%}"] for name, count in gaps.items()]
        answer_table(["column", "filled", "share"], rows)
    print("\n".join(map(str, files)))


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _levels(text: str | None, samples: int) -> list[float]:
    """Return the levels of quantiles, if so many samples have them."""
    if text is None:
        return []
    try:
        levels = [float(level) for level in text.split(",")]
    except ValueError:
        raise CaesuraError(f"Quantiles are written as 0.05,0.5,0.95, not as '{text}'.") from None
    import numpy as np

    from caesura.scoring.scores import quantiles

    quantiles(np.zeros(samples), levels)  # an error, if there are too few
    return levels


def _bounds(given: list[str]) -> Any:
    """Return a pair for all columns, or pairs by their names."""
    pairs = dict(map(_bound, given))
    if "" not in pairs:
        return pairs or None
    if len(given) > 1:
        raise CaesuraError(
            "Bounds are given for all columns at once, or for each column by its name."
        )
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
