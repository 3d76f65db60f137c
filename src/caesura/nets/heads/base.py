"""What every head can do: from the states around a step to a distribution over its frame.

A head is asked about one step: it is given the context, the frame, and which of the frame's
components are missing, and speaks of those given the others.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray, Shaped

from caesura.nets.cells import glorot
from caesura.nets.frames import Frame


class Head(eqx.Module):
    """p(the missing components of a frame | its other components, context)."""

    # Whether the context shall hold the nearest known values on either side, too.
    remembers: ClassVar[bool] = False

    frame: eqx.AbstractVar[Frame]

    @abstractmethod
    def log_prob(
        self, context: Float[Array, " C"], frame: Shaped[Array, " D"], missing: Bool[Array, " D"]
    ) -> Float[Array, ""]:
        """Nats of the missing components together; one that is unknown adds nothing."""

    @abstractmethod
    def sample(
        self,
        key: PRNGKeyArray,
        context: Float[Array, " C"],
        frame: Shaped[Array, " D"],
        missing: Bool[Array, " D"],
    ) -> Shaped[Array, " D"]:
        """The frame with its missing components drawn and the others untouched."""

    @abstractmethod
    def marginals(
        self, context: Float[Array, " C"], frame: Shaped[Array, " D"], missing: Bool[Array, " D"]
    ) -> Float[Array, "D K"]:
        """Log-probabilities of the K values of each missing component by itself."""

    def objective(
        self,
        key: PRNGKeyArray,
        context: Float[Array, " C"],
        frame: Shaped[Array, " D"],
        missing: Bool[Array, " D"],
    ) -> Float[Array, ""]:
        """What training makes small: nats of the missing components, or what teaches them faster.

        Where they are drawn at random, their mean is what counts.
        """
        return -self.log_prob(context, frame, missing)

    @property
    def hidden(self) -> int:
        """Units of the head's hidden layer; 0 if it has none."""
        return 0


def from_states(
    keys: Sequence[PRNGKeyArray], rows: int, sizes: tuple[int, ...]
) -> Float[Array, "rows C"]:
    """[W^f, W^b], each drawn by itself: the context is h^f and h^b, end to end."""
    blocks = [glorot(key, rows, size) for key, size in zip(keys, sizes, strict=True)]
    return jnp.concatenate(blocks, axis=1)
