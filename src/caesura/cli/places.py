"""Where a command may write: known before the work begins, and never onto what it reads."""

import os
from collections.abc import Iterable
from pathlib import Path

from caesura.errors import CaesuraError


def check_output(output: Path, inputs: Iterable[str | os.PathLike[str]]) -> None:
    """One sentence if the file could not be written in the end, or is one of the inputs."""
    if output.is_dir():
        raise CaesuraError(f"The output '{output}' is a folder, where a file is needed.")
    folder = output.parent
    if not folder.is_dir():
        raise CaesuraError(f"There is no folder '{folder}' to write '{output.name}' into.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CaesuraError(f"The folder '{folder}' cannot be written into.")
    for given in inputs:
        if os.path.exists(given) and output.exists() and os.path.samefile(given, output):
            raise CaesuraError(f"The output '{output}' is what is read: choose another file.")
