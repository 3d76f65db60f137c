"""A forward and a bidirectional net of the same data, for strategies that use both."""

from jaxtyping import Bool, Shaped

from caesura.errors import CaesuraError
from caesura.later import Array, Module, PyTree
from caesura.nets.frames import Frame
from caesura.nets.rnn import Net, States


class Pair(Module):
    """Two nets; their inputs and states are dicts with the names of the nets as keys."""

    forward: Net
    bidirectional: Net

    def __check_init__(self) -> None:
        if (self.forward.name, self.bidirectional.name) != ("forward", "bidirectional"):
            raise CaesuraError("A pair needs a forward net and a bidirectional one.")

    @property
    def frame(self) -> Frame:
        """The frames that both nets are for."""
        return self.forward.frame

    def initial(self) -> States:
        """Return the states outside the sequence."""
        return _by_name(self.forward.initial(), self.bidirectional.initial())

    def inputs(self, values: Shaped[Array, "T D"], unknown: Bool[Array, "T D"]) -> PyTree:
        """Return the inputs of the cells of both nets at all steps."""
        return {
            "forward": self.forward.inputs(values, unknown),
            "bidirectional": self.bidirectional.inputs(values, unknown),
        }

    def states(self, inputs: PyTree, valid: Bool[Array, " T"]) -> States:
        """Return the states between all steps of a sequence."""
        return _by_name(
            self.forward.states(inputs["forward"], valid),
            self.bidirectional.states(inputs["bidirectional"], valid),
        )


def _by_name(forward: States, bidirectional: States) -> States:
    both = zip(forward, bidirectional, strict=True)
    return States(*({"forward": f, "bidirectional": b} for f, b in both))


Nets = Net | Pair  # what a strategy may work with
