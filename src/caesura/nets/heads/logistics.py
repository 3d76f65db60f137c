"""A mixture of logistic distributions: several modes, and heavy tails."""

from typing import NamedTuple

from jaxtyping import Float

from caesura.later import Array, jax, jnp
from caesura.nets.arrays import Numbers, namespace, sigmoid


class Logistics(NamedTuple):
    """A mixture of M distributions, which stand along the last axis."""

    log_weights: Float[Numbers, "*D M"]
    means: Float[Numbers, "*D M"]
    scales: Float[Numbers, "*D M"]

    def log_density(self, x: Float[Array, "*D"]) -> Float[Array, "*D"]:
        """Return the log of the density at x."""
        z = jnp.abs(x[..., None] - self.means) / self.scales
        each = -z - 2 * jnp.log1p(jnp.exp(-z)) - jnp.log(self.scales)
        return jax.nn.logsumexp(self.log_weights + each, axis=-1)

    def below(self, x: Float[Numbers, "*n"]) -> Float[Numbers, "*n"]:
        """Return the probability of a value below x."""
        xp = namespace(self.means)
        each = sigmoid((x[..., None] - self.means) / self.scales)
        return xp.sum(xp.exp(self.log_weights) * each, axis=-1)

    def draw(self, chance: Float[Array, "*D 2"]) -> Float[Array, "*D"]:
        """Return a sample, made of two numbers that are uniform between 0 and 1."""
        total = jnp.cumsum(jnp.exp(self.log_weights), axis=-1)
        which = jnp.sum(chance[..., :1] > total[..., :-1], axis=-1, keepdims=True)
        mean, scale = (jnp.take_along_axis(a, which, -1)[..., 0] for a in (self.means, self.scales))
        u = chance[..., 1]
        return mean + scale * (jnp.log(u) - jnp.log1p(-u))
