"""`gsn`: Gibbs sampling from the conditionals of the bidirectional net."""

from typing import ClassVar

from caesura.nets.rnn import Net, NetName
from caesura.strategies.cursor import Conditional, given_the_rest
from caesura.strategies.gibbs import Gibbs
from caesura.strategies.window import Window


class GSN(Gibbs):
    """The paper's first method: a chain that resamples x_t given all other steps, Eq. (3).

    Parameters
    ----------
    steps
        The number of resampling steps in the longest gap, M in the paper (default 100). A gap of g
        steps gets M/g sweeps.
    chains
        The number of chains that a log-probability or a marginal averages over (default 100).

    Examples
    --------
    >>> GSN(steps=50, chains=20).is_exact(1)
    False
    """

    name: ClassVar[str] = "gsn"
    net: ClassVar[NetName] = "bidirectional"

    def conditional(self, net: Net, window: Window) -> Conditional:
        return given_the_rest(net)
