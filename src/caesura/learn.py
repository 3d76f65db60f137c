"""From data to a filler: learn the kind's alphabet, then the nets, by one or more recipes."""

import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Shaped

from caesura.errors import CaesuraError, lookup
from caesura.filler import Filler, make_key
from caesura.kinds import KINDS, Kind
from caesura.nets.architecture import Architecture
from caesura.nets.frames import Continuous, Frame, make_frame
from caesura.nets.rnn import Net, onegram
from caesura.strategies.base import NetName
from caesura.training.checkpoint import Checkpoints
from caesura.training.loop import Data, Progress, Trained, begin, fit
from caesura.training.recipe import DEFAULT, DEFAULTS, Chosen, Recipe, choose
from caesura.version import __version__

Pieces = list[Shaped[np.ndarray, "_ D"]]
FEW = 5  # pieces, of which none can be spared for validation


def train(
    data: Any,
    *,
    kind: str,
    recipe: str | None = None,
    seed: int = 0,
    valid: Any = None,
    checkpoints: str | os.PathLike[str] | None = None,
    resume: bool = False,
    report: Callable[[str, Progress], None] = lambda net, progress: None,
    warn: Callable[[str], None] = lambda sentence: None,
    stop: Callable[[], bool] = lambda: False,
    **overrides: Any,
) -> Filler:
    """A filler with the net that the recipe trains, and a one-gram.

    `data` is a list of items (strings, arrays, songs) or of paths to files and folders of them.
    `recipe` is a name, the path of a TOML file, or several with commas between, for a filler with a
    forward and a bidirectional net; by default it is 'nade', or 'series' for series. Any field of a
    recipe, and any of the kind's, can be given by keyword. The nets are chosen on `valid`, or on a
    part of the data that is held out.

    With a folder for `checkpoints`, the training is saved there as it goes, and `resume` goes on
    from what an earlier run left: the weights at the end are the same, bit for bit.
    """
    kind_type = lookup(KINDS, kind, "kind")
    recipe = DEFAULTS.get(kind, DEFAULT) if recipe is None else recipe
    chosen = _choose(recipe, kind, kind_type, overrides)
    items = _items(kind_type, data)
    held_out = None if valid is None else _items(kind_type, valid)
    learnt = kind_type.learn(items, **chosen[0].kind_fields)
    frame = make_frame(learnt.frame, learnt.size, learnt.informing, learnt.categories)
    pieces = _read(learnt, frame, items, "training data")
    first = chosen[0].recipe
    split = (
        hold_out(pieces, first.held_out, seed)
        if held_out is None
        else Data(pieces, _read(learnt, frame, held_out, "validation data"))
    )
    identity = _identity(learnt, split, seed)
    nets: dict[NetName, Net] = {"onegram": onegram(frame, np.concatenate(split.train))}
    records: dict[str, Any] = {}
    for one in chosen:
        name = one.recipe.net
        key_net, key_fit = jax.random.split(jax.random.fold_in(make_key(seed), name == "forward"))
        start = _architecture(learnt, one.recipe).build(key_net)
        run = _digest({"of": identity, "recipe": one.recipe.identity(), "jax": jax.__version__})
        saved = _checkpoints(checkpoints, name, run, warn)
        state = begin(start, one.recipe)
        if saved and resume:
            state = saved.load(state) or state
        elif saved and saved.exist():
            raise CaesuraError(
                f"An earlier run left checkpoints in '{checkpoints}': resume it, or remove them."
            )
        if saved:
            saved.begin(state)
        result = fit(
            key_fit,
            start,
            split,
            one.recipe,
            state=state,
            save=saved.save if saved else lambda state: None,
            report=partial(report, name),
            stop=stop,
        )
        nets[name] = result.net
        records[name] = _record(one, result)
    training = {
        "nets": records,
        "seed": seed,
        "data": identity["data"],
        "versions": {
            "caesura": __version__,
            "jax": jax.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "platform": f"{jax.default_backend()}, {platform.machine()}",
        },
    }
    return Filler(learnt, nets, first.strategy, training)


def _choose(
    recipe: str, kind: str, kind_type: type[Kind], overrides: dict[str, Any]
) -> list[Chosen]:
    if not isinstance(recipe, str):
        raise CaesuraError(f"A recipe is given by its name, not by {type(recipe).__name__}.")
    chosen = [choose(n.strip(), kind, kind_type.options, overrides) for n in recipe.split(",")]
    for one in chosen[1:]:
        if one.kind_fields != chosen[0].kind_fields:
            raise CaesuraError(
                f"The recipes '{chosen[0].name}' and '{one.name}' want different fields of {kind}."
            )
    directions = [one.recipe.net for one in chosen]
    if len(set(directions)) < len(directions):
        raise CaesuraError(
            f"More than one of the recipes '{recipe}' trains a {directions[0]} net, "
            "but a model holds one of each."
        )
    return chosen


def _items(kind: type[Kind], data: Any) -> list[Any]:
    if isinstance(data, str):
        raise CaesuraError("Data to learn from is a list, not one string.")
    if isinstance(data, Path):
        data = [data]
    if not isinstance(data, Iterable):
        raise CaesuraError(f"Data to learn from is a list, not {type(data).__name__}.")
    items = kind.items(data)
    if not items:
        raise CaesuraError("There is nothing to learn from.")
    return items


def _read(kind: Kind, frame: Frame, items: list[Any], what: str) -> Pieces:
    """The items as small numbers, which all of the data must fit into a device's memory as."""
    pieces = []
    dtype = (
        np.float32
        if isinstance(frame, Continuous)
        else np.int8
        if frame.cardinality <= 128
        else np.int16
        if frame.cardinality <= 2**15
        else np.int32
    )
    for number, item in enumerate(items):
        sequence = kind.read_complete(item)
        if sequence.missing.any():
            raise CaesuraError(f"Item {number} of the {what} has missing values.")
        pieces.append(frame.check(sequence.values, sequence.missing).astype(dtype))
    return pieces


def hold_out(pieces: Pieces, share: float, seed: int) -> Data:
    """A share for validation: whole pieces where there are enough, else the end of each."""
    if len(pieces) < FEW:
        cuts = [int(len(piece) * (1 - share)) for piece in pieces]
        if not any(cuts):
            raise CaesuraError("There is too little data to hold any of it out for validation.")
        ends = [piece[cut:] for piece, cut in zip(pieces, cuts, strict=True)]
        return Data(
            [p[:c] for p, c in zip(pieces, cuts, strict=True) if c], [e for e in ends if len(e)]
        )
    order = np.random.default_rng(seed).permutation(len(pieces))
    lengths = np.cumsum([len(pieces[i]) for i in order])
    count = int(np.clip(np.searchsorted(lengths, share * lengths[-1]) + 1, 1, len(pieces) - 1))
    chosen = set(order[:count].tolist())
    return Data(
        [piece for i, piece in enumerate(pieces) if i not in chosen],
        [piece for i, piece in enumerate(pieces) if i in chosen],
    )


def _architecture(kind: Kind, recipe: Recipe) -> Architecture:
    return Architecture(
        direction="both" if recipe.net == "bidirectional" else "forward",
        frame=kind.frame,
        size=kind.size,
        head=recipe.head or kind.head,
        cell=recipe.cell,
        hidden=recipe.hidden,
        layers=recipe.layers,
        missing_input=recipe.missing_input,
        head_hidden=recipe.head_hidden,
        informing=kind.informing,
        categories=kind.categories,
    )


def _checkpoints(
    folder: Any, net: str, run: str, warn: Callable[[str], None]
) -> Checkpoints | None:
    return None if folder is None else Checkpoints(Path(folder) / net, run, warn)


def _identity(kind: Kind, data: Data, seed: int) -> dict[str, Any]:
    """What two runs have in common that may go on from each other's checkpoints."""
    content = hashlib.sha256()
    for part in data:
        for piece in part:
            content.update(str(piece.shape).encode())
            content.update(piece.tobytes())
        content.update(b"|")
    told = {
        "fingerprint": content.hexdigest(),
        "pieces": len(data.train),
        "steps": sum(map(len, data.train)),
        "valid_pieces": len(data.valid),
        "valid_steps": sum(map(len, data.valid)),
    }
    return {"data": told, "kind": asdict(kind), "seed": seed}


def _digest(document: Any) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _record(chosen: Chosen, result: Trained) -> dict[str, Any]:
    return {
        "recipe": chosen.name,
        "fields": asdict(chosen.recipe),
        "validation_nll": result.nll,
        "best_step": result.step,
        "learning_rate": result.learning_rate,
        "skipped_updates": result.skipped,
        "seconds": round(result.seconds, 1),
        "history": result.history,
    }
