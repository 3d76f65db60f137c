"""Model files, written and read."""

import math
import os
from pathlib import Path
from typing import Any, NamedTuple

from caesura.errors import CaesuraError
from caesura.files import write_bytes
from caesura.kinds.base import Kind
from caesura.modelfile.configuration import Configuration, decode, encode
from caesura.modelfile.container import DTYPES, opened, pack
from caesura.modelfile.strict_json import parse, write
from caesura.modelfile.weights import (
    by_name,
    check_entries,
    digest,
    fill_in,
    skeletons,
    store,
)
from caesura.nets.architecture import describe
from caesura.nets.rnn import Net
from caesura.strategies.base import NetName


class Model(NamedTuple):
    """All that a file holds of a filler."""

    kind: Kind
    nets: dict[NetName, Net]
    strategy: str
    training: dict[str, Any]


def write_model(path: str | os.PathLike[str], model: Model, dtype: str = "float32") -> None:
    """The model as a file that is whole or not there; the same model gives the same bytes."""
    place = _place(path)
    nets = {name: describe(net) for name, net in model.nets.items()}
    document = encode(Configuration(model.kind, nets, model.strategy, model.training))
    tensors = store(model.nets, dtype)
    document["sha256"] = digest(document, tensors)
    text = write(document)
    if (understood := parse(text, "configuration")) != document:
        raise CaesuraError("The texts of the model hold halves of characters, which JSON joins.")
    decode(understood)  # what is written can be read
    write_bytes(place, pack(text, tensors))


def read_model(path: str | os.PathLike[str]) -> Model:
    """The model of a file; one that is damaged, foreign or lying gets one sentence."""
    with opened(_place(path)) as container:
        document = parse(container.text, "configuration")
        configuration = decode(document)
        nets = skeletons(configuration.nets)
        check_entries(container, by_name(nets))
        tensors = container.tensors()
        if digest(document, tensors) != document["sha256"]:
            raise CaesuraError("It was altered: its sha256 is not the one it was written with.")
        return Model(
            configuration.kind,
            fill_in(nets, tensors),
            configuration.strategy,
            configuration.training,
        )


def read_info(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a file says of its model, without a look at the weights: they may be altered."""
    with opened(_place(path)) as container:
        document = parse(container.text, "configuration")
        nets = skeletons(decode(document).nets)
        check_entries(container, by_name(nets))
        for name, net in nets.items():
            shapes = [leaf.shape for leaf in by_name({name: net}).values()]
            document["nets"][name]["parameters"] = sum(math.prod(shape) for shape in shapes)
        stored = {DTYPES[entry["dtype"]].name for entry in container.entries.values()}
        return document | {"bytes": container.size, "dtypes": sorted(stored)}


def _place(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise CaesuraError(f"The path of a model file is a string, not {type(path).__name__}.")
    return Path(path)
