"""The model that a command is given."""

from pathlib import Path
from typing import TYPE_CHECKING

from caesura.errors import CaesuraError

if TYPE_CHECKING:
    from caesura.filler import Filler


def load_for(kind: str, model: Path | None) -> "Filler":
    """The filler in a model file, if it is for this kind of data."""
    from caesura.filler import load

    if model is None:
        raise CaesuraError(
            "A model is needed: give its file with --model, or train one with "
            f"`caesura train {kind} DATA -o MODEL`."
        )
    filler = load(model)
    if (found := kind_of(filler)) != kind:
        raise CaesuraError(f"The model '{model}' is for {found}, not for {kind}.")
    return filler


def kind_of(filler: "Filler") -> str:
    """The name of the filler's kind."""
    from caesura.kinds import KINDS

    return next(name for name, kind in KINDS.items() if type(filler.kind) is kind)
