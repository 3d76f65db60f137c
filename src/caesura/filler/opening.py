"""Requests, opened: their data read and checked, cut into stretches, and with a method."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from caesura.errors import CaesuraError, lookup, whole_number
from caesura.filler.questions import questions_of
from caesura.filler.request import Request, mask_of, split_missing
from caesura.filler.running import Opened
from caesura.filler.searching import draft_of
from caesura.filler.stretches import cut
from caesura.filler.tasks import Method, seed_of
from caesura.kinds.base import Item
from caesura.modelfile import Model
from caesura.nets.eager import with_jax, with_numpy
from caesura.nets.frames import Frame
from caesura.nets.pair import Nets, Pair
from caesura.nets.rnn import Net, NetName
from caesura.sequence import Sequence
from caesura.strategies import STRATEGIES, Strategy
from caesura.strategies.window import KnownEnds

MOST_DRAWS = 100_000
# By model, what its nets have read; it is forgotten with the model.
_KNOWN: WeakKeyDictionary[Model[Net], KnownEnds] = WeakKeyDictionary()
# By model, its nets with arrays of JAX and of NumPy: a file is read as arrays of NumPy.
_COMPILED: WeakKeyDictionary[Model[Net], dict[NetName, Net]] = WeakKeyDictionary()
_EAGER: WeakKeyDictionary[Model[Net], dict[NetName, Net]] = WeakKeyDictionary()
RECIPES = {"bidirectional": "nade", "forward": "rnn"}  # which train such a net


def method_of(model: Model[Net], strategy: str | Strategy | None) -> Method:
    """Return the strategy with the net it works on; an error if the model cannot serve it."""
    if not isinstance(strategy, Strategy):
        name = model.strategy if strategy is None else strategy
        strategy = _make(model, name)
    names: tuple[NetName, ...] = (
        ("forward", "bidirectional") if strategy.net == "pair" else (strategy.net,)
    )
    for name in names:
        if name not in model.nets:
            raise CaesuraError(
                f"The strategy '{strategy.name}' needs a {name} net, which this model lacks: "
                f"train one with the recipe '{RECIPES.get(name, '')}'."
            )
    net = _joined([model.nets[name] for name in names])
    strategy.check(net)
    if strategy.in_numpy(net):
        known = _KNOWN.setdefault(model, KnownEnds())
        net = _joined([net_in_numpy(model, name) for name in names])
        return Method(strategy, net, model.kind, known, model.pool)
    compiled = _COMPILED.setdefault(model, {})
    for name in names:
        if name not in compiled:
            compiled[name] = with_jax(model.nets[name])
    net = _joined([compiled[name] for name in names])
    return Method(strategy, net, model.kind, pool=model.pool)


def net_in_numpy(model: Model[Net], name: NetName) -> Net:
    """Return a net of the model as `caesura.nets.eager` runs it."""
    ready = _EAGER.setdefault(model, {})
    if name not in ready:
        ready[name] = with_numpy(model.nets[name])
    return ready[name]


def _make(model: Model[Net], name: str) -> Strategy:
    """Return a strategy with the options of the kind, and with those fitted to the model."""
    make = lookup(STRATEGIES, name, "strategy")
    try:
        fitted = model.training.get("strategy_options", {}).get(name, {})
        return make(**{**model.kind.strategy_options.get(name, {}), **fitted})
    except (AttributeError, TypeError) as error:
        raise CaesuraError(
            f"The model file has options for the strategy '{name}' that it does not know."
        ) from error


def _joined(nets: list[Net]) -> Nets:
    return nets[0] if len(nets) == 1 else Pair(*nets)


def open_request(model: Model[Net], request: Request) -> Opened:
    """Read the data of a request, once."""
    seed_of(request.seed)
    whole_number("samples", request.samples, 0, MOST_DRAWS)
    method = method_of(model, request.strategy)
    item = model.kind.open(request.data)
    steps, gaps = split_missing(request.missing)
    mask, line = item.sequence.missing, item.sequence.line
    if steps is not None:
        if line is not None:
            raise CaesuraError("While one voice is filled, nothing else can be missing.")
        mask = mask | (mask_of(steps, item.sequence) & _frame(model).fillable)
    if gaps or item.open_gaps:
        if not method.strategy.searches:
            raise CaesuraError(
                f"The strategy '{method.name}' needs to know the length of every gap; "
                "'search' does not."
            )
        item = item.with_gaps(gaps, mask)
        mask = item.sequence.missing
    if request.asks and not method.strategy.searches:
        raise CaesuraError(
            f"Patterns and readings need the strategy 'search', not '{method.name}'."
        )
    values = _frame(model).check(item.sequence.values, mask)
    one = _cut(model, request, item, Sequence(values, mask, line))
    if not request.asks:
        return one
    return one._replace(questions=questions_of(model.kind, request, draft_of(one).gaps))


def open_complete(model: Model[Net], request: Request) -> Opened:
    """Read complete data, of which some is to be scored: what `missing` says."""
    item, frame = model.kind.open(request.data), _frame(model)
    nothing = item.complete.missing
    complete = Sequence(frame.check(item.complete.values, nothing), nothing)
    if complete.gaps:
        raise CaesuraError("The data must be complete, but some of it is missing.")
    asked: Any = request.missing  # None is refused as any other nonsense
    mask = mask_of(asked, complete) & frame.fillable
    frame.check(complete.values, mask)  # a category is missing as a whole
    strange = mask & frame.unknown(complete.values)
    if strange.any():
        what = item.describe(int(np.argwhere(strange)[0, 0]))
        raise CaesuraError(f"The {what} is unknown to the model, so it has no probability.")
    seed_of(request.seed)
    return _cut(model, request, item, Sequence(complete.values, mask))


def _frame(model: Model[Net]) -> Frame:
    return next(iter(model.nets.values())).frame


def _cut(model: Model[Net], request: Request, item: Item, sequence: Sequence) -> Opened:
    kind = model.kind
    method = method_of(model, request.strategy)
    usual = kind.fewer_draws.get(method.name, kind.draws)
    draws = usual if request.draws is None else request.draws
    draws = max(whole_number("draws", draws, 1, MOST_DRAWS), request.samples)
    stretches = cut(sequence, _frame(model), kind.stretch, kind.around)
    return Opened(request, item, sequence, method, draws, kind.around, stretches)
