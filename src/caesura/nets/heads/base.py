"""The base class of heads: the distribution of a frame from the states around its step."""

from abc import abstractmethod
from typing import ClassVar, NamedTuple

from jaxtyping import Bool, Float, Shaped

from caesura.later import Array, Module, PRNGKeyArray
from caesura.nets.arrays import Numbers
from caesura.nets.frames import Frame


class Query(NamedTuple):
    """A question about one step: the missing components of its frame, given all the rest."""

    context: Float[Numbers, "C *B"]  # the states around the step
    frame: Shaped[Numbers, "D *B"]
    missing: Bool[Numbers, "D *B"]


class Head(Module):
    """p(the missing components of a frame | its other components, context)."""

    # Whether the context also holds the nearest known values on either side.
    remembers: ClassVar[bool] = False
    # Whether `log_prob`, `chain`, `draw` and `marginals` also take arrays of NumPy, with a batch in
    # the last axis, and `__init__` needs no key for the shapes alone (`caesura.nets.initial`).
    in_numpy: ClassVar[bool] = False

    frame: Frame

    @abstractmethod
    def log_prob(self, query: Query) -> Float[Numbers, "*B"]:
        """Return the joint log-probability of the missing components of `query.frame`.

        Unknown values add nothing.
        """

    @abstractmethod
    def sample(self, key: PRNGKeyArray, query: Query) -> Shaped[Array, " D"]:
        """Return the frame with its missing components drawn and the others unchanged."""

    def draw(self, chance: Float[Numbers, "D *B"], query: Query) -> Shaped[Numbers, "D *B"]:
        """Return what `sample` returns, from numbers that are uniform between 0 and 1.

        Only a head that can be run by NumPy needs it.
        """
        raise NotImplementedError

    def chain(self, query: Query) -> Float[Numbers, "D *B"]:
        """Return the log-probability of each missing component, given those before it.

        Other components have 0, and `log_prob` is the sum. Only a head that can be run by NumPy
        needs it.
        """
        raise NotImplementedError

    @abstractmethod
    def marginals(self, query: Query) -> Float[Numbers, "D K *B"]:
        """Return the log-probabilities of the K values of each missing component by itself."""

    def objective(self, key: PRNGKeyArray, query: Query) -> Float[Array, ""]:
        """Return the training loss: −log p of the missing components, or a random estimate."""
        return -self.log_prob(query)

    @property
    def hidden(self) -> int:
        """The number of hidden units of the head's own layer; 0 if it has none."""
        return 0
