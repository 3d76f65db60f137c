"""From data to a filler: learn the kind's alphabet, then the nets, by one or more recipes."""

import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Int64, Shaped

from caesura import __version__
from caesura.errors import CaesuraError, lookup
from caesura.filler.filler import Filler, make_key
from caesura.kinds import KINDS, Kind
from caesura.nets.architecture import Architecture
from caesura.nets.frames import Continuous, Frame, make_frame
from caesura.nets.rnn import Net, NetName, count, onegram, onegram_of
from caesura.training import processes
from caesura.training.checkpoint import Checkpoints
from caesura.training.corpus.packed import Packed, check_fields, is_packed, open_packed
from caesura.training.corpus.stored import Stored, lengths_of, smallest_type
from caesura.training.loop import Data, Progress, Trained, begin, fit
from caesura.training.recipe import DEFAULT, DEFAULTS, Chosen, Recipe, choose

Pieces = Sequence[Shaped[np.ndarray, "_ D"]]
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

    `data` is a list of items (strings, arrays, songs) or of paths to files and folders of them; or
    the path of one folder of packed texts, which may be larger than memory.
    `recipe` is a name, the path of a TOML file, or several with commas between, for a filler with a
    forward and a bidirectional net; by default it is 'nade', or 'series' for series. Any field of a
    recipe, and any of the kind's, can be given by keyword. The nets are chosen on `valid`, or on a
    part of the data that is held out.

    With a folder for `checkpoints`, the training is saved there as it goes, and `resume` goes on
    from what an earlier run left: the weights at the end are the same, bit for bit.

    Where `jax.distributed` has joined several processes, each calls this with the same arguments:
    they share every batch, the first one writes the checkpoints, and all return the same filler.
    """
    kind_type = lookup(KINDS, kind, "kind")
    recipe = DEFAULTS.get(kind, DEFAULT) if recipe is None else recipe
    chosen = _choose(recipe, kind, kind_type, overrides)
    data = _listed(data)
    packed = _packed(kind, data)
    items = [] if packed else _items(kind_type, data)
    held_out = None if valid is None else _items(kind_type, _listed(valid))
    if packed:
        check_fields(packed, chosen[0].kind_fields)
    learnt = packed.kind if packed else kind_type.learn(items, **chosen[0].kind_fields)
    frame = make_frame(learnt.frame_spec)
    pieces = packed.pieces if packed else _read(learnt, frame, items, "training data")
    first = chosen[0].recipe
    split = (
        hold_out(pieces, first.held_out, seed)
        if held_out is None
        else Data(pieces, _read(learnt, frame, held_out, "validation data"))
    )
    identity = _identity(learnt, split, seed)
    nets: dict[NetName, Net] = {
        "onegram": _onegram_of_packed(packed, frame, split.valid)
        if packed
        else onegram(frame, np.concatenate(split.train))
    }
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
        processes.check_alike(
            f"{run} {state.step}",
            "The processes do not train the same: their data, recipes, seeds, versions or "
            "checkpoints differ.",
        )
        if not processes.is_first():
            saved = None  # one writes for all
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


def _listed(data: Any) -> list[Any]:
    if isinstance(data, str):
        raise CaesuraError("Data to learn from is a list, not one string.")
    if isinstance(data, Path):
        return [data]
    if not isinstance(data, Iterable):
        raise CaesuraError(f"Data to learn from is a list, not {type(data).__name__}.")
    return list(data)


def _packed(kind: str, data: list[Any]) -> Packed | None:
    """The packed texts, if that is what the data is."""
    folders = [d for d in data if isinstance(d, Path) and is_packed(d)]
    if not folders:
        return None
    if kind != "text" or len(data) > 1:
        raise CaesuraError(f"The packed texts in '{folders[0]}' are data for text, and all of it.")
    return open_packed(folders[0])


def _items(kind: type[Kind], data: list[Any]) -> list[Any]:
    items = kind.items(data)
    if not items:
        raise CaesuraError("There is nothing to learn from.")
    return items


def _read(kind: Kind, frame: Frame, items: list[Any], what: str) -> list[Shaped[np.ndarray, "_ D"]]:
    """The items as small numbers, which all of the data must fit into a device's memory as."""
    pieces = []
    dtype = np.float32 if isinstance(frame, Continuous) else smallest_type(frame.cardinality)
    for number, item in enumerate(items):
        sequence = kind.read_complete(item)
        if sequence.missing.any():
            raise CaesuraError(f"Item {number} of the {what} has missing values.")
        pieces.append(frame.check(sequence.values, sequence.missing).astype(dtype))
    return pieces


def hold_out(pieces: Pieces, share: float, seed: int) -> Data:
    """A share for validation: whole pieces where there are enough, else the end of each."""
    lengths = lengths_of(pieces)
    if len(pieces) < FEW:
        cuts = (lengths * (1 - share)).astype(np.int64)
        if not cuts.any():
            raise CaesuraError("There is too little data to hold any of it out for validation.")
        return Data(_parts(pieces, np.zeros_like(cuts), cuts), _parts(pieces, cuts, lengths))
    order = np.random.default_rng(seed).permutation(len(pieces))
    sums = np.cumsum(lengths[order])
    few = int(np.clip(np.searchsorted(sums, share * sums[-1]) + 1, 1, len(pieces) - 1))
    chosen = np.zeros(len(pieces), bool)
    chosen[order[:few]] = True
    nothing = np.zeros_like(lengths)
    return Data(
        _parts(pieces, nothing, np.where(chosen, 0, lengths)),
        _parts(pieces, nothing, np.where(chosen, lengths, 0)),
    )


def _parts(
    pieces: Pieces, begins: Int64[np.ndarray, " pieces"], ends: Int64[np.ndarray, " pieces"]
) -> Pieces:
    """A stretch of each piece, those that are empty left out."""
    numbers = np.flatnonzero(ends > begins)
    if isinstance(pieces, Stored):
        return pieces.part(numbers, begins[numbers], ends[numbers])
    return [pieces[n][begins[n] : ends[n]] for n in numbers.tolist()]


def _onegram_of_packed(packed: Packed, frame: Frame, valid: Pieces) -> Net:
    """Of all that was packed but what is held out of it; only that is read."""
    counts = packed.counts[None]
    if isinstance(valid, Stored):
        for block in valid.blocks():
            counts = counts - count(frame, block)
    return onegram_of(frame, counts)


def _architecture(kind: Kind, recipe: Recipe) -> Architecture:
    return Architecture(
        net=recipe.net,
        frame=kind.frame_spec,
        head=recipe.head or kind.head,
        cell=recipe.cell,
        hidden=recipe.hidden,
        layers=recipe.layers,
        missing_input=recipe.missing_input,
        head_hidden=recipe.head_hidden,
    )


def _checkpoints(
    folder: Any, net: str, run: str, warn: Callable[[str], None]
) -> Checkpoints | None:
    return None if folder is None else Checkpoints(Path(folder) / net, run, warn)


def _identity(kind: Kind, data: Data, seed: int) -> dict[str, Any]:
    """What two runs have in common that may go on from each other's checkpoints."""
    content = hashlib.sha256()
    for part in data:
        if isinstance(part, Stored):
            content.update(part.fingerprint.encode())
            content.update(part.starts.tobytes() + part.lengths.tobytes())
        else:
            for piece in part:
                content.update(str(piece.shape).encode())
                content.update(piece.tobytes())
        content.update(b"|")
    told = {
        "fingerprint": content.hexdigest(),
        "pieces": len(data.train),
        "steps": int(lengths_of(data.train).sum()),
        "valid_pieces": len(data.valid),
        "valid_steps": int(lengths_of(data.valid).sum()),
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
