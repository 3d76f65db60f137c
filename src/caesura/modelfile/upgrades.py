"""Documents of older formats, turned into those of the next format.

An upgrade may meet a document that lies: its sha256 is verified only when the tensors are read, for
which the configuration must be known. So an upgrade moves values but never believes them; what it
does not understand stays as it is, and `configuration.decode` refuses it.
"""

from collections.abc import Callable
from typing import Any

from caesura.errors import CaesuraError

NETS_OF_1 = {"both": "bidirectional", "forward": "forward", "none": "onegram"}


def _from_1(document: dict[str, Any]) -> dict[str, Any]:
    """Format 2 describes frames and columns by objects, and nets by their names."""
    nets = {name: _upgrade_net(net) for name, net in document["nets"].items()}
    kind: dict[str, Any] = document["kind"]
    if kind.get("name") == "series" and isinstance(kind.get("fields"), dict):
        kind = kind | {"fields": columns_of_format_1(kind["fields"])}
    return document | {"format": 2, "kind": kind, "nets": nets}


def _upgrade_net(net: Any) -> Any:
    if not isinstance(net, dict):
        return net
    rest = dict(net)
    frame = {"name": rest.pop("frame", None)}
    frame |= {name: rest.pop(name) for name in ("size", "informing", "categories") if name in rest}
    direction = rest.pop("direction", None)
    known = isinstance(direction, str) and direction in NETS_OF_1
    return {"net": NETS_OF_1[direction] if known else direction, "frame": frame} | rest


def columns_of_format_1(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a `Series`, from those where each property of the columns was a list."""
    try:
        names, numbers = fields["names"], len(fields["lowest"])
        lists = {one: fields[one + "s"] for one in ("name", "place", "location", "scale")}
        lists["levels"] = fields["levels"]
        for bound in ("lowest", "highest"):
            lists[bound] = fields[bound] + [None] * (len(names) - numbers)
        lists["fills"] = [number < fields["filled"] for number in range(len(names))]
        columns = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
        others = ("width", "calendar", "freq", "time", "add_rows")
        return {"columns": columns} | {key: fields[key] for key in others if key in fields}
    except (KeyError, TypeError, ValueError) as error:
        raise CaesuraError("The columns of the series do not agree with each other.") from error


UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _from_1}
