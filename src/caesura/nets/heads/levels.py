"""Categories as switches: at most one switch of a category is on, and it names the level."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from caesura.later import Array, jax, jnp


class Levels(NamedTuple):
    """The distribution of each category: a softmax in which the first level has the logit 0."""

    logits: Float[Array, " D"]  # of the level that each switch stands for
    leaders: Int[np.ndarray, " D"]  # the first switch of each switch's category

    def log_none(self) -> Float[Array, " D"]:
        """Return log p of the first level of each switch's category (all switches off)."""
        others = jnp.where(self._together, self.logits, -jnp.inf)
        return -jnp.logaddexp(0.0, jax.nn.logsumexp(others, axis=1))

    def log_on(self) -> Float[Array, " D"]:
        """Return log p of the level that each switch stands for."""
        return self.logits + self.log_none()

    def log_prob(self, on: Float[Array, " D"]) -> Float[Array, " D"]:
        """Return log p of each category, at its first switch; the others hold zeros."""
        chosen = jnp.sum(jnp.where(self._together, on * self.logits, 0.0), axis=1)
        first = self.leaders == np.arange(len(self.leaders))
        return jnp.where(first, chosen + self.log_none(), 0.0)

    def draw(self, chance: Float[Array, " D"]) -> Float[Array, " D"]:
        """Return at most one switch per category, from a uniform number at its first switch."""
        place = np.arange(len(self.leaders)) - self.leaders
        upto = self._together & (place <= place[:, None])
        total = jnp.sum(jnp.where(upto, jnp.exp(self.log_on()), 0.0), axis=1)
        passed = self._together & (chance[self.leaders][:, None] >= total)
        return (jnp.sum(passed, axis=1) == place).astype(self.logits.dtype)

    @property
    def _together(self) -> Bool[np.ndarray, "D D"]:
        """Which pairs of switches belong to the same category."""
        return self.leaders[:, None] == self.leaders
