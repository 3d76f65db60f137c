"""The one-gram of numbers (the share of each bin) and of categories (the share of each level)."""

import numpy as np
from jaxtyping import Float, Shaped

from caesura.later import Array, PRNGKeyArray, jax, jnp
from caesura.nets.bins import EDGES, ON
from caesura.nets.heads.base import Query
from caesura.nets.heads.levels import Levels
from caesura.nets.heads.linear import Constant

# The density is uniform inside a bin; in the two open bins it decays exponentially, at scale 1.
WIDTHS = np.append(np.diff(EDGES, prepend=EDGES[0] - 1), 1.0)
TINY = float(np.finfo(np.float32).tiny)


class Histogram(Constant):
    """Numbers and levels that follow the same distribution whatever the context."""

    def log_prob(self, query: Query) -> Float[Array, ""]:
        _, frame, missing = query
        index = self.frame.index(frame)
        mass = jnp.take_along_axis(self.log_probs, index[:, None], axis=1)[:, 0]
        beyond = jnp.maximum(jnp.abs(frame) - EDGES[-1], 0)
        nats = mass - jnp.log(jnp.asarray(WIDTHS)[index]) - beyond
        nats = jnp.where(self.frame.categorical, self._levels().log_prob(frame), nats)
        return jnp.sum(jnp.where(missing & ~self.frame.unknown(frame), nats, 0.0))

    def sample(self, key: PRNGKeyArray, query: Query) -> Shaped[Array, " D"]:
        shape = query.frame.shape
        key_bin, key_inside, key_level = jax.random.split(key, 3)
        index = jax.random.categorical(key_bin, self.log_probs)
        share = jax.random.uniform(key_inside, shape, minval=TINY)
        edges = jnp.asarray(EDGES, jnp.float32)
        inside = edges[index - 1] + share * jnp.asarray(WIDTHS, jnp.float32)[index]
        drawn = jnp.where(index == 0, edges[0] + jnp.log(share), inside)
        drawn = jnp.where(index == len(EDGES), edges[-1] - jnp.log(share), drawn)
        levels = self._levels().draw(jax.random.uniform(key_level, shape))
        drawn = jnp.where(self.frame.categorical, levels, drawn)
        return jnp.where(query.missing, drawn, query.frame)

    def _levels(self) -> Levels:
        leaders = self.frame.leaders
        log_on = self.log_probs[:, ON]
        together = leaders[:, None] == leaders
        none = 1 - jnp.sum(jnp.where(together, jnp.exp(log_on), 0.0), axis=1)
        return Levels(log_on - jnp.log(jnp.maximum(none, TINY)), leaders)
