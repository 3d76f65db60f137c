"""The models that come with the library, each a file here with its card beside it."""

import os
from pathlib import Path

from caesura.errors import CaesuraError

FOLDER = Path(__file__).parent
NAMES = ("text", "music")  # each is called after the kind of data that it is for


def find_model(model: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The file of a model that is given by name or by path.

    The string 'text' is always the model of that name, whatever lies in the folder that one works
    in; a file of the same name is './text', or a `Path`.
    """
    if isinstance(model, str) and model in NAMES:
        place = FOLDER / f"{model}.safetensors"
        if not place.exists():
            raise CaesuraError(
                f"The model '{model}' is not part of this installation: train one with "
                f"`caesura train {model} DATA -o MODEL`."
            )
        return place
    if isinstance(model, str) and model.isidentifier() and not os.path.exists(model):
        known = " and ".join(f"'{name}'" for name in NAMES)
        raise CaesuraError(
            f"There is no file '{model}', and the models that come with caesura are {known}."
        )
    return model
