"""Categories as switches: of those of one category, at most one is on, and that says the level."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int


class Levels(NamedTuple):
    """The distribution of each category: a softmax, in which the first level has the logit zero."""

    logits: Float[Array, " D"]  # of the levels that the switches stand for
    leaders: Int[np.ndarray, " D"]  # the first switch of each one's category

    def log_none(self) -> Float[Array, " D"]:
        """Nats of the first level of each one's category: all of its switches are off."""
        others = jnp.where(self._together, self.logits, -jnp.inf)
        return -jnp.logaddexp(0.0, jax.nn.logsumexp(others, axis=1))

    def log_on(self) -> Float[Array, " D"]:
        """Nats of every other level."""
        return self.logits + self.log_none()

    def log_prob(self, on: Float[Array, " D"]) -> Float[Array, " D"]:
        """Nats of whole categories; they stand at the first switches, and zeros at the others."""
        chosen = jnp.sum(jnp.where(self._together, on * self.logits, 0.0), axis=1)
        first = self.leaders == np.arange(len(self.leaders))
        return jnp.where(first, chosen + self.log_none(), 0.0)

    def draw(self, chance: Float[Array, " D"]) -> Float[Array, " D"]:
        """One switch of each category, or none, by a number between 0 and 1 for the first."""
        place = np.arange(len(self.leaders)) - self.leaders
        upto = self._together & (place <= place[:, None])
        total = jnp.sum(jnp.where(upto, jnp.exp(self.log_on()), 0.0), axis=1)
        passed = self._together & (chance[self.leaders][:, None] >= total)
        return (jnp.sum(passed, axis=1) == place).astype(self.logits.dtype)

    @property
    def _together(self) -> Bool[np.ndarray, "D D"]:
        """Which switches are of one category."""
        return self.leaders[:, None] == self.leaders
