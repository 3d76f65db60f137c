"""How a reader may answer: rightly, or by one sentence."""

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from caesura.errors import CaesuraError, CaesuraWarning
from sentences import checked

FOLDER = Path(tempfile.mkdtemp(prefix="hostile-"))


def answer(ask: Callable[..., Any], *given: Any) -> Any:
    """What is answered; None where the answer is one sentence. Whatever else is raised goes on."""
    try:
        with warnings.catch_warnings(action="error"):  # a warning of another library, too
            warnings.simplefilter("ignore", CaesuraWarning)
            return ask(*given)
    except CaesuraError as error:
        checked(error)
        return None


def written(name: str, content: bytes) -> Path:
    place = FOLDER / name
    place.write_bytes(content)
    return place
