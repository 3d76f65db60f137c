"""The model that a command is given."""

import os
from typing import TYPE_CHECKING

from caesura.errors import CaesuraError

if TYPE_CHECKING:
    from caesura.filler.filler import Filler

ModelPlace = str | os.PathLike[str]


def load_model(model: ModelPlace) -> "Filler":
    """The filler, in a process that keeps what it compiles."""
    from caesura.hardware import keep_compiled

    keep_compiled()
    from caesura.filler.filler import load

    return load(model)


def load_for(kind: str, model: ModelPlace) -> "Filler":
    """The filler in a model file, if it is for this kind of data."""
    filler = load_model(model)
    if (found := kind_of(filler)) != kind:
        raise CaesuraError(f"The model '{model}' is for {found}, not for {kind}.")
    return filler


def kind_of(filler: "Filler") -> str:
    """The name of the filler's kind."""
    from caesura.kinds import KINDS

    return next(name for name, kind in KINDS.items() if type(filler.kind) is kind)
