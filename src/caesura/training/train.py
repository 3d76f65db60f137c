"""`train`: from data to a filler, by one or more recipes."""

import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from caesura import __version__
from caesura.errors import CaesuraError, lookup, whole_number
from caesura.filler import Filler
from caesura.kinds import KINDS, Kind, Series
from caesura.nets.architecture import Architecture
from caesura.nets.eager import with_jax
from caesura.nets.rnn import Net, NetName
from caesura.training import processes
from caesura.training.checkpoint import Checkpoints
from caesura.training.corpus.stored import lengths_of
from caesura.training.loop import Progress, State, Trained, begin, fit
from caesura.training.pooling import hold_numbers, pooled
from caesura.training.prepare import Prepared, fitted, prepare
from caesura.training.recipe import DEFAULT, DEFAULTS, Chosen, Recipe, choose

GAP_FIELDS = ("gap", "gap_lengths", "in_order", "targets")

Report = Callable[[str, Progress], None]
Warn = Callable[[str], None]


def train(
    data: Path | Iterable[object],
    *,
    kind: str,
    recipe: str | None = None,
    seed: int = 0,
    valid: Path | Iterable[object] | None = None,
    start: Filler | None = None,
    checkpoints: str | os.PathLike[str] | None = None,
    resume: bool = False,
    report: Report = lambda net, progress: None,
    warn: Warn = lambda sentence: None,
    stop: Callable[[], bool] = lambda: False,
    pool: float = 0.0,
    **overrides: object,
) -> Filler:
    """Train a filler: the nets of one or more recipes, and a one-gram.

    If several processes are connected by `jax.distributed`, each must call this function with the
    same arguments. They share every batch, the first one writes the checkpoints, and all return
    the same filler.

    Parameters
    ----------
    data : Path or iterable
        The training data: strings for text, songs or piano rolls for music, tables for series,
        or paths of files and directories. A directory of packed texts may be larger than
        memory.
    kind : str
        `"text"`, `"music"` or `"series"`.
    recipe : str, optional
        The name of a recipe or the path of a TOML file, or two of them separated by a comma, one
        for a bidirectional and one for a forward net. The default is `"nade"`, and `"series"` for
        series.
    seed : int
        The same seed on the same data gives the same weights.
    valid : Path or iterable, optional
        The validation data, in the form of `data`. By default a part of the data is held out.
    start : Filler, optional
        A model to start from instead of random weights. Its kind is kept, so the data is read by
        its alphabet; a net that it lacks is new.
    checkpoints : path, optional
        A directory for checkpoints, which are written during the training.
    resume : bool
        Continue from the checkpoints of an earlier run. The weights at the end are the same, bit
        for bit, as if that run had not been interrupted.
    report : callable
        Called as `report(net, progress)` about once a second, with the name of the net.
    warn : callable
        Called with a sentence, for example if a checkpoint is damaged.
    stop : callable
        Asked about once a second; if it returns True, the training saves a checkpoint and raises
        `caesura.training.loop.Stopped`.
    pool : float
        For series: so many seconds, a Gaussian model of windows is fitted to the same tables and
        pooled with the net, if that is better on numbers of the validation data that neither has
        seen. How far it comes depends on the machine. 0: the net alone.
    **overrides
        Any field of the recipe (`hidden=256`, `steps=2000`) or of the kind (`gap_char="?"`). With
        two recipes they are for both nets, except for `gap` and `gap_lengths`: they are only for
        the net that has a missing-value input.

    Returns
    -------
    Filler
        It has the weights that were best on the validation data.

    Raises
    ------
    CaesuraError
        If the data, the recipe or a field is wrong, or if checkpoints belong to another run.

    Examples
    --------
    >>> import caesura
    >>> texts = ["the quick brown fox jumps over the lazy dog"] * 50
    >>> small = {"hidden": 16, "head_hidden": 0, "layers": 1, "batch": 8, "length": 30, "steps": 20}
    >>> filler = caesura.train(texts, kind="text", validate_every=10, **small)
    >>> filler.kind.alphabet
    ' abcdefghijklmnopqrstuvwxyz'
    """
    kind_type = lookup(KINDS, kind, "kind")
    recipe = DEFAULTS.get(kind, DEFAULT) if recipe is None else recipe
    chosen = _choose(recipe, kind, kind_type, overrides)
    known = None if start is None else _kind_of(start, kind_type, chosen[0])
    if pool and (kind_type is not Series or jax.process_count() > 1):
        raise CaesuraError("A pool is for series, and for a training by one process.")
    prepared = prepare(data, valid, kind_type, chosen[0], seed, known)
    held = hold_numbers(prepared) if pool else None
    prepared = prepared if held is None else held.prepared
    lengths = lengths_of(prepared.data.train)
    chosen = [one._replace(recipe=fitted(one.recipe, lengths)) for one in chosen]
    directory = None if checkpoints is None else Path(checkpoints)
    run = _Run(prepared, seed, directory, resume, report, warn, stop, start)
    nets: dict[NetName, Net] = {"onegram": prepared.onegram}
    records: dict[NetName, dict[str, Any]] = {}
    for one in chosen:
        result = _train_net(run, one.recipe)
        nets[one.recipe.net] = result.net
        records[one.recipe.net] = record_of(one, result, start)
    strategy = _default_strategy(chosen, nets, overrides)
    filler = make_filler(prepared, seed, nets, records, strategy)
    return filler if held is None else pooled(filler, held, pool, seed, report, stop)


def make_filler(
    prepared: Prepared,
    seed: int,
    nets: dict[NetName, Net],
    records: Mapping[NetName, dict[str, Any]],
    strategy: str,
) -> Filler:
    """Return the filler of nets that were trained, with the record of how."""
    training = {"nets": records, "seed": seed, "data": prepared.record, "versions": _versions()}
    return Filler(prepared.kind, nets, strategy, training)


class _Run(NamedTuple):
    """What the trainings of all nets of a filler share."""

    prepared: Prepared
    seed: int
    checkpoints: Path | None
    resume: bool
    report: Report
    warn: Warn
    stop: Callable[[], bool]
    start: Filler | None

    def identity(self, recipe: Recipe) -> str:
        """Return a digest that two runs share if one may resume the other."""
        of = {"data": self.prepared.record, "kind": asdict(self.prepared.kind), "seed": self.seed}
        if self.start is not None:
            of["start"] = _digest(self.start.nets.get(recipe.net))
        document = {"of": of, "recipe": recipe.identity(), "jax": jax.__version__}
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _choose(
    recipe: str, kind: str, kind_type: type[Kind], overrides: dict[str, object]
) -> list[Chosen]:
    """Return the recipes named, which must train different nets of one model."""
    if not isinstance(recipe, str):
        raise CaesuraError(f"A recipe must be given by its name, not by {type(recipe).__name__}.")
    names = [name.strip() for name in recipe.split(",")]
    chosen = [choose(name, kind, kind_type.options, overrides) for name in names]
    if len(names) > 1:
        # Gaps are for the net that is told of them; to the other they would look like data.
        rest = {name: value for name, value in overrides.items() if name not in GAP_FIELDS}
        chosen = [
            choose(name, kind, kind_type.options, rest)
            if one.recipe.missing_input == "none"
            else one
            for name, one in zip(names, chosen, strict=True)
        ]
    for one in chosen[1:]:
        if one.kind_fields != chosen[0].kind_fields:
            raise CaesuraError(
                f"The recipes '{chosen[0].name}' and '{one.name}' need different fields of {kind}."
            )
    directions = [one.recipe.net for one in chosen]
    if len(set(directions)) < len(directions):
        raise CaesuraError(
            f"More than one of the recipes '{recipe}' trains a {directions[0]} net, "
            "but a model holds one of each."
        )
    return chosen


def _default_strategy(
    chosen: list[Chosen], nets: dict[NetName, Net], overrides: dict[str, object]
) -> str:
    """Return the strategy that the filler uses unless another is asked for.

    With a forward net beside one for `nade`, it is `search` for text and `sir` for music: both nets
    together measured best (docs/decoding.md, docs/reproduce.md).
    """
    strategies = {one.recipe.net: one.recipe.strategy for one in chosen}
    both = "forward" in strategies and strategies.get("bidirectional") == "nade"
    by_both = {"categorical": "search", "binary": "sir"}.get(nets["onegram"].frame.name)
    if both and by_both is not None and "strategy" not in overrides:
        return by_both
    return chosen[0].recipe.strategy


def _train_net(run: _Run, recipe: Recipe) -> Trained:
    """Train one net, from the beginning or from a checkpoint."""
    key_fit, net = new_net(run.prepared.kind, recipe, run.seed)
    if run.start is not None and recipe.net in run.start.nets:
        net = _continued(net, run.start.nets[recipe.net])
    state, save = _start(run, net, recipe)
    data, report, stop = run.prepared.data, partial(run.report, recipe.net), run.stop
    return fit(key_fit, net, data, recipe, state=state, save=save, report=report, stop=stop)


def new_net(kind: Kind, recipe: Recipe, seed: int) -> tuple[PRNGKeyArray, Net]:
    """Return a net with random weights, and the key of its training."""
    key = jax.random.key(whole_number("seed", seed, 0, 2**32 - 1))
    key_net, key_fit = jax.random.split(jax.random.fold_in(key, recipe.net == "forward"))
    return key_fit, _architecture(kind, recipe).build(key_net)


def _kind_of(start: Filler, kind_type: type[Kind], chosen: Chosen) -> Kind:
    """Return the kind of a model to start from, which must have the fields of the recipe."""
    if not isinstance(start.kind, kind_type):
        raise CaesuraError(
            f"The model to start from is for {start.kind.name}, not for {kind_type.name}."
        )
    for name, value in chosen.kind_fields.items():
        if getattr(start.kind, name, None) != value:
            raise CaesuraError(
                f"The model to start from does not have {name}={value!r}: leave it out."
            )
    return start.kind


def _continued(new: Net, old: Net) -> Net:
    """Return a net that is trained further."""
    alike = jax.tree.map(jnp.shape, new), jax.tree.map(jnp.shape, old)
    if not eqx.tree_equal(*alike):
        raise CaesuraError(
            f"The {new.name} net of the model to start from has other sizes than the recipe: "
            "cell, hidden, layers, head_hidden and missing_input must be the same."
        )
    return with_jax(old)


def _digest(net: Net | None) -> str:
    content = hashlib.sha256()
    for leaf in jax.tree.leaves(net):
        content.update(np.asarray(leaf).tobytes())
    return content.hexdigest()


def _start(run: _Run, net: Net, recipe: Recipe) -> tuple[State, Callable[[State], None]]:
    """Return the state to begin with, and the function that saves later ones."""
    identity, state = run.identity(recipe), begin(net, recipe)
    saved = None
    if run.checkpoints:
        saved = Checkpoints(run.checkpoints / recipe.net, identity, run.warn)
    if saved and run.resume:
        state = saved.load(state) or state
    elif saved and saved.exist():
        raise CaesuraError(
            f"An earlier run left checkpoints in '{run.checkpoints}': resume it, or remove them."
        )
    processes.check_alike(
        f"{identity} {state.step}",
        "The processes do not train the same: their data, recipes, seeds, versions or "
        "checkpoints differ.",
    )
    if saved is None or not processes.is_first():  # one process writes for all
        return state, lambda state: None
    saved.begin(state)
    return state, saved.save


def _architecture(kind: Kind, recipe: Recipe) -> Architecture:
    return Architecture(
        net=recipe.net,
        frame=kind.frame,
        head=recipe.head or kind.head,
        cell=recipe.cell,
        hidden=recipe.hidden,
        layers=recipe.layers,
        missing_input=recipe.missing_input,
        head_hidden=recipe.head_hidden,
    )


def record_of(chosen: Chosen, result: Trained, start: Filler | None = None) -> dict[str, Any]:
    """Return the record of how a net was trained, for its model file."""
    before = start.training.get("nets", {}).get(chosen.recipe.net) if start else None
    earlier = {} if before is None else {"before": before}
    return earlier | {
        "recipe": chosen.name,
        "fields": asdict(chosen.recipe),
        "validation_nll": result.nll,
        "best_step": result.step,
        "learning_rate": result.learning_rate,
        "skipped_updates": result.skipped,
        "seconds": round(result.seconds, 1),
        "history": result.history,
    }


def _versions() -> dict[str, str]:
    return {
        "caesura": __version__,
        "jax": jax.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "platform": f"{jax.default_backend()}, {platform.machine()}",
    }
