"""Strict JSON: nothing that two readers could understand differently."""

import json
import math
from typing import Any

import numpy as np

from caesura.errors import CaesuraError

MOST_NESTING = 64


def parse(text: bytes | str, what: str) -> Any:
    """Return the value of a text; keys are unique, numbers finite, and nesting limited."""
    try:
        value = json.loads(
            text.decode("utf-8") if isinstance(text, bytes) else text,
            object_pairs_hook=_without_twins,
            parse_float=_finite,
            parse_constant=_finite,
        )
    except CaesuraError:
        raise
    except (ValueError, RecursionError):
        raise CaesuraError(f"The {what} is not valid JSON.") from None
    return plain(value, what)


def write(value: Any) -> str:
    """Return the one ASCII text of a value, whatever the order of its keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def plain(value: Any, what: str, nesting: int = MOST_NESTING) -> Any:
    """Return the value as JSON would give it back; a number that is not finite becomes null."""
    if nesting == 0:
        raise CaesuraError(f"The {what} is nested more than {MOST_NESTING} levels deep.")
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise CaesuraError(f"The {what} has the key {key!r}, but JSON needs a string.")
        return {key: plain(inner, what, nesting - 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner, what, nesting - 1) for inner in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    raise CaesuraError(f"The {what} holds a {type(value).__name__}, which JSON cannot hold.")


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise CaesuraError("A JSON object has the same key twice.")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number
