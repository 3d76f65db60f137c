"""Other distributions in the place of the mixture, to compare: `head=binned`, `head=spline` in
series.py.

Both bend a logistic distribution that stands around the line between the neighbours. `binned`: a
softmax over bins that hold equal shares of it. `spline`: its numbers are moved by a rational
quadratic spline (Durkan et al. 2019), which is the identity far out.
"""

from typing import Any, ClassVar, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from caesura.nets.architecture import ALL_HEADS
from caesura.nets.cells import product
from caesura.nets.frames import Frame
from caesura.nets.heads import HEADS
from caesura.nets.heads.levels import Levels
from caesura.nets.heads.mixture import NARROWEST, Around, Conditionals, Mixture, Seen

BINS = 32
PIECES = 8  # of the spline
OUT = 8.0  # how far it reaches from zero: beyond lies one number of 1500
THINNEST = 1e-3  # piece, and the least slope


class Bins(NamedTuple):
    """The shares of the bins, and where the logistic distribution stands."""

    parameters: Float[Array, "*D BINS"]
    mean: Float[Array, "*D"]
    scale: Float[Array, "*D"]

    def log_density(self, x: Float[Array, "*D"]) -> Float[Array, "*D"]:
        z = (x - self.mean) / self.scale
        bin = jnp.clip(jnp.floor(jax.nn.sigmoid(z) * BINS), 0, BINS - 1).astype(int)
        share = _pick(jax.nn.log_softmax(self.parameters), bin)
        return share + jnp.log(BINS) + _log_logistic(z) - jnp.log(self.scale)

    def below(self, x: Float[Array, "*n"]) -> Float[Array, "*n"]:
        place = jax.nn.sigmoid((x - self.mean) / self.scale) * BINS
        inside = jnp.clip(place[..., None] - jnp.arange(BINS), 0, 1)
        return jnp.sum(jax.nn.softmax(self.parameters) * inside, axis=-1)

    def draw(self, chance: Float[Array, "*D 2"]) -> Float[Array, "*D"]:
        total = jnp.cumsum(jax.nn.softmax(self.parameters), axis=-1)
        bin = jnp.sum(chance[..., :1] > total[..., :-1], axis=-1)
        u = (bin + chance[..., 1]) / BINS
        return self.mean + self.scale * (jnp.log(u) - jnp.log1p(-u))


class Spline(NamedTuple):
    """Widths and heights of the pieces, slopes between them; zeros are the identity."""

    parameters: Float[Array, "*D 3*PIECES-1"]
    mean: Float[Array, "*D"]
    scale: Float[Array, "*D"]

    def log_density(self, x: Float[Array, "*D"]) -> Float[Array, "*D"]:
        z, log_slope = self._to_logistic((x - self.mean) / self.scale)
        return _log_logistic(z) + log_slope - jnp.log(self.scale)

    def below(self, x: Float[Array, "*n"]) -> Float[Array, "*n"]:
        return jax.nn.sigmoid(self._to_logistic((x - self.mean) / self.scale)[0])

    def draw(self, chance: Float[Array, "*D 2"]) -> Float[Array, "*D"]:
        z = jnp.log(chance[..., 1]) - jnp.log1p(-chance[..., 1])
        left, bottom, width, height, slope, next_slope = self._piece(z, by_height=True)
        up = jnp.clip(z - bottom, 0, height)
        steep = height / width
        bend = slope + next_slope - 2 * steep
        a, b = height * (steep - slope) + up * bend, height * slope - up * bend
        c = -steep * up
        inside = 2 * c / (-b - jnp.sqrt(jnp.maximum(b**2 - 4 * a * c, 0)))
        x = jnp.where(jnp.abs(z) < OUT, left + width * inside, z)
        return self.mean + self.scale * x

    def _to_logistic(self, x: Float[Array, "*n"]) -> tuple[Float[Array, "*n"], Float[Array, "*n"]]:
        """Where a number goes, and the log of the slope there."""
        left, bottom, width, height, slope, next_slope = self._piece(x, by_height=False)
        steep = height / width
        t = jnp.clip((x - left) / width, 0, 1)
        down = steep + (slope + next_slope - 2 * steep) * t * (1 - t)
        z = bottom + height * (steep * t**2 + slope * t * (1 - t)) / down
        rise = next_slope * t**2 + 2 * steep * t * (1 - t) + slope * (1 - t) ** 2
        log_slope = 2 * jnp.log(steep) + jnp.log(rise) - 2 * jnp.log(down)
        inside = jnp.abs(x) < OUT
        return jnp.where(inside, z, x), jnp.where(inside, log_slope, 0.0)

    def _piece(self, at: Float[Array, "*n"], *, by_height: bool) -> list[Float[Array, "*n"]]:
        """Of the piece that each number lies in: its left, bottom, width, height, both slopes."""
        widths, heights, slopes = jnp.split(self.parameters, [PIECES, 2 * PIECES], axis=-1)
        sizes = [
            2 * OUT * (THINNEST + (1 - PIECES * THINNEST) * jax.nn.softmax(raw))
            for raw in (widths, heights)
        ]
        starts = [jnp.cumsum(size, axis=-1) - size - OUT for size in sizes]
        one = np.log(np.expm1(1 - THINNEST))
        slopes = THINNEST + jax.nn.softplus(slopes + one)
        slopes = jnp.pad(slopes, [(0, 0)] * (slopes.ndim - 1) + [(1, 1)], constant_values=1.0)
        begins = starts[by_height][..., 1:]
        piece = jnp.sum(at[..., None] >= begins, axis=-1)
        of_pieces = (*starts, *sizes, slopes[..., :-1], slopes[..., 1:])
        return [_pick(each, piece) for each in of_pieces]


def _log_logistic(z: Float[Array, "*n"]) -> Float[Array, "*n"]:
    return jax.nn.log_sigmoid(z) + jax.nn.log_sigmoid(-z)


def _pick(each: Float[Array, "*D K"], number: Array) -> Float[Array, "*n"]:
    """One of K; the distribution of one number may be asked at many places."""
    each = jnp.broadcast_to(each, (*number.shape, each.shape[-1]))
    return jnp.take_along_axis(each, number[..., None], axis=-1)[..., 0]


class Bent(Mixture):
    """The layers of the mixture, with other parameters for each component."""

    distribution: ClassVar[Any]
    count: ClassVar[int]  # of parameters

    def __init__(self, key: PRNGKeyArray, frame: Frame, sizes: tuple[int, ...], hidden: int = 0):
        super().__init__(key, frame, sizes, hidden)
        keys, D, P = jax.random.split(key), frame.components, self.count
        small = 0.1 / sum(sizes) ** 0.5
        self.W_y = small * jax.random.normal(keys[0], (D * P, sum(sizes)))
        self.b_y = jnp.zeros(D * P)
        self.U_y = jnp.zeros((*self.U_y.shape[:2], P))
        self.V_y = small * jax.random.normal(keys[1], (D * P, hidden))

    def _given(self, seen: Seen, around: Around, linear: Float[Array, "D P"]) -> Any:
        z = jax.nn.gelu(seen.a).astype(self.V_y.dtype)
        parameters = linear + product(self.V_y, z).reshape(linear.shape)
        mean, scale = around.line + around.scale * seen.shift, NARROWEST + around.scale
        numbers = cast(Any, self.distribution(parameters, mean, scale))
        levels = Levels(parameters[:, 0] + seen.shift, self.frame.leaders)
        return Conditionals(numbers, levels, self.frame.categorical)


class Binned(Bent):
    distribution = Bins
    count = BINS


class Splined(Bent):
    distribution = Spline
    count = 3 * PIECES - 1


def offer() -> None:
    """To recipes, by their names."""
    others: dict[str, Any] = {"binned": Binned, "spline": Splined}
    HEADS.update(others)
    ALL_HEADS.update(others)
