"""Heads whose components are independent given the context."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Shaped

from caesura.later import Array, Module, PRNGKeyArray, jax, jnp
from caesura.nets.arrays import Numbers, gelu, log_sigmoid, log_softmax, namespace
from caesura.nets.cells import plus, product
from caesura.nets.frames import Binary, Categorical, Frame
from caesura.nets.heads.base import Head, Query
from caesura.nets.initial import MaybeKey, Weights, from_states, glorot, split, zeros


class Independent(Head):
    """Components that are independent given the context: `marginals` defines everything."""

    def log_prob(self, query: Query) -> Float[Numbers, "*B"]:
        each = self.chain(query)
        return namespace(each).sum(each, axis=0)

    def chain(self, query: Query) -> Float[Numbers, "D *B"]:
        _, frame, missing = query
        log_probs = self.marginals(query)
        xp, K = namespace(log_probs), log_probs.shape[1]
        # Not as a gather: its gradient is a scatter, which is slow on a GPU.
        here = frame[:, None] == np.arange(K).reshape(K, *[1] * (frame.ndim - 1))
        chosen = xp.sum(xp.where(here, log_probs, 0.0), axis=1)
        return xp.where(missing & ~self.frame.unknown(frame), chosen, 0.0)

    def sample(self, key: PRNGKeyArray, query: Query) -> Shaped[Array, " D"]:
        drawn = jax.random.categorical(key, self.marginals(query))
        return jnp.where(query.missing, drawn, query.frame)

    def draw(self, chance: Float[Numbers, "D *B"], query: Query) -> Shaped[Numbers, "D *B"]:
        xp = namespace(chance)
        below = xp.cumsum(xp.exp(self.marginals(query)), axis=1)[:, :-1]
        drawn = xp.sum(below <= chance[:, None], axis=1)
        return xp.where(query.missing, drawn, query.frame).astype(query.frame.dtype)


class Join(Module):
    """A hidden layer over both directions; its output is added to that of the linear map."""

    W_z: Float[Weights, "H C"]
    b_z: Float[Weights, " H"]
    V_y: Float[Weights, "N H"]

    def __init__(self, key: MaybeKey, outputs: int, hidden: int, context: int):
        key_z, key_y = split(key, 2)
        self.W_z = glorot(key_z, hidden, context)
        self.b_z = zeros(key, hidden)
        self.V_y = glorot(key_y, outputs, hidden)

    def __call__(self, context: Float[Numbers, "C *B"]) -> Float[Numbers, "N *B"]:
        z = gelu(plus(product(self.W_z, context), self.b_z))
        return product(self.V_y, z.astype(self.V_y.dtype))


class Linear(Independent):
    """φ of a linear map of the context, Eqs. (1) and (3), plus an optional hidden layer.

    The linear map only adds up the evidence of the past and of the future. The hidden layer, which
    the paper does not have, lets them interact.
    """

    frames: ClassVar[type[Frame]]  # the frames that the head is for

    frame: Frame
    W_y: Float[Weights, "N C"]
    b_y: Float[Weights, " N"]
    join: Join | None

    def __init__(self, key: MaybeKey, frame: Frame, sizes: tuple[int, ...], hidden: int = 0):
        self.frame = frame
        key_join, *keys = split(key, 1 + len(sizes))
        self.W_y = from_states(keys, frame.inputs, sizes)
        self.b_y = zeros(key, frame.inputs)
        self.join = Join(key_join, frame.inputs, hidden, sum(sizes)) if hidden else None

    @property
    def hidden(self) -> int:
        return 0 if self.join is None else len(self.join.b_z)

    @abstractmethod
    def log_probs(self, logits: Float[Numbers, "N *B"]) -> Float[Numbers, "D K *B"]:
        """Return log φ; with NumPy, a batch may stand in the last axis."""

    def logits(self, context: Float[Numbers, "C *B"]) -> Float[Numbers, "N *B"]:
        """Return the argument of φ; with NumPy, a batch may stand in the last axis."""
        linear = plus(product(self.W_y, context), self.b_y)
        return linear if self.join is None else linear + self.join(context)

    def marginals(self, query: Query) -> Float[Numbers, "D K *B"]:
        return self.log_probs(self.logits(query.context))


class Softmax(Linear):
    """One of K symbols."""

    frames: ClassVar[type[Frame]] = Categorical
    in_numpy: ClassVar[bool] = True

    def log_probs(self, logits: Float[Numbers, "N *B"]) -> Float[Numbers, "D K *B"]:
        return log_softmax(logits)[None]


class Bernoulli(Linear):
    """D switches, independent of each other given the context."""

    frames: ClassVar[type[Frame]] = Binary
    in_numpy: ClassVar[bool] = True

    def log_probs(self, logits: Float[Numbers, "N *B"]) -> Float[Numbers, "D K *B"]:
        return namespace(logits).stack([log_sigmoid(-logits), log_sigmoid(logits)], axis=1)


class Constant(Independent):
    """The same distribution whatever the context: the paper's one-gram, f(b_y)."""

    frame: Frame
    log_probs: Float[Weights, "D K"]

    def marginals(self, query: Query) -> Float[Array, "D K"]:
        return self.log_probs
