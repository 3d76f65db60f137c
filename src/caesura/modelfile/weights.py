"""The arrays of nets by readable names, such as `bidirectional.forward.cells.0.W_x`."""

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from caesura.errors import CaesuraError, lookup
from caesura.later import map_named
from caesura.modelfile.container import DTYPES, Container
from caesura.modelfile.strict_json import write
from caesura.nets.architecture import Architecture
from caesura.nets.rnn import Net, NetName

Tensors = dict[str, Float[np.ndarray, "..."]]
MOST_WEIGHTS = 2**30


def by_name(nets: Mapping[NetName, Net]) -> dict[str, Any]:
    """Return the leaves, arrays or shapes, by their paths."""
    found: dict[str, Any] = {}
    map_named(found.__setitem__, dict(nets))
    return found


def skeletons(nets: Mapping[NetName, Architecture]) -> dict[NetName, Net]:
    """Return nets with shapes in place of arrays; nothing is allocated."""
    return {name: net.skeleton() for name, net in nets.items()}


def store(nets: Mapping[NetName, Net], dtype: str) -> Tensors:
    """Return the nets' arrays as a file stores them."""
    short = lookup({known.name: known for known in DTYPES.values()}, dtype, "dtype")
    tensors = {}
    for net_name, net in nets.items():
        # A one-gram is small, and its probabilities would not sum to one if they were rounded.
        stored = short if net.forward.cells else DTYPES["F32"]
        for name, leaf in by_name({net_name: net}).items():
            with np.errstate(over="ignore"):
                tensors[name] = np.array(leaf, np.float32, order="C").astype(stored)
            if not np.isfinite(tensors[name]).all():
                raise CaesuraError(f"The weights '{name}' are not finite as {stored.name}.")
    return tensors


def check_entries(container: Container, expected: Mapping[str, Any]) -> None:
    """Raise unless the header has exactly these tensors; called before any tensor is read."""
    entries = container.entries
    if odd := sorted(entries.keys() ^ expected.keys()):
        unknown = f"There is a tensor '{odd[0]}' that the configuration does not know."
        raise CaesuraError(unknown if odd[0] in entries else f"The tensor '{odd[0]}' is missing.")
    weights = size = 0
    for name, leaf in expected.items():
        entry = entries[name] if isinstance(entries[name], dict) else {}
        dtype, shape, wanted = entry.get("dtype"), entry.get("shape"), list(leaf.shape)
        if not isinstance(dtype, str) or dtype not in DTYPES:
            raise CaesuraError(f"The tensor '{name}' is not of the dtype {', '.join(DTYPES)}.")
        if shape != wanted:
            found = f"The tensor '{name}' has the shape {shape}"
            raise CaesuraError(f"{found}, but the configuration requires {wanted}.")
        weights += math.prod(leaf.shape)
        size += math.prod(leaf.shape) * DTYPES[dtype].itemsize
    if weights > MOST_WEIGHTS:
        raise CaesuraError(f"It claims {weights} weights, more than any model should have.")
    if size != container.data_size:
        raise CaesuraError(
            f"The tensors take {size} bytes, but the file has {container.data_size} for them."
        )


def digest(document: Mapping[str, Any], tensors: Tensors) -> str:
    """Return the sha256 of the configuration (without its own sha256) and of all tensors."""
    found = hashlib.sha256(write({k: v for k, v in document.items() if k != "sha256"}).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        found.update(write([name, tensor.dtype.name, list(tensor.shape)]).encode())
        found.update(tensor.tobytes())
    return found.hexdigest()


def fill_in(shapes: Mapping[NetName, Net], tensors: Tensors) -> dict[NetName, Net]:
    """Return the nets with the tensors in place of the shapes."""

    def weights(name: str, _: Any) -> Float[np.ndarray, "..."]:
        array = tensors[name].astype(np.float32, order="F")  # as `nets.products` wants it
        if not np.isfinite(array).all():
            raise CaesuraError(f"The tensor '{name}' has weights that are not finite.")
        return array

    return map_named(weights, dict(shapes))
