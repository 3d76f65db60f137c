"""The arrays of nets by readable names, such as `bidirectional.forward.cells.0.W_x`.

A matrix of 8-bit numbers has a second tensor, such as `bidirectional.forward.cells.0.W_x.scale`:
row n of the weights is row n of the numbers times scale n.
"""

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Num

from caesura.errors import CaesuraError, lookup
from caesura.later import map_named
from caesura.modelfile.container import DTYPES, Container
from caesura.modelfile.strict_json import write
from caesura.nets.architecture import Architecture
from caesura.nets.initial import Blank
from caesura.nets.rnn import Net, NetName

Tensors = dict[str, Num[np.ndarray, "..."]]
MOST_WEIGHTS = 2**30
SCALE = ".scale"
LARGEST = 127  # of an 8-bit number


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
    tensors: Tensors = {}
    for net_name, net in nets.items():
        # A one-gram is small, and its probabilities would not sum to one if they were rounded.
        stored = short if net.forward.cells else DTYPES["F32"]
        for name, leaf in by_name({net_name: net}).items():
            weights = np.array(leaf, np.float32, order="C")
            with np.errstate(over="ignore"):
                found = _stored(name, weights, stored)
            if not all(np.isfinite(one).all() for one in (weights, *found.values())):
                raise CaesuraError(f"The weights '{name}' are not finite as {stored.name}.")
            tensors |= found
    return tensors


def _stored(name: str, weights: Float[np.ndarray, "..."], dtype: np.dtype[Any]) -> Tensors:
    """Return the tensors of an array: two of a matrix of 8-bit numbers."""
    if dtype != DTYPES["I8"]:
        return {name: weights.astype(dtype)}
    if weights.ndim != 2:  # a bias is small
        return {name: weights}
    # A scale of few bits: then the product is exact, and saving a loaded model gives the same file.
    scale = (np.abs(weights).max(axis=1) / LARGEST).astype(DTYPES["BF16"])
    factors = np.where(scale == 0, 1, scale).astype(np.float32)[:, None]
    numbers = np.rint(np.clip(weights / factors, -LARGEST, LARGEST))
    return {name: numbers.astype(DTYPES["I8"]), name + SCALE: scale}


def multiplied(tensors: Tensors) -> Tensors:
    """Return the tensors, with every matrix of 8-bit numbers multiplied by its scales."""
    return {
        # Bytes are reordered sooner than floats: `fill_in` wants this order.
        name: np.asfortranarray(tensor) * tensors[name + SCALE].astype(np.float32)[:, None]
        if tensor.dtype == DTYPES["I8"]
        else tensor
        for name, tensor in tensors.items()
    }


def check_entries(container: Container, expected: Mapping[str, Any]) -> None:
    """Raise unless the header has exactly these tensors; called before any tensor is read."""
    entries = container.entries
    expected = {**expected, **_scales(entries, expected)}
    if odd := sorted(entries.keys() ^ expected.keys()):
        unknown = f"There is a tensor '{odd[0]}' that the configuration does not know."
        raise CaesuraError(unknown if odd[0] in entries else f"The tensor '{odd[0]}' is missing.")
    weights = size = 0
    for name, leaf in expected.items():
        entry = entries[name] if isinstance(entries[name], dict) else {}
        dtype, shape, wanted = entry.get("dtype"), entry.get("shape"), list(leaf.shape)
        if not isinstance(dtype, str) or dtype not in DTYPES:
            raise CaesuraError(f"The tensor '{name}' is not of the dtype {', '.join(DTYPES)}.")
        if dtype == "I8" and name + SCALE not in expected:
            raise CaesuraError(f"The tensor '{name}' has 8-bit numbers, but it is not a matrix.")
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


def _scales(entries: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, Blank]:
    """Return the shapes of the scales that matrices of 8-bit numbers have beside them."""
    return {
        name + SCALE: Blank(leaf.shape[:1])
        for name, leaf in expected.items()
        if len(leaf.shape) == 2
        and isinstance(entry := entries.get(name), dict)
        and entry.get("dtype") == "I8"
    }


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
        array = tensors[name].astype(np.float32, order="F", copy=False)  # for `nets.products`
        if not np.isfinite(array).all():
            raise CaesuraError(f"The tensor '{name}' has weights that are not finite.")
        return array

    return map_named(weights, dict(shapes))
