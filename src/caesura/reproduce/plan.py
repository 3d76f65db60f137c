"""The plan: which nets are trained on which data sets, and what is measured with them."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from caesura.datasets import DATASETS
from caesura.errors import CaesuraError, lookup, whole_number
from caesura.files import read_small
from caesura.kinds import KINDS
from caesura.reproduce import paper
from caesura.strategies import STRATEGIES, Strategy
from caesura.training.recipe import Chosen, choose

MOST_BYTES = 1 << 20  # of a plan


@dataclass(frozen=True)
class Training:
    """One net trained on one data set, and what it is used for."""

    dataset: str
    recipe: str
    fields: dict[str, Any]  # of the recipe and of the kind that differ from the recipe
    serves: tuple[str, ...]  # strategies
    items: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The kind of the data set."""
        return DATASETS[self.dataset].kind

    @property
    def trainings(self) -> "tuple[Training, ...]":
        """The training itself; a `Pair` has two."""
        return (self,)

    def choose(self, fields: Mapping[str, Any]) -> Chosen:
        """Return the recipe for the data set with these fields changed."""
        return choose(self.recipe, self.kind, KINDS[self.kind].options, fields)


@dataclass(frozen=True)
class Pair:
    """Two trainings on one data set whose nets are used together."""

    trainings: tuple[Training, ...]
    serves: tuple[str, ...]
    items: tuple[str, ...] = ("table1",)

    @property
    def dataset(self) -> str:
        """The data set of both trainings."""
        return self.trainings[0].dataset

    @property
    def recipe(self) -> str:
        """The names of both recipes, joined by "+"."""
        return "+".join(training.recipe for training in self.trainings)


Subject = Training | Pair  # whose nets are measured


@dataclass(frozen=True)
class Cut:
    """How the sequences of a data set are cut into parts."""

    stretch: int | None  # steps of a part; None: they are not cut
    margin: int  # the distance of gaps from both ends of a part


@dataclass(frozen=True)
class Item:
    """The settings of one table or figure."""

    datasets: tuple[str, ...]
    limits: dict[str, int]  # of gaps (steps in Table 2), by data set or by strategy
    gibbs_steps: tuple[int, ...]  # Figure 3

    def limit(self, dataset: str, strategy: str) -> int | None:
        """Return the smaller of the two limits, or None if there is none."""
        given = [self.limits[name] for name in (dataset, strategy) if name in self.limits]
        return min(given, default=None)


@dataclass(frozen=True)
class Plan:
    """Everything to be done, in the order of the trainings."""

    seed: int
    gap: int
    margin: int
    cuts: dict[str, Cut]  # by data set
    strategies: dict[str, Strategy]
    items: dict[str, Item]
    trainings: tuple[Training, ...]
    pairs: tuple[Pair, ...]

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Everything that is measured: single nets first, then pairs."""
        return (*self.trainings, *self.pairs)

    def cut(self, dataset: str) -> Cut:
        """Return how the sequences of a data set are cut."""
        return self.cuts.get(dataset, Cut(None, self.margin))

    def only(self, datasets: Iterable[str], recipes: Iterable[str]) -> "Plan":
        """Return the part for some data sets and some recipes; an empty choice means all."""
        known = {training.dataset: training.dataset for training in self.trainings}
        sets = {lookup(known, name, "data set in the plan") for name in datasets} or set(known)
        known = {training.recipe: training.recipe for training in self.trainings}
        names = {lookup(known, name, "recipe in the plan") for name in recipes} or set(known)
        chosen = tuple(t for t in self.trainings if t.dataset in sets and t.recipe in names)
        pairs = tuple(p for p in self.pairs if all(t in chosen for t in p.trainings))
        return replace(self, trainings=chosen, pairs=pairs)


def read_plan(path: Path | None = None) -> Plan:
    """Return the plan in a TOML file, or that of the package, which is the whole paper."""
    place = path or Path(str(resources.files("caesura.reproduce") / "plans" / "paper.toml"))
    try:
        table = tomllib.loads(read_small(place, MOST_BYTES).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CaesuraError(f"The plan '{place}' is not valid TOML: {error}.") from error
    try:
        return _plan(table)
    except KeyError as error:
        raise CaesuraError(f"The plan '{place}' lacks the field {error}.") from error
    except (TypeError, AttributeError) as error:
        raise CaesuraError(f"The plan '{place}' is not well-formed: {error}.") from error


def _plan(table: dict[str, Any]) -> Plan:
    known = ("seed", "gap", "margin", "cut", "options", "training", "pair", *paper.ITEMS)
    _only(table, known, "a plan")
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
        cuts={name: _cut(table["cut"][name]) for name in _sets(list(table.get("cut", {})))},
        strategies={name: make(**options.get(name, {})) for name, make in STRATEGIES.items()},
        items=items,
        trainings=tuple(trainings),
        pairs=tuple(p for entry in table.get("pair", ()) for p in _pairs(entry, trainings)),
    )


def _cut(table: dict[str, Any]) -> Cut:
    _only(table, ("stretch", "margin"), "a cut of a plan")
    stretch = whole_number("stretch", table["stretch"], 1)
    return Cut(stretch, whole_number("margin", table["margin"], 0))


def _item(name: str, table: dict[str, Any]) -> Item:
    fields = ["datasets", "limits"] + ["gibbs_steps"] * (name == "figure3")
    _only(table, fields, f"the plan's '{name}'")
    limits, sets = table.get("limits", {}), _sets(table["datasets"])
    by_strategy = STRATEGIES if name in ("table1", "figure2") else {}
    _only(limits, (*paper.DATASETS, *by_strategy), f"the limits of '{name}'")
    if name == "table3" and any(DATASETS[s].kind != "text" or s not in limits for s in sets):
        raise CaesuraError("The plan's 'table3' needs data sets of text, with a limit for each.")
    counts = {key: whole_number(key, value, 1) for key, value in limits.items()}
    gibbs = (whole_number("gibbs_steps", steps, 1) for steps in table.get("gibbs_steps", ()))
    return Item(sets, counts, tuple(gibbs))


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
        _check(training)
    return trainings


def _pairs(entry: dict[str, Any], trainings: list[Training]) -> list[Pair]:
    _only(entry, ("recipes", "datasets", "serves"), "a pair of a plan")
    by_place = {f"{one.recipe} on {one.dataset}": one for one in trainings}
    pairs = []
    for dataset in _sets(entry["datasets"]):
        places = (f"{recipe} on {dataset}" for recipe in entry["recipes"])
        both = tuple(lookup(by_place, place, "training in the plan") for place in places)
        pairs.append(Pair(both, tuple(entry["serves"])))
        _check(pairs[-1])
    return pairs


def _check(subject: Subject) -> None:
    """Check before any training whether the nets can be used by the strategies."""
    places = [(row.strategy, recipe) for row in paper.TABLE1 for recipe in row.recipes.values()]
    for training in subject.trainings:
        training.choose(training.fields)
    for strategy in subject.serves:
        lookup(STRATEGIES, strategy, "strategy")
        if (strategy, subject.recipe) not in places:
            raise CaesuraError(
                f"The page has no place for '{strategy}' with the recipe '{subject.recipe}'."
            )
        if strategy == "bayes" and DATASETS[subject.dataset].kind != "text":
            raise CaesuraError(
                f"The strategy 'bayes' needs text, but the data set '{subject.dataset}' is music."
            )


def _sets(names: list[str]) -> tuple[str, ...]:
    known = {name: name for name in paper.DATASETS}
    return tuple(lookup(known, name, "data set of the paper") for name in names)


def _only(table: dict[str, Any], known: Iterable[str], what: str) -> None:
    for name in table:
        lookup(dict.fromkeys(known), name, f"field of {what}")
