"""A head for numbers that depend on each other and on their nearest known neighbours in time.

Like `Orderless`, it is autoregressive inside a frame. One hidden layer sees the context, the
remembered neighbours on both sides and the observed part of the frame; it gives a mixture of
logistic distributions for each other component. A number is modelled by its distance from the line
between its neighbours, in units of a scale that grows with their distance in time. A category is
one component of the chain: all of its switches are visited at once.
"""

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped

from caesura.errors import whole_number
from caesura.later import Array, PRNGKeyArray, field, jax, jnp
from caesura.nets.bins import BINS, EDGES, OFF, ON
from caesura.nets.cells import product
from caesura.nets.frames import Continuous, Frame
from caesura.nets.heads.base import Head, Query
from caesura.nets.heads.levels import Levels
from caesura.nets.heads.logistics import Logistics
from caesura.nets.initial import from_states, glorot
from caesura.nets.memory import DEPTH, Remembered

COMPONENTS = 3  # of the mixture
PREFIXES = 0.25  # the share of prefixes of the order among the subsets shown in training
NARROWEST = 1e-3  # scale: a constant column would otherwise get an infinite density
SMALL = 0.1  # distance from the line below which the features are linear in it
WIDEST = 2.0  # log of a part's scale: without a limit, one far fill makes its neighbours farther

ROUNDING = float(np.finfo(np.float32).eps)
TINY = float(np.finfo(np.float32).tiny)


class Around(NamedTuple):
    """What the context says of a frame, before any of its components is seen."""

    h: Float[Array, " C"]
    line: Float[Array, " D"]  # between the nearest known neighbours; zero where there are none
    scale: Float[Array, " D"]  # of the distances from the line
    features: Float[Array, "F D"]  # of each component's own neighbours


class Seen(NamedTuple):
    """The contribution of the observed part of the frame."""

    a: Float[Array, " H"]  # the pre-activations of the hidden layer
    shift: Float[Array, " D"]  # of the means


class SoFar(NamedTuple):
    """A frame with some of its missing components filled."""

    seen: Seen
    left: Bool[Array, " D"]  # the components that are not filled yet
    values: Float[Array, " D"]
    nats: Float[Array, " D"]


class Conditionals(NamedTuple):
    """The distribution of each number and of each category, given what is observed."""

    numbers: Logistics
    levels: Levels
    categorical: Bool[np.ndarray, " D"]  # which components belong to a category

    def log_density(self, x: Float[Array, " D"]) -> Float[Array, " D"]:
        """Return the log-densities; that of a category stands at its first switch."""
        return jnp.where(self.categorical, self.levels.log_prob(x), self.numbers.log_density(x))

    def draw(self, chance: Float[Array, "D 2"]) -> Float[Array, " D"]:
        """Return samples, made of numbers that are uniform between 0 and 1."""
        return jnp.where(
            self.categorical, self.levels.draw(chance[:, 0]), self.numbers.draw(chance)
        )


Choose = Callable[[Conditionals, Shaped[Array, "D ..."]], Float[Array, " D"]]


class Mixture(Head):
    """Numbers and categories, each given the context, its neighbours and those before it."""

    frames: ClassVar[type[Frame]] = Continuous
    remembers: ClassVar[bool] = True

    frame: Frame
    W_y: Float[Array, "DP C"]
    b_y: Float[Array, " DP"]
    U_y: Float[Array, "F D P"]  # from a component's own neighbours
    U_s: Float[Array, "F D"]  # to its scale
    b_s: Float[Array, " D"]
    W_z: Float[Array, "H C"]
    W_n: Float[Array, "H FD"]  # from all neighbours
    b_z: Float[Array, " H"]
    W_v: Float[Array, "H D"]  # from the values of what is observed
    W_o: Float[Array, "H D"]  # from which components are observed
    V_y: Float[Array, "DP H"]
    A_y: Float[Array, "D D"]  # from the values of what is observed straight to means and logits
    sizes: tuple[int, ...] = field(static=True)

    def __init__(self, key: PRNGKeyArray, frame: Frame, sizes: tuple[int, ...], hidden: int = 0):
        whole_number("head_hidden", hidden, 1)
        key_n, key_v, key_o, key_y, key_z, *keys = jax.random.split(key, 5 + len(sizes))
        D, P = frame.components, 3 * COMPONENTS
        F = 4 * DEPTH * len(sizes) + 1
        self.frame = frame
        self.sizes = sizes
        self.W_y = 0.1 * from_states(keys, D * P, sizes)
        # The parts of the mixture must differ at the start, or they would all learn the same.
        apart = jnp.linspace(-0.5, 0.5, COMPONENTS)
        self.b_y = jnp.tile(jnp.concatenate([0 * apart, apart, 0 * apart]), D)
        self.U_y = jnp.zeros((F, D, P))
        self.U_s = jnp.zeros((F, D))
        self.b_s = jnp.full(D, -1.0, jnp.float32)  # an explicit dtype: updates must not change it
        self.W_z = glorot(key_z, hidden, sum(sizes))
        self.W_n = glorot(key_n, hidden, F * D)
        self.b_z = jnp.zeros(hidden)
        self.W_v = glorot(key_v, hidden, D)
        self.W_o = glorot(key_o, hidden, D)
        self.V_y = 0.1 * glorot(key_y, D * P, hidden)
        self.A_y = jnp.zeros((D, D))

    @property
    def hidden(self) -> int:
        return len(self.b_z)

    def log_prob(self, query: Query) -> Float[Array, ""]:
        context, frame, missing = query
        known = ~self.frame.unknown(frame)
        around = self._look(context)
        start = self._see(around, frame, ~missing & known)
        _, nats = self._walk(around, start, frame, missing & known, lambda mix, x: x)
        return jnp.sum(nats)

    def sample(self, key: PRNGKeyArray, query: Query) -> Shaped[Array, " D"]:
        context, frame, missing = query
        around = self._look(context)
        start = self._see(around, frame, ~missing & ~self.frame.unknown(frame))
        chance = jax.random.uniform(key, (frame.size, 2), minval=ROUNDING, maxval=1 - ROUNDING)
        drawn, _ = self._walk(around, start, chance, missing, Conditionals.draw)
        return jnp.where(missing, drawn, frame)

    def marginals(self, query: Query) -> Float[Array, "D K"]:
        """Return the mass in each bin; a switch has mass only in the bins of 0 and of 1."""
        context, frame, missing = query
        found = self._conditionals(context, frame, ~missing & ~self.frame.unknown(frame))
        below = jax.vmap(lambda one: one.below(jnp.asarray(EDGES, jnp.float32)))(found.numbers)
        mass = jnp.diff(below, axis=1, prepend=0.0, append=1.0)
        off, on = np.eye(BINS)[[OFF, ON]]
        share = jnp.exp(found.levels.log_on())[:, None]
        of_switches = share * on + (1 - share) * off
        mass = jnp.where(found.categorical[:, None], of_switches, mass)
        return jnp.log(jnp.maximum(mass, TINY))

    def objective(self, key: PRNGKeyArray, query: Query) -> Float[Array, ""]:
        """Show a random subset of the components and return the weighted loss of the others.

        All components are predicted, not only the missing ones: the context knows nothing of the
        frame. The number that is shown is uniform between none and all. With the weight below, the
        mean over random subsets is the mean of −log p over all orders. A share of the subsets are
        prefixes of the fixed order instead. A category is shown as a whole and counts once.
        """
        context, frame, _ = query
        known = jnp.asarray(~self.frame.unknown(frame))
        chance = jax.random.uniform(key, (2 + frame.size,))
        leaders, fillable = self.frame.leaders, self.frame.fillable
        first = leaders == np.arange(frame.size)
        in_order = np.cumsum(first) / (first.sum() + 1)
        place = jnp.where(chance[0] < PREFIXES, in_order, chance[2:][leaders])
        shown = known & ((place < chance[1]) | ~fillable)
        rest = known & ~shown
        found = self._conditionals(context, frame, shown)
        nats = found.log_density(jnp.where(rest, frame, 0.0))
        nll = -jnp.sum(jnp.where(rest, nats, 0.0))
        count = jnp.sum(known & fillable & first)
        return nll * (count + 1) / jnp.maximum(jnp.sum(rest & first), 1)

    def _look(self, context: Float[Array, " C"]) -> Around:
        """Split the context into states and memories, and compute line, scale and features."""
        D = self.frame.components
        remembered = 2 * DEPTH * D
        states, sides, at = [], [], 0
        for size in self.sizes:
            states.append(context[at : at + size])
            sides.append(Remembered.unflat(context[at + size : at + size + remembered], D))
            at += size + remembered
        line = _interpolate(sides)
        features = _features(sides, line)
        log_scale = self.b_s + jnp.sum(self.U_s * features, axis=0)
        scale = jnp.exp(jnp.clip(log_scale, -6.0, 3.0))
        switch = self.frame.categorical  # on or off: neighbours give it no line and no scale
        line, scale = jnp.where(switch, 0.0, line), jnp.where(switch, 1.0, scale)
        return Around(jnp.concatenate(states), line, scale, features)

    def _see(self, around: Around, frame: Shaped[Array, " D"], observed: Bool[Array, " D"]) -> Seen:
        """Return the contribution of the observed components."""
        dtype = self.W_z.dtype
        a = (
            product(self.W_z, around.h.astype(dtype))
            + product(self.W_n, around.features.reshape(-1).astype(dtype))
            + self.b_z
        )
        return self._see_more(Seen(a, jnp.zeros_like(around.line)), around, frame, observed)

    def _see_more(
        self, seen: Seen, around: Around, values: Shaped[Array, " D"], new: Bool[Array, " D"]
    ) -> Seen:
        """Return the contribution with the `new` components added."""
        dtype = self.W_v.dtype
        far = (jnp.where(new, values, around.line) - around.line) / around.scale
        # arcsinh: an outlier must not drown the other values.
        surprise = jnp.arcsinh(far).astype(dtype)
        a = seen.a + product(self.W_v, surprise) + product(self.W_o, new.astype(dtype))
        return Seen(a, seen.shift + product(self.A_y, surprise))

    def _linear(self, around: Around) -> Float[Array, "D P"]:
        """Return the part of the parameters that does not come from the hidden layer."""
        own = jnp.einsum("fd,fdp->dp", around.features, self.U_y)
        joint = product(self.W_y, around.h.astype(self.W_y.dtype)) + self.b_y
        return own + joint.reshape(own.shape)

    def _conditionals(
        self, context: Float[Array, " C"], frame: Shaped[Array, " D"], observed: Bool[Array, " D"]
    ) -> Conditionals:
        """Return the distributions of all components, given the observed ones."""
        around = self._look(context)
        return self._given(self._see(around, frame, observed), around, self._linear(around))

    def _given(self, seen: Seen, around: Around, linear: Float[Array, "D P"]) -> Conditionals:
        z = jax.nn.gelu(seen.a).astype(self.V_y.dtype)
        parameters = linear + product(self.V_y, z).reshape(linear.shape)
        logits, means, log_scales = jnp.split(parameters, 3, axis=-1)
        line, scale, shift = (a[:, None] for a in (around.line, around.scale, seen.shift))
        numbers = Logistics(
            jax.nn.log_softmax(logits),
            line + scale * (means + shift),
            NARROWEST + scale * jnp.exp(jnp.clip(log_scales, -8.0, WIDEST)),
        )
        levels = Levels(logits[:, 0] + seen.shift, self.frame.leaders)
        return Conditionals(numbers, levels, self.frame.categorical)

    def _walk(
        self,
        around: Around,
        start: Seen,
        given: Shaped[Array, "D ..."],
        missing: Bool[Array, " D"],
        choose: Choose,
    ) -> tuple[Float[Array, " D"], Float[Array, " D"]]:
        """Visit the missing components in order; return their values and log-densities.

        `choose(distributions, given)` makes the values. Observed components cost nothing. In a
        batch, the step with the most missing components sets the number of iterations.
        """

        def visit(so_far: SoFar) -> SoFar:
            seen, left, values, nats = so_far
            here = leaders == leaders[jnp.argmax(left)]  # the first
            # Computed for all components: gathering the weights of one is slower in a batch.
            found = self._given(seen, around, linear)
            x = choose(found, given)
            return SoFar(
                self._see_more(seen, around, x, here),
                left & ~here,
                jnp.where(here, x, values),
                jnp.where(here, found.log_density(x), nats),
            )

        linear, leaders = self._linear(around), jnp.asarray(self.frame.leaders)
        begin = SoFar(start, missing, around.line, jnp.zeros_like(around.line))
        end = jax.lax.while_loop(lambda so_far: jnp.any(so_far.left), visit, begin)
        return end.values, end.nats


def _interpolate(sides: list[Remembered]) -> Float[Array, " D"]:
    """Return the line between the nearest neighbours; constant if only one side has one."""
    near = jnp.stack([(side.ages[0] > 0) / jnp.maximum(side.ages[0], 1) for side in sides])
    values = jnp.stack([side.values[0] for side in sides])
    return jnp.sum(near * values, axis=0) / jnp.maximum(jnp.sum(near, axis=0), TINY)


def _features(sides: list[Remembered], line: Float[Array, " D"]) -> Float[Array, "F D"]:
    """Return what each component's own neighbours say about it.

    Distances are logarithmic, except small ones. The log of the scale is linear in the features, so
    a plain distance would make the scale explode next to an outlier (a day of rain).
    """
    there = jnp.concatenate([side.ages > 0 for side in sides])
    away = jnp.concatenate([jnp.log(jnp.maximum(side.ages, 1)) for side in sides])
    off = jnp.where(there, jnp.concatenate([side.values for side in sides]) - line, 0.0)
    apart = jnp.log1p(jnp.abs(off) / SMALL)
    return jnp.concatenate([jnp.arcsinh(line)[None], there, away, jnp.arcsinh(off), apart])
