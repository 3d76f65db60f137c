"""A cell without weights: the last known values of every component, and their ages.

Filled values are remembered like observed ones, so strategies need not know about memories.
"""

from typing import NamedTuple

from jaxtyping import Bool, Float

from caesura.later import Array, Module, jax, jnp
from caesura.nets.arrays import Numbers, cumulative_max, namespace
from caesura.nets.frames import Continuous

DEPTH = 2  # the number of remembered values per component


class Remembered(NamedTuple):
    """Known values, the latest first, and their ages; the previous step has age 1.

    Where no value was known yet, the value and its age are zero, like the start of a cell.
    """

    values: Float[Numbers, "*B DEPTH D"]
    ages: Float[Numbers, "*B DEPTH D"]

    def flat(self) -> Float[Array, "*B M"]:
        """Return it as one vector, as a context holds it."""
        both = jnp.concatenate(self, axis=-2)
        return both.reshape(*both.shape[:-2], -1)

    @staticmethod
    def unflat(flat: Float[Array, "*B M"], components: int) -> "Remembered":
        """Return what `flat` made a vector of."""
        both = flat.reshape(*flat.shape[:-1], 2 * DEPTH, components)
        return Remembered(both[..., :DEPTH, :], both[..., DEPTH:, :])


class Memory(Module):
    """The memory of one direction of time."""

    frame: Continuous

    @property
    def size(self) -> int:
        """The length of its part of a context."""
        return 2 * DEPTH * self.frame.components

    def initial(self) -> Remembered:
        """Return an empty memory."""
        nothing = jnp.zeros((DEPTH, self.frame.components))
        return Remembered(nothing, nothing)

    def step(self, state: Remembered, x: Float[Array, " N"]) -> Remembered:
        """Return the memory one step later, with the known values of an encoded frame first."""
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
        """Return the memories between all steps, [T + 1]; padding leaves them unchanged."""

        def step(state: Remembered, now: tuple[Array, Array]) -> tuple[Remembered, Remembered]:
            x, valid_t = now
            new = jax.tree.map(lambda n, o: jnp.where(valid_t, n, o), self.step(state, x), state)
            return new, new

        _, states = jax.lax.scan(step, start, (xs, valid), reverse=reverse)

        def with_start(s: Array, h: Array) -> Array:
            return jnp.concatenate([h, s[None]] if reverse else [s[None], h])

        return jax.tree.map(with_start, start, states)

    def before_all(self, xs: Float[Array, "T B N"], valid: Bool[Array, "T B"]) -> Remembered:
        """Return the memories before all steps of many sequences, without a scan."""
        values, unknown = self.frame.decode(xs)
        return remembered_before(values, valid[:, :, None] & ~unknown)


def remembered_before(values: Float[Numbers, "T B D"], known: Bool[Numbers, "T B D"]) -> Remembered:
    """Return the memories before all steps of many sequences, of which some values are known."""
    xp = namespace(values)
    step = xp.arange(len(values))[:, None, None]
    latest = cumulative_max(xp.where(known, step, -1))
    previous = xp.concatenate([xp.full_like(latest[:1], -1), latest[:-1]])
    found, at = [], previous
    for _ in range(DEPTH):
        there, place = at >= 0, xp.maximum(at, 0)
        value = xp.take_along_axis(values, place, axis=0)
        found.append((xp.where(there, value, 0.0), xp.where(there, step - at, 0)))
        at = xp.where(there, xp.take_along_axis(previous, place, axis=0), -1)
    of_values, of_ages = (xp.stack(rows, axis=2) for rows in zip(*found, strict=True))
    return Remembered(of_values.astype(xp.float32), of_ages.astype(xp.float32))
