"""Reading and writing model files."""

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from caesura.errors import CaesuraError
from caesura.files import write_bytes
from caesura.modelfile.configuration import decode, encode, pool_of, upgraded
from caesura.modelfile.container import DTYPES, opened, pack
from caesura.modelfile.model import Model
from caesura.modelfile.pools import fill_in_pool, shape_of, store_pool
from caesura.modelfile.strict_json import parse, write
from caesura.modelfile.weights import (
    by_name,
    check_entries,
    digest,
    fill_in,
    multiplied,
    skeletons,
    store,
)
from caesura.nets.architecture import describe
from caesura.nets.rnn import Net


def write_model(path: str | os.PathLike[str], model: Model[Net], dtype: str = "float32") -> None:
    """Write the model to a file, completely or not at all; equal models give equal bytes."""
    place = _place(path)
    nets = {name: describe(net) for name, net in model.nets.items()}
    pool = None if model.pool is None else shape_of(model.pool)
    document = encode(Model(model.kind, nets, model.strategy, model.training), pool)
    tensors = store(model.nets, dtype)
    if model.pool is not None:
        tensors |= store_pool(model.pool)
    document["sha256"] = digest(document, tensors)
    text = write(document)
    if (understood := parse(text, "configuration")) != document:
        raise CaesuraError(
            "The texts of the model have halves of characters (lone surrogates), "
            "which JSON cannot store."
        )
    decode(upgraded(understood))  # raises if the file could not be read again
    write_bytes(place, pack(text, tensors))


def read_model(path: str | os.PathLike[str]) -> Model[Net]:
    """Return the model of a file; raise one sentence if it is damaged, foreign or lying."""
    with opened(_place(path)) as container:
        document = parse(container.text, "configuration")
        today = upgraded(document)
        configuration, pool = decode(today), pool_of(today)
        nets = skeletons(configuration.nets)
        check_entries(container, by_name(nets) | ({} if pool is None else pool.shapes))
        tensors = container.tensors()
        # The sha256 is that of the document as it was written, before any upgrade.
        if digest(document, tensors) != document["sha256"]:
            raise CaesuraError(
                "It was changed or damaged: its sha256 is not the one it was written with."
            )
        tensors = multiplied(tensors)
        kind, strategy = configuration.kind, configuration.strategy
        found = Model(kind, fill_in(nets, tensors), strategy, configuration.training)
        return found if pool is None else replace(found, pool=fill_in_pool(pool, kind, tensors))


def read_info(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the configuration of a file in today's format, with sizes; weights are not read.

    So a file whose weights were altered is not noticed.
    """
    with opened(_place(path)) as container:
        document = upgraded(parse(container.text, "configuration"))
        nets, pool = skeletons(decode(document).nets), pool_of(document)
        check_entries(container, by_name(nets) | ({} if pool is None else pool.shapes))
        for name, net in nets.items():
            shapes = [leaf.shape for leaf in by_name({name: net}).values()]
            document["nets"][name]["parameters"] = sum(math.prod(shape) for shape in shapes)
        stored = {DTYPES[entry["dtype"]].name for entry in container.entries.values()}
        return document | {"bytes": container.size, "dtypes": sorted(stored)}


def _place(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise CaesuraError(f"The path of a model file is a string, not {type(path).__name__}.")
    return Path(path)
