"""`gsn`: the bidirectional net's conditionals, resampled in turn until they agree."""

from typing import ClassVar

from caesura.nets.rnn import Net, NetName
from caesura.strategies.cursor import Conditional, given_the_rest
from caesura.strategies.gibbs import Gibbs
from caesura.strategies.window import Window


class GSN(Gibbs):
    """The paper's first reading of a BRNN: the limit of a chain that redraws x_t given the rest."""

    net: ClassVar[NetName] = "bidirectional"

    def conditional(self, net: Net, window: Window) -> Conditional:
        return given_the_rest(net)
