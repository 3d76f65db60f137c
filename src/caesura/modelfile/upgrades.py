"""Documents of older formats, turned into those of the next format.

An upgrade may meet a document that lies: its sha256 is verified only when the tensors are read, for
which the configuration must be known. So an upgrade moves values but never believes them; what it
does not understand stays as it is, and `configuration.decode` refuses it.
"""

from collections.abc import Callable
from typing import Any

from caesura.kinds.series.series import columns_of_format_1

NETS_OF_1 = {"both": "bidirectional", "forward": "forward", "none": "onegram"}


def _from_1(document: dict[str, Any]) -> dict[str, Any]:
    """Format 2 describes frames by an object, and nets by their names instead of directions."""
    nets = {name: _upgrade_net(net) for name, net in document["nets"].items()}
    return document | {"format": 2, "kind": _upgrade_kind(document["kind"]), "nets": nets}


def _upgrade_net(net: Any) -> Any:
    if not isinstance(net, dict):
        return net
    frame = {"name": net.get("frame")} | _pick(net, "size", "informing", "categories")
    direction: Any = net.get("direction")
    moved = {"direction", "frame", *frame}
    rest = {name: value for name, value in net.items() if name not in moved}
    known = isinstance(direction, str) and direction in NETS_OF_1
    return {"net": NETS_OF_1[direction] if known else direction, "frame": frame} | rest


def _pick(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def _upgrade_kind(kind: dict[str, Any]) -> dict[str, Any]:
    """Return the kind, {"name": ..., "fields": {...}}, with the fields of format 2."""
    if kind.get("name") != "series" or not isinstance(kind.get("fields"), dict):
        return kind
    return kind | {"fields": columns_of_format_1(kind["fields"])}


UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _from_1}
