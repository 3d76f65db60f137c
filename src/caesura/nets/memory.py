"""The last known values of every component, and how long ago they were: a cell without weights.

What is filled is remembered like what was observed, so a strategy need not know of it.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from caesura.nets.frames import Continuous

DEPTH = 2  # how many values of each component are remembered


class Remembered(NamedTuple):
    """From the latest known value to earlier ones; the age of the step before is one.

    Where there was none yet, the value and its age are zero, so that this starts as cells do.
    """

    values: Float[Array, "*B DEPTH D"]
    ages: Float[Array, "*B DEPTH D"]

    def flat(self) -> Float[Array, "*B M"]:
        """As it stands in a context."""
        both = jnp.concatenate(self, axis=-2)
        return both.reshape(*both.shape[:-2], -1)

    @staticmethod
    def unflat(flat: Float[Array, "*B M"], components: int) -> "Remembered":
        """What was laid flat."""
        both = flat.reshape(*flat.shape[:-1], 2 * DEPTH, components)
        return Remembered(both[..., :DEPTH, :], both[..., DEPTH:, :])


class Memory(eqx.Module):
    """What one direction of time remembers of the frames that it has passed."""

    frame: Continuous

    @property
    def size(self) -> int:
        """How many numbers a context gets of it."""
        return 2 * DEPTH * self.frame.components

    def initial(self) -> Remembered:
        """Nothing yet."""
        nothing = jnp.zeros((DEPTH, self.frame.components))
        return Remembered(nothing, nothing)

    def step(self, state: Remembered, x: Float[Array, " N"]) -> Remembered:
        """One step older, with the known values of a frame, as the cells see it, on top."""
        values, unknown = self.frame.decode(x[: self.frame.inputs])
        ages = jnp.where(state.ages > 0, state.ages + 1, 0.0)
        one_down = Remembered(
            jnp.concatenate([values[None], state.values[:-1]]),
            jnp.concatenate([jnp.ones_like(ages[:1]), ages[:-1]]),
        )
        return Remembered(
            jnp.where(unknown, state.values, one_down.values),
            jnp.where(unknown, ages, one_down.ages),
        )

    def run(
        self, start: Remembered, xs: Float[Array, "T N"], valid: Bool[Array, " T"], *, reverse: bool
    ) -> Remembered:
        """[T + 1]: between all steps, `start` included; padding passes it on unchanged."""

        def step(state: Remembered, now: tuple[Array, Array]) -> tuple[Remembered, Remembered]:
            x, valid_t = now
            new = jax.tree.map(lambda n, o: jnp.where(valid_t, n, o), self.step(state, x), state)
            return new, new

        _, states = jax.lax.scan(step, start, (xs, valid), reverse=reverse)

        def with_start(s: Array, h: Array) -> Array:
            return jnp.concatenate([h, s[None]] if reverse else [s[None], h])

        return jax.tree.map(with_start, start, states)

    def before_all(self, xs: Float[Array, "T B N"], valid: Bool[Array, "T B"]) -> Remembered:
        """What is remembered before each step of many sequences, without going through them."""
        values, unknown = self.frame.decode(xs)
        step = jnp.arange(len(xs))[:, None, None]
        latest = jax.lax.cummax(jnp.where(valid[:, :, None] & ~unknown, step, -1))
        previous = jnp.concatenate([jnp.full_like(latest[:1], -1), latest[:-1]])
        found, at = [], previous
        for _ in range(DEPTH):
            there, place = at >= 0, jnp.maximum(at, 0)
            value = jnp.take_along_axis(values, place, axis=0)
            found.append((jnp.where(there, value, 0.0), jnp.where(there, step - at, 0)))
            at = jnp.where(there, jnp.take_along_axis(previous, place, axis=0), -1)
        of_values, of_ages = (jnp.stack(rows, axis=2) for rows in zip(*found, strict=True))
        return Remembered(of_values, of_ages.astype(jnp.float32))
