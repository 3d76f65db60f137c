"""What the commands that fill share: loading a model, filling one item, writing it."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caesura.cli.options import Context, Engine
from caesura.errors import CaesuraError

if TYPE_CHECKING:
    from caesura.filler import Fill, Filler, Request
    from caesura.kinds.base import Item
    from caesura.training.progress import Counter

FOR_MANY = {"id_column", "data_column"}
FOR_BOTH = {"model", "samples", "strategy", "seed", "output", "engine", "json"}


def check_options(ctx: Context, engine: Engine | None, *for_both: str) -> None:
    """Raise an error if an option was given that would be ignored.

    Parameters
    ----------
    ctx
        The command, and what was typed.
    engine
        Whether many files are filled.
    for_both
        The names of those options of this command that hold for one file and for many.
    """
    for param in ctx.command.params:
        source = ctx.get_parameter_source(param.name or "")
        if param.param_type_name != "option" or source is None or source.name != "COMMANDLINE":
            continue
        option = max(param.opts, key=len)
        if engine is None and param.name in FOR_MANY:
            raise CaesuraError(f"{option} needs --engine: it is for Parquet files of many rows.")
        if engine is not None and param.name not in FOR_MANY | FOR_BOTH | {*for_both}:
            raise CaesuraError(
                f"{option} cannot be used with --engine, which fills many files with one trained "
                "model and writes nothing but the fills."
            )


def check_kind(kind: str, model: str | os.PathLike[str]) -> None:
    """Raise an error if a model is not for this kind of data; its weights are not read."""
    from caesura.modelfile import read_info
    from caesura.pretrained import find_model

    if (found := read_info(find_model(model))["kind"]["name"]) != kind:
        raise CaesuraError(f"The model '{model}' is for {found}, not for {kind}.")


def load_for(kind: str, model: str) -> "Filler":
    """Return the filler in a model file, if it is for this kind of data."""
    from caesura.filler import load

    check_kind(kind, model)
    return load(model)


def fill_one(filler: "Filler", request: "Request") -> "Fill":
    """Return the fill; progress is shown if there are several passes."""
    from caesura.training.progress import counting

    with ExitStack() as shown:
        counter: Counter | None = None

        def report(done: int, total: int) -> None:
            nonlocal counter
            if counter is None and done < total:
                counter = shown.enter_context(counting("stretches filled"))
            if counter is not None:
                counter(done, total)

        return filler.fill(report=report, **vars(request))


def check_suffix(output: Path, item: "Item", *others: str) -> None:
    """Raise an error if the name of the output does not fit what will be written there."""
    known = (item.suffix, *others)
    if output.suffix.lower() not in known:
        raise CaesuraError(
            f"The output '{output}' must end in {' or '.join(known)}, as this input is filled."
        )


def write_filled(output: Path, item: "Item", filled: Any) -> None:
    """Write a fill to a file like the one that was read."""
    from caesura.files import write_bytes

    content = item.content(filled)
    write_bytes(output, content.encode() if isinstance(content, str) else content)
