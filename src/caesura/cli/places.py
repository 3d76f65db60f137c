"""Where a command may write: known before the work begins, and never onto what it reads."""

import os
from collections.abc import Iterable
from pathlib import Path

from caesura.errors import CaesuraError


def check_output(output: Path, inputs: Iterable[str | os.PathLike[str]]) -> None:
    """One sentence if the file could not be written in the end, or is one of the inputs."""
    if os.path.isdir(output):
        raise CaesuraError(f"The output '{output}' is a folder, where a file is needed.")
    folder = output.parent
    if not os.path.isdir(folder):
        raise CaesuraError(f"There is no folder '{folder}' to write '{output.name}' into.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CaesuraError(f"The folder '{folder}' cannot be written into.")
    try:
        os.lstat(output)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise CaesuraError(f"Cannot write '{output}': {(error.strerror or '').lower()}.") from error
    for given in inputs:
        if os.path.exists(given) and os.path.exists(output) and os.path.samefile(given, output):
            raise CaesuraError(f"The output '{output}' is what is read: choose another file.")
