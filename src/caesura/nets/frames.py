"""What a frame may hold, and how a net sees it."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from caesura.errors import CaesuraError
from caesura.sequence import UNKNOWN


class Frame(eqx.Module):
    """The space that the vector at one step lives in: D components, each with K possible values."""

    @property
    @abstractmethod
    def components(self) -> int:
        """D."""

    @property
    @abstractmethod
    def cardinality(self) -> int:
        """K, the number of points on which a component's marginal distribution is given."""

    @property
    @abstractmethod
    def inputs(self) -> int:
        """N, the length of the vector that `encode` makes."""

    @abstractmethod
    def encode(self, values: Shaped[Array, " D"], unknown: Bool[Array, " D"]) -> Float[Array, " N"]:
        """x_t, the net's input; an unknown value is all zeros."""

    @abstractmethod
    def start(self, key: PRNGKeyArray) -> Shaped[Array, " D"]:
        """Where a Markov chain over frames starts (the paper's choice for each task)."""

    @abstractmethod
    def check(
        self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]
    ) -> Shaped[np.ndarray, "T D"]:
        """The values as the net takes them, zero where missing; a wrong one is an error."""


class Discrete(Frame):
    """Frames whose components take the values 0 to K − 1."""

    least: ClassVar[int] = 0  # the smallest number that may stand for an observed value

    def check(
        self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]
    ) -> Int[np.ndarray, "T D"]:
        if values.shape[1] != self.components:
            raise CaesuraError(
                f"The model's frames have {self.components} components, not {values.shape[1]}."
            )
        if values.dtype.kind not in "biuf":
            raise CaesuraError(f"The values must be numbers, not {values.dtype}.")
        known = np.where(missing, 0, values)
        if np.isnan(known).any():
            step = int(np.flatnonzero(np.isnan(known).any(axis=1))[0])
            raise CaesuraError(f"The value at step {step} is NaN but not marked as missing.")
        strange = (known < self.least) | (known >= self.cardinality) | (known != np.floor(known))
        if strange.any():
            step, component = np.argwhere(strange)[0]
            raise CaesuraError(
                f"The value {known[step, component]} at step {step} is not among the model's "
                f"{self.cardinality} values, 0 to {self.cardinality - 1}."
            )
        return known.astype(np.int32)


class Categorical(Discrete):
    """One of K symbols, shown to the net as a one-hot vector, or a symbol that it does not know."""

    least: ClassVar[int] = UNKNOWN

    symbols: int = eqx.field(static=True)

    @property
    def components(self) -> int:
        return 1

    @property
    def cardinality(self) -> int:
        return self.symbols

    @property
    def inputs(self) -> int:
        return self.symbols

    def encode(self, values: Int[Array, " D"], unknown: Bool[Array, " D"]) -> Float[Array, " N"]:
        return jax.nn.one_hot(values[0], self.symbols) * ~unknown[0]

    def start(self, key: PRNGKeyArray) -> Int[Array, " D"]:
        return jax.random.randint(key, (1,), 0, self.symbols)


class Binary(Discrete):
    """D switches, each on or off: the keys of a piano, say."""

    switches: int = eqx.field(static=True)

    @property
    def components(self) -> int:
        return self.switches

    @property
    def cardinality(self) -> int:
        return 2

    @property
    def inputs(self) -> int:
        return self.switches

    def encode(self, values: Int[Array, " D"], unknown: Bool[Array, " D"]) -> Float[Array, " N"]:
        return jnp.where(unknown, 0.0, values)

    def start(self, key: PRNGKeyArray) -> Int[Array, " D"]:
        return jnp.zeros(self.switches, jnp.int32)


FRAMES: dict[str, type[Categorical] | type[Binary]] = {"categorical": Categorical, "binary": Binary}
