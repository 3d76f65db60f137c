"""Two nets side by side, of which one proposes and the other judges."""

import equinox as eqx
from jaxtyping import Array, Bool, PyTree, Shaped

from caesura.errors import CaesuraError
from caesura.nets.frames import Frame
from caesura.nets.rnn import Net, States


class Pair(eqx.Module):
    """A forward and a bidirectional net of the same data; what they see and keep goes by name."""

    forward: Net
    bidirectional: Net

    def __check_init__(self) -> None:
        if self.forward.backward.cells or not self.bidirectional.backward.cells:
            raise CaesuraError("A pair has a forward net and a bidirectional one.")

    @property
    def frame(self) -> Frame:
        """What the frames of both nets hold."""
        return self.forward.frame

    def initial(self) -> States:
        """The states outside the sequence."""
        return _by_name(self.forward.initial(), self.bidirectional.initial())

    def inputs(self, values: Shaped[Array, "T D"], unknown: Bool[Array, "T D"]) -> PyTree:
        """What the cells of either net see of each step."""
        return {
            "forward": self.forward.inputs(values, unknown),
            "bidirectional": self.bidirectional.inputs(values, unknown),
        }

    def states(self, inputs: PyTree, valid: Bool[Array, " T"]) -> States:
        """The states between all steps of a sequence."""
        return _by_name(
            self.forward.states(inputs["forward"], valid),
            self.bidirectional.states(inputs["bidirectional"], valid),
        )


def _by_name(forward: States, bidirectional: States) -> States:
    both = zip(forward, bidirectional, strict=True)
    return States(*({"forward": f, "bidirectional": b} for f, b in both))


Nets = Net | Pair  # what a strategy may work with
