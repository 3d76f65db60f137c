"""The models that come with the library, each a file here with its card beside it."""

import hashlib
import os
from pathlib import Path

from caesura.errors import CaesuraError, FileMissingError
from caesura.pretrained.hub import PREFIX, fetch

DIRECTORY = Path(__file__).parent
# The default strategy of each model: the one that measured best among those that fill a gap of five
# at once on two CPU cores, without compilation (the cards have the numbers; for music, `sir`
# has 2 to 6 % fewer nats, and takes seconds). The files were written before it was known.
STRATEGIES = {
    "text": "search",
    "text-large": "search",
    "music": "bothways",
    "papyri": "search",
    "series": "bothways",
}
KINDS = {"text-large": "text", "papyri": "text"}  # where the name is not that of the kind
NAMES = tuple(STRATEGIES)
SUMS = "SHA256SUMS"  # of the weights, beside them: `sha256sum *.safetensors > SHA256SUMS`


def find_model(model: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Return the file of a model that is given by its name, its path or its address on the Hub.

    The string "text" is always the model of that name, whatever is in the current directory; a file
    of the same name is "./text", or a `Path`.
    """
    if isinstance(model, str) and model in NAMES:
        file = DIRECTORY / f"{model}.safetensors"
        if not file.exists():
            raise CaesuraError(
                f"The model '{model}' is not part of this installation: train one with "
                f"`caesura train {KINDS.get(model, model)} DATA -o MODEL`."
            )
        return file
    if isinstance(model, str) and model.startswith(PREFIX):
        return fetch(model)
    if isinstance(model, str) and model.isidentifier() and not os.path.exists(model):
        *others, last = (f"'{name}'" for name in NAMES)
        known = f"{', '.join(others)} and {last}"
        raise FileMissingError(
            f"There is no file '{model}', and the models that come with caesura are {known}."
        )
    return model


def check_weights(model: str | os.PathLike[str]) -> None:
    """Raise an error if the file of a model that comes with the library was changed.

    Other models are not checked here: a file has its own sha256 inside, which finds damage.
    """
    if not (isinstance(model, str) and model in NAMES):
        return
    name = f"{model}.safetensors"
    with open(DIRECTORY / name, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    sums = DIRECTORY / SUMS
    known = sums.read_text(encoding="utf-8").splitlines() if sums.exists() else []
    if f"{found}  {name}" not in known:
        raise CaesuraError(
            f"The file of the model '{model}' is not the one that came with caesura: its sha256 is "
            f"not in '{sums}'; install caesura again."
        )


def default_strategy(model: str | os.PathLike[str]) -> str | None:
    """Return the default strategy of a model that comes with the library; None for others."""
    return STRATEGIES.get(model) if isinstance(model, str) else None
