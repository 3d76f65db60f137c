"""A softmax over bins in the place of the mixture, to compare: `head=binned` in series.py.

The bins hold equal shares of a logistic distribution around the line between the neighbours, and
inside a bin numbers follow it; so do the tails.
"""

from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from caesura.nets.architecture import ALL_HEADS
from caesura.nets.cells import product
from caesura.nets.frames import Frame
from caesura.nets.heads import HEADS
from caesura.nets.levels import Levels
from caesura.nets.mixture import NARROWEST, Around, Conditionals, Mixture, Seen

BINS = 32


class Bins(NamedTuple):
    """The shares of the bins, and where the logistic distribution stands."""

    log_shares: Float[Array, "*D BINS"]
    mean: Float[Array, "*D"]
    scale: Float[Array, "*D"]

    def log_density(self, x: Float[Array, "*D"]) -> Float[Array, "*D"]:
        z = (x - self.mean) / self.scale
        bin = jnp.clip(jnp.floor(jax.nn.sigmoid(z) * BINS), 0, BINS - 1).astype(int)
        share = jnp.take_along_axis(self.log_shares, bin[..., None], axis=-1)[..., 0]
        logistic = jax.nn.log_sigmoid(z) + jax.nn.log_sigmoid(-z) - jnp.log(self.scale)
        return share + jnp.log(BINS) + logistic

    def below(self, x: Float[Array, "*n"]) -> Float[Array, "*n"]:
        place = jax.nn.sigmoid((x - self.mean) / self.scale) * BINS
        inside = jnp.clip(place[..., None] - jnp.arange(BINS), 0, 1)
        return jnp.sum(jnp.exp(self.log_shares) * inside, axis=-1)

    def draw(self, chance: Float[Array, "*D 2"]) -> Float[Array, "*D"]:
        total = jnp.cumsum(jnp.exp(self.log_shares), axis=-1)
        bin = jnp.sum(chance[..., :1] > total[..., :-1], axis=-1)
        u = (bin + chance[..., 1]) / BINS
        return self.mean + self.scale * (jnp.log(u) - jnp.log1p(-u))


class Binned(Mixture):
    """The same layers, with a parameter for each bin of a component."""

    def __init__(self, key: PRNGKeyArray, frame: Frame, sizes: tuple[int, ...], hidden: int = 0):
        super().__init__(key, frame, sizes, hidden)
        keys, D = jax.random.split(key), frame.components
        small = 0.1 / sum(sizes) ** 0.5
        self.W_y = small * jax.random.normal(keys[0], (D * BINS, sum(sizes)))
        self.b_y = jnp.zeros(D * BINS)
        self.U_y = jnp.zeros((*self.U_y.shape[:2], BINS))
        self.V_y = small * jax.random.normal(keys[1], (D * BINS, hidden))

    def _given(self, seen: Seen, around: Around, linear: Float[Array, "D BINS"]) -> Any:
        z = jax.nn.gelu(seen.a).astype(self.V_y.dtype)
        parameters = linear + product(self.V_y, z).reshape(linear.shape)
        mean, scale = around.line + around.scale * seen.shift, NARROWEST + around.scale
        bins = Bins(jax.nn.log_softmax(parameters), mean, scale)
        levels = Levels(parameters[:, 0] + seen.shift, self.frame.leaders)
        return Conditionals(cast(Any, bins), levels, self.frame.categorical)


HEADS["binned"] = ALL_HEADS["binned"] = Binned
