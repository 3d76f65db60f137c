"""A head that weighs what simple methods say about a number, and says how far it may be off."""

from typing import ClassVar

import numpy as np
from jaxtyping import Float, Shaped

from caesura.errors import CaesuraError, whole_number
from caesura.later import Array, PRNGKeyArray, field, jax, jnp
from caesura.nets.arrays import Numbers, gelu, log_softmax, namespace
from caesura.nets.bins import EDGES
from caesura.nets.cells import plus, product
from caesura.nets.frames import Continuous, Frame
from caesura.nets.heads.base import Head, Query
from caesura.nets.heads.logistics import Logistics
from caesura.nets.initial import glorot
from caesura.nets.memory import DEPTH, Remembered

COMPONENTS = 4  # of the mixture
OFFSETS = 3  # the informing components that are predictions; the others describe them
OWN = 2  # predictions of its own: zero, and the line between the nearest known values
NARROWEST = 1e-4  # scale: a constant column would otherwise get an infinite density
ROUNDING = float(np.finfo(np.float32).eps)
TINY = float(np.finfo(np.float32).tiny)
SMALL = 0.01  # offsets are logarithmic, except smaller ones


class Weighing(Head):
    """The first component of a frame, given predictions of it and what is known around it.

    The frame has one number, relative to a base prediction, and informing components: other
    predictions, relative to the same, and features. Every part of the mixture has its mean at an
    average of the predictions, with weights of its own, plus a correction in units of its scale.
    """

    frames: ClassVar[type[Frame]] = Continuous
    remembers: ClassVar[bool] = True

    frame: Frame
    W_z: Float[Array, "H I"]
    b_z: Float[Array, " H"]
    W_u: Float[Array, "H H"]
    b_u: Float[Array, " H"]
    V_y: Float[Array, "P H"]
    b_y: Float[Array, " P"]
    sizes: tuple[int, ...] = field(static=True)

    def __init__(self, key: PRNGKeyArray, frame: Frame, sizes: tuple[int, ...], hidden: int = 0):
        whole_number("head_hidden", hidden, 1)
        if frame.components - int(np.sum(frame.fillable)) < OFFSETS or np.sum(frame.fillable) != 1:
            raise CaesuraError("The head 'weighing' is for one number and what informs about it.")
        key_z, key_u, key_y = jax.random.split(key, 3)
        inputs = sum(sizes) + OWN + frame.components + 3 * DEPTH * len(sizes)
        outputs = COMPONENTS * (OWN + OFFSETS + 3)
        self.frame, self.sizes = frame, sizes
        self.W_z, self.b_z = glorot(key_z, hidden, inputs), jnp.zeros(hidden)
        self.W_u, self.b_u = glorot(key_u, hidden, hidden), jnp.zeros(hidden)
        self.V_y = 0.1 * glorot(key_y, outputs, hidden)
        # The parts of the mixture must differ at the start, or they would all learn the same.
        apart = jnp.linspace(-0.5, 0.5, COMPONENTS)
        weights = jnp.zeros((COMPONENTS, OWN + OFFSETS)).at[:, 1].set(1.0)
        start = [weights, 0 * apart[:, None], apart[:, None], apart[:, None] - 1.0]
        self.b_y = jnp.concatenate(start, axis=1).reshape(-1).astype(jnp.float32)

    @property
    def hidden(self) -> int:
        return len(self.b_z)

    def log_prob(self, query: Query) -> Float[Array, ""]:
        context, frame, missing = query
        asked = missing[0] & ~self.frame.unknown(frame[0])
        found = self.distribution(context, frame)
        nats = found.log_density(jnp.where(asked, frame[0], 0.0))
        return jnp.where(asked, nats, 0.0)

    def sample(self, key: PRNGKeyArray, query: Query) -> Shaped[Array, " D"]:
        chance = jax.random.uniform(key, (2,), minval=ROUNDING, maxval=1 - ROUNDING)
        drawn = self.distribution(query.context, query.frame).draw(chance)
        return jnp.where(query.missing, drawn, query.frame)

    def marginals(self, query: Query) -> Float[Array, "D K"]:
        found = self.distribution(query.context, query.frame)
        below = found.below(jnp.asarray(EDGES, jnp.float32))
        mass = jnp.diff(below, prepend=0.0, append=1.0)
        return jnp.broadcast_to(jnp.log(jnp.maximum(mass, TINY)), (query.frame.size, mass.size))

    def distribution(
        self, context: Float[Numbers, "C *B"], frame: Shaped[Numbers, "D *B"]
    ) -> Logistics:
        """Return the distribution of the number, whatever the frame has in its place.

        Arrays may be of NumPy, with a batch in the last axis, which is the first of the answer.
        """
        states, sides = self._split(context)
        return self.weigh(states, sides, frame)

    def weigh(
        self,
        states: list[Float[Numbers, "c *B"]],
        sides: list[Remembered],
        frame: Shaped[Numbers, "D *B"],
    ) -> Logistics:
        """Return the distribution, from states and nearest known values on either side."""
        xp = namespace(frame)
        informing, line = frame[1:], _line(sides)
        offsets = xp.concatenate([xp.stack([xp.zeros_like(line), line]), informing[:OFFSETS]])
        inputs = [*states, _squeeze(offsets), informing[OFFSETS:], _around(sides, line)]
        z = xp.concatenate([a.astype(xp.float32) for a in inputs]).astype(self.W_z.dtype)
        z = gelu(plus(product(self.W_z, z), self.b_z)).astype(self.W_z.dtype)
        z = gelu(plus(product(self.W_u, z), self.b_u)).astype(self.W_z.dtype)
        out = plus(product(self.V_y, z), self.b_y)
        out = out.reshape(COMPONENTS, -1, *out.shape[1:]).swapaxes(0, 1)
        weights, (logits, shifts, log_scales) = out[: OWN + OFFSETS], out[OWN + OFFSETS :]
        scales = NARROWEST + xp.exp(xp.clip(log_scales, -9.0, 3.0))
        shares = xp.exp(log_softmax(weights))
        means = xp.sum(shares * offsets[:, None], axis=0) + scales * 3.0 * xp.tanh(shifts / 3.0)
        return Logistics(*(xp.moveaxis(a, 0, -1) for a in (log_softmax(logits), means, scales)))

    def _split(
        self, context: Float[Numbers, "C *B"]
    ) -> tuple[list[Float[Numbers, "c *B"]], list[Remembered]]:
        """Return the states of each direction, and the known values nearest to the step."""
        size = self.frame.components
        states, sides, at = [], [], 0
        for units in self.sizes:
            states.append(context[at : at + units])
            at += units
            flat = context[at : at + 2 * DEPTH * size]
            own = flat.reshape(2, DEPTH, size, *flat.shape[1:])[:, :, 0].astype(jnp.float32)
            sides.append(Remembered(own[0], own[1]))
            at += 2 * DEPTH * size
        return states, sides


def _line(sides: list[Remembered]) -> Float[Numbers, "*B"]:
    """Return the line between the nearest known values; constant if only one side has one."""
    xp = namespace(sides[0].values)
    near = xp.stack([(side.ages[0] > 0) / xp.maximum(side.ages[0], 1) for side in sides])
    values = xp.stack([side.values[0] for side in sides])
    return xp.sum(near * values, axis=0) / xp.maximum(xp.sum(near, axis=0), TINY)


def _around(sides: list[Remembered], line: Float[Numbers, "*B"]) -> Float[Numbers, "O *B"]:
    xp = namespace(line)
    there = xp.concatenate([side.ages > 0 for side in sides])
    away = xp.concatenate([xp.log(xp.maximum(side.ages, 1)) for side in sides])
    off = xp.where(there, xp.concatenate([side.values for side in sides]) - line, 0.0)
    return xp.concatenate([xp.arcsinh(line)[None], there, 0.5 * away, _squeeze(off)])


def _squeeze(x: Float[Numbers, "n *B"]) -> Float[Numbers, "n *B"]:
    """Return the logarithm of large offsets and small ones as they are, in units of `SMALL`."""
    return 0.3 * namespace(x).arcsinh(x / SMALL)
