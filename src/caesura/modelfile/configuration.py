"""What a model is, without its weights, as a JSON document."""

from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from caesura import __version__
from caesura.errors import CaesuraError, lookup
from caesura.kinds import KINDS, Kind
from caesura.modelfile.strict_json import plain
from caesura.nets.architecture import Architecture
from caesura.strategies import STRATEGIES
from caesura.strategies.base import NetName

FORMAT = 1
KEYS = {"format", "caesura", "kind", "nets", "strategy", "training", "sha256"}
MOST_NUMBER = 2**31

T = TypeVar("T")


@dataclass(frozen=True)
class Configuration:
    """A kind of data, the architectures of the nets, a strategy, and how they were trained."""

    kind: Kind
    nets: dict[NetName, Architecture]
    strategy: str
    training: dict[str, Any]

    def __post_init__(self) -> None:
        lookup(STRATEGIES, self.strategy, "strategy")
        if not self.nets:
            raise CaesuraError("The model has no nets.")
        frames = (self.kind.frame, self.kind.size)
        for name, net in self.nets.items():
            if (net.frame, net.size) != frames:
                raise CaesuraError(
                    f"The {name} net is for {net.frame} frames of size {net.size}, "
                    f"but the kind has {frames[0]} ones of size {frames[1]}."
                )
            if net.informing != self.kind.informing:
                raise CaesuraError(
                    f"The {name} net is for {net.informing} covariates, "
                    f"but the kind has {self.kind.informing}."
                )
            if net.categories != self.kind.categories:
                raise CaesuraError(f"The {name} net is for other categories than the kind's.")


def encode(configuration: Configuration) -> dict[str, Any]:
    """The document, but for the sha256."""
    kind = configuration.kind
    names = [name for name, known in KINDS.items() if type(kind) is known]
    if not names:
        raise CaesuraError(f"A model file cannot hold the kind '{type(kind).__name__}'.")
    return {
        "format": FORMAT,
        "caesura": __version__,
        "kind": {"name": names[0], "fields": plain(asdict(kind), "kind")},
        "nets": {name: plain(asdict(net), "net") for name, net in configuration.nets.items()},
        "strategy": configuration.strategy,
        "training": plain(configuration.training, "training record"),
    }


def decode(document: Any) -> Configuration:
    """The configuration, or one sentence about the first thing that is wrong with it."""
    _check_keys(document)
    kind, nets, strategy = (document[name] for name in ("kind", "nets", "strategy"))
    if kind.keys() != {"name", "fields"}:
        raise CaesuraError("The configuration has no proper kind.")
    for name in nets:
        lookup(dict.fromkeys(get_args(NetName)), name, "net")
    return Configuration(
        kind=_rebuild(lookup(KINDS, _text(kind["name"], "kind"), "kind"), kind["fields"], "kind"),
        nets={name: _rebuild(Architecture, net, f"{name} net") for name, net in nets.items()},
        strategy=_text(strategy, "strategy"),
        training=document["training"],
    )


def _check_keys(document: Any) -> None:
    """The format first: of a later one, nothing else is known."""
    if not isinstance(document, dict) or type(document.get("format")) is not int:
        raise CaesuraError("The configuration has no format number.")
    if (found := document["format"]) > FORMAT:
        raise CaesuraError(
            f"It was written by a newer caesura (format {found}); this one reads format {FORMAT}."
        )
    if found < FORMAT:
        raise CaesuraError(f"There is no format {found}; this caesura reads format {FORMAT}.")
    if document.keys() != KEYS:
        odd = min(document.keys() ^ KEYS)
        raise CaesuraError(
            f"The configuration should not {'have' if odd in document else 'lack'} the key '{odd}'."
        )
    for name in ("kind", "nets", "training"):
        if not isinstance(document[name], dict):
            raise CaesuraError(f"The configuration's '{name}' is not a JSON object.")
    for name in ("caesura", "sha256"):
        _text(document[name], name)


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise CaesuraError(f"The configuration's '{what}' is not given by a string.")
    return value


def _rebuild(cls: type[T], values: Any, what: str) -> T:
    """An instance of a dataclass from its fields, whose names and types are checked first."""
    if not isinstance(values, dict):
        raise CaesuraError(f"The {what} is not described by a JSON object.")
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
    for name in values:
        if name not in known:
            raise CaesuraError(f"The {what} has a field '{name}' that this caesura does not know.")
    hints = get_type_hints(cls)
    for name, field in known.items():
        if name not in values:
            if field.default is MISSING:
                raise CaesuraError(f"The {what} lacks its field '{name}'.")
            continue
        values = values | {name: _typed(values[name], hints[name], f"field '{name}' of the {what}")}
    return cls(**values)


def _typed(value: Any, hint: Any, what: str) -> Any:
    """The value as its type wants it: a list becomes a tuple."""
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise CaesuraError(f"The {what} is not a list.")
        return tuple(_typed(one, get_args(hint)[0], what) for one in value)
    if type(value) not in (get_args(hint) or (hint,)):
        raise CaesuraError(f"The {what} cannot be of type {type(value).__name__}.")
    if isinstance(value, int) and abs(value) > MOST_NUMBER:
        raise CaesuraError(f"The {what} is out of range.")
    return value
