"""Fields of a recipe or of a kind, as they are given with --set."""

import inspect
from typing import Any

from caesura.errors import CaesuraError


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """Return the fields by name; an argument of `caesura.train` is not one of them."""
    from caesura.training.recipe import parse_setting
    from caesura.training.train import train

    fields = dict(parse_setting(setting) for setting in settings)
    for name in fields.keys() & inspect.signature(train).parameters.keys():
        raise CaesuraError(
            f"'{name}' cannot be given with --set, which is for fields of a recipe or of a kind; "
            "see --help for the other options."
        )
    return fields
