"""Recipes: everything that training needs to know, in one TOML file each."""

import math
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, asdict, dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from caesura.errors import CaesuraError, lookup, whole_number
from caesura.files import cannot_read

DEFAULT = "nade"
DEFAULTS = {"series": "series"}  # kinds that have another default
Numbers = tuple[float, ...]
Steps = int | tuple[int, int]
MOST_COUNTED = 2**31 - 1  # the largest integer on a device
OLD_NAMES = {"transpose": "shift"}  # fields as they are called in recipes and models of 0.1


@dataclass(frozen=True)
class Recipe:
    """One net, and how it is trained; `caesura info MODEL` shows the fields of a model."""

    net: Literal["bidirectional", "forward"]
    strategy: str  # the filler's default
    cell: str
    hidden: int
    layers: int
    head_hidden: int  # units of a hidden layer in the head, which combines past and future; 0: none
    missing_input: str
    # What the net does not see: gaps of `gap` steps (0: none), or of [least, most], one in every
    # `every` steps. What it predicts: all steps, or those in gaps.
    gap: Steps
    every: int
    targets: Literal["all", "gaps"]
    # An update uses `batch` stretches of `length` steps. The first `burn_in` steps are not
    # predicted, and with a bidirectional net neither are the last.
    steps: int
    batch: int
    length: int
    burn_in: int
    # With several learning rates, all are tried side by side, and the best on validation is kept.
    optimiser: Literal["sgd", "adam"]
    learning_rate: Numbers
    decay: Literal["linear", "cosine"]
    warm_up: float  # the share of the updates in which the learning rate rises
    clip: float
    weight_decay: float
    dropout: float
    # Every stretch is shifted by up to so many components. For music this transposes by semitones,
    # without moving a note off the keyboard.
    shift: int
    # Validation is done every `validate_every` updates, on about `valid_steps` steps. Training ends
    # after `patience` validations without a gain (0: never). `held_out` is the share of the data to
    # validate on, if no validation data is given.
    validate_every: int
    patience: int
    held_out: float
    valid_steps: int
    precision: Literal["auto", "float32", "bfloat16"]  # auto: bfloat16 on a GPU
    # Fields added later have defaults, so older recipes still load.
    head: str = ""  # empty: the kind's own
    parts: float = 0.0  # the share of the stretches in which parts of frames are unseen, too
    holes: float = 0.0  # the share of the stretches in which single values and runs are unseen
    # short: a gap's length has a probability proportional to 1 / length², and `every` is the mean
    # number of observed steps between two gaps.
    gap_lengths: Literal["even", "short"] = "even"
    # The share of the stretches whose gaps are filled from left to right, as `search` does it: a
    # step of a gap is predicted from all steps before it and from those after the gap.
    in_order: float = 0.0
    # Whether such gaps are filled from left to right only, or half of them from right to left, as
    # `bothways` does it.
    ways: Literal["right", "both"] = "right"
    # If not 0, an update uses about so many steps of whole pieces, and those that are longer than
    # `length` are cut: `fitted` then finds `batch` and `length` for the data. Who gives a recipe
    # another `batch` means it, so then `points` is 0.
    points: int = 0

    def __post_init__(self) -> None:
        least = {"hidden": 1, "layers": 1, "steps": 1, "batch": 1, "length": 2, "every": 1}
        least |= {"validate_every": 1, "valid_steps": 1}
        for field in fields(self):
            if field.type is int:
                number = getattr(self, field.name)
                whole_number(field.name, number, least.get(field.name, 0), MOST_COUNTED)
        for rate in self.learning_rate:
            _number("learning_rate", rate, 0.0, math.inf)
        _number("clip", self.clip, 0.0, math.inf)
        for name, most in (
            ("weight_decay", math.inf),
            ("dropout", 1.0),
            ("warm_up", 1.0),
            ("parts", 1.0),
            ("holes", 1.0),
            ("in_order", math.nextafter(1.0, 2.0)),
        ):
            if getattr(self, name):  # zero stands for none
                _number(name, getattr(self, name), 0.0, most)
        _number("held_out", self.held_out, 0.0, 1.0)
        shortest, longest = self.gap_range
        if self.gap and not 1 <= shortest <= longest:
            raise CaesuraError(f"There are no gaps of {shortest} to {longest} steps.")
        if self.gap_lengths == "even" and longest >= self.every:
            raise CaesuraError(f"A gap of {longest} steps does not fit into every {self.every}.")
        if self.in_order and (not self.gap or self.net == "forward"):
            raise CaesuraError("The option 'in_order' needs a bidirectional net and gaps.")
        if self.targets == "gaps" and not self.gap:
            raise CaesuraError(
                "Only gaps should be predicted (targets), but the recipe makes none."
            )
        if self.length <= self.burn_in * (2 if self.net == "bidirectional" else 1):
            raise CaesuraError(
                f"A burn-in of {self.burn_in} leaves nothing of {self.length} steps."
            )

    def identity(self) -> dict[str, Any]:
        """Return the fields that distinguish recipes, without those that have their default value:
        so a new field with a default leaves the identities of older recipes as they were."""
        defaults = {field.name: field.default for field in fields(self)}
        given = {name: value for name, value in asdict(self).items() if value != defaults[name]}
        # Old names, since fingerprints of published results are made of them.
        return {old: given.pop(new) for old, new in OLD_NAMES.items()} | given

    @property
    def gap_range(self) -> tuple[int, int]:
        """Return the lengths of the shortest and the longest gap."""
        return (self.gap, self.gap) if isinstance(self.gap, int) else self.gap


class Chosen(NamedTuple):
    """A recipe for one kind, and the fields of the kind that it specifies."""

    name: str
    recipe: Recipe
    kind_fields: dict[str, Any]


def names() -> list[str]:
    """Return the names of the recipes that come with the library."""
    return sorted(path.stem for path in _directory().iterdir() if path.suffix == ".toml")


def choose(name: str, kind: str, options: tuple[str, ...], overrides: Mapping[str, Any]) -> Chosen:
    """Return a recipe by its name or the path of a TOML file, with some of its fields replaced.

    Fields in a table named after the kind are for that kind only. `options` are the names of the
    fields of the kind, which a recipe may specify too.
    """
    table = _read(name)
    known = {field.name: None for field in fields(Recipe)} | dict.fromkeys(options)
    own = table.pop(kind, {})
    if not isinstance(own, dict):
        raise CaesuraError(f"The entry '{kind}' of the recipe '{name}' must be a table.")
    general = {k: v for k, v in table.items() if not isinstance(v, dict)}
    of_file, overrides = _renamed(general) | _renamed(own), _renamed(overrides)
    given = of_file | ({"points": 0} if "batch" in overrides else {}) | overrides
    for field in given:
        lookup(known, field, f"field of a recipe for {kind}")
    of_kind = {field: given.pop(field) for field in options if field in given}
    for one in fields(Recipe):
        if one.name not in given and one.default is MISSING:
            raise CaesuraError(f"The recipe '{name}' lacks the field '{one.name}'.")
    return Chosen(Path(name).stem, Recipe(**{k: _typed(k, v) for k, v in given.items()}), of_kind)


def parse_setting(text: str) -> tuple[str, Any]:
    """Split `hidden=256` into a name and a value; what is not a TOML value is a string."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise CaesuraError(f"A setting has the form name=value, not '{text}'.")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return name.strip(), value


def _renamed(table: Mapping[str, Any]) -> dict[str, Any]:
    return {OLD_NAMES.get(name, name): value for name, value in table.items()}


def _directory() -> Path:
    return Path(str(resources.files("caesura.training") / "recipes"))


def _read(name: str) -> dict[str, Any]:
    path = Path(name)
    if path.suffix != ".toml":
        path = _directory() / f"{lookup({n: n for n in names()}, name, 'recipe')}.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise cannot_read(path, error) from error
    except (ValueError, RecursionError) as error:
        raise CaesuraError(f"The recipe '{path}' is not valid TOML: {error}.") from error


def _typed(name: str, value: Any) -> Any:
    """Return the value in its field's type; a number may stand for a list of one."""
    kind = get_type_hints(Recipe)[name]
    if kind == Numbers:
        rates = value if isinstance(value, list | tuple) else [value]
        if not rates:
            raise CaesuraError(f"The option '{name}' must be a number or a list of numbers.")
        return tuple(_number(name, rate, 0.0, math.inf) for rate in rates)
    if kind == Steps and isinstance(value, list | tuple):
        if len(value) != 2:
            raise CaesuraError(
                f"The option '{name}' must be a number of steps, or a list [least, most]."
            )
        return tuple(whole_number(name, steps, 0) for steps in value)
    if get_origin(kind) is Literal:
        lookup(dict.fromkeys(get_args(kind)), value, f"choice of '{name}'")
    if kind in (int, Steps):
        return whole_number(name, value, 0)
    if kind is float:
        return _number(name, value, -1.0, math.inf)
    if kind is str and not isinstance(value, str):
        raise CaesuraError(f"The option '{name}' must be a word, not {value!r}.")
    return value


def _number(name: str, value: Any, above: float, below: float) -> float:
    number = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        with suppress(OverflowError):  # an integer may be larger than any float
            number = float(value)
    if not above < number < below:
        bounds = f"above {above:g}" if math.isinf(below) else f"between {above:g} and {below:g}"
        raise CaesuraError(f"The option '{name}' must be a number {bounds}, not {value!r}.")
    return number
