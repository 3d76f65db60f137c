"""Where a command may write: checked before the work begins, and never onto its inputs."""

import os
from collections.abc import Iterable
from pathlib import Path

from caesura.errors import CaesuraError


def check_output(output: Path, inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Raise an error if the file cannot be written, or is one of the inputs."""
    if os.path.isdir(output):
        raise CaesuraError(f"The output '{output}' is a directory, but must be a file.")
    directory = output.parent
    if not os.path.isdir(directory):
        raise CaesuraError(f"There is no directory '{directory}' to write '{output.name}' into.")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise CaesuraError(f"The directory '{directory}' is not writable.")
    try:
        os.lstat(output)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise CaesuraError(f"Cannot write '{output}': {(error.strerror or '').lower()}.") from error
    for given in inputs:
        if os.path.exists(given) and os.path.exists(output) and os.path.samefile(given, output):
            raise CaesuraError(f"The output '{output}' is also an input: choose another file.")
