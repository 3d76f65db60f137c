"""`Architecture`: everything needed to rebuild a net except its weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from caesura.errors import CaesuraError, lookup, whole_number
from caesura.later import eqx, jax
from caesura.nets.cells import CELLS
from caesura.nets.frames import make_frame
from caesura.nets.heads import HEADS
from caesura.nets.heads.base import Head
from caesura.nets.heads.histogram import Histogram
from caesura.nets.heads.linear import Constant
from caesura.nets.initial import MaybeKey, zeros
from caesura.nets.rnn import MissingInput, Net, NetName, bidirectional, constant, unidirectional
from caesura.sequence import FrameSpec

WITHOUT_CELLS: dict[str, type[Head]] = {"constant": Constant, "histogram": Histogram}
# A description may come from a stranger's file: these limit the work that it can cause.
MOST_HIDDEN = 2**16
MOST_LAYERS = 32


@dataclass(frozen=True)
class Architecture:
    """The names and sizes of a net's parts.

    Parameters
    ----------
    net
        "bidirectional", "forward" or "onegram".
    frame
        The frames that the net is for.
    head
        A key of `HEADS`; "constant" or "histogram" for a one-gram.
    cell
        A key of `CELLS`; None for a one-gram, which has no cells.
    hidden
        The number of hidden units of a layer, per direction.
    layers
        The number of layers, per direction.
    missing_input
        How the cells are told what is missing: "none", "added", "each" or "gating".
    head_hidden
        The number of hidden units of the head's own layer; 0 for none.
    """

    net: NetName
    frame: FrameSpec
    head: str
    cell: str | None
    hidden: int
    layers: int
    missing_input: str
    head_hidden: int = 0

    def __post_init__(self) -> None:
        lookup(dict.fromkeys(get_args(NetName)), self.net, "net")
        make_frame(self.frame)
        lookup(HEADS | WITHOUT_CELLS, self.head, "head")
        lookup(dict.fromkeys(get_args(MissingInput)), self.missing_input, "missing-value input")
        if self.net != "onegram":
            lookup(CELLS, self.cell, "cell")
            whole_number("hidden", self.hidden, 1, MOST_HIDDEN)
            whole_number("layers", self.layers, 1, MOST_LAYERS)
            whole_number("head_hidden", self.head_hidden, 0, MOST_HIDDEN)
        elif (self.cell, self.hidden, self.layers, self.head_hidden) != (None, 0, 0, 0):
            raise CaesuraError("A one-gram has no cells, no layers and no hidden units.")
        if (self.net == "onegram") != (self.head in WITHOUT_CELLS):
            raise CaesuraError(f"The head '{self.head}' is not for a {self.net} net.")
        if self.net != "bidirectional" and self.missing_input != "none":
            raise CaesuraError("Only a bidirectional net has a missing-value input.")

    def build(self, key: MaybeKey) -> Net:
        """Return a new net with random weights; without a key, with shapes in their place."""
        frame = make_frame(self.frame)
        if self.net == "onegram":
            return constant(frame, zeros(key, frame.components, frame.cardinality))
        names = ("head", "cell", "hidden", "layers", "head_hidden")
        shape: dict[str, Any] = {name: getattr(self, name) for name in names}
        if self.net == "forward":
            return unidirectional(key, frame, **shape)
        return bidirectional(key, frame, **shape | {"missing_input": self.missing_input})

    def skeleton(self) -> Net:
        """Return the net with shapes in place of arrays: nothing is computed or allocated."""
        if self.net == "onegram" or (CELLS[self.cell or ""].in_numpy and HEADS[self.head].in_numpy):
            return self.build(None)
        return eqx.filter_eval_shape(lambda: self.build(jax.random.key(0)))


def describe(net: Net) -> Architecture:
    """Return the architecture that builds nets like this one."""
    cells = net.forward.cells
    architecture = Architecture(
        net=net.name,
        frame=net.frame.spec,
        head=_name(HEADS | WITHOUT_CELLS, net.head),
        cell=_name(CELLS, cells[0]) if cells else None,
        hidden=cells[0].size if cells else 0,
        layers=len(cells),
        missing_input=net.missing_input,
        head_hidden=net.head.hidden,
    )
    if _shapes(architecture.skeleton()) != _shapes(net):
        raise CaesuraError("The net has no description: its layers differ from each other.")
    return architecture


def _name(registry: Mapping[str, type], part: Any) -> str:
    """Return the name of the class of `part` in the registry."""
    for name, known in registry.items():
        if type(part) is known:
            return name
    raise CaesuraError(f"A net with a part of class '{type(part).__name__}' has no description.")


def _shapes(net: Net) -> tuple[Any, list[tuple[int, ...]]]:
    leaves, structure = jax.tree.flatten(net)
    return structure, [leaf.shape for leaf in leaves]
