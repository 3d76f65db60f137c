"""Fields of a recipe or of a kind, as they are typed behind --set."""

import inspect
from typing import Any

from caesura.errors import CaesuraError


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """The fields by their names; what a command has an option of its own for is refused."""
    from caesura.training.recipe import parse_setting
    from caesura.training.train import train as learn

    overrides = dict(parse_setting(setting) for setting in settings)
    for name in overrides.keys() & inspect.signature(learn).parameters.keys():
        raise CaesuraError(f"'{name}' cannot be set so: `caesura train --help` has its own option.")
    return overrides
