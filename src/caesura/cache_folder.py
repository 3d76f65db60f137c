"""Where files lie that can be had again."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Our folder in the user's cache."""
    # The XDG specification has relative paths ignored.
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "caesura"
