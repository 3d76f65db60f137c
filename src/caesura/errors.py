"""What is raised for a user's mistake, always one sentence long."""

import difflib
from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


class CaesuraError(ValueError):
    """A mistake in what the user gave; its text is one sentence that says what to change."""


def lookup(registry: Mapping[str, T], name: str, what: str) -> T:
    """The entry called `name`, or one sentence that suggests the nearest known name."""
    if name in registry:
        return registry[name]
    near = difflib.get_close_matches(str(name), registry, n=1, cutoff=0.4)
    known = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(sorted(registry))}."
    raise CaesuraError(f"There is no {what} called '{name}': {known}")
