"""The configuration of a model, everything but its weights, as a JSON document."""

from dataclasses import MISSING, asdict, fields, is_dataclass
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from caesura import __version__
from caesura.errors import CaesuraError, lookup
from caesura.kinds import KINDS
from caesura.modelfile.model import Model
from caesura.modelfile.pools import PoolShape
from caesura.modelfile.strict_json import plain
from caesura.modelfile.upgrades import UPGRADES
from caesura.nets.architecture import Architecture
from caesura.nets.rnn import NetName
from caesura.sequence import FrameSpec
from caesura.strategies import STRATEGIES

FORMAT = 2
KEYS = {"format", "caesura", "kind", "nets", "strategy", "training", "sha256"}
OPTIONAL = {"pool"}
MOST_NUMBER = 2**31

T = TypeVar("T")


def encode(model: Model[Architecture], pool: PoolShape | None = None) -> dict[str, Any]:
    """Return the document, without the sha256."""
    names = [name for name, known in KINDS.items() if type(model.kind) is known]
    if not names:
        raise CaesuraError(f"A model file cannot hold the kind '{type(model.kind).__name__}'.")
    document = {
        "format": FORMAT,
        "caesura": __version__,
        "kind": {"name": names[0], "fields": plain(asdict(model.kind), "kind")},
        "nets": {name: plain(asdict(net), "net") for name, net in model.nets.items()},
        "strategy": model.strategy,
        "training": plain(model.training, "training record"),
    }
    return document if pool is None else document | {"pool": plain(asdict(pool), "pool")}


def upgraded(document: Any) -> dict[str, Any]:
    """Return the document in today's format; raise if its format or its keys are unknown."""
    # The format comes first: nothing else is known about a newer one.
    if not isinstance(document, dict) or type(document.get("format")) is not int:
        raise CaesuraError("The configuration has no format number.")
    if (found := document["format"]) > FORMAT:
        writer = _text(document.get("caesura"), "caesura")[:20]
        raise CaesuraError(
            f"It was written by caesura {writer} in format {found}, but caesura {__version__} "
            f"reads formats up to {FORMAT}: install caesura {writer} or a later version."
        )
    if found not in UPGRADES and found != FORMAT:
        raise CaesuraError(f"There is no format {found}: they are 1 to {FORMAT}.")
    if (keys := document.keys() - OPTIONAL) != KEYS:
        odd = min(keys ^ KEYS)
        raise CaesuraError(
            f"The configuration should not {'have' if odd in document else 'lack'} the key '{odd}'."
        )
    for name in ("kind", "nets", "training"):
        if not isinstance(document[name], dict):
            raise CaesuraError(f"The configuration's '{name}' is not a JSON object.")
    for name in ("caesura", "sha256"):
        _text(document[name], name)
    for number in range(found, FORMAT):
        document = UPGRADES[number](document)
    return dict(document)


def decode(document: dict[str, Any]) -> Model[Architecture]:
    """Return the model of a document in today's format; raise for the first thing wrong with it."""
    kind, nets = document["kind"], document["nets"]
    if kind.keys() != {"name", "fields"}:
        raise CaesuraError("The configuration has no valid kind.")
    for name in nets:
        lookup(dict.fromkeys(get_args(NetName)), name, "net")
    model = Model(
        kind=_rebuild(lookup(KINDS, _text(kind["name"], "kind"), "kind"), kind["fields"], "kind"),
        nets={name: _rebuild(Architecture, net, f"{name} net") for name, net in nets.items()},
        strategy=_text(document["strategy"], "strategy"),
        training=document["training"],
    )
    lookup(STRATEGIES, model.strategy, "strategy")
    if not model.nets:
        raise CaesuraError("The model has no nets.")
    for name, net in model.nets.items():
        if net.net != name:
            raise CaesuraError(f"The {name} net is described as a {net.net} net.")
        if net.frame != model.kind.frame:
            own, wanted = _in_words(net.frame), _in_words(model.kind.frame)
            raise CaesuraError(f"The {name} net is for {own}, but the kind has {wanted}.")
    if (pool := pool_of(document)) is not None:
        pool.check(model.kind)
    return model


def pool_of(document: dict[str, Any]) -> PoolShape | None:
    """Return the pool that a document describes, if any."""
    return _rebuild(PoolShape, document["pool"], "pool") if "pool" in document else None


def _in_words(frame: FrameSpec) -> str:
    text = f"{frame.name} frames of size {frame.size}"
    if frame.informing:
        text += f" with {frame.informing} covariates"
    if frame.categories:
        text += f" with categories of {', '.join(map(str, frame.categories))} levels"
    return text


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise CaesuraError(f"The configuration's '{what}' is not a string.")
    return value


def _rebuild(cls: type[T], values: Any, what: str) -> T:
    """Return an instance of a dataclass; the names and types of its fields are checked first."""
    if not isinstance(values, dict):
        raise CaesuraError(f"The {what} is not described by a JSON object.")
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
    for name in values:
        if name not in known:
            raise CaesuraError(f"The {what} has a field '{name}' that this caesura does not know.")
    hints, typed = get_type_hints(cls), {}
    for name, field in known.items():
        if name in values:
            typed[name] = _typed(values[name], hints[name], f"field '{name}' of the {what}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise CaesuraError(f"The {what} lacks its field '{name}'.")
    return cls(**typed)


def _typed(value: Any, hint: Any, what: str) -> Any:
    """Return the value as its type hint wants it; lists become tuples, objects dataclasses."""
    union = get_origin(hint) in (Union, UnionType)
    for option in get_args(hint) if union else (hint,):
        if is_dataclass(option) and (isinstance(value, dict) or not union):
            return _rebuild(option, value, what)  # type: ignore[arg-type]
        if get_origin(option) is tuple and isinstance(value, list):
            return tuple(_typed(one, get_args(option)[0], what) for one in value)
        if get_origin(option) is Literal and isinstance(value, str):
            return lookup(dict(zip(get_args(option), get_args(option), strict=True)), value, what)
        if type(value) is option:
            if isinstance(value, int) and abs(value) > MOST_NUMBER:
                raise CaesuraError(f"The {what} is out of range.")
            return value
    if get_origin(hint) is tuple:
        raise CaesuraError(f"The {what} is not a list.")
    raise CaesuraError(f"The {what} cannot be of type {type(value).__name__}.")
