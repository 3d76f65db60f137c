"""What a net is made of, without its weights: enough to build another one like it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from caesura.errors import CaesuraError, lookup, whole_number
from caesura.nets.cells import CELLS
from caesura.nets.frames import FRAMES, Continuous, make_frame
from caesura.nets.heads import HEADS
from caesura.nets.heads.base import Head
from caesura.nets.heads.histogram import Histogram
from caesura.nets.heads.linear import Constant
from caesura.nets.rnn import MissingInput, Net, bidirectional, constant, unidirectional

# By whether there are cells forward and backward in time.
DIRECTIONS = {"both": (True, True), "forward": (True, False), "none": (False, False)}
WITHOUT_CELLS: dict[str, type[Head]] = {"constant": Constant, "histogram": Histogram}
ALL_HEADS: dict[str, type[Head]] = {**HEADS, **WITHOUT_CELLS}
# A description may come from a stranger's file: these keep the work it can ask for small.
MOST_SYMBOLS = 0x110000  # all of Unicode
MOST_HIDDEN = 2**16
MOST_LAYERS = 32


@dataclass(frozen=True)
class Architecture:
    """The names and sizes of a net's parts; those of a net without cells are few."""

    direction: str
    frame: str
    size: int  # of a frame: of an alphabet, of a keyboard, or of a row of numbers
    head: str
    cell: str | None
    hidden: int
    layers: int
    missing_input: str
    head_hidden: int = 0  # of the hidden layer beside the head's linear map; 0 for none
    informing: int = 0  # so many numbers of a frame, the last ones, are never filled
    categories: tuple[int, ...] = ()  # how many levels each has; their switches stand before those

    def __post_init__(self) -> None:
        lookup(DIRECTIONS, self.direction, "direction")
        lookup(FRAMES, self.frame, "frame")
        lookup(ALL_HEADS, self.head, "head")
        lookup(dict.fromkeys(get_args(MissingInput)), self.missing_input, "missing-value input")
        whole_number("size", self.size, 1, MOST_SYMBOLS)
        most = self.size - 1 if self.frame == "continuous" else 0
        whole_number("informing", self.informing, 0, most)
        for levels in self.categories:
            whole_number("categories", levels, 2, self.size + 1)
        switches = sum(levels - 1 for levels in self.categories)
        if self.categories and (
            self.frame != "continuous" or switches + self.informing > self.size
        ):
            raise CaesuraError(f"The categories of the net do not fit into its {self.frame} frame.")
        recurrent = self.direction != "none"
        if recurrent:
            lookup(CELLS, self.cell, "cell")
            whole_number("hidden", self.hidden, 1, MOST_HIDDEN)
            whole_number("layers", self.layers, 1, MOST_LAYERS)
            whole_number("head_hidden", self.head_hidden, 0, MOST_HIDDEN)
        elif (self.cell, self.hidden, self.layers, self.head_hidden) != (None, 0, 0, 0):
            raise CaesuraError("The net has cells, but no direction of time for them.")
        if recurrent == (self.head in WITHOUT_CELLS):
            raise CaesuraError("The head 'constant' is for nets without cells, and for no others.")
        if self.direction != "both" and self.missing_input != "none":
            raise CaesuraError("Only a net of both directions has a missing-value input.")

    def build(self, key: PRNGKeyArray) -> Net:
        """A new net."""
        frame = make_frame(self.frame, self.size, self.informing, self.categories)
        if self.direction == "none":
            return constant(frame, jnp.zeros((frame.components, frame.cardinality)))
        shape: dict[str, Any] = {
            "head": self.head,
            "cell": self.cell,
            "hidden": self.hidden,
            "layers": self.layers,
            "head_hidden": self.head_hidden,
        }
        if self.direction == "forward":
            return unidirectional(key, frame, **shape)
        return bidirectional(key, frame, **shape | {"missing_input": self.missing_input})

    def skeleton(self) -> Net:
        """The net with shapes for arrays: nothing is computed and nothing allocated."""
        return eqx.filter_eval_shape(lambda: self.build(jax.random.key(0)))


def describe(net: Net) -> Architecture:
    """The architecture that builds nets like this one."""
    cells = net.forward.cells
    directions = (bool(cells), bool(net.backward.cells))
    if directions not in DIRECTIONS.values():
        raise CaesuraError("A net that only runs backward has no description.")
    architecture = Architecture(
        direction=next(name for name, both in DIRECTIONS.items() if both == directions),
        frame=_name(FRAMES, net.frame),
        size=net.frame.size,
        head=_name(ALL_HEADS, net.head),
        cell=_name(CELLS, cells[0]) if cells else None,
        hidden=cells[0].size if cells else 0,
        layers=len(cells),
        missing_input=net.missing_input,
        head_hidden=net.head.hidden,
        informing=int(np.sum(~net.frame.fillable)),
        categories=net.frame.categories if isinstance(net.frame, Continuous) else (),
    )
    if _shapes(architecture.skeleton()) != _shapes(net):
        raise CaesuraError(
            "The net has no description: its layers differ from each other, "
            "or its head averages over several orders."
        )
    return architecture


def _name(registry: Mapping[str, type], part: Any) -> str:
    """What the registry calls the class of `part`."""
    for name, known in registry.items():
        if type(part) is known:
            return name
    raise CaesuraError(f"A net with a part of class '{type(part).__name__}' has no description.")


def _shapes(net: Net) -> tuple[Any, list[tuple[int, ...]]]:
    leaves, structure = jax.tree.flatten(net)
    return structure, [leaf.shape for leaf in leaves]
