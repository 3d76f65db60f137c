"""The parts that the fill commands share: their options, loading a model, filling one item."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from caesura.cli.options import Context, Engine
from caesura.cli.output import answer_json, check_output, note
from caesura.errors import CaesuraError
from caesura.pretrained import find_model

if TYPE_CHECKING:
    from caesura.filler import Fill, Filler
    from caesura.kinds import Item
    from caesura.training.progress import Count

FOR_MANY = {"workers", "id_column", "data_column"}
ENDINGS = {  # of a fill whose time was limited
    "settled": "The ranking has settled: the last attempt changed nothing.",
    "out of time": "The time was up: with more seconds, better fills may be found.",
    "finished": "All attempts are made, and the last one still changed the ranking.",
}
FOR_BOTH = {"model", "samples", "strategy", "seed", "output", "engine", "json"}


class Asked(NamedTuple):
    """The options that all of these commands have."""

    samples: int | None
    strategy: str | None
    seed: int
    output: Path | None
    engine: Engine | None
    workers: int | None
    id_column: str
    data_column: str
    json: bool


def check_options(ctx: Context, *for_both: str) -> None:
    """Raise an error if an option was given that would be ignored.

    `for_both` are those options of this command that hold for one file and for many.
    """
    many = ctx.params["engine"] is not None
    for param in ctx.command.params:
        source = ctx.get_parameter_source(param.name or "")
        if param.param_type_name != "option" or source is None or source.name != "COMMANDLINE":
            continue
        option = max(param.opts, key=len)
        if not many and param.name in FOR_MANY:
            raise CaesuraError(
                f"The option {option} can only be used with --engine, which fills many files."
            )
        if many and param.name not in FOR_MANY | FOR_BOTH | {*for_both}:
            raise CaesuraError(
                f"The option {option} cannot be used with --engine, which fills many files with "
                "one trained model and writes nothing but the fills."
            )


def check_kind(kind: str, model: str) -> None:
    """Raise an error if a model is not for this kind of data; its weights are not read."""
    from caesura.modelfile import read_info

    if (found := read_info(find_model(model))["kind"]["name"]) != kind:
        raise CaesuraError(f"The model '{model}' is for {found}, not for {kind}.")


def load_for(kind: str, model: str, source: str | Path, *outputs: Path | None) -> "Filler":
    """Return the filler in a model file, if it is for this kind and the outputs can be written."""
    from caesura.filler import load

    for output in outputs:
        if output is not None:
            check_output(output, (source, find_model(model)))
    check_kind(kind, model)
    return load(model)


def check_suffix(output: Path | None, item: "Item", *others: str) -> None:
    """Raise an error if the name of the output does not fit what will be written there."""
    known = (item.suffix, *others)
    if output is not None and output.suffix.lower() not in known:
        raise CaesuraError(
            f"The output '{output}' must end in {' or '.join(known)} for this input."
        )


def fill_one(filler: "Filler", item: "Item", asked: Asked, **more: Any) -> Any:
    """Return the fill; progress is shown if there are several passes.

    `more` are other arguments of `Filler.fill`.
    """
    from caesura.training.progress import counting

    with ExitStack() as shown:
        count: Count | None = None

        def report(done: int, total: int) -> None:
            nonlocal count
            if count is None and done < total:
                count = shown.enter_context(counting("stretches filled"))
            if count is not None:
                count(done, total)

        samples, strategy, seed = asked[:3]
        returned = samples if samples and asked.json else 0  # nothing else shows them
        request = {"samples": returned, "draws": samples, "strategy": strategy, "seed": seed}
        fill = filler.fill(item, report=report, **request | more)
    if more.get("seconds") is not None and len(fill.places):
        note(ENDINGS[fill.ended])
    return fill


def write_filled(output: Path, item: "Item", filled: Any) -> None:
    """Write a fill to a file like the one that was read."""
    from caesura.files import write_bytes

    content = item.content(filled)
    write_bytes(output, content.encode() if isinstance(content, str) else content)


def write_best(fill: "Fill", asked: Asked, filled: Any = None, **more: Any) -> None:
    """Write the best fill to a file, if one was named, and answer with JSON, if asked to.

    `filled` is another form of the best fill, and `more` is added to the answer.
    """
    if asked.output is not None:
        write_filled(asked.output, fill.item, fill.best if filled is None else filled)
    if asked.json:
        files = {"files": [str(asked.output)]} if asked.output else {}
        answer_json(fill.to_dict() | files | more)
