"""The plan: which nets are trained on which sets, and how much is measured with them."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from caesura.datasets import DATASETS
from caesura.errors import CaesuraError, lookup, whole_number
from caesura.kinds import KINDS
from caesura.reproduce import paper
from caesura.strategies import STRATEGIES, Strategy
from caesura.training.recipe import Chosen, choose


@dataclass(frozen=True)
class Training:
    """One net on one set, and what it is for."""

    dataset: str
    recipe: str
    fields: dict[str, Any]  # of the recipe and of the kind, other than the recipe has them
    serves: tuple[str, ...]  # strategies
    items: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The kind of the set."""
        return DATASETS[self.dataset].kind

    def choose(self, fields: Mapping[str, Any]) -> Chosen:
        """The recipe for the set, with the fields given."""
        return choose(self.recipe, self.kind, KINDS[self.kind].options, fields)


@dataclass(frozen=True)
class Item:
    """What one table or figure is made of."""

    datasets: tuple[str, ...]
    limits: dict[str, int]  # of gaps (steps in Table 2), by data set or by strategy
    gibbs_steps: tuple[int, ...]  # Figure 3

    def limit(self, dataset: str, strategy: str) -> int | None:
        """The smaller of the two limits; None: there is none."""
        given = [self.limits[name] for name in (dataset, strategy) if name in self.limits]
        return min(given, default=None)


@dataclass(frozen=True)
class Plan:
    """All that is done; the trainings come in their order, each with all that it serves."""

    seed: int
    gap: int
    margin: int
    strategies: dict[str, Strategy]
    items: dict[str, Item]
    trainings: tuple[Training, ...]

    def only(self, datasets: Iterable[str], recipes: Iterable[str]) -> "Plan":
        """The part for some data sets or some recipes; for all of them where none is named."""
        known = {training.dataset: training.dataset for training in self.trainings}
        sets = {lookup(known, name, "data set in the plan") for name in datasets} or set(known)
        known = {training.recipe: training.recipe for training in self.trainings}
        names = {lookup(known, name, "recipe in the plan") for name in recipes} or set(known)
        chosen = (t for t in self.trainings if t.dataset in sets and t.recipe in names)
        return replace(self, trainings=tuple(chosen))


def read_plan(path: Path | None = None) -> Plan:
    """The plan in a TOML file, or that of the package, which is the whole paper."""
    place = path or Path(str(resources.files("caesura.reproduce") / "plans" / "paper.toml"))
    try:
        table = tomllib.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        raise CaesuraError(f"Cannot read '{place}': {(error.strerror or '').lower()}.") from error
    except ValueError as error:
        raise CaesuraError(f"The plan '{place}' is not proper TOML: {error}.") from error
    try:
        return _plan(table)
    except KeyError as error:
        raise CaesuraError(f"The plan '{place}' says nothing of {error}.") from error
    except (TypeError, AttributeError) as error:
        raise CaesuraError(f"The plan '{place}' is not in the form of one: {error}.") from error


def _plan(table: dict[str, Any]) -> Plan:
    _only(table, ("seed", "gap", "margin", "options", "training", *paper.ITEMS), "a plan")
    options = table.get("options", {})
    _only(options, STRATEGIES, "the options of a plan")
    items = {name: _item(name, table[name]) for name in paper.ITEMS if name in table}
    trainings = [one for entry in table["training"] for one in _trainings(entry, items)]
    places = [(one.dataset, one.recipe) for one in trainings]
    for place in places:
        if places.count(place) > 1:
            raise CaesuraError("The plan trains the recipe '{1}' on '{0}' twice.".format(*place))
    return Plan(
        seed=whole_number("seed", table["seed"], 0, 2**32 - 1),
        gap=whole_number("gap", table["gap"], 1),
        margin=whole_number("margin", table["margin"], 0),
        strategies={name: make(**options.get(name, {})) for name, make in STRATEGIES.items()},
        items=items,
        trainings=tuple(trainings),
    )


def _item(name: str, table: dict[str, Any]) -> Item:
    fields = ["datasets", "limits"] + ["gibbs_steps"] * (name == "figure3")
    _only(table, fields, f"the plan's '{name}'")
    limits, sets = table.get("limits", {}), _sets(table["datasets"])
    by_strategy = STRATEGIES if name in ("table1", "figure2") else {}
    _only(limits, (*paper.DATASETS, *by_strategy), f"the limits of '{name}'")
    if name == "table3" and any(DATASETS[s].kind != "text" or s not in limits for s in sets):
        raise CaesuraError("The plan's 'table3' is for sets of text, with a limit for each.")
    return Item(
        datasets=sets,
        limits={key: whole_number(key, value, 1) for key, value in limits.items()},
        gibbs_steps=tuple(
            whole_number("gibbs_steps", steps, 1) for steps in table.get("gibbs_steps", ())
        ),
    )


def _trainings(entry: dict[str, Any], items: Iterable[str]) -> list[Training]:
    _only(entry, ("recipe", "datasets", "fields", "serves", "items"), "a training of a plan")
    known = {name: name for name in items}
    serves = tuple(entry["serves"])
    chosen = tuple(lookup(known, name, "item in the plan") for name in entry.get("items", known))
    trainings = [
        Training(dataset, entry["recipe"], entry.get("fields", {}), serves, chosen)
        for dataset in _sets(entry["datasets"])
    ]
    for training in trainings:
        for strategy in serves:
            _check(training, strategy)
    return trainings


def _check(training: Training, strategy: str) -> None:
    """Say now what would else be known when the net has been trained."""
    training.choose(training.fields)
    lookup(STRATEGIES, strategy, "strategy")
    places = [(row.strategy, recipe) for row in paper.TABLE1 for recipe in row.recipes.values()]
    if (strategy, training.recipe) not in places:
        raise CaesuraError(
            f"There is no place on the page for '{strategy}' by the recipe '{training.recipe}'."
        )
    if strategy == "bayes" and training.kind != "text":
        raise CaesuraError(
            f"The strategy 'bayes' cannot serve on '{training.dataset}': it is music."
        )


def _sets(names: list[str]) -> tuple[str, ...]:
    known = {name: name for name in paper.DATASETS}
    return tuple(lookup(known, name, "data set of the paper") for name in names)


def _only(table: dict[str, Any], known: Iterable[str], what: str) -> None:
    for name in table:
        lookup(dict.fromkeys(known), name, f"field of {what}")
